import AtomicStoreSPI
import CSQLite

/// A new database, built in memory and written as a whole.
final class SQLiteOutput {
  private var handle: OpaquePointer?
  private let path: String
  /// Steps that are left, in thousands, where they are counted.
  private let budget: UnsafeMutablePointer<Int>

  init(for path: String) throws(PersistentStoreError) {
    self.path = path
    budget = .allocate(capacity: 1)
    budget.initialize(to: .max)
    var opened: OpaquePointer?
    let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE
    guard sqlite3_open_v2(":memory:", &opened, flags, nil) == SQLITE_OK else {
      sqlite3_close_v2(opened)
      throw PersistentStoreError(.limitExceeded, "SQLite cannot be started", at: StoreLocation(file: path))
    }
    handle = opened
    // An empty database of the kind whose bytes can be had without a copy.
    let kind = UInt32(SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE)
    try check(sqlite3_deserialize(handle, "main", nil, 0, 0, kind))
    var most: sqlite3_int64 = 1 << 46
    try check(sqlite3_file_control(handle, "main", SQLITE_FCNTL_SIZE_LIMIT, &most))
    try run(
      "PRAGMA page_size=4096; PRAGMA auto_vacuum=INCREMENTAL; PRAGMA encoding='UTF-8'; PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; BEGIN"
    )
  }

  deinit {
    sqlite3_close_v2(handle)
    budget.deallocate()
  }

  func run(_ sql: String) throws(PersistentStoreError) { try check(sqlite3_exec(handle, sql, nil, nil, nil)) }

  func prepare(_ sql: String) throws(PersistentStoreError) -> Insertion {
    var statement: OpaquePointer?
    try check(sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil))
    guard let statement else { throw PersistentStoreError(.internalInconsistency, "an empty statement") }
    return Insertion(statement, output: self)
  }

  /// Refuses statements that run queries or functions from here on: those of a schema that is not trusted.
  ///
  /// - Parameter steps: The number of steps that all statements may take, in thousands.
  func refuseQueries(steps: Int) {
    budget.pointee = steps
    sqlite3_progress_handler(
      handle, 1000,
      { context in
        guard let left = context?.assumingMemoryBound(to: Int.self) else { return 1 }
        left.pointee -= 1
        return left.pointee < 0 ? 1 : 0
      }, budget)
    sqlite3_set_authorizer(
      handle,
      { _, action, _, _, _, _ in
        let refused = [SQLITE_SELECT, SQLITE_FUNCTION, SQLITE_ATTACH, SQLITE_CREATE_VTABLE, SQLITE_RECURSIVE]
        return refused.contains(action) ? SQLITE_DENY : SQLITE_OK
      }, nil)
  }

  /// The columns of a table, with their types in capitals, and whether each is one of its primary key.
  func columns(of table: String) throws(PersistentStoreError) -> [(name: String, type: String, isKey: Bool)] {
    var statement: OpaquePointer?
    try check(
      sqlite3_prepare_v3(handle, "PRAGMA table_xinfo(\(SQLiteDatabase.quoted(table)))", -1, 0, &statement, nil))
    defer { sqlite3_finalize(statement) }
    var columns: [(name: String, type: String, isKey: Bool)] = []
    while sqlite3_step(statement) == SQLITE_ROW {
      func text(_ column: Int32) -> String {
        sqlite3_column_text(statement, column).map { String(cString: $0) } ?? ""
      }
      columns.append((text(1), text(2).uppercased(), sqlite3_column_int(statement, 5) > 0))
    }
    return columns
  }

  /// The number of rows that were added, in all.
  var changeCount: Int { Int(sqlite3_total_changes64(handle)) }

  /// Ends the transaction and gives the file's bytes.
  func finish(_ body: (UnsafeRawBufferPointer) throws(PersistentStoreError) -> Void) throws(PersistentStoreError) {
    try run("COMMIT")
    var size: sqlite3_int64 = 0
    guard let bytes = sqlite3_serialize(handle, "main", &size, UInt32(SQLITE_SERIALIZE_NOCOPY)) else {
      throw PersistentStoreError(.limitExceeded, "the database does not fit the memory", at: StoreLocation(file: path))
    }
    try body(UnsafeRawBufferPointer(start: bytes, count: Int(size)))
  }

  fileprivate func check(_ code: Int32) throws(PersistentStoreError) {
    guard code != SQLITE_OK, code != SQLITE_DONE, code != SQLITE_ROW else { return }
    let said = sqlite3_errmsg(handle).map { String(cString: $0) } ?? "error \(code)"
    let kind: PersistentStoreError.Code =
      switch code & 0xFF {
      case SQLITE_CONSTRAINT: .invalidValue
      case SQLITE_NOMEM, SQLITE_TOOBIG, SQLITE_FULL, SQLITE_INTERRUPT: .limitExceeded
      default: .unsupportedByFormat
      }
    throw PersistentStoreError(kind, "SQLite: \(said)", at: StoreLocation(file: path))
  }
}

/// A statement that is run for each row with other values.
final class Insertion {
  private let statement: OpaquePointer
  private let output: SQLiteOutput

  fileprivate init(_ statement: OpaquePointer, output: SQLiteOutput) {
    self.statement = statement
    self.output = output
  }
  deinit { sqlite3_finalize(statement) }

  /// Parameters count from 1; those that are not bound are null.
  @inline(__always) func bind(_ index: Int32, integer: Int64) { sqlite3_bind_int64(statement, index, integer) }
  @inline(__always) func bind(_ index: Int32, real: Double) { sqlite3_bind_double(statement, index, real) }
  func bind(_ index: Int32, text: Span<UInt8>) {
    _ = text.withUnsafeBytes { raw in
      raw.withMemoryRebound(to: CChar.self) { characters in
        // A pointer to nothing would be null to SQLite, not an empty text.
        characters.baseAddress.map { csqlite_bind_text(statement, index, $0, UInt64(characters.count)) }
          ?? csqlite_bind_text(statement, index, "", 0)
      }
    }
  }
  func bind(_ index: Int32, text: String) {
    var text = text
    text.withUTF8 { bind(index, text: Span(_unsafeElements: $0)) }
  }
  func bind(_ index: Int32, bytes: UnsafeRawBufferPointer) {
    _ = csqlite_bind_blob(statement, index, bytes.baseAddress, UInt64(bytes.count))
  }

  func run() throws(PersistentStoreError) {
    let code = sqlite3_step(statement)
    sqlite3_reset(statement)
    sqlite3_clear_bindings(statement)
    try output.check(code)
  }
}
