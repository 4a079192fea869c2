import Glibc

/// A list of what a publication of several names is about to do, from which another process undoes it if it was killed
/// half-way.
///
/// It is a hidden file beside the first of the names, `.NAME.atomicstore-PROCESS-RANDOM.unit`. It is written and synced
/// before the first name is given, and its removal is the moment from which all of them count. Each other directory
/// with one of the names has a copy, which counts only as long as the first one exists. The next write into one of the
/// directories undoes what a process that has ended left, if it is still exactly what that process published: a new
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

    /// Returns nil if nothing is at the staged path.
    ///
    /// - Parameter isTree: Whether everything in a directory was staged, and belongs to it. That is so of a new one,
    ///   too; one that replaces another gets the other's unrelated files later.
    init?(target: String, staged: String, isTree: Bool) throws(PersistentStoreError) {
      let isReplacing = try SystemCall.status(target, followLinks: false) != nil
      guard let identity = try FileIdentity.of(staged, isOfTree: isTree || !isReplacing) else { return nil }
      self.init(target: target, staged: staged, identity: identity.text, isReplacing: isReplacing)
    }
  }

  /// The record, and its copies in other directories.
  private let paths: [String]
  /// Keep processes of other containers from undoing what is going on.
  private let holds: [Int32]

  /// Writes the record.
  init(_ entries: [Entry], beside target: String) throws(PersistentStoreError) {
    var seen = Set([ScalarString(FilePathText.folder(target))])
    let others = entries.map(\.target).filter { seen.insert(ScalarString(FilePathText.folder($0))).inserted }
    let first = HiddenName.record(beside: target)
    let bytes = Self.bytes(entries, first: first)
    var (paths, holds) = ([String](), [Int32]())
    for (path, target) in [(first, target)] + others.map({ (HiddenName.record(beside: $0), $0) }) {
      // Listed before it exists: other threads take what is not listed for stale.
      StagedItems.keep(path)
      paths.append(path)
      do throws(PersistentStoreError) { try Self.write(bytes, path, target) } catch {
        Self.discard(paths, holds)
        throw error
      }
      if let hold = StagedItems.hold(path) { holds.append(hold) }
    }
    self.paths = paths
    self.holds = holds
  }

  private static func discard(_ paths: [String], _ holds: [Int32]) {
    for path in paths {
      Retried.unlink(path)
      StagedItems.remove(path)
    }
    for hold in holds { DatabaseFileHold.close(hold) }
  }

  private static func write(_ bytes: [UInt8], _ path: String, _ target: String) throws(PersistentStoreError) {
    let descriptor = try SystemCall.open(
      path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600, doing: "create a file beside the store")
    defer { close(descriptor) }
    try SystemCall.write(bytes, to: descriptor, path: target)
    guard Retried.fsync(descriptor) == 0 else { throw SystemCall.error(errno, "sync", target) }
    try SystemCall.syncFolder(FilePathText.folder(path), of: target)
  }

  deinit { Self.discard(paths, holds) }

  /// Removes the record: what was published counts. It must be gone from the disk, too, before anything that was
  /// replaced is removed, or it would be undone after a power failure.
  func remove() throws(PersistentStoreError) {
    guard let path = paths.first else { return }
    guard Retried.unlink(path) == 0 else { throw SystemCall.error(errno, "remove the record of a publication", path) }
    try SystemCall.syncFolder(FilePathText.folder(path), of: path)
  }

  // MARK: Content

  private static let header = "atomicstore-publication 2"

  /// Separated by NUL, which paths cannot contain. The last byte is a NUL, so that a truncated record is detected.
  ///
  /// - Parameter first: The path of the record of which there may be copies.
  static func bytes(_ entries: [Entry], first: String) -> [UInt8] {
    let fields =
      [header, first] + entries.flatMap { [$0.target, $0.staged, $0.identity, $0.isReplacing ? "1" : "0"] } + ["end"]
    return fields.flatMap { Array($0.utf8) + [0] }
  }

  private static func content(of bytes: [UInt8]) -> (first: String, entries: [Entry])? {
    guard bytes.last == 0 else { return nil }
    let fields = bytes.dropLast().split(separator: 0, omittingEmptySubsequences: false).map {
      String(decoding: $0, as: UTF8.self)
    }
    guard fields.count >= 3, fields.count % 4 == 3, fields.first == header, fields.last == "end" else { return nil }
    let entries = stride(from: 2, to: fields.count - 1, by: 4).map { index in
      Entry(
        target: fields[index], staged: fields[index + 1], identity: fields[index + 2],
        isReplacing: fields[index + 3] == "1")
    }
    return (fields[1], entries)
  }

  // MARK: Undoing

  /// Undoes what a process that no longer runs has published, and removes its record.
  ///
  /// - Parameter path: The record, whose owner has ended.
  /// - Returns: The paths of what must be kept, because it has to be tried again later.
  static func undo(_ path: String) -> [String] {
    // A record is written by this user, or by the superuser; anyone else's would lead anywhere.
    guard let status = try? SystemCall.status(path, followLinks: false), status.st_mode & S_IFMT == S_IFREG,
      status.st_uid == geteuid() || status.st_uid == 0, let bytes = try? content(path)
    else { return [] }
    let (first, all) = content(of: bytes) ?? ("", [])
    // The hidden names of the kit, beside the target: a manipulated record reaches nothing else.
    let entries = all.filter {
      FilePathText.folder($0.staged) == FilePathText.folder($0.target)
        && HiddenName.owner(of: FilePathText.name($0.staged)) != nil
    }
    do throws(PersistentStoreError) {
      // All or none: what someone has changed since is in use.
      if try SystemCall.status(first, followLinks: false) != nil, entries.allSatisfy({ state(of: $0) != .changed }) {
        for entry in entries.reversed() where !undo(entry) { return entries.map(\.staged) }
      }
    } catch {
      // Whether the first record exists is unknown.
      return entries.map(\.staged)
    }
    Retried.unlink(path)
    return []
  }

  private enum State { case published, unpublished, changed }

  private static func state(of entry: Entry) -> State {
    let found: FileIdentity?
    do throws(PersistentStoreError) { found = try identity(entry.target, like: entry) } catch { return .changed }
    guard let there = found else { return .unpublished }
    if there.text == entry.identity { return .published }
    return there.isFile(ofText: entry.identity) ? .changed : .unpublished
  }

  private static func identity(_ path: String, like entry: Entry) throws(PersistentStoreError) -> FileIdentity? {
    try FileIdentity.of(path, isOfTree: FileIdentity.isOfTree(text: entry.identity))
  }

  private static func content(_ path: String) throws(PersistentStoreError) -> [UInt8] {
    let descriptor = try SystemCall.open(path, O_RDONLY | O_NOFOLLOW, doing: "read the record of a publication")
    defer { close(descriptor) }
    return try SystemCall.readSmallFile(descriptor, path: path)
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
    if moved, let there = (try? identity(entry.staged, like: entry)) ?? nil, there.text == entry.identity {
      SystemCall.removeTree(entry.staged)
    }
    try? SystemCall.syncFolder(FilePathText.folder(entry.target), of: entry.target)
    return true
  }
}
