import Glibc
import Synchronization

/// The names of what is staged, so that a program that is asked to stop can clean up, and a later one after a crash.
enum StagedItems {
  private static let pending = Mutex<Set<String>>([])
  private static let marker = ".atomicstore-"
  private static let suffix = ".tmp"
  /// How long what another host staged is left alone after the last write to it, in seconds.
  private static let foreignAge = 24 * 60 * 60
  /// The same for another container of this host, where locks tell whether it is in use.
  private static let neighbourAge = 60

  static func add(_ path: String) { pending.withLock { _ = $0.insert(path) } }
  static func remove(_ path: String) { pending.withLock { _ = $0.remove(path) } }
  /// What a signal would remove.
  static var all: Set<String> { pending.withLock { $0 } }
  static func removeAll() { for path in all { SystemCall.removeTree(path) } }

  /// `.NAME.atomicstore-BOOT-NAMESPACE-PID-START-RANDOM.tmp` beside the target, NAME cut where the whole would pass 255 bytes.
  ///
  /// It says which process on which host made it; and it cannot be foreseen.
  static func name(beside target: String) -> String {
    let random = String(UInt64.random(in: 0...UInt64.max), radix: 36)
    return hidden(FilePathText.name(target), "\(marker)\(ProcessIdentity.current.text)-\(random)\(suffix)", in: FilePathText.folder(target))
  }

  /// A hidden name that begins as another one, and ends with a tail of ASCII, in at most 255 bytes.
  static func hidden(_ name: String, _ tail: String, in folder: String) -> String {
    var stem = Array(name.utf8.prefix(254 - tail.utf8.count))
    // Cut between scalars, not inside one.
    while !stem.isEmpty, String(validating: stem, as: UTF8.self) == nil { stem.removeLast() }
    return folder + "/." + String(decoding: stem, as: UTF8.self) + tail
  }

  /// A name for what could not be put back: it is not hidden, and no later save removes it.
  static func keptName(beside target: String) -> String {
    let random = String(UInt32.random(in: 0...UInt32.max), radix: 36)
    let path = hidden(FilePathText.name(target), ".kept-\(random)", in: FilePathText.folder(target))
    return FilePathText.folder(path) + "/" + FilePathText.name(path).dropFirst()
  }

  /// Locks what was staged as long as the descriptor is open, so that processes of other containers on the same disk, whose
  /// numbers mean nothing here, do not take it for stale. Nil where the file system has no locks.
  ///
  /// - Parameter path: What was staged: a file or a directory.
  static func hold(_ path: String) -> Int32? {
    let descriptor = Glibc.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return descriptor }
    close(descriptor)
    return nil
  }

  /// Removes what processes left in a directory that no longer run: for whatever store they staged it.
  ///
  /// - Parameter now: in seconds since 1970.
  static func removeStale(in folder: String, now: Int = time(nil)) {
    for name in hiddenNames(in: folder) {
      let path = folder + "/" + name
      if name.hasSuffix(StoreLock.suffix) {
        StoreLock.removeIfAbandoned(path, now: now)
      } else if let owner = owner(of: name), isStale(path, name, owner, now) {
        SystemCall.removeTree(path)
      }
    }
  }

  /// The hidden names that may be the kit's. Others are not even made strings of: a directory may hold a great many.
  private static func hiddenNames(in folder: String) -> [String] {
    guard let stream = opendir(folder) else { return [] }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
      withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        pointer.withMemoryRebound(to: CChar.self, capacity: 256) { text in
          if text[0] == CChar(bitPattern: UInt8(ascii: ".")), strstr(text, marker) != nil { names.append(String(cString: text)) }
        }
      }
    }
    return names
  }

  /// The process that gave a name, where it is a name of this kind. Version 0.1 wrote the number of the process alone.
  private static func owner(of name: String) -> ProcessIdentity? {
    guard name.hasSuffix(suffix), let range = lastMarker(in: name) else { return nil }
    let tail = name.utf8[range...].dropFirst(marker.utf8.count).dropLast(suffix.utf8.count)
    guard let dash = tail.lastIndex(of: UInt8(ascii: "-")), let text = String(tail[..<dash]) else { return nil }
    if let number = pid_t(text), number > 0 { return ProcessIdentity(boot: "", namespace: "", number: number, start: nil) }
    return ProcessIdentity(text)
  }

  private static func lastMarker(in name: String) -> String.Index? {
    let mark = Array(marker.utf8)
    return name.utf8.indices.dropFirst().reversed().first { name.utf8[$0...].starts(with: mark) }
  }

  private static func isStale(_ path: String, _ name: String, _ owner: ProcessIdentity, _ now: Int) -> Bool {
    if owner == ProcessIdentity.current {
      // By the name alone: the directory may have been reached by another path.
      return !pending.withLock { $0.contains { FilePathText.name($0) == name } }
    }
    switch owner.state {
    case .running: return false
    case .gone: return !isHeld(path)
    case .unknown: return now - lastChange(of: path) > (owner.isOnThisHost && isLockable(path) ? neighbourAge : foreignAge) && !isHeld(path)
    }
  }

  /// When it was last written to or renamed: what a save took out of its place can be as old as the store.
  private static func lastChange(of path: String) -> Int {
    var status = stat()
    guard lstat(path, &status) == 0 else { return .max / 2 }
    return max(status.st_mtim.tv_sec, status.st_ctim.tv_sec)
  }

  private static func isHeld(_ path: String) -> Bool { lockError(path) == EWOULDBLOCK }
  private static func isLockable(_ path: String) -> Bool { lockError(path) == 0 }

  /// 0 where nobody holds it.
  private static func lockError(_ path: String) -> Int32 {
    let descriptor = Glibc.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { return errno }
    // Closing the descriptor releases the lock.
    defer { close(descriptor) }
    return flock(descriptor, LOCK_EX | LOCK_NB) == 0 ? 0 : errno
  }
}
