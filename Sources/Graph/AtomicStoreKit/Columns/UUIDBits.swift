import AtomicStoreSPI
import FoundationEssentials

/// The bytes of a UUID as two numbers, which sort like its text.
struct UUIDBits: Equatable {
  let high: UInt64
  let low: UInt64

  init(_ uuid: UUID) {
    (high, low) = withUnsafeBytes(of: uuid.uuid) {
      ($0.loadUnaligned(as: UInt64.self).bigEndian, $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self).bigEndian)
    }
  }
  @inline(__always) init(_ column: ColumnView, _ row: Int) {
    let start = column.cells + column.place(row) &* 16
    high = start.loadUnaligned(as: UInt64.self).bigEndian
    low = start.loadUnaligned(fromByteOffset: 8, as: UInt64.self).bigEndian
  }
}
