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
    high = column.cells.loadUnaligned(fromByteOffset: row &* 16, as: UInt64.self).bigEndian
    low = column.cells.loadUnaligned(fromByteOffset: row &* 16 &+ 8, as: UInt64.self).bigEndian
  }
}
