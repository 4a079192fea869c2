import AtomicStoreSPI
import Glibc
import Synchronization

/// The files of incremental stores that this process has open.
///
/// Of such a file the type is known without a look at its first bytes. `DatabaseFileHold` sees to its locks.
enum OpenDatabases {
  private struct Entry: Sendable {
    let type: any IncrementalStore.Type
    var count: Int
  }
  private static let entries = Mutex<[FileNumber: Entry]>([:])

  /// The type of a file that is open.
  static func type(at path: String) -> (any IncrementalStore.Type)? {
    guard entries.withLock({ !$0.isEmpty }), let file = FileNumber(path) else { return nil }
    return entries.withLock { $0[file]?.type }
  }

  /// Refuses to replace a file that a process has open: what it saved afterwards would be lost.
  static func refuseOpen(_ path: String) throws(PersistentStoreError) {
    // Who has a database with a write-ahead log open holds a lock on this file (https://www.sqlite.org/walformat.html).
    // Own locks are not seen, and would be released.
    let isOpenElsewhere = DatabaseFileHold.unlessHeld(path) {
      let descriptor = open(path + "-shm", O_RDWR | O_CLOEXEC)
      guard descriptor >= 0 else { return false }
      defer { close(descriptor) }
      var lock = flock()
      lock.l_type = Int16(F_WRLCK)
      lock.l_whence = Int16(SEEK_SET)
      return fcntl(descriptor, F_GETLK, &lock) == 0 && lock.l_type != Int16(F_UNLCK)
    }
    guard type(at: path) == nil, let isOpenElsewhere else {
      throw PersistentStoreError(
        .unavailable, "this program has the database open: close it before it is replaced",
        at: StoreLocation(file: path))
    }
    guard !isOpenElsewhere else {
      throw PersistentStoreError(
        .unavailable, "another program has the database open: close it there before it is replaced",
        at: StoreLocation(file: path))
    }
  }

  static func add(_ path: String, _ type: any IncrementalStore.Type) -> FileNumber? {
    guard let file = FileNumber(path) else { return nil }
    entries.withLock { $0[file, default: Entry(type: type, count: 0)].count += 1 }
    return file
  }

  static func remove(_ file: FileNumber) {
    entries.withLock { entries in
      guard let count = entries[file]?.count else { return }
      if count > 1 { entries[file]?.count = count - 1 } else { entries[file] = nil }
    }
  }
}
