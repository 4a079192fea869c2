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
    return PostgreSQLText.unescaped(bytes).map { String(decoding: $0, as: UTF8.self) }
      ?? String(decoding: bytes, as: UTF8.self)
  }
  func withText<Failure: Error>(_ column: Int, _ body: (Span<UInt8>) throws(Failure) -> Void) throws(Failure) {
    let bytes = bytes(column)
    guard let plain = PostgreSQLText.unescaped(bytes) else { return try body(Span(_unsafeElements: bytes)) }
    try body(plain.span)
  }
  func data(_ column: Int) -> Data { Data(bytes(column)) }
  func withBytes<Failure: Error>(_ column: Int, _ body: (Span<UInt8>) throws(Failure) -> Void) throws(Failure) {
    try body(Span(_unsafeElements: bytes(column)))
  }
}

/// Rows in the binary form of COPY.
final class PostgreSQLWriter: SQLRowWriter {
  var bytes: [UInt8]
  private let types: [SQLType]
  private var column = 0

  init(_ types: [SQLType]) {
    self.types = types
    bytes = Array("PGCOPY\n".utf8) + [0xFF, 0x0D, 0x0A, 0] + [0, 0, 0, 0] + [0, 0, 0, 0]
  }

  func begin() {
    append(Int16(types.count))
    column = 0
  }
  func end() { append(Int16(-1)) }

  @inline(__always) private func append<Number: FixedWidthInteger>(_ number: Number) {
    withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
  }
  static func bytes<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
    withUnsafeBytes(of: number.bigEndian) { Array($0) }
  }

  func null() {
    append(Int32(-1))
    column += 1
  }
  func integer(_ value: Int64) {
    switch types[column] {
    case .integer16:
      append(Int32(2))
      append(Int16(truncatingIfNeeded: value))
    case .integer32:
      append(Int32(4))
      append(Int32(truncatingIfNeeded: value))
    default:
      append(Int32(8))
      append(value)
    }
    column += 1
  }
  func boolean(_ value: Bool) {
    append(Int32(1))
    bytes.append(value ? 1 : 0)
    column += 1
  }
  func double(_ value: Double) {
    append(Int32(8))
    append(value.bitPattern)
    column += 1
  }
  func float(_ value: Float) {
    append(Int32(4))
    append(value.bitPattern)
    column += 1
  }
  func uuid(_ value: UUID) {
    append(Int32(16))
    withUnsafeBytes(of: value.uuid) { bytes.append(contentsOf: $0) }
    column += 1
  }
  func text(_ utf8: Span<UInt8>) throws(PersistentStoreError) {
    let isPlain = utf8.withUnsafeBufferPointer { bytes in !bytes.contains { $0 <= 1 } }
    if isPlain { return try blob(utf8) }
    let escaped = PostgreSQLText.escaped(utf8.withUnsafeBufferPointer { Array($0) })
    try blob(escaped.span)
  }
  func blob(_ value: Span<UInt8>) throws(PersistentStoreError) {
    guard value.count < 1 << 30 else {
      throw PersistentStoreError(.limitExceeded, "the value has more than 1 GiB, the most that PostgreSQL keeps")
    }
    append(Int32(value.count))
    value.withUnsafeBufferPointer { bytes.append(contentsOf: $0) }
    column += 1
  }
}
