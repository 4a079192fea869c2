import Glibc

/// A list of what a publication of several names is about to do, from which another process undoes it if it was killed
/// half-way.
///
/// It is a hidden file beside the first of the names, `.NAME.atomicstore-PROCESS-RANDOM.unit`. It is written and synced
/// before the first name is given, and its removal is the moment from which all of them count. Each other directory
/// with one of the names has a copy, which counts only as long as the first one exists. The next write into one of the
/// directories undoes what a process that has ended left, if each name still has exactly what it had before, or what
/// that process gave it: a new file is removed, and a replaced one is restored. Otherwise everything stays. On file
/// systems that cannot exchange two names, what was replaced stays replaced: each file is complete.
struct PublicationRecord: ~Copyable {
  /// One name.
  struct Entry: Sendable {
    var target: String
    /// Where the new content is before, and what it replaced afterwards.
    var staged: String
    /// The new content.
    var identity: String
    /// What was at the target, which must be restored; nil if there was nothing.
    var replaced: String?

    init(target: String, staged: String, identity: String, replaced: String?) {
      self.target = target
      self.staged = staged
      self.identity = identity
      self.replaced = replaced
    }

    /// Returns nil if nothing is at the staged path.
    ///
    /// - Parameter isTree: Whether everything in a directory was staged, and belongs to it. That is so of a new one,
    ///   too; one that replaces another gets the other's unrelated files later.
    init?(target: String, staged: String, isTree: Bool) throws(PersistentStoreError) {
      let replaced = try FileIdentity.of(target, isOfTree: isTree)
      guard let identity = try FileIdentity.of(staged, isOfTree: isTree || replaced == nil) else { return nil }
      self.init(target: target, staged: staged, identity: identity.text, replaced: replaced?.text)
    }
  }

  /// The record, and its copies in other directories.
  private let paths: [String]
  /// Keep processes of other containers from undoing what is going on.
  private let holds: [Int32]

  /// Writes the record; nil if it is not needed. One name is given in one step.
  init?(ofSeveral entries: [Entry]) throws(PersistentStoreError) {
    guard entries.count > 1, let first = entries.first else { return nil }
    try self.init(entries, beside: first.target)
  }

  private init(_ entries: [Entry], beside target: String) throws(PersistentStoreError) {
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
      path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600, doing: "create a record beside the file")
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

  private static let header = "atomicstore-publication 3"

  /// Separated by NUL, which paths cannot contain. The last field is `end`, so that a truncated record is detected.
  ///
  /// - Parameter first: The path of the record of which there may be copies.
  static func bytes(_ entries: [Entry], first: String) -> [UInt8] {
    let fields =
      [header, first] + entries.flatMap { [$0.target, $0.staged, $0.identity, $0.replaced ?? ""] } + ["end"]
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
        replaced: fields[index + 3].isEmpty ? nil : fields[index + 3])
    }
    return (fields[1], entries)
  }

  // MARK: Undoing

  /// Undoes what a process that no longer runs has published, and removes its record.
  ///
  /// - Parameter path: The record, whose owner has ended.
  /// - Returns: False if the record stays: it has to be tried again later, or by another user.
  static func undo(_ path: String) -> Bool {
    // A record is written by this user, or by the superuser; anyone else's would lead anywhere.
    guard let status = try? SystemCall.status(path, followLinks: false), status.st_mode & S_IFMT == S_IFREG,
      status.st_uid == geteuid() || status.st_uid == 0, let bytes = try? content(path)
    else { return false }
    // A record that is damaged was not yet written when its process ended.
    let (first, all) = content(of: bytes) ?? ("", [])
    // The hidden names of the kit, beside the target: a manipulated record reaches nothing else.
    let entries = all.filter {
      FilePathText.folder($0.staged) == FilePathText.folder($0.target)
        && HiddenName.owner(of: FilePathText.name($0.staged)) != nil
    }
    do throws(PersistentStoreError) {
      // All or none: what someone has changed since is in use.
      if try SystemCall.status(first, followLinks: false) != nil, try !entries.map(state).contains(.changed) {
        for entry in entries.reversed() { guard try undo(entry) else { return false } }
      }
    } catch {
      return false
    }
    return Retried.unlink(path) == 0 || errno == ENOENT
  }

  private enum State { case published, unpublished, changed }

  private static func state(_ entry: Entry) throws(PersistentStoreError) -> State {
    let found = try identity(entry.target, like: entry.identity)
    if found?.text == entry.identity { return .published }
    guard let replaced = entry.replaced else { return found == nil ? .unpublished : .changed }
    return try identity(entry.target, like: replaced)?.text == replaced ? .unpublished : .changed
  }

  private static func identity(_ path: String, like text: String) throws(PersistentStoreError) -> FileIdentity? {
    try FileIdentity.of(path, isOfTree: FileIdentity.isOfTree(text: text))
  }

  private static func content(_ path: String) throws(PersistentStoreError) -> [UInt8] {
    let descriptor = try SystemCall.open(path, O_RDONLY | O_NOFOLLOW, doing: "read the record of a publication")
    defer { close(descriptor) }
    return try SystemCall.readSmallFile(descriptor, path: path)
  }

  /// - Returns: False if it has to be tried again later.
  private static func undo(_ entry: Entry) throws(PersistentStoreError) -> Bool {
    guard try state(entry) == .published else { return true }
    let lock = try StoreLock(for: entry.target, patience: 1000)
    defer { withExtendedLifetime(lock) {} }
    StagedItems.beginMoving()
    defer { StagedItems.endMoving() }
    guard try state(entry) == .published else { return true }
    if entry.replaced != nil, try SystemCall.status(entry.staged, followLinks: false) == nil {
      // The file system cannot exchange names, or what was replaced was removed since.
      return true
    }
    guard swap(entry) else { return SystemCall.isUnsupported(errno) }
    guard try identity(entry.staged, like: entry.identity)?.text == entry.identity else {
      // Another program, which does not use the lock, has replaced it since it was inspected.
      return swap(entry, isBack: true)
    }
    SystemCall.removeTree(entry.staged)
    try SystemCall.syncFolder(FilePathText.folder(entry.target), of: entry.target)
    return true
  }

  /// Moves what was published back to the staged path, and what it replaced to the target.
  private static func swap(_ entry: Entry, isBack: Bool = false) -> Bool {
    if entry.replaced != nil { return Retried.exchange(entry.target, entry.staged) == 0 }
    let (from, to) = isBack ? (entry.staged, entry.target) : (entry.target, entry.staged)
    return Retried.renameExclusively(from, to) == 0
      || (SystemCall.isUnsupported(errno) && Retried.rename(from, to) == 0)
  }
}
