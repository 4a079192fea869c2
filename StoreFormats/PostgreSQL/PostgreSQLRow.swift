import AtomicStoreSPI
import CPostgreSQL
import FoundationEssentials
import StoreSQL

/// A row of a result, in binary form.
struct PostgreSQLRow: SQLRow {
  private let result: OpaquePointer?
  private let row: Int32
  init(_ result: OpaquePointer?, _ row: Int32) {
    self.result = result
    self.row = row
  }

  private func bytes(_ column: Int) -> UnsafeBufferPointer<UInt8> {
    let count = Int(PQgetlength(result, row, Int32(column)))
    guard let start = PQgetvalue(result, row, Int32(column)) else { return UnsafeBufferPointer(start: nil, count: 0) }
    return UnsafeBufferPointer(start: UnsafeRawPointer(start).assumingMemoryBound(to: UInt8.self), count: count)
  }
  private func bits(_ column: Int) -> (bits: UInt64, width: Int) {
    let bytes = bytes(column)
    return (bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }, bytes.count)
  }

  func isNull(_ column: Int) -> Bool { PQgetisnull(result, row, Int32(column)) != 0 }

  /// A table that was altered may have columns of other types.
  func holds(_ column: Int, _ type: SQLType) -> Bool {
    PostgreSQLType.is(PQftype(result, Int32(column)), type) && (type != .text || SQLEscapes.areValid(bytes(column)))
  }
  func integer(_ column: Int) -> Int64 {
    let (bits, width) = bits(column)
    return switch width {
    case 2: Int64(Int16(truncatingIfNeeded: bits))
    case 4: Int64(Int32(truncatingIfNeeded: bits))
    default: Int64(truncatingIfNeeded: bits)
    }
  }
  func boolean(_ column: Int) -> Bool { bits(column).bits != 0 }
  func double(_ column: Int) -> Double {
    let (bits, width) = bits(column)
    return width == 4 ? Double(Float(bitPattern: UInt32(truncatingIfNeeded: bits))) : Double(bitPattern: bits)
  }
  func float(_ column: Int) -> Float { Float(bitPattern: UInt32(truncatingIfNeeded: bits(column).bits)) }
  func uuid(_ column: Int) -> UUID {
    let bytes = bytes(column)
    guard bytes.count == 16 else { return UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)) }
    return UnsafeRawBufferPointer(bytes).withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
  }
  func text(_ column: Int) -> String {
    let bytes = bytes(column)
    return SQLEscapes.unescaped(bytes).map { String(decoding: $0, as: UTF8.self) }
      ?? String(decoding: bytes, as: UTF8.self)
  }
  func withText<Failure: Error>(_ column: Int, _ body: (Span<UInt8>) throws(Failure) -> Void) throws(Failure) {
    let bytes = bytes(column)
    guard let plain = SQLEscapes.unescaped(bytes) else { return try body(Span(_unsafeElements: bytes)) }
    try body(plain.span)
  }
  func data(_ column: Int) -> Data { Data(bytes(column)) }
  func withBytes<Failure: Error>(_ column: Int, _ body: (Span<UInt8>) throws(Failure) -> Void) throws(Failure) {
    try body(Span(_unsafeElements: bytes(column)))
  }
}
