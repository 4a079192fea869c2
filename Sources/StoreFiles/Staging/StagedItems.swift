import Glibc
import Synchronization

/// What this process has staged, so that a program can clean up when it is asked to stop.
enum StagedItems {
  private static let pending = Mutex<Set<String>>([])

  static func add(_ path: String) { pending.withLock { _ = $0.insert(path) } }
  static func remove(_ path: String) { pending.withLock { _ = $0.remove(path) } }
  /// The paths that would be removed on a signal.
  static var all: Set<String> { pending.withLock { $0 } }
  static func removeAll() { for path in all { SystemCall.removeTree(path) } }

  /// Locks a staged file or directory as long as the descriptor is open, so that processes of other containers on the
  /// same disk, whose process numbers are meaningless here, do not take it for stale. Nil if the file system does not
  /// support locks.
  ///
  /// - Parameter path: The staged file or directory.
  static func hold(_ path: String) -> Int32? {
    let descriptor = Glibc.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    // Shared: a library that verifies the file may lock it for reading.
    if flock(descriptor, LOCK_SH | LOCK_NB) == 0 { return descriptor }
    DatabaseFileHold.close(descriptor)
    return nil
  }
}
