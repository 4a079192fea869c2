public import AtomicStoreSPI
import CSQLite
import FoundationEssentials
import Glibc
public import StoreSQL

/// A connection to an SQLite file.
///
/// `@unchecked Sendable`: the kit calls a store by one caller at a time, under a lock, and the connection belongs to
/// one store.
public final class SQLiteGraphDatabase: SQLDatabase, @unchecked Sendable {
  public static let dialect: SQLDialect = {
    var dialect = SQLDialect(isSQLite: true, retries: 2)
    dialect.decimalFunction = "atomicstore_decimal"
    return dialect
  }()
  /// `ASKG`, at offset 68 of the file.
  static let applicationIdentifier = "ASKG".utf8.reduce(UInt32(0)) { $0 << 8 | UInt32($1) }

  private let path: String
  private var files: SQLiteGraphFiles { SQLiteGraphFiles(path: path) }
  private let isReadOnly: Bool
  private var handle: OpaquePointer?
  /// Keeps the kit from releasing the locks of this process on the file.
  private var hold: DatabaseFileHold?
  private var statements: [String: OpaquePointer] = [:]

  init(path: String, isReadOnly: Bool) {
    self.path = path
    self.isReadOnly = isReadOnly
  }

  deinit { close() }

  public func connect(mayCreate: Bool) throws(PersistentStoreError) -> Bool {
    if handle != nil { return true }
    var status = stat()
    guard mayCreate && !isReadOnly || stat(path, &status) == 0 else { return false }
    do throws(PersistentStoreError) { return try open(mayCreate: mayCreate) } catch {
      close()
      throw error
    }
  }

  private func open(mayCreate: Bool) throws(PersistentStoreError) -> Bool {
    var identifier: Int64 = 0
    func readIdentifier() throws(PersistentStoreError) {
      try query("PRAGMA application_id", []) { row in identifier = row.integer(0) }
    }
    func openUnchanging() throws(PersistentStoreError) {
      let name = PercentEncoding(keeping: "/.-_").encoded(path)
      try open("file:\(name)?immutable=1", SQLITE_OPEN_READONLY | SQLITE_OPEN_URI)
      try readIdentifier()
    }
    if isReadOnly, files.isProtected {
      try openUnchanging()
    } else {
      do throws(PersistentStoreError) {
        try open(path, mode(mayCreate: mayCreate))
        try readIdentifier()
      } catch {
        // A file with a write-ahead log needs files beside it. Where none can be made, no one writes it either.
        let isUsual = [.cannotCreate, .readOnly, .permissionDenied, .noSpace].contains(error.code)
        guard isReadOnly, isUsual, !files.isIncomplete else { throw error }
        close()
        try openUnchanging()
      }
    }
    var pages: Int64 = 0
    try query("PRAGMA page_count", []) { row in pages = row.integer(0) }
    if pages == 0 {
      guard mayCreate, !isReadOnly else {
        close()
        return false
      }
      try execute("PRAGMA application_id=\(Self.applicationIdentifier)")
    } else if identifier != Int64(Self.applicationIdentifier) {
      throw PersistentStoreError(.foreignFormat, "this is an SQLite database, but not a SQLiteGraph store")
    }
    // Readers and a writer do not wait for each other.
    if !isReadOnly { try execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL") }
    return true
  }

  /// How the file is opened. A connection that may only read leaves files beside the store; one that may write, and
  /// does not, removes them if it is the last one. With changes in the log it would write these to the file.
  private func mode(mayCreate: Bool) -> Int32 {
    if isReadOnly { return files.hasLog ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE }
    return mayCreate ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READWRITE
  }

  /// Opens a connection that trusts nothing in the file but its tables.
  private func open(_ name: String, _ mode: Int32) throws(PersistentStoreError) {
    var opened: OpaquePointer?
    let code = sqlite3_open_v2(name, &opened, mode | SQLITE_OPEN_NOMUTEX, nil)
    handle = opened
    guard code == SQLITE_OK else {
      if code & 0xFF == SQLITE_CANTOPEN, path.utf8.count >= Self.longestPath {
        throw PersistentStoreError(
          .cannotCreate,
          "the path has \(path.utf8.count) bytes, and SQLite opens only files whose whole path has fewer than "
            + "\(Self.longestPath): choose a place with a shorter one")
      }
      throw Self.error(code, opened)
    }
    // The file is there now, and is locked by the first statement.
    hold = DatabaseFileHold(path)
    sqlite3_extended_result_codes(handle, 1)
    sqlite3_busy_timeout(handle, Self.patience * 1000)
    csqlite_distrust(handle)
    // In KiB. A reader that comes once pays for each page of it; a writer needs room for what it changes.
    try execute("PRAGMA temp_store=MEMORY; PRAGMA cache_size=-\(isReadOnly ? 8192 : 16_384)")
    if isReadOnly { try execute("PRAGMA query_only=ON") }
    let added = SQLiteGraphDecimals.add(to: handle, as: Self.dialect.decimalFunction)
    guard added == SQLITE_OK else { throw Self.error(added, handle) }
  }

  public func close() {
    for statement in statements.values { sqlite3_finalize(statement) }
    statements = [:]
    running = []
    sqlite3_close_v2(handle)
    handle = nil
    hold = nil
  }

  /// Removes the file, with those that SQLite has beside it.
  func removeFiles() throws(PersistentStoreError) {
    close()
    try files.remove()
  }

  private func execute(_ sql: String) throws(PersistentStoreError) {
    let code = sqlite3_exec(handle, sql, nil, nil, nil)
    guard code == SQLITE_OK else { throw Self.error(code, handle) }
  }

  public func hasTable(_ name: String) throws(PersistentStoreError) -> Bool {
    var type: String?
    try query("SELECT type FROM sqlite_master WHERE type IN ('table', 'view') AND name = ?1", [.text(name)]) { row in
      type = row.text(0)
    }
    guard let type, type != "table" else { return type != nil }
    throw PersistentStoreError(.malformed, "'\(name)' is a \(type), not a table", at: StoreLocation(file: path))
  }

  // MARK: Statements

  /// Kept statements that are being executed.
  private var running: Set<OpaquePointer> = []

  /// Makes a statement that is kept ready for the next time.
  private func end(_ statement: OpaquePointer) {
    guard running.remove(statement) != nil else {
      _ = sqlite3_finalize(statement)
      return
    }
    sqlite3_reset(statement)
    sqlite3_clear_bindings(statement)
  }

  private func statement(_ sql: String) throws(PersistentStoreError) -> OpaquePointer {
    // The same statement may be running: then this is another one.
    if let known = statements[sql], running.insert(known).inserted { return known }
    var made: OpaquePointer?
    let code = sqlite3_prepare_v3(handle, sql, -1, 0, &made, nil)
    guard code == SQLITE_OK, let made else { throw Self.error(code, handle) }
    if statements[sql] == nil, Self.isReusable(sql) {
      // Those that are executed again are soon kept again, and those that were executed once are not.
      if statements.count >= 300 { forgetStatements() }
      statements[sql] = made
      running.insert(made)
    }
    return made
  }

  private func forgetStatements() {
    for (sql, kept) in statements where !running.contains(kept) {
      sqlite3_finalize(kept)
      statements[sql] = nil
    }
  }

  private func bind(_ values: [SQLValue], _ statement: OpaquePointer) throws(PersistentStoreError) {
    for (index, value) in values.enumerated() {
      let place = Int32(index + 1)
      let code: Int32
      switch value {
      case .null: code = sqlite3_bind_null(statement, place)
      case .integer(let number): code = sqlite3_bind_int64(statement, place, number)
      case .boolean(let flag): code = sqlite3_bind_int64(statement, place, flag ? 1 : 0)
      case .double(let number): code = SQLiteGraphWriter.bind(number, statement, place)
      case .float(let number): code = SQLiteGraphWriter.bind(number, statement, place)
      case .text(let text):
        var text = text
        code = text.withUTF8 { SQLiteGraphWriter.bind(text: $0, statement, place) }
      case .blob(let data): code = data.withUnsafeBytes { SQLiteGraphWriter.bind(blob: $0, statement, place) }
      case .uuid(let uuid): code = withUnsafeBytes(of: uuid.uuid) { SQLiteGraphWriter.bind(blob: $0, statement, place) }
      }
      guard code == SQLITE_OK else { throw Self.error(code, handle) }
    }
  }

  @discardableResult
  public func run(_ sql: String, _ values: [SQLValue]) throws(PersistentStoreError) -> Int {
    let statement = try statement(sql)
    defer { end(statement) }
    try bind(values, statement)
    let code = sqlite3_step(statement)
    guard code == SQLITE_DONE || code == SQLITE_ROW else { throw Self.error(code, handle) }
    return Int(sqlite3_changes64(handle))
  }

  public func query(
    _ sql: String, _ values: [SQLValue], _ body: (any SQLRow) throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError) {
    let statement = try statement(sql)
    defer { end(statement) }
    try bind(values, statement)
    let row = SQLiteGraphRow(statement)
    while true {
      let code = sqlite3_step(statement)
      if code == SQLITE_DONE { return }
      guard code == SQLITE_ROW else { throw Self.error(code, handle) }
      try body(row)
    }
  }

  public func insert(
    into table: String, columns: [(name: String, type: SQLType)], count: Int,
    _ fill: (Int, any SQLRowWriter) throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError) {
    func quoted(_ name: String) -> String {
      "\"" + name.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
    }
    let marks = columns.indices.map { "?\($0 + 1)" }.joined(separator: ", ")
    let names = columns.map { quoted($0.name) }.joined(separator: ", ")
    let statement = try statement("INSERT INTO \(quoted(table)) (\(names)) VALUES (\(marks))")
    defer { end(statement) }
    let writer = SQLiteGraphWriter(statement)
    for row in 0..<count {
      writer.begin()
      try fill(row, writer)
      guard writer.code == SQLITE_OK else { throw Self.error(writer.code, handle) }
      let code = sqlite3_step(statement)
      sqlite3_reset(statement)
      guard code == SQLITE_DONE else { throw Self.error(code, handle) }
    }
  }

  // MARK: Transactions

  public func begin(isWriting: Bool) throws(PersistentStoreError) {
    // A transaction that will write takes the lock now: later it might find that it read what is old.
    do throws(PersistentStoreError) { _ = try run(isWriting ? "BEGIN IMMEDIATE" : "BEGIN", []) } catch {
      throw Self.beginning(error, handle)
    }
  }

  public func commit(wasSaved: ((SQLiteGraphDatabase) throws(PersistentStoreError) -> Bool)?)
    throws(PersistentStoreError)
  { _ = try run("COMMIT", []) }

  public func rollBack() {
    guard handle != nil, sqlite3_get_autocommit(handle) == 0 else { return }
    _ = try? run("ROLLBACK", [])
  }
}

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
