import AtomicStoreSPI
import CSQLite

/// A connection to a database in memory that is read and never trusted: no functions in its schema, no views, no
/// triggers, no extensions, limits on everything, and a budget of steps.
final class SQLiteDatabase {
  let image: SQLiteImage
  let file: String
  let limits: StoreLimits
  private var handle: OpaquePointer?
  /// Steps that are left, in thousands; the callback counts it down.
  private let budget: UnsafeMutablePointer<Int>
  private var knownTwin: SQLiteDatabase?

  /// - Parameter steps: The number of steps that it may take, in thousands; nil for what the size allows.
  init(_ image: SQLiteImage, file: String, limits: StoreLimits, steps: Int? = nil) throws(PersistentStoreError) {
    self.image = image
    self.file = file
    self.limits = limits
    budget = .allocate(capacity: 1)
    budget.initialize(to: steps ?? Self.steps(forSize: image.count))
    handle = try Self.openInMemory(for: file)
    sqlite3_extended_result_codes(handle, 1)
    let code = sqlite3_deserialize(
      handle, "main", image.base, Int64(image.count), Int64(image.count), UInt32(SQLITE_DESERIALIZE_READONLY))
    guard code == SQLITE_OK else { throw error(code, StoreLocation(offset: 0)) }
    restrict(limits)
    try run("PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON; PRAGMA query_only=ON; PRAGMA temp_store=MEMORY")
  }

  /// A new connection to an empty database in memory.
  static func openInMemory(for file: String) throws(PersistentStoreError) -> OpaquePointer? {
    var opened: OpaquePointer?
    let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE
    guard sqlite3_open_v2(":memory:", &opened, flags, nil) == SQLITE_OK else {
      sqlite3_close_v2(opened)
      throw PersistentStoreError(.limitExceeded, "SQLite cannot be started", at: StoreLocation(file: file))
    }
    return opened
  }

  deinit {
    sqlite3_close_v2(handle)
    budget.deallocate()
  }

  /// The number of steps that a file of this size may take, in thousands.
  ///
  /// A column of a row costs a byte at least and a few steps; what needs more than this is made to take time.
  static func steps(forSize count: Int) -> Int { 1000 + count / 2 }

  /// Another connection to the same database, for what must not change what this one reads: which damage SQLite reports
  /// depends on what a connection read before. There is one, since each reads the whole schema, and it has half of the
  /// steps that were left at first.
  func twin() throws(PersistentStoreError) -> SQLiteDatabase {
    if let knownTwin { return knownTwin }
    let twin = try SQLiteDatabase(image, file: file, limits: limits, steps: stepsLeft / 2)
    knownTwin = twin
    return twin
  }

  /// The number of steps that it may still take, in thousands.
  var stepsLeft: Int { max(budget.pointee, 0) }
  /// Counts steps that another connection took for it.
  func spend(_ steps: Int) { budget.pointee -= steps }

  private func restrict(_ limits: StoreLimits) {
    csqlite_distrust(handle)
    let longest = Int32(clamping: min(limits.valueBytes, 1_000_000_000))
    for (limit, value) in [
      (SQLITE_LIMIT_LENGTH, max(longest, 1 << 20)), (SQLITE_LIMIT_SQL_LENGTH, 1 << 20), (SQLITE_LIMIT_COLUMN, 32_767),
      (SQLITE_LIMIT_EXPR_DEPTH, 50), (SQLITE_LIMIT_COMPOUND_SELECT, 2), (SQLITE_LIMIT_FUNCTION_ARG, 8),
      (SQLITE_LIMIT_ATTACHED, 0),
      (SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 100), (SQLITE_LIMIT_TRIGGER_DEPTH, 0), (SQLITE_LIMIT_WORKER_THREADS, 0),
    ] { sqlite3_limit(handle, limit, value) }
    csqlite_limit_steps(handle, budget)
  }

  private func run(_ sql: String) throws(PersistentStoreError) {
    let code = sqlite3_exec(handle, sql, nil, nil, nil)
    guard code == SQLITE_OK else { throw error(code, StoreLocation(offset: 0)) }
  }

  /// Copies the database to another connection.
  ///
  /// - Returns: SQLite's result code.
  func copy(to target: OpaquePointer?) -> Int32 {
    guard let backup = sqlite3_backup_init(target, "main", handle, "main") else { return sqlite3_errcode(target) }
    sqlite3_backup_step(backup, -1)
    return sqlite3_backup_finish(backup)
  }

  /// Prepares one statement. `place` names the table for errors.
  func prepare(_ sql: String, _ place: StoreLocation) throws(PersistentStoreError) -> SQLiteStatement {
    var statement: OpaquePointer?
    let code = sqlite3_prepare_v3(handle, sql, -1, 0, &statement, nil)
    guard code == SQLITE_OK, let statement else { throw error(code, place) }
    return SQLiteStatement(statement, database: self, place: place)
  }

  /// SQLite's error as ours.
  func error(_ code: Int32, _ place: StoreLocation, after: String = "") -> PersistentStoreError {
    let said = sqlite3_errmsg(handle).map { String(cString: $0) } ?? "error \(code)"
    let location = place.filled(from: StoreLocation(file: file))
    switch code & 0xFF {
    case SQLITE_INTERRUPT:
      return PersistentStoreError(
        .limitExceeded, "the database takes more steps to read than its size allows\(after)", at: location)
    case SQLITE_NOMEM, SQLITE_TOOBIG, SQLITE_FULL:
      return PersistentStoreError(.limitExceeded, "SQLite: \(said)\(after)", at: location)
    default: return PersistentStoreError(.malformed, "SQLite: \(said)\(after)", at: location)
    }
  }

  /// A name in SQL.
  static func quoted(_ name: String) -> String {
    var text = "\""
    for scalar in name.unicodeScalars {
      if scalar == "\"" { text += "\"" }
      text.unicodeScalars.append(scalar)
    }
    return text + "\""
  }
}

/// One running query. It keeps its database.
final class SQLiteStatement {
  enum Kind: Int32 {
    case integer = 1
    case real, text, blob, null
    /// "an integer", for messages.
    var name: String {
      switch self {
      case .integer: "an integer"
      case .real: "a real number"
      case .text: "a text"
      case .blob: "a blob"
      case .null: "null"
      }
    }
  }
  private let statement: OpaquePointer
  private let database: SQLiteDatabase
  private let place: StoreLocation

  fileprivate init(_ statement: OpaquePointer, database: SQLiteDatabase, place: StoreLocation) {
    self.statement = statement
    self.database = database
    self.place = place
  }
  deinit { sqlite3_finalize(statement) }

  /// Whether there is another row.
  ///
  /// - Parameter after: The key of the row before, which an error names.
  @inline(__always) func step(after key: Int64? = nil) throws(PersistentStoreError) -> Bool {
    let code = sqlite3_step(statement)
    if code == SQLITE_ROW { return true }
    if code == SQLITE_DONE { return false }
    throw database.error(code, place, after: key.map { "; the last readable row is Z_PK \($0)" } ?? "")
  }

  /// The key of a row, in its first column. Pages that are named twice would have their rows twice: the keys of a
  /// table ascend.
  @inline(__always) func key(
    after previous: Int64?, of table: String, _ place: StoreLocation
  ) throws(PersistentStoreError) -> Int64 {
    let key = integer(0)
    guard kind(0) == .integer, previous.map({ key > $0 }) ?? true else {
      throw PersistentStoreError(
        .malformed, "the table \(table) is damaged: the row with Z_PK \(key) comes after \(previous ?? 0)",
        at: place.filled(from: StoreLocation(reference: String(key))))
    }
    return key
  }

  @inline(__always) func kind(_ column: Int32) -> Kind {
    Kind(rawValue: sqlite3_column_type(statement, column)) ?? .null
  }
  /// The number of the kind of a value, as ``Kind`` has it: for the path that each value of a store takes.
  @inline(__always) func type(_ column: Int32) -> Int32 { sqlite3_column_type(statement, column) }
  @inline(__always) func isNull(_ column: Int32) -> Bool { sqlite3_column_type(statement, column) == SQLITE_NULL }
  @inline(__always) func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(statement, column) }
  @inline(__always) func real(_ column: Int32) -> Double { sqlite3_column_double(statement, column) }

  /// The bytes of a blob, or of a text in the database's own encoding. Valid until the next step.
  @inline(__always) func bytes(_ column: Int32) -> UnsafeRawBufferPointer {
    let start = sqlite3_column_blob(statement, column)
    return UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : Int(sqlite3_column_bytes(statement, column)))
  }
  /// The UTF-8 of a text in any encoding. Valid until the next step.
  @inline(__always) func utf8(_ column: Int32) -> UnsafeRawBufferPointer {
    let start = sqlite3_column_text(statement, column)
    return UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : Int(sqlite3_column_bytes(statement, column)))
  }
  func string(_ column: Int32) -> String? {
    kind(column) == .text ? String(decoding: utf8(column), as: UTF8.self) : nil
  }
}
