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
