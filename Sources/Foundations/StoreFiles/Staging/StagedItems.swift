import CStoreFiles
import Glibc
import Synchronization

/// What this process has beside stores under hidden names: what it stages, and what a commit moves aside.
///
/// A name is listed before there is anything at its path, and until the operation that made it has ended: what is not
/// listed, other threads of the process take for stale and remove.
enum StagedItems {
  private static let greatestHold = 256
  private struct Items: ~Copyable {
    /// By path, whether the item is removed when the program is asked to stop.
    private(set) var byPath: [String: Bool] = [:]
    /// How many paths end with a name: one unit may stage thousands of files in a directory.
    private(set) var names: [String: Int] = [:]

    mutating func set(_ path: String, _ isRemoved: Bool?) {
      let old = byPath[path]
      byPath[path] = isRemoved
      let change = (isRemoved == nil ? 0 : 1) - (old == nil ? 0 : 1)
      guard change != 0 else { return }
      let name = FilePathText.name(path)
      let count = (names[name] ?? 0) + change
      names[name] = count == 0 ? nil : count
    }
  }
  private static let items = Mutex(Items())

  /// Lists a path whose item a signal removes, as it does not belong to a user's store.
  static func add(_ path: String) { items.withLock { $0.set(path, true) } }
  /// Lists a path whose item stays when a signal comes: it may be a user's store.
  static func keep(_ path: String) { items.withLock { $0.set(path, false) } }
  static func remove(_ path: String) { items.withLock { $0.set(path, nil) } }
  /// The paths that would be removed on a signal.
  static var all: Set<String> { items.withLock { Set($0.byPath.lazy.filter(\.value).map(\.key)) } }
  /// Whether an item of this name is listed. By name only: the directory may have been reached by another path.
  static func isListed(_ name: String) -> Bool { items.withLock { $0.names[name] != nil } }
  static func removeAll() {
    // A library that writes a staged file by itself, like SQLite, may add another one while its directory is removed.
    for _ in 0..<1000 {
      let left = all.filter { path in
        var status = stat()
        return Retried.lstat(path, &status) == 0
      }
      if left.isEmpty { return }
      for path in left { SystemCall.removeTree(path) }
    }
  }

  /// Begins to create something under a hidden name, or to move a store between such a name and its own. Meanwhile a
  /// hidden name can change hands: what a signal's thread lists as staged is the user's store when it gets there. So
  /// that thread waits.
  static func beginMoving() { asf_begin_moving() }
  static func endMoving() { asf_end_moving() }
  /// Waits until no thread moves a store, and lets none begin while the body runs.
  static func whileNothingMoves<Result>(_ body: () -> Result) -> Result {
    asf_stop_moving()
    defer { asf_let_move() }
    return body()
  }

  /// Lists a directory's path and makes the directory.
  ///
  /// - Parameter mode: Its permissions, without those in the umask of the process.
  /// - Returns: 0, or the system's error number.
  static func makeDirectory(_ path: String, mode: mode_t = 0o700) -> Int32 {
    beginMoving()
    defer { endMoving() }
    add(path)
    return Retried.mkdir(path, mode) == 0 ? 0 : errno
  }

  /// Locks a staged file or directory as long as the descriptor is open, so that processes of other containers on the
  /// same disk, whose process numbers are meaningless here, do not take it for stale. Nil if the file system does not
  /// support locks.
  ///
  /// - Parameter path: The staged file or directory.
  static func hold(_ path: String) -> Int32? {
    let descriptor = Retried.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    // A process may have 1,024 descriptors, and may stage more files than that. It needs the rest for other purposes.
    guard descriptor < greatestHold else {
      DatabaseFileHold.close(descriptor)
      return nil
    }
    // Shared: a library that verifies the file may lock it for reading.
    if flock(descriptor, LOCK_SH | LOCK_NB) == 0 { return descriptor }
    DatabaseFileHold.close(descriptor)
    return nil
  }
}
