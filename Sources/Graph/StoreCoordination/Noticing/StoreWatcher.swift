import AtomicStoreSPI
import Glibc
import Synchronization

/// What a ``StoreWatcher`` waits for.
struct WatchedStores: Sendable {
  /// The paths of files and directories.
  var paths: [String] = []
  /// Whether there are stores that the system does not report on.
  var needsInterval = false
}

/// A thread that waits for changes of stores: for reports of the system on the directories in which files are, and for
/// the end of an interval.
final class StoreWatcher: Sendable {
  private struct Directory: Sendable {
    /// The beginnings of the names that matter in the directory; an empty one for all.
    var names: Set<String>
  }
  private struct State: Sendable {
    var isStopped = false
    var directories: [Int32: Directory] = [:]
    /// Whether some store is not reported on.
    var needsInterval = true
  }
  private let stores: @Sendable () -> WatchedStores?
  private let look: @Sendable () -> Void
  private let interval: Double
  /// -1 if the system has no more to give: then the interval alone has to do.
  private let reports: Int32
  /// A pipe that wakes the thread.
  private let (wake, wakeEnd): (Int32, Int32)
  private let state = Mutex(State())

  /// Even if the system reports on a directory, its file system may not: then this is how often stores are looked at,
  /// in milliseconds.
  private static let safetyInterval: Int32 = 30_000
  /// How long it must be quiet before stores are looked at, and how long that may take, in milliseconds.
  private static let (quiet, longest): (Int32, Int32) = (50, 500)

  /// - Parameters:
  ///   - interval: How often stores are looked at that the system does not report on, in seconds.
  ///   - stores: Returns the stores to watch; nil to end the thread.
  ///   - look: Looks at the stores. Both are called on the thread.
  init(interval: Double, stores: @escaping @Sendable () -> WatchedStores?, look: @escaping @Sendable () -> Void) {
    self.stores = stores
    self.look = look
    self.interval = interval
    reports = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
    var ends: [Int32] = [-1, -1]
    if pipe(&ends) == 0 {
      for end in ends {
        _ = fcntl(end, F_SETFD, FD_CLOEXEC)
        _ = fcntl(end, F_SETFL, O_NONBLOCK)
      }
    }
    (wake, wakeEnd) = (ends[0], ends[1])
  }

  deinit {
    if reports >= 0 { close(reports) }
    if wake >= 0 { close(wake) }
    if wakeEnd >= 0 { close(wakeEnd) }
  }

  func start() {
    guard watch() else { return }
    _ = SystemThread.detach { self.run() }
  }

  /// Ends the thread soon. It does not wait for it: the thread itself may call this.
  func stop() {
    state.withLock { $0.isStopped = true }
    poke()
  }

  /// Looks at the stores soon: called when one was added, or when another coordinator saved an in-process store.
  func poke() {
    // A full pipe wakes it as well.
    var one: UInt8 = 1
    _ = write(wakeEnd, &one, 1)
  }

  private func run() {
    while !state.withLock({ $0.isStopped }) {
      // Watched before it is looked at: what changes in between is reported.
      guard watch() else { return }
      look()
      let needsInterval = state.withLock { $0.needsInterval }
      let patience = needsInterval ? Int32(min(max(interval, 0.01) * 1000, 3_600_000)) : Self.safetyInterval
      let isReported = wait(patience)
      if isReported { settle() }
    }
  }

  /// Waits for a report or for the end of the time.
  ///
  /// - Returns: Whether there was something to read.
  private func wait(_ milliseconds: Int32) -> Bool {
    let end = Self.now + Int64(milliseconds)
    while true {
      var polled = [
        pollfd(fd: wake, events: Int16(POLLIN), revents: 0), pollfd(fd: reports, events: Int16(POLLIN), revents: 0),
      ]
      let left = Int32(clamping: max(0, end - Self.now))
      let count = poll(&polled, reports >= 0 ? 2 : 1, left)
      if count <= 0 { return false }
      if polled[0].revents != 0 {
        withUnsafeTemporaryAllocation(byteCount: 1024, alignment: 1) { buffer in
          while read(wake, buffer.baseAddress, buffer.count) > 0 {}
        }
        return true
      }
      // Other files of the directory do not matter.
      if readReports() { return true }
      if left == 0 { return false }
    }
  }

  /// Waits until no report came for a while: a save is several of them, and several saves may follow each other.
  private func settle() {
    let end = Self.now + Int64(Self.longest)
    while Self.now < end, !state.withLock({ $0.isStopped }), wait(Self.quiet) {}
  }

  private static var now: Int64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
  }

  /// Reads what the system reports.
  ///
  /// - Returns: Whether any of it is about a store.
  private func readReports() -> Bool {
    let directories = state.withLock { $0.directories }
    var isRelevant = false
    withUnsafeTemporaryAllocation(byteCount: 16_384, alignment: 8) { buffer in
      while true {
        let count = read(reports, buffer.baseAddress, buffer.count)
        guard count > 0 else { return }
        var offset = 0
        // Each report has a head of 16 bytes, with the length of the name that follows.
        while offset + 16 <= count {
          let directory = buffer.loadUnaligned(fromByteOffset: offset, as: Int32.self)
          let mask = buffer.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self)
          let length = Int(buffer.loadUnaligned(fromByteOffset: offset + 12, as: UInt32.self))
          let name = buffer[(offset + 16)..<min(offset + 16 + length, count)].prefix { $0 != 0 }
          if mask & UInt32(IN_Q_OVERFLOW) != 0 { isRelevant = true }
          if let names = directories[directory]?.names {
            isRelevant = isRelevant || name.isEmpty || names.contains { name.starts(with: $0.utf8) }
          }
          offset += 16 + length
        }
      }
    }
    return isRelevant
  }

  /// Asks the system for reports on the directories of all stores. Directories may have been replaced since the last
  /// time.
  ///
  /// - Returns: False if there is nothing to watch any more.
  private func watch() -> Bool {
    guard let stores = stores() else { return false }
    var directories: [Int32: Directory] = [:]
    var needsInterval = reports < 0 || stores.needsInterval
    for path in stores.paths {
      let resolved = (try? StorePath.inspect(path))?.resolvedPath ?? path
      for path in Set([path, resolved]) where !watch(path, &directories) { needsInterval = true }
    }
    let (found, needs) = (directories, needsInterval)
    let old = state.withLock { state in
      defer { (state.directories, state.needsInterval) = (found, needs) }
      return state.directories
    }
    for directory in old.keys where found[directory] == nil { inotify_rm_watch(reports, directory) }
    return true
  }

  private func watch(_ path: String, _ directories: inout [Int32: Directory]) -> Bool {
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return true }
    let folder = slash == path.startIndex ? "/" : String(path[..<slash])
    let name = String(path[path.utf8.index(after: slash)...])
    guard add(folder, name, to: &directories) else { return false }
    // Another program may change a file in a store that is a directory.
    _ = add(path, "", to: &directories, onlyFolders: true)
    return true
  }

  private func add(
    _ folder: String, _ name: String, to directories: inout [Int32: Directory], onlyFolders: Bool = false
  ) -> Bool {
    guard reports >= 0 else { return false }
    var mask = UInt32(IN_MODIFY) | UInt32(IN_CLOSE_WRITE) | UInt32(IN_MOVED_TO) | UInt32(IN_MOVED_FROM)
    mask |= UInt32(IN_CREATE) | UInt32(IN_DELETE) | UInt32(IN_ATTRIB)
    if onlyFolders { mask |= UInt32(IN_ONLYDIR) }
    let directory = inotify_add_watch(reports, folder, mask)
    guard directory >= 0 else { return false }
    directories[directory, default: Directory(names: [])].names.insert(name)
    return true
  }
}
