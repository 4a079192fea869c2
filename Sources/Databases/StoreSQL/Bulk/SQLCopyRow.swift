import AtomicStoreSPI
import FoundationEssentials

/// A row in the binary form of PostgreSQL's COPY. Valid until the next one is read.
struct SQLCopyRow: SQLRow {
  /// Where the value of a column is; a length of -1 is NULL.
  struct Place {
    var start: Int
    var length: Int
  }
  private let bytes: UnsafePointer<UInt8>
  private let places: UnsafePointer<Place>

  init(bytes: UnsafePointer<UInt8>, places: UnsafePointer<Place>) {
    self.bytes = bytes
    self.places = places
  }

  @inline(__always) private func slice(_ column: Int) -> UnsafeBufferPointer<UInt8> {
    UnsafeBufferPointer(start: bytes + places[column].start, count: max(0, places[column].length))
  }
  @inline(__always) private func number<Number: FixedWidthInteger>(_ column: Int, _: Number.Type) -> Number {
    Number(bigEndian: UnsafeRawPointer(bytes + places[column].start).loadUnaligned(as: Number.self))
  }

  @inline(__always) func isNull(_ column: Int) -> Bool { places[column].length < 0 }

  /// Whether a column that is not NULL has the bytes that it has in another row.
  func hasSameBytes(_ column: Int, as other: SQLCopyRow) -> Bool {
    slice(column).elementsEqual(other.slice(column))
  }

  /// The reader has compared the types of columns, and their widths. Of a text, the escapes may be wrong.
  @inline(__always) func holds(_ column: Int, _ type: SQLType) -> Bool {
    type != .text || SQLEscapes.areValid(slice(column))
  }
  @inline(__always) func integer(_ column: Int) -> Int64 {
    switch places[column].length {
    case 8: number(column, Int64.self)
    case 4: Int64(number(column, Int32.self))
    case 2: Int64(number(column, Int16.self))
    default: 0
    }
  }
  @inline(__always) func boolean(_ column: Int) -> Bool {
    places[column].length == 1 && bytes[places[column].start] != 0
  }
  @inline(__always) func double(_ column: Int) -> Double {
    switch places[column].length {
    case 8: Double(bitPattern: number(column, UInt64.self))
    case 4: Double(float(column))
    default: 0
    }
  }
  @inline(__always) func float(_ column: Int) -> Float {
    places[column].length == 4 ? Float(bitPattern: number(column, UInt32.self)) : 0
  }
  func uuid(_ column: Int) -> UUID {
    guard places[column].length == 16 else { return UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)) }
    return UUID(uuid: UnsafeRawPointer(bytes + places[column].start).loadUnaligned(as: uuid_t.self))
  }
  func text(_ column: Int) -> String {
    let bytes = slice(column)
    return SQLEscapes.unescaped(bytes).map { String(decoding: $0, as: UTF8.self) }
      ?? String(decoding: bytes, as: UTF8.self)
  }
  func data(_ column: Int) -> Data { Data(slice(column)) }
  @inline(__always)
  func withText<Failure: Error>(_ column: Int, _ body: (Span<UInt8>) throws(Failure) -> Void) throws(Failure) {
    let bytes = slice(column)
    guard let plain = SQLEscapes.unescaped(bytes) else { return try body(Span(_unsafeElements: bytes)) }
    try body(plain.span)
  }
  @inline(__always)
  func withBytes<Failure: Error>(_ column: Int, _ body: (Span<UInt8>) throws(Failure) -> Void) throws(Failure) {
    try body(Span(_unsafeElements: slice(column)))
  }
}

/// Reads what a database sends in the binary form of PostgreSQL's COPY, in parts that end anywhere.
final class SQLCopyReader {
  private let types: [SQLType]
  /// The width of each column; -1 where it varies.
  private let widths: [Int]
  private let places: UnsafeMutablePointer<SQLCopyRow.Place>
  /// The beginning of a row whose end is in the next part.
  private var rest: [UInt8] = []
  private var hasHeader = false
  private var isEnded = false

  init(_ types: [SQLType]) {
    self.types = types
    widths = types.map { type in
      switch type {
      case .boolean: 1
      case .integer16: 2
      case .integer32, .float: 4
      case .integer64, .double: 8
      case .uuid: 16
      case .text, .blob: -1
      }
    }
    places = .allocate(capacity: max(types.count, 1))
    places.initialize(repeating: SQLCopyRow.Place(start: 0, length: -1), count: max(types.count, 1))
  }

  deinit { places.deallocate() }

  /// Calls `body` with each row that ends in a part.
  ///
  /// - Throws: `.malformed` for what is not of this form, or has other columns.
  func read(
    _ part: UnsafeRawBufferPointer, _ body: (SQLCopyRow) throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError) {
    if rest.isEmpty {
      let used = try rows(part, body)
      if used < part.count { rest.append(contentsOf: part[used...]) }
      return
    }
    rest.append(contentsOf: part)
    let all = rest
    var result: Result<Int, PersistentStoreError> = .success(0)
    all.withUnsafeBytes { bytes in
      do throws(PersistentStoreError) { result = .success(try rows(bytes, body)) } catch { result = .failure(error) }
    }
    rest.removeFirst(try result.get())
  }

  /// The row that some bytes are. Valid until another one is read.
  func row(in bytes: UnsafeRawBufferPointer) throws(PersistentStoreError) -> SQLCopyRow {
    guard bytes.count >= 2, let base = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self),
      try row(bytes, 2) == bytes.count
    else { throw Self.malformed("a row is not complete") }
    return SQLCopyRow(bytes: base, places: places)
  }

  /// - Throws: `.malformed` if the end was not read.
  func end() throws(PersistentStoreError) {
    guard isEnded, rest.isEmpty else { throw Self.malformed("they end in the middle") }
  }

  private static func malformed(_ what: String) -> PersistentStoreError {
    PersistentStoreError(.malformed, "the database sent rows that are not in the binary form of COPY: \(what)")
  }

  /// How many bytes the rows have that are complete.
  private func rows(
    _ part: UnsafeRawBufferPointer, _ body: (SQLCopyRow) throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError) -> Int {
    guard let base = part.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return 0 }
    var at = 0
    if !hasHeader {
      guard let end = try header(part) else { return 0 }
      at = end
    }
    while part.count - at >= 2 {
      let count = Int16(bigEndian: part.loadUnaligned(fromByteOffset: at, as: Int16.self))
      if count == -1 {
        guard part.count == at + 2 else { throw Self.malformed("there is more after their end") }
        isEnded = true
        return part.count
      }
      guard Int(count) == types.count else { throw Self.malformed("a row has \(count) columns, not \(types.count)") }
      guard let end = try row(part, at + 2) else { return at }
      try body(SQLCopyRow(bytes: base, places: places))
      at = end
    }
    return at
  }

  /// Finds the columns of a row. Nil if it is not complete.
  @inline(__always)
  private func row(_ part: UnsafeRawBufferPointer, _ start: Int) throws(PersistentStoreError) -> Int? {
    var at = start
    for column in widths.indices {
      guard part.count - at >= 4 else { return nil }
      let length = Int(Int32(bigEndian: part.loadUnaligned(fromByteOffset: at, as: Int32.self)))
      at += 4
      places[column] = SQLCopyRow.Place(start: at, length: length)
      if length == -1 { continue }
      guard length >= 0, widths[column] < 0 || widths[column] == length else {
        throw Self.malformed("column \(column + 1) has a value of \(length) bytes")
      }
      guard part.count - at >= length else { return nil }
      at += length
    }
    return at
  }

  /// The end of the header. Nil if it is not complete.
  private func header(_ part: UnsafeRawBufferPointer) throws(PersistentStoreError) -> Int? {
    let fixed = SQLCopyForm.signature.count + 8
    guard part.count >= fixed else { return nil }
    guard part.prefix(SQLCopyForm.signature.count).elementsEqual(SQLCopyForm.signature) else {
      throw Self.malformed("the COPY header is unexpected")
    }
    let more = Int(UInt32(bigEndian: part.loadUnaligned(fromByteOffset: fixed - 4, as: UInt32.self)))
    guard part.count - fixed >= more else { return nil }
    hasHeader = true
    return fixed + more
  }
}

/// What all streams of rows in the binary form of PostgreSQL's COPY have in common.
enum SQLCopyForm {
  /// The first bytes; flags and the length of an extension follow, 32 bits each.
  static let signature: [UInt8] = Array("PGCOPY\n".utf8) + [0xFF, 0x0D, 0x0A, 0]
}
