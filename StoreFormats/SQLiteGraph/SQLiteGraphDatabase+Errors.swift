import AtomicStoreSPI
import CSQLite
import Glibc

/// What SQLite's result codes mean.
extension SQLiteGraphDatabase {
  // Swift does not see macros that compute: SQLITE_CONSTRAINT_UNIQUE and SQLITE_CONSTRAINT_PRIMARYKEY.
  private static let uniqueViolation = SQLITE_CONSTRAINT | 8 << 8
  private static let keyViolation = SQLITE_CONSTRAINT | 6 << 8

  static func error(_ code: Int32, _ handle: OpaquePointer?) -> PersistentStoreError {
    let said = "SQLite: " + (sqlite3_errmsg(handle).map { String(cString: $0) } ?? "error \(code)")
    switch code & 0xFF {
    case SQLITE_BUSY, SQLITE_LOCKED: return PersistentStoreError(.retry, said)
    case SQLITE_CONSTRAINT:
      return PersistentStoreError(
        code == Self.uniqueViolation || code == Self.keyViolation ? .duplicateReference : .invalidValue,
        said)
    case SQLITE_READONLY: return PersistentStoreError(.readOnly, said)
    case SQLITE_PERM, SQLITE_AUTH: return PersistentStoreError(.permissionDenied, said)
    case SQLITE_FULL: return PersistentStoreError(.noSpace, said)
    case SQLITE_IOERR:
      // The files beside the database do not fit: SQLite calls that an input/output error.
      if sqlite3_system_errno(handle) == ENOSPC {
        return PersistentStoreError(.noSpace, "No space left on device (\(said))")
      }
      return PersistentStoreError(.inputOutput, said)
    case SQLITE_CANTOPEN:
      return PersistentStoreError(takesNoFiles(beside: handle) ? .permissionDenied : .cannotCreate, said)
    case SQLITE_TOOBIG, SQLITE_NOMEM: return PersistentStoreError(.limitExceeded, said)
    default: return PersistentStoreError(.malformed, said)
    }
  }

  /// SQLite's `MAX_PATHNAME`, in bytes.
  static let longestPath = 512
  /// How long a statement waits for other programs, in seconds.
  static let patience: Int32 = 10

  /// The error of a transaction that did not begin.
  static func beginning(_ error: PersistentStoreError, _ handle: OpaquePointer?) -> PersistentStoreError {
    // Without further bits, SQLite has waited: to repeat the call would wait as long again, each time.
    guard error.code == .retry, sqlite3_extended_errcode(handle) == SQLITE_BUSY else { return error }
    return PersistentStoreError(.locked, "another program has locked the database for \(patience) seconds")
  }

  /// Whether files beside the database, such as its log, may not be made: on a read-only file system, for example.
  private static func takesNoFiles(beside handle: OpaquePointer?) -> Bool {
    guard let handle, let name = sqlite3_db_filename(handle, "main") else { return false }
    let path = String(cString: name)
    guard let slash = path.lastIndex(of: "/") else { return false }
    return access(String(path[...slash]), W_OK) != 0 && [EROFS, EACCES, EPERM].contains(errno)
  }
}
