import AtomicStoreSPI
import Glibc

/// The file of a database, and those that SQLite has beside it: beside the file itself, if the path is a link.
struct SQLiteGraphFiles {
  let path: String
  private let file: String

  init(path: String) {
    self.path = path
    let resolved = realpath(path, nil)
    defer { free(resolved) }
    file = resolved.map { String(cString: $0) } ?? path
  }

  /// Whether this process may not write the file, and no one has it open. SQLite would make files beside it as this
  /// user's, with the same permissions, and leave them: they would keep others from writing it later.
  var isProtected: Bool {
    var status = stat()
    guard stat(file, &status) == 0 else { return false }
    let isWritable = status.st_mode & 0o222 != 0 && faccessat(AT_FDCWD, file, W_OK, AT_EACCESS) == 0
    // An empty log is what a full disk may leave.
    return !isWritable && !["-wal", "-shm", "-journal"].contains(where: hasContent)
  }

  /// Which file it is, and what of it shows that it was written.
  struct State: Equatable {
    let file: [UInt64]
    let content: [Int]
    let hasLog: Bool
  }

  /// Nil where the file is missing.
  var state: State? {
    var status = stat()
    guard stat(file, &status) == 0 else { return nil }
    return State(
      file: [UInt64(status.st_dev), UInt64(status.st_ino)],
      content: [Int(status.st_size), status.st_mtim.tv_sec, status.st_mtim.tv_nsec], hasLog: hasLog)
  }

  /// Whether there is a write-ahead log with content.
  var hasLog: Bool { hasContent("-wal") }

  /// Whether what is beside the file has to be read with it: the log of what was saved, or the journal of a
  /// transaction that did not end.
  var isIncomplete: Bool { hasLog || hasContent("-journal") }

  private func hasContent(_ suffix: String) -> Bool {
    var status = stat()
    return stat(file + suffix, &status) == 0 && status.st_size > 0
  }

  /// Removes the file, with those that SQLite has beside it.
  func remove() throws(PersistentStoreError) {
    // The log goes last: a file without its log is an older state, a log without its file is none.
    for name in [path, path + "-shm", path + "-journal", path + "-wal"] {
      guard unlink(name) != 0, errno != ENOENT else { continue }
      throw PersistentStoreError(.inputOutput, "cannot remove \(name): \(String(cString: strerror(errno)))")
    }
  }
}
