import AtomicStoreSPI
import CSQLite
import Glibc

/// A database that is written: a new one or a copy, built in memory and written as a whole, or a file that is changed.
final class SQLiteOutput {
  private(set) var handle: OpaquePointer?
  let path: String
  /// Keeps the kit from releasing the locks of this process on a file that is changed.
  private var hold: DatabaseFileHold?
  /// Steps that are left, in thousands, where they are counted.
  private let budget: UnsafeMutablePointer<Int>

  /// Creates a new database in memory.
  convenience init(for path: String) throws(PersistentStoreError) {
    try self.init(inMemory: path)
    try run("PRAGMA page_size=4096; PRAGMA auto_vacuum=INCREMENTAL; PRAGMA encoding='UTF-8'; \(Self.inMemory); BEGIN")
  }

  /// Copies a database into memory, by SQLite's backup interface.
  convenience init(copying image: SQLiteImage, for path: String) throws(PersistentStoreError) {
    try self.init(inMemory: path)
    let source = try SQLiteDatabase(image, file: path, limits: StoreLimits())
    try check(source.copy(to: handle))
    try run("\(Self.inMemory); BEGIN")
    csqlite_distrust(handle)
  }

  /// Opens a file for one transaction of SQLite's own, and begins it: other writers are kept out, readers are not.
  ///
  /// - Throws: `.locked` if another program writes to the file for longer than five seconds.
  init(changing path: String) throws(PersistentStoreError) {
    self.path = path
    budget = .allocate(capacity: 1)
    budget.initialize(to: .max)
    var opened: OpaquePointer?
    let code = sqlite3_open_v2(
      path, &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE, nil)
    handle = opened
    if code & 0xFF == SQLITE_CANTOPEN, path.utf8.count >= Self.longestPath {
      throw PersistentStoreError(
        .cannotCreate,
        "the path has \(path.utf8.count) bytes, and SQLite opens only files whose whole path has fewer than \(Self.longestPath)",
        at: StoreLocation(file: path))
    }
    try check(code)
    // The file is locked by the first statement.
    hold = DatabaseFileHold(path)
    sqlite3_extended_result_codes(handle, 1)
    sqlite3_busy_timeout(handle, Self.longestWait)
    csqlite_distrust(handle)
    // The file is written when the transaction ends, and then everything is on the disk.
    try run("PRAGMA temp_store=MEMORY; PRAGMA cache_spill=OFF; PRAGMA synchronous=EXTRA; BEGIN IMMEDIATE")
  }

  private init(inMemory path: String) throws(PersistentStoreError) {
    self.path = path
    budget = .allocate(capacity: 1)
    budget.initialize(to: .max)
    handle = try SQLiteDatabase.openInMemory(for: path)
    // An empty database of the kind whose bytes can be had without a copy.
    let kind = UInt32(SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE)
    try check(sqlite3_deserialize(handle, "main", nil, 0, 0, kind))
    var most: sqlite3_int64 = 1 << 46
    try check(sqlite3_file_control(handle, "main", SQLITE_FCNTL_SIZE_LIMIT, &most))
  }

  deinit {
    // The file is closed, and released after that.
    sqlite3_close_v2(handle)
    budget.deallocate()
  }

  /// SQLite's `MAX_PATHNAME`, in bytes.
  private static let longestPath = 512
  /// In milliseconds.
  private static let longestWait: Int32 = 5_000
  private static let inMemory = "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF"

  /// The database as the transaction sees it.
  func image() throws(PersistentStoreError) -> SQLiteImage {
    var size: sqlite3_int64 = 0
    guard let bytes = sqlite3_serialize(handle, "main", &size, 0) else {
      try check(sqlite3_errcode(handle))
      throw PersistentStoreError(.limitExceeded, "the database does not fit the memory", at: StoreLocation(file: path))
    }
    defer { sqlite3_free(bytes) }
    return try SQLiteImage(pages: UnsafeRawBufferPointer(start: bytes, count: Int(size)), file: path)
  }

  /// The number of rows that the last statement changed.
  var changedRows: Int { Int(sqlite3_changes64(handle)) }

  func commit() throws(PersistentStoreError) { try run("COMMIT") }

  func rollBack() {
    // SQLite itself rolls back after some errors.
    guard sqlite3_get_autocommit(handle) == 0 else { return }
    sqlite3_exec(handle, "ROLLBACK", nil, nil, nil)
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
    csqlite_limit_steps(handle, budget)
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
    // The files beside the database do not fit: SQLite calls that an input/output error.
    let isFull = code & 0xFF == SQLITE_FULL || code & 0xFF == SQLITE_IOERR && sqlite3_system_errno(handle) == ENOSPC
    let kind: PersistentStoreError.Code =
      switch code & 0xFF {
      case SQLITE_CONSTRAINT: .invalidValue
      case SQLITE_NOMEM, SQLITE_TOOBIG, SQLITE_INTERRUPT: .limitExceeded
      case SQLITE_FULL, SQLITE_IOERR: isFull ? hold == nil ? .limitExceeded : .noSpace : .inputOutput
      case SQLITE_BUSY, SQLITE_LOCKED: .locked
      case SQLITE_READONLY: .readOnly
      case SQLITE_PERM, SQLITE_AUTH: .permissionDenied
      case SQLITE_CANTOPEN: .cannotCreate
      case SQLITE_CORRUPT, SQLITE_NOTADB: .malformed
      default: .unsupportedByFormat
      }
    let reason =
      kind == .locked
      ? "another program has locked the store for \(Self.longestWait / 1000) seconds, so nothing was changed (SQLite: \(said))"
      : isFull && kind == .noSpace ? "No space left on device (SQLite: \(said))" : "SQLite: \(said)"
    throw PersistentStoreError(kind, reason, at: StoreLocation(file: path))
  }
}

/// A statement that is run for each row with other values.
final class Insertion {
  private let statement: OpaquePointer
  let output: SQLiteOutput

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
