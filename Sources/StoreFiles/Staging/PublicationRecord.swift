import Glibc

/// A list of what a publication of several names is about to do, from which another process undoes it if it was killed
/// half-way.
///
/// It is a hidden file beside the first of the names, `.NAME.atomicstore-PROCESS-RANDOM.unit`. It is written and synced
/// before the first name is given, and its removal is the moment from which all of them count. The next write into the
/// directory takes back what a process that has ended left, if it is still exactly what that process published: a new
/// file is removed, and a replaced one is restored. On file systems that cannot exchange two names, what was replaced
/// stays replaced: each file is complete.
struct PublicationRecord: ~Copyable {
  /// One name.
  struct Entry: Sendable {
    var target: String
    /// Where the new content is before, and what it replaced afterwards.
    var staged: String
    /// The new content.
    var identity: String
    /// Whether there was something at the target, which must be restored.
    var isReplacing: Bool

    init(target: String, staged: String, identity: String, isReplacing: Bool) {
      self.target = target
      self.staged = staged
      self.identity = identity
      self.isReplacing = isReplacing
    }

    /// - Parameter staged: What is at the staged path.
    init(target: String, staged: String, _ identity: FileIdentity) throws(PersistentStoreError) {
      self.init(
        target: target, staged: staged, identity: identity.text,
        isReplacing: try SystemCall.status(target, followLinks: false) != nil)
    }
  }

  private let path: String
  /// Keeps processes of other containers from undoing what is going on.
  private let hold: Int32?

  /// Writes the record.
  init(_ entries: [Entry], beside target: String) throws(PersistentStoreError) {
    let path = HiddenName.record(beside: target)
    // Listed before it exists: other threads take what is not listed for stale.
    StagedItems.keep(path)
    do throws(PersistentStoreError) { try Self.write(Self.bytes(entries), path, target) } catch {
      Retried.unlink(path)
      StagedItems.remove(path)
      throw error
    }
    self.path = path
    hold = StagedItems.hold(path)
  }

  private static func write(_ bytes: [UInt8], _ path: String, _ target: String) throws(PersistentStoreError) {
    let descriptor = try SystemCall.open(
      path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600, doing: "create a file beside the store")
    defer { close(descriptor) }
    try SystemCall.write(bytes, to: descriptor, path: target)
    guard Retried.fsync(descriptor) == 0 else { throw SystemCall.error(errno, "sync", target) }
    try SystemCall.syncFolder(FilePathText.folder(path), of: target)
  }

  deinit {
    Retried.unlink(path)
    StagedItems.remove(path)
    if let hold { DatabaseFileHold.close(hold) }
  }

  /// Removes the record: what was published counts. It must be gone from the disk, too, before anything that was
  /// replaced is removed, or it would be undone after a power failure.
  func remove() throws(PersistentStoreError) {
    guard Retried.unlink(path) == 0 else { throw SystemCall.error(errno, "remove the record of a publication", path) }
    try SystemCall.syncFolder(FilePathText.folder(path), of: path)
  }

  // MARK: Content

  private static let header = "atomicstore-publication 1"

  /// Separated by NUL, which paths cannot contain. The last byte is a NUL, so that a truncated record is detected.
  static func bytes(_ entries: [Entry]) -> [UInt8] {
    let fields =
      [header] + entries.flatMap { [$0.target, $0.staged, $0.identity, $0.isReplacing ? "1" : "0"] } + ["end"]
    return fields.flatMap { Array($0.utf8) + [0] }
  }

  private static func entries(_ bytes: [UInt8]) -> [Entry]? {
    guard bytes.last == 0 else { return nil }
    let fields = bytes.dropLast().split(separator: 0, omittingEmptySubsequences: false).map {
      String(decoding: $0, as: UTF8.self)
    }
    guard fields.count >= 2, fields.count % 4 == 2, fields.first == header, fields.last == "end" else { return nil }
    return stride(from: 1, to: fields.count - 1, by: 4).map { index in
      Entry(
        target: fields[index], staged: fields[index + 1], identity: fields[index + 2],
        isReplacing: fields[index + 3] == "1")
    }
  }

  // MARK: Undoing

  /// Undoes what a process that no longer runs has published, and removes its record.
  ///
  /// - Parameter path: The record, whose owner has ended.
  static func undo(_ path: String) {
    // A record is written by this user, or by the superuser; anyone else's would lead anywhere.
    guard let status = try? SystemCall.status(path, followLinks: false), status.st_mode & S_IFMT == S_IFREG,
      status.st_uid == geteuid() || status.st_uid == 0, status.st_size < 64 << 20,
      let bytes = try? content(path)
    else { return }
    // The hidden names of the kit, beside the target: a manipulated record leads nowhere else.
    let entries = (entries(bytes) ?? []).filter {
      FilePathText.folder($0.staged) == FilePathText.folder($0.target)
        && HiddenName.owner(of: FilePathText.name($0.staged)) != nil
    }
    // All or none: what someone has changed since is in use.
    if entries.allSatisfy({ state(of: $0) != .changed }) {
      for entry in entries.reversed() where !undo(entry) { return }
    }
    Retried.unlink(path)
  }

  private enum State { case published, unpublished, changed }

  private static func state(of entry: Entry) -> State {
    guard let there = (try? FileIdentity.of(entry.target)) ?? nil else { return .unpublished }
    if there.text == entry.identity { return .published }
    return there.isFile(ofText: entry.identity) ? .changed : .unpublished
  }

  private static func content(_ path: String) throws(PersistentStoreError) -> [UInt8] {
    let descriptor = try SystemCall.open(path, O_RDONLY | O_NOFOLLOW, doing: "read the record of a publication")
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      let got = try piece.withUnsafeMutableBufferPointer { raw throws(PersistentStoreError) in
        guard let base = raw.baseAddress else { return 0 }
        return try SystemCall.read(descriptor, into: base, count: raw.count, path: path)
      }
      if got == 0 { return bytes }
      bytes += piece[..<got]
    }
  }

  /// - Returns: False if it has to be tried again later.
  private static func undo(_ entry: Entry) -> Bool {
    guard state(of: entry) == .published else { return true }
    guard let lock = try? StoreLock(for: entry.target, patience: 1000) else { return false }
    defer { withExtendedLifetime(lock) {} }
    StagedItems.beginMoving()
    defer { StagedItems.endMoving() }
    guard state(of: entry) == .published else { return true }
    // What was replaced is at the staged path, unless the file system cannot exchange names, or it was removed since.
    let moved =
      entry.isReplacing
      ? (try? FileIdentity.of(entry.staged)) ?? nil != nil && Retried.exchange(entry.target, entry.staged) == 0
      : Retried.renameExclusively(entry.target, entry.staged) == 0
    if moved, let there = (try? FileIdentity.of(entry.staged)) ?? nil, there.text == entry.identity {
      SystemCall.removeTree(entry.staged)
    }
    try? SystemCall.syncFolder(FilePathText.folder(entry.target), of: entry.target)
    return true
  }
}
