import AtomicStoreSPI
import CSQLite
import FoundationEssentials
import StoreSQL

/// The current row of a query.
struct SQLiteGraphRow: SQLRow {
  private let statement: OpaquePointer
  init(_ statement: OpaquePointer) { self.statement = statement }

  func isNull(_ column: Int) -> Bool { sqlite3_column_type(statement, Int32(column)) == SQLITE_NULL }

  /// Columns of SQLite hold values of any type.
  func holds(_ column: Int, _ type: SQLType) -> Bool {
    let found = sqlite3_column_type(statement, Int32(column))
    switch type {
    case .integer16, .integer32, .integer64, .boolean: return found == SQLITE_INTEGER
    case .double, .float:
      let width = type == .double ? 8 : 4
      return found == SQLITE_FLOAT || found == SQLITE_INTEGER
        || found == SQLITE_BLOB && sqlite3_column_bytes(statement, Int32(column)) == width
    case .text: return found == SQLITE_TEXT
    case .blob: return found == SQLITE_BLOB
    case .uuid: return found == SQLITE_BLOB && sqlite3_column_bytes(statement, Int32(column)) == 16
    }
  }
  func integer(_ column: Int) -> Int64 { sqlite3_column_int64(statement, Int32(column)) }
  func boolean(_ column: Int) -> Bool { integer(column) != 0 }

  func double(_ column: Int) -> Double {
    guard sqlite3_column_type(statement, Int32(column)) == SQLITE_BLOB else {
      return sqlite3_column_double(statement, Int32(column))
    }
    return Double(bitPattern: bits(column))
  }
  func float(_ column: Int) -> Float {
    guard sqlite3_column_type(statement, Int32(column)) == SQLITE_BLOB else {
      return Float(sqlite3_column_double(statement, Int32(column)))
    }
    return Float(bitPattern: UInt32(truncatingIfNeeded: bits(column)))
  }
  /// The number that a blob holds, most significant byte first.
  private func bits(_ column: Int) -> UInt64 {
    var bits: UInt64 = 0
    withBytes(column) { bytes in for index in 0..<min(bytes.count, 8) { bits = bits << 8 | UInt64(bytes[index]) } }
    return bits
  }
  func uuid(_ column: Int) -> UUID {
    var result = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
    withBytes(column) { bytes in
      guard bytes.count == 16 else { return }
      var raw = result.uuid
      withUnsafeMutableBytes(of: &raw) { target in for index in 0..<16 { target[index] = bytes[index] } }
      result = UUID(uuid: raw)
    }
    return result
  }
  func text(_ column: Int) -> String {
    guard let start = sqlite3_column_text(statement, Int32(column)) else { return "" }
    let count = Int(sqlite3_column_bytes(statement, Int32(column)))
    return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
  }
  func data(_ column: Int) -> Data {
    let start = sqlite3_column_blob(statement, Int32(column))
    let count = Int(sqlite3_column_bytes(statement, Int32(column)))
    return start.map { Data(bytes: $0, count: count) } ?? Data()
  }
  func withText<Failure: Error>(_ column: Int, _ body: (Span<UInt8>) throws(Failure) -> Void) throws(Failure) {
    try withBytes(column, body)
  }
  func withBytes<Failure: Error>(_ column: Int, _ body: (Span<UInt8>) throws(Failure) -> Void) throws(Failure) {
    let start = sqlite3_column_blob(statement, Int32(column))
    let count = start == nil ? 0 : Int(sqlite3_column_bytes(statement, Int32(column)))
    let bytes = UnsafeBufferPointer(start: start?.assumingMemoryBound(to: UInt8.self), count: count)
    try body(Span(_unsafeElements: bytes))
  }
}

/// The row that is being added.
final class SQLiteGraphWriter: SQLRowWriter {
  private let statement: OpaquePointer
  private var place: Int32 = 0
  /// What SQLite said of the first value that it did not take.
  private(set) var code = SQLITE_OK

  init(_ statement: OpaquePointer) { self.statement = statement }
  func begin() { place = 0 }
  private func next() -> Int32 {
    place += 1
    return place
  }
  private func note(_ code: Int32) { if code != SQLITE_OK, self.code == SQLITE_OK { self.code = code } }

  func null() { note(sqlite3_bind_null(statement, next())) }
  func integer(_ value: Int64) { note(sqlite3_bind_int64(statement, next(), value)) }
  func boolean(_ value: Bool) { note(sqlite3_bind_int64(statement, next(), value ? 1 : 0)) }
  func double(_ value: Double) { note(Self.bind(value, statement, next())) }
  func float(_ value: Float) { note(Self.bind(value, statement, next())) }
  func uuid(_ value: UUID) { note(withUnsafeBytes(of: value.uuid) { Self.bind(blob: $0, statement, next()) }) }
  func text(_ utf8: Span<UInt8>) throws(PersistentStoreError) {
    try taken(utf8.withUnsafeBufferPointer { Self.bind(text: $0, statement, next()) })
  }
  func blob(_ bytes: Span<UInt8>) throws(PersistentStoreError) {
    try taken(bytes.withUnsafeBytes { Self.bind(blob: $0, statement, next()) })
  }
  private func taken(_ code: Int32) throws(PersistentStoreError) {
    guard code == SQLITE_OK else {
      throw PersistentStoreError(.limitExceeded, "SQLite: " + String(cString: sqlite3_errstr(code)))
    }
  }

  // REAL makes NULL of not-a-number and 0.0 of -0.0: these are blobs, most significant byte first.
  static func bind(_ number: Double, _ statement: OpaquePointer, _ place: Int32) -> Int32 {
    guard number.isNaN || number == 0 && number.sign == .minus else {
      return sqlite3_bind_double(statement, place, number)
    }
    return withUnsafeBytes(of: number.bitPattern.bigEndian) { bind(blob: $0, statement, place) }
  }
  static func bind(_ number: Float, _ statement: OpaquePointer, _ place: Int32) -> Int32 {
    guard number.isNaN || number == 0 && number.sign == .minus else {
      return sqlite3_bind_double(statement, place, Double(number))
    }
    return withUnsafeBytes(of: number.bitPattern.bigEndian) { bind(blob: $0, statement, place) }
  }

  static func bind(text: UnsafeBufferPointer<UInt8>, _ statement: OpaquePointer, _ place: Int32) -> Int32 {
    guard let start = text.baseAddress, !text.isEmpty else { return csqlite_bind_text(statement, place, "", 0) }
    return start.withMemoryRebound(to: CChar.self, capacity: text.count) { chars in
      csqlite_bind_text(statement, place, chars, UInt64(text.count))
    }
  }
  static func bind(blob: UnsafeRawBufferPointer, _ statement: OpaquePointer, _ place: Int32) -> Int32 {
    csqlite_bind_blob(statement, place, blob.baseAddress, UInt64(blob.count))
  }
}
