import AtomicStoreSPI
import Glibc
import Synchronization

/// The files of incremental stores that this process has open.
///
/// Such a file is not opened besides, not even to look at its first bytes: when a descriptor is closed, the system
/// releases all locks that the process has on the file, also those of the database's own descriptors
/// (https://www.sqlite.org/howtocorrupt.html, section 2.2).
enum OpenDatabases {
  struct FileNumber: Hashable, Sendable {
    let device: UInt
    let inode: UInt

    init?(_ path: String) {
      var status = stat()
      guard stat(path, &status) == 0 else { return nil }
      (device, inode) = (UInt(status.st_dev), UInt(status.st_ino))
    }
  }
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

  /// Refuses to replace a file that somebody has open: what they saved afterwards would be lost.
  static func refuseOpen(_ path: String) throws(PersistentStoreError) {
    guard type(at: path) == nil else {
      throw PersistentStoreError(
        .unavailable, "this program has the database open: close it before it is replaced",
        at: StoreLocation(file: path))
    }
    // Who has a database with a write-ahead log open holds a lock on this file (https://www.sqlite.org/walformat.html).
    let descriptor = open(path + "-shm", O_RDWR | O_CLOEXEC)
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    var lock = flock()
    lock.l_type = Int16(F_WRLCK)
    lock.l_whence = Int16(SEEK_SET)
    guard fcntl(descriptor, F_GETLK, &lock) != 0 || lock.l_type == Int16(F_UNLCK) else {
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
