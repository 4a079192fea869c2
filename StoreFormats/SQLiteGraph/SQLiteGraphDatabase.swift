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
  /// What the files were before they were opened as files that no one changes.
  private var unchanging: SQLiteGraphFiles.State?
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
      unchanging = files.state
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
    unchanging = nil
  }

  /// Opens the file again if it changed although it was opened as one that no one changes: there is a log now, or what
  /// is read may be of two states.
  private func follow() throws(PersistentStoreError) {
    guard let unchanging, let now = files.state, now.file == unchanging.file, now != unchanging else { return }
    guard !isBusy else { return try verify() }
    close()
    guard try connect(mayCreate: false) else {
      throw PersistentStoreError(.changedOnDisk, "the file is empty now", at: StoreLocation(file: path))
    }
  }

  /// Refuses what was read without locks while the file changed.
  private func verify() throws(PersistentStoreError) {
    guard let unchanging, let now = files.state, now.file == unchanging.file, now.content != unchanging.content else {
      return
    }
    throw PersistentStoreError(
      .changedOnDisk, "the file changed while it was being read", at: StoreLocation(file: path))
  }

  /// Whether a transaction or a query is under way, which has to go on with the state that it began with.
  private var isBusy: Bool {
    guard sqlite3_get_autocommit(handle) != 0 else { return true }
    var statement = sqlite3_next_stmt(handle, nil)
    while let next = statement {
      if sqlite3_stmt_busy(next) != 0 { return true }
      statement = sqlite3_next_stmt(handle, next)
    }
    return false
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
    try follow()
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
    try follow()
    let statement = try statement(sql)
    defer { end(statement) }
    try bind(values, statement)
    let row = SQLiteGraphRow(statement)
    while true {
      let code = sqlite3_step(statement)
      guard code == SQLITE_ROW else {
        try verify()
        guard code == SQLITE_DONE else { throw Self.error(code, handle) }
        return
      }
      do throws(PersistentStoreError) { try body(row) } catch {
        // What seems wrong may be of two states; and rows that were enough have to be of one.
        try verify()
        throw error
      }
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
    // Whatever became of the file: a transaction that goes on would be in the way of all that follow.
    sqlite3_exec(handle, "ROLLBACK", nil, nil, nil)
  }
}
