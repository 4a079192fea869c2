import AtomicStoreSPI
import CTableStoreSQLite
import FoundationEssentials
import Glibc

/// A value in a table, by SQLite's storage classes: null, integer, double, string or data.
typealias Cell = StoredValue

/// A database in a file.
final class Database {
  fileprivate var handle: OpaquePointer?

  /// Creates a database. The kit syncs the file and publishes it as a whole: it needs neither a journal nor syncs.
  init(creating path: String) throws(PersistentStoreError) {
    try check(sqlite3_open_v2(path, &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nil))
    try run("PRAGMA journal_mode = OFF", "PRAGMA synchronous = OFF", "BEGIN")
  }

  /// Opens a database that may be anything. Nothing is created beside it, a journal beside it is ignored, and no code
  /// in it runs.
  init(reading path: String) throws(PersistentStoreError) {
    let escaped = path.utf8.map { "%" + ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    let flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI
    try check(sqlite3_open_v2("file:\(escaped)?immutable=1", &handle, flags, nil))
    tables_protect(handle)
  }

  deinit { sqlite3_close_v2(handle) }

  func run(_ statements: String...) throws(PersistentStoreError) { for text in statements { _ = try values(text) } }

  /// The first column of a statement's rows.
  func values(_ text: String) throws(PersistentStoreError) -> [Cell] {
    let statement = try Statement(self, text)
    var values: [Cell] = []
    while try statement.step() { values.append(try statement[0]) }
    return values
  }

  fileprivate func check(_ result: Int32) throws(PersistentStoreError) {
    let code: PersistentStoreError.Code
    switch result {
    case SQLITE_OK, SQLITE_ROW, SQLITE_DONE: return
    case SQLITE_FULL: code = .noSpace
    case SQLITE_IOERR, SQLITE_CANTOPEN: code = .inputOutput
    case SQLITE_NOMEM: code = .limitExceeded
    default: code = .malformed
    }
    // SQLite does not keep the system's error of a commit.
    let number = sqlite3_system_errno(handle) == 0 ? errno : sqlite3_system_errno(handle)
    let reason = code == .inputOutput ? ": " + String(cString: strerror(number)) : ""
    throw PersistentStoreError(code, "SQLite: " + String(cString: sqlite3_errmsg(handle)) + reason)
  }
}

/// A statement, with its parameters from 1 and its columns from 0.
final class Statement {
  private let database: Database
  private var handle: OpaquePointer?

  init(_ database: Database, _ text: String) throws(PersistentStoreError) {
    self.database = database
    try database.check(sqlite3_prepare_v2(database.handle, text, -1, &handle, nil))
  }
  deinit { sqlite3_finalize(handle) }

  /// Steps to the next row, and returns false if there is none.
  func step() throws(PersistentStoreError) -> Bool {
    let result = sqlite3_step(handle)
    try database.check(result)
    return result == SQLITE_ROW
  }

  func insert(_ cells: [Cell]) throws(PersistentStoreError) {
    for (cell, index) in zip(cells, Int32(1)...) {
      let result =
        switch cell {
        case .integer(let number): sqlite3_bind_int64(handle, index, number)
        case .double(let number): sqlite3_bind_double(handle, index, number)
        // With its length: a text may have NULs.
        case .string(let text): tables_bind_text(handle, index, text, UInt64(text.utf8.count))
        case .data(let data): data.withUnsafeBytes { tables_bind_blob(handle, index, $0.baseAddress, UInt64($0.count)) }
        default: sqlite3_bind_null(handle, index)
        }
      try database.check(result)
    }
    _ = try step()
    try database.check(sqlite3_reset(handle))
  }

  subscript(_ column: Int32) -> Cell {
    get throws(PersistentStoreError) {
      let type = sqlite3_column_type(handle, column)
      if type == SQLITE_NULL { return .null }
      if type == SQLITE_INTEGER { return .integer(sqlite3_column_int64(handle, column)) }
      if type == SQLITE_FLOAT { return .double(sqlite3_column_double(handle, column)) }
      // SQLite returns a null pointer for an empty value, and also if memory runs out.
      let start = sqlite3_column_blob(handle, column)
      if start == nil, sqlite3_errcode(database.handle) == SQLITE_NOMEM { try database.check(SQLITE_NOMEM) }
      let count = start == nil ? 0 : Int(sqlite3_column_bytes(handle, column))
      let bytes = UnsafeRawBufferPointer(start: start, count: count)
      if type == SQLITE_BLOB { return .data(Data(bytes)) }
      guard let text = String(validating: bytes, as: UTF8.self) else {
        throw PersistentStoreError(.malformed, "a text is not UTF-8")
      }
      return .string(text)
    }
  }
}
