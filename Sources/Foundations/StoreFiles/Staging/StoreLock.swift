import CStoreFiles
import Glibc
import Synchronization

/// Serializes the commits of one store, also those of other processes and hosts.
///
/// The lock is on a hidden file beside the store, `.NAME.atomicstore-lock`, which exists only during a commit and
/// contains nothing of the store: only a line with the process that created it. Only users who may write the store can
/// open it, so that a reader cannot hold it. A lock on the store itself would be lost with the rename that replaces it;
/// one on the directory can be taken by any reader, for example by scripts that run the command under `flock`.
///
/// If the file system supports locks, the lock ends with its process, and the file of a killed process is taken over at
/// once. If it does not, the file itself is the lock: then a leftover file must be removed manually, as the error says.
struct StoreLock: ~Copyable {
  /// How long another host's lock file is respected although no process seems to hold it: its locks may not be visible
  /// here. In seconds.
  private static let foreignAge = 10 * 60
  /// How often a lock file that was replaced meanwhile is tried again at once.
  private static let greatestReplacements = 1000

  private let path: String
  private let descriptor: Int32
  /// The lock files that this process holds, and whether it is about to end.
  private struct Held {
    var descriptors: [String: Int32] = [:]
    var isEnding = false
  }
  private static let held = Mutex(Held())

  static func path(for target: String) -> String {
    HiddenName.make(FilePathText.name(target), HiddenName.lockSuffix, in: FilePathText.folder(target))
  }

  /// Waits for other commits of the store.
  ///
  /// - Parameter patience: In milliseconds.
  /// - Throws: `.locked` with the lock file if another process holds it for longer; `.permissionDenied` and others if
  ///   it cannot be created.
  init(for target: String, patience: Int = 30_000) throws(PersistentStoreError) {
    path = Self.path(for: target)
    var waited = 0
    var replacements = 0
    var reason = ""
    while true {
      switch try Self.listedAttempt(path, target) {
      case .held(let descriptor):
        self.descriptor = descriptor
        return
      case .again:
        // Removed by a commit that just ended. On a file system that gives one file several numbers it never ends.
        replacements += 1
        if replacements < Self.greatestReplacements { continue }
        reason = "its lock file is replaced again and again"
      case .taken(let why): reason = why
      }
      guard waited < patience else {
        throw PersistentStoreError(
          .locked, "the store is locked by another program that is saving it: \(reason). If none is, remove \(path)",
          at: StoreLocation(file: target))
      }
      // Random, so that waiting processes do not retry simultaneously.
      let pause = Int.random(in: 1...min(20, 2 + waited / 50))
      usleep(UInt32(pause) * 1000)
      waited += pause
    }
  }

  private enum Attempt {
    case held(Int32)
    /// It was removed meanwhile.
    case again
    case taken(String)
  }

  /// An attempt, and the entry in the list of what is held: nothing comes between them.
  private static func listedAttempt(_ path: String, _ target: String) throws(PersistentStoreError) -> Attempt {
    try held.withLock { held throws(PersistentStoreError) in
      guard !held.isEnding else { return .taken("this program is about to end") }
      let outcome = try attempt(path, target)
      if case .held(let descriptor) = outcome { held.descriptors[path] = descriptor }
      return outcome
    }
  }

  private static func attempt(_ path: String, _ target: String) throws(PersistentStoreError) -> Attempt {
    var descriptor = Retried.open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    let isNew = descriptor >= 0
    if isNew {
      prepare(descriptor, target)
    } else {
      guard errno == EEXIST else { throw SystemCall.error(errno, "create the store's lock file", target) }
      descriptor = Retried.open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
      if descriptor < 0 { return try unopened(path, errno, target) }
    }
    let outcome: Attempt
    do throws(PersistentStoreError) {
      outcome = try hold(descriptor, path, isNew: isNew, now: time(nil), of: target)
    } catch {
      if isNew { Retried.unlink(path) }
      Glibc.close(descriptor)
      throw error
    }
    if case .held = outcome {} else { Glibc.close(descriptor) }
    return outcome
  }

  /// A lock file that cannot be opened: another commit may hold it, or has just ended; or it can never be locked.
  private static func unopened(
    _ path: String, _ error: Int32, _ target: String
  ) throws(PersistentStoreError) -> Attempt {
    if error == ENOENT { return .again }
    guard let status = try SystemCall.status(path, followLinks: false) else { return .again }
    try refuse(status, path, target)
    let owner = status.st_uid == geteuid() ? "" : ", and belongs to \(userName(status.st_uid))"
    var folder = stat()
    // Only its owner can remove it there, and no commit of another user's can replace the store.
    if error == EACCES, status.st_uid != geteuid(), Retried.stat(FilePathText.folder(path), &folder) == 0,
      folder.st_mode & S_ISVTX != 0
    {
      throw PersistentStoreError(
        .locked,
        "the store's lock file cannot be opened\(owner): they, the owner of the directory or the superuser can remove \(path)",
        at: StoreLocation(file: target))
    }
    return .taken("its lock file cannot be opened: \(String(cString: strerror(error)))\(owner)")
  }

  /// What is not a file never becomes a lock file by waiting.
  private static func refuse(_ status: stat, _ path: String, _ target: String) throws(PersistentStoreError) {
    guard status.st_mode & S_IFMT != S_IFREG else { return }
    let owner = status.st_uid == geteuid() ? "" : "; it belongs to \(userName(status.st_uid))"
    throw PersistentStoreError(
      .locked, "the store cannot be locked: \(path) is in the way, which is not a file. Remove it\(owner)",
      at: StoreLocation(file: target))
  }

  /// For messages: `user NAME`, or the number if the system does not know the user.
  private static func userName(_ user: uid_t) -> String {
    var buffer = [CChar](repeating: 0, count: 16384)
    var entry = passwd()
    var found: UnsafeMutablePointer<passwd>?
    guard getpwuid_r(user, &entry, &buffer, buffer.count, &found) == 0, let name = found?.pointee.pw_name else {
      return "user \(user)"
    }
    return "user \(String(cString: name))"
  }

  private static func hold(
    _ descriptor: Int32, _ path: String, isNew: Bool, now: Int, of target: String
  ) throws(PersistentStoreError) -> Attempt {
    let isLocked = asf_lock(descriptor) == 0
    let error = errno
    if !isLocked, error == EAGAIN || error == EACCES { return .taken(holder(descriptor)) }
    var own = stat()
    guard Retried.fstat(descriptor, &own) == 0 else {
      throw SystemCall.error(errno, "look at the store's lock file", target)
    }
    // Only a file that is gone was removed by the commit that held it. Another failure says nothing about it.
    guard let there = try SystemCall.status(path, followLinks: false), own.st_ino == there.st_ino,
      own.st_dev == there.st_dev
    else { return .again }
    try refuse(own, path, target)
    // The file system does not support locks: the creator of the file holds the lock.
    guard isLocked else { return isNew ? .held(descriptor) : .taken(holder(descriptor)) }
    // Locks of other hosts may not be visible here.
    if !isNew, let process = process(descriptor), !process.isOnThisHost, now - own.st_mtim.tv_sec < foreignAge {
      return .taken(holder(descriptor))
    }
    return .held(descriptor)
  }

  /// Gives users who may write the store access to a new lock file, and writes the creating process to it. If that
  /// fails, only its creator has access.
  private static func prepare(_ descriptor: Int32, _ target: String) {
    var status = stat()
    if Retried.lstat(target, &status) == 0 || Retried.stat(FilePathText.folder(target), &status) == 0,
      status.st_mode & S_ISVTX == 0
    {
      _ = Retried.fchown(descriptor, uid_t.max, status.st_gid)
      var own = stat()
      var writers = (status.st_mode & 0o222) | (status.st_mode & 0o222) << 1
      if Retried.fstat(descriptor, &own) != 0 || own.st_gid != status.st_gid { writers &= ~0o070 }
      _ = Retried.fchmod(descriptor, 0o600 | writers & 0o066)
    }
    let text = Array((ProcessIdentity.current.text + "\n").utf8)
    _ = text.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
  }

  private static func process(_ descriptor: Int32) -> ProcessIdentity? {
    var buffer = [UInt8](repeating: 0, count: 256)
    let length = buffer.withUnsafeMutableBytes { Retried.pread(descriptor, $0.baseAddress, $0.count, 0) }
    return ProcessIdentity(String(decoding: buffer.prefix(max(length, 0)), as: UTF8.self).prefix { $0 != "\n" })
  }

  private static func holder(_ descriptor: Int32) -> String {
    guard let process = process(descriptor) else { return "an unknown process" }
    return process.isOnThisHost ? "process \(process.number)" : "process \(process.number) of another host"
  }

  /// Removes a lock file that is no longer held.
  static func removeIfAbandoned(_ path: String, now: Int) {
    let descriptor = Retried.open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { return }
    if case .held? = try? hold(descriptor, path, isNew: false, now: now, of: path) { Retried.unlink(path) }
    close(descriptor)
  }

  /// Removes the lock files of all commits of this process, which is about to end.
  static func removeAllHeld() {
    held.withLock { held in
      held.isEnding = true
      for (path, descriptor) in held.descriptors { remove(path, descriptor) }
      held.descriptors = [:]
    }
  }

  private static func remove(_ path: String, _ descriptor: Int32) {
    // While it is locked: a process that waits for this file sees that it was unlinked, and creates another.
    var own = stat()
    var there = stat()
    if Retried.fstat(descriptor, &own) == 0, Retried.lstat(path, &there) == 0, own.st_ino == there.st_ino,
      own.st_dev == there.st_dev
    {
      Retried.unlink(path)
    }
  }

  deinit {
    let (path, descriptor) = (path, descriptor)
    Self.held.withLock { held in
      if held.descriptors[path] == descriptor { held.descriptors[path] = nil }
      Self.remove(path, descriptor)
    }
    close(descriptor)
  }
}
