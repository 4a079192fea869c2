import Glibc
import Synchronization

/// The names of what is staged, so that a program that is told to stop can clean up, and a later one after a crash.
enum StagedLitter {
  private static let pending = Mutex<Set<String>>([])
  private static let marker = ".atomicstore-"

  static func add(_ path: String) { pending.withLock { _ = $0.insert(path) } }
  static func remove(_ path: String) { pending.withLock { _ = $0.remove(path) } }
  static func removeAll() {
    for path in pending.withLock({ $0 }) { SystemCall.removeTree(path) }
  }

  /// `.NAME.atomicstore-PID-RANDOM.tmp` beside the target, NAME cut where the whole would pass 255 bytes.
  ///
  /// Nobody can foresee it; and a process that gets the number of one that was killed, as the first ones of a container do, does
  /// not take the name of what that one left.
  static func name(beside target: String) -> String {
    let tail = "\(marker)\(getpid())-\(String(UInt64.random(in: 0...UInt64.max), radix: 36)).tmp"
    var stem = Array(FilePathText.name(target).utf8.prefix(254 - tail.utf8.count))
    // Cut between scalars, not inside one.
    while !stem.isEmpty, String(validating: stem, as: UTF8.self) == nil { stem.removeLast() }
    return FilePathText.folder(target) + "/." + String(decoding: stem, as: UTF8.self) + tail
  }

  /// Says that somebody works on what is staged, to whoever might take it for litter: processes of other containers on the same
  /// disk too, whose numbers say nothing here. Nil where the file system has no locks.
  ///
  /// - Parameter path: What was staged: a file or a folder.
  static func hold(_ path: String) -> Int32? {
    let descriptor = Glibc.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return descriptor }
    close(descriptor)
    return nil
  }

  /// Removes what a process that no longer runs left beside this target.
  static func removeStale(in folder: String, target: String) {
    for name in (try? SystemCall.names(in: folder)) ?? [] {
      guard let process = process(of: name, beside: target) else { continue }
      let path = folder + "/" + name
      // Ours by the name alone: the folder may have been reached by another path.
      let isOurs = process == getpid() && pending.withLock { $0.contains { FilePathText.name($0) == name } }
      let isGone = process == getpid() ? !isOurs : kill(process, 0) != 0 && errno == ESRCH
      guard isGone, !isHeld(path) else { continue }
      SystemCall.removeTree(path)
    }
  }

  private static func isHeld(_ path: String) -> Bool {
    let descriptor = Glibc.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { return false }
    // Closing lets go of it.
    defer { close(descriptor) }
    return flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK
  }

  /// The process that gave the name, if it is one for this target.
  private static func process(of name: String, beside target: String) -> pid_t? {
    let bytes = Array(name.utf8)
    guard name.hasPrefix("."), name.hasSuffix(".tmp") else { return nil }
    let mark = Array(marker.utf8)
    guard let place = bytes.indices.dropFirst().reversed().first(where: { bytes[$0...].starts(with: mark) }) else { return nil }
    let stem = bytes[1..<place]
    // The beginning of the target's name where the whole would have been too long.
    guard stem.elementsEqual(target.utf8) || (bytes.count > 250 && Array(target.utf8).starts(with: stem)) else { return nil }
    let tail = name.utf8.dropFirst(place + mark.count).dropLast(4).split(separator: UInt8(ascii: "-"))
    guard tail.count == 2, let process = pid_t(Substring(tail[0])), process > 0 else { return nil }
    return process
  }
}
