import Glibc
import Synchronization

/// What this process has staged, so that a program that is asked to stop can clean up.
enum StagedItems {
  private static let pending = Mutex<Set<String>>([])

  static func add(_ path: String) { pending.withLock { _ = $0.insert(path) } }
  static func remove(_ path: String) { pending.withLock { _ = $0.remove(path) } }
  /// What a signal would remove.
  static var all: Set<String> { pending.withLock { $0 } }
  static func removeAll() { for path in all { SystemCall.removeTree(path) } }

  /// Locks what was staged as long as the descriptor is open, so that processes of other containers on the same disk,
  /// whose numbers mean nothing here, do not take it for stale. Nil where the file system has no locks.
  ///
  /// - Parameter path: What was staged: a file or a directory.
  static func hold(_ path: String) -> Int32? {
    let descriptor = Glibc.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return descriptor }
    close(descriptor)
    return nil
  }
}
