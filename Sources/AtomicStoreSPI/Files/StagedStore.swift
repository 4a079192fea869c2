import CStoreFiles
import Glibc
import Synchronization

/// The one door for writing. What is written goes beside the target first; then all of it takes the target's place in
/// one step, or none of it.
///
/// Stage, fsync, rename (for folders: exchange), fsync the folder above. Symbolic links stay and their target is
/// replaced; the mode stays, the owner where the system allows. Whatever fails leaves the old bytes and no litter.
public final class StagedStore: Sendable {
  public enum Layout: Sendable { case file, folder }
  /// What may be replaced.
  public enum Policy: Sendable {
    /// Nothing may be there.
    case createNew
    /// Only the very file that was read; nil only where nothing is.
    case replaceOnlyIf(FileIdentity?)
    case replaceAny
  }

  /// Where the result goes, links followed.
  public let targetPath: String
  public let layout: Layout
  private let policy: Policy
  private let stagedPath: String
  private let faults: FaultPlan?
  /// Files in the target's folder that a save keeps, hidden ones aside, which it keeps in any case.
  private let bystanders: [String]

  private enum Phase { case writing, finished, committed(previous: String?), done }
  private struct State {
    var phase = Phase.writing
    var members: [StagedFile] = []
    /// Says that what is staged is no litter; -1 for none.
    var hold: Int32 = -1
    /// What lies at the target after the commit.
    var committed: FileIdentity?
  }
  private let state = Mutex(State())

  /// Prepares to write a store.
  ///
  /// - Throws: `.cannotCreate` for a missing folder, `.permissionDenied`, `.noSpace`.
  public convenience init(target path: String, layout: StoreTraits.Layout, policy: Policy) throws(PersistentStoreError)
  {
    try self.init(target: path, layout: layout, policy: policy, keeping: [], faults: nil)
  }

  package init(
    target path: String, layout: StoreTraits.Layout, policy: Policy, keeping bystanders: [String] = [], faults: FaultPlan? = nil
  ) throws(PersistentStoreError) {
    self.bystanders = bystanders
    let place = try StorePlace.inspect(path)
    targetPath = place.resolvedPath
    self.layout = layout == .file ? .file : .folder
    self.policy = policy
    self.faults = faults
    let folder = FilePathText.folder(targetPath)
    guard try SystemCall.status(folder, followLinks: true) != nil else {
      throw PersistentStoreError(.cannotCreate, "the folder \(folder) does not exist", at: StoreLocation(file: path))
    }
    // A new file in its place would get by the mode that says that it is not to be changed.
    if place.kind != .nothing, faccessat(AT_FDCWD, targetPath, W_OK, AT_EACCESS) != 0, errno == EACCES || errno == EROFS {
      throw PersistentStoreError(.permissionDenied, "the store is protected against writing", at: StoreLocation(file: path))
    }
    StagedLitter.removeStale(in: folder, target: FilePathText.name(targetPath))
    stagedPath = StagedLitter.name(beside: targetPath)
    StagedLitter.add(stagedPath)
    if self.layout == .folder {
      if let error = faults?.next(.create) ?? (mkdir(stagedPath, 0o700) == 0 ? nil : errno) {
        StagedLitter.remove(stagedPath)
        throw SystemCall.error(error, "create a folder beside the store", path)
      }
      hold(stagedPath)
    }
  }

  deinit {
    discard()
    letGo()
  }

  private func hold(_ path: String) {
    letGo()
    if let descriptor = StagedLitter.hold(path) { state.withLock { $0.hold = descriptor } }
  }
  private func letGo() {
    state.withLock { state in
      if state.hold >= 0 { close(state.hold) }
      state.hold = -1
    }
  }

  // MARK: For formats

  /// The file of a store that is one file. Ask once.
  public func file() throws(PersistentStoreError) -> StagedFile {
    guard layout == .file else {
      throw PersistentStoreError(.internalInconsistency, "the store is a folder: write members")
    }
    let file = try open(stagedPath, shownAs: targetPath)
    hold(stagedPath)
    return file
  }

  /// A new member of a store that is a folder.
  ///
  /// - Throws: `.invalidValue` for a name that is none: empty, `.`, `..`, with `/` or NUL, over 255 bytes.
  public func member(_ name: String) throws(PersistentStoreError) -> StagedFile {
    guard layout == .folder else {
      throw PersistentStoreError(.internalInconsistency, "the store is a file: it has no members")
    }
    let bytes = name.utf8
    guard !bytes.isEmpty, name != ".", name != "..", !bytes.contains(0x2F), !bytes.contains(0), bytes.count <= 255 else {
      throw PersistentStoreError(
        .invalidValue, "'\(name)' cannot name a file", at: StoreLocation(file: targetPath))
    }
    return try open(stagedPath + "/" + name, shownAs: targetPath + "/" + name)
  }

  private func open(_ path: String, shownAs shown: String) throws(PersistentStoreError) -> StagedFile {
    if let error = faults?.next(.create) { throw SystemCall.error(error, "create a file", shown) }
    let descriptor: Int32
    do {
      descriptor = try SystemCall.open(
        path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600, doing: "create a file beside the store")
    } catch {
      throw PersistentStoreError(error.code, error.message, at: StoreLocation(file: shown))
    }
    let file = StagedFile(descriptor: descriptor, path: shown, faults: faults)
    state.withLock { $0.members.append(file) }
    return file
  }

  // MARK: For the kit

  /// Closes and syncs all that was written, and gives it the mode and owner it will have. Only renames remain.
  public func finish() throws(PersistentStoreError) {
    let members = state.withLock { $0.members }
    guard layout == .folder || members.count == 1 else {
      throw PersistentStoreError(.internalInconsistency, "the format staged no file", at: StoreLocation(file: targetPath))
    }
    let old = try SystemCall.status(targetPath, followLinks: false)
    let oldIsFolder = old.map { $0.st_mode & S_IFMT == S_IFDIR } ?? false
    let mask = umask(0)
    umask(mask)
    for member in members {
      // What is replaced gives its mode, owner and attributes to what takes its place; members do so one by one.
      let replaced = layout == .file ? targetPath : oldIsFolder ? member.path : nil
      let known = try replaced.flatMap { path throws(PersistentStoreError) in try SystemCall.status(path, followLinks: false) }
      let model = known.flatMap { $0.st_mode & S_IFMT == S_IFREG ? $0 : nil }
      try member.seal(mode: model.map { $0.st_mode & 0o7777 } ?? 0o666 & ~mask, like: model == nil ? nil : replaced, owner: model)
    }
    if layout == .folder {
      if let old, oldIsFolder {
        _ = chown(stagedPath, old.st_uid, old.st_gid)
        let descriptor = try SystemCall.open(stagedPath, O_RDONLY | O_DIRECTORY, doing: "open the folder")
        asf_copy_attributes(targetPath, descriptor)
        close(descriptor)
      }
      guard chmod(stagedPath, oldIsFolder ? (old?.st_mode ?? 0o777) & 0o7777 : 0o777 & ~mask) == 0 else {
        throw SystemCall.error(errno, "set the mode", targetPath)
      }
      if let error = faults?.next(.sync) { throw SystemCall.error(error, "sync the folder", targetPath) }
      try SystemCall.syncFolder(stagedPath, of: targetPath)
    }
    state.withLock { $0.phase = .finished }
  }

  /// Lets what was staged be read before it takes the target's place.
  public func sourceForVerification(name: String) throws(PersistentStoreError) -> StoreSource {
    let place = try StorePlace.inspect(stagedPath)
    return try StoreSource(opening: StorePlace(
      path: name, resolvedPath: place.resolvedPath, kind: place.kind, isSymbolicLink: false, size: place.size,
      identity: place.identity))
  }

  /// Puts the staged store in the target's place.
  ///
  /// - Parameter keepsPrevious: Keep what was there until ``conclude()``, so that ``rollBack()`` can restore it.
  /// - Throws: `.alreadyExists` or `.changedOnDisk` where the policy forbids to replace what is there; the old bytes
  ///   then stay.
  @discardableResult
  public func commit(keepsPrevious: Bool = false) throws(PersistentStoreError) -> FileIdentity {
    // Between looking at what is there and replacing it nobody else who saves through the kit does the same.
    let lock = FolderLock(FilePathText.folder(targetPath))
    defer { lock.release() }
    let now = try FileIdentity.of(targetPath)
    switch policy {
    case .createNew:
      if now != nil { throw alreadyExists() }
    case .replaceOnlyIf(let expected):
      if now != expected { throw changedOnDisk() }
    case .replaceAny: break
    }
    try takeBystanders()
    if let error = faults?.next(.rename) { throw SystemCall.error(error, "rename", targetPath) }
    var previous: String?
    if now == nil {
      guard asf_rename_exclusive(stagedPath, targetPath) == 0 else {
        if errno == EEXIST { throw alreadyExists() }
        // A file system without the exclusive form.
        guard errno == EINVAL || errno == ENOSYS, rename(stagedPath, targetPath) == 0 else {
          throw SystemCall.error(errno, "rename", targetPath)
        }
        return try committed(previous: nil)
      }
      StagedLitter.remove(stagedPath)
    } else if asf_exchange(stagedPath, targetPath) == 0 {
      // The old store now bears the staged name; it goes with `conclude`. Who does not know of the lock may have been quicker:
      // then what came out is not what was read, and goes back.
      if case .replaceOnlyIf(let expected) = policy,
        try FileIdentity.of(stagedPath) != expected
      {
        guard asf_exchange(stagedPath, targetPath) == 0 else { throw SystemCall.error(errno, "put the store back", targetPath) }
        throw changedOnDisk()
      }
      previous = stagedPath
      hold(stagedPath)
    } else if errno == EINVAL || errno == ENOSYS, layout == .file {
      // No exchange on this file system: a link keeps the old file where it is wanted.
      let keeper = StagedLitter.name(beside: targetPath)
      if keepsPrevious {
        guard link(targetPath, keeper) == 0 else { throw SystemCall.error(errno, "keep the old store", targetPath) }
        StagedLitter.add(keeper)
        previous = keeper
        hold(keeper)
      }
      guard rename(stagedPath, targetPath) == 0 else {
        if let previous { unlink(previous) }
        throw SystemCall.error(errno, "rename", targetPath)
      }
      StagedLitter.remove(stagedPath)
    } else {
      throw SystemCall.error(errno, "exchange the old store and the new", targetPath)
    }
    let identity = try committed(previous: previous)
    if !keepsPrevious { conclude() }
    return identity
  }

  private func committed(previous: String?) throws(PersistentStoreError) -> FileIdentity {
    state.withLock { $0.phase = .committed(previous: previous) }
    do throws(PersistentStoreError) {
      if let error = faults?.next(.sync) { throw SystemCall.error(error, "sync the folder", targetPath) }
      try SystemCall.syncFolder(FilePathText.folder(targetPath), of: targetPath)
      guard let identity = try FileIdentity.of(targetPath) else {
        throw PersistentStoreError(.changedOnDisk, "the store vanished", at: StoreLocation(file: targetPath))
      }
      state.withLock { $0.committed = identity }
      return identity
    } catch {
      // Under the folder's lock, which the commit holds.
      state.withLock { $0.phase = .done }
      try? putBack(previous)
      throw error
    }
  }

  /// What else lies in the folder that goes comes along.
  private func takeBystanders() throws(PersistentStoreError) {
    guard let status = try SystemCall.status(targetPath, followLinks: false), status.st_mode & S_IFMT == S_IFDIR else { return }
    let names = try Bystanders.names(in: targetPath) + bystanders
    guard let first = names.first else { return }
    guard layout == .folder else {
      throw PersistentStoreError(
        .alreadyExists, "this is none of the files of the store that would be replaced, and would be lost",
        at: StoreLocation(file: targetPath + "/" + first))
    }
    try Bystanders.carry(names, from: targetPath, to: stagedPath, of: targetPath)
    try SystemCall.syncFolder(stagedPath, of: targetPath)
  }

  private func changedOnDisk() -> PersistentStoreError {
    PersistentStoreError(
      .changedOnDisk, "somebody else changed the store since it was read", at: StoreLocation(file: targetPath))
  }

  private func alreadyExists() -> PersistentStoreError {
    PersistentStoreError(.alreadyExists, "something is there already", at: StoreLocation(file: targetPath))
  }

  /// Removes what ``commit(keepsPrevious:)`` kept.
  public func conclude() {
    let previous = state.withLock { state -> String? in
      guard case .committed(let previous) = state.phase else { return nil }
      state.phase = .done
      return previous
    }
    if let previous {
      if layout == .folder { Bystanders.rescue(from: previous, to: targetPath) }
      SystemCall.removeTree(previous)
      StagedLitter.remove(previous)
    }
    letGo()
  }

  /// After a commit: puts the old store back, or nothing where nothing was.
  ///
  /// - Throws: `.changedOnDisk` where somebody else has saved since: theirs stays.
  public func rollBack() throws(PersistentStoreError) {
    let previous = state.withLock { state -> String?? in
      guard case .committed(let previous) = state.phase else { return nil }
      state.phase = .done
      return .some(previous)
    }
    guard let previous else { return }
    let lock = FolderLock(FilePathText.folder(targetPath))
    defer { lock.release() }
    guard try FileIdentity.of(targetPath) == state.withLock({ $0.committed }) else {
      if let previous {
        SystemCall.removeTree(previous)
        StagedLitter.remove(previous)
      }
      letGo()
      throw changedOnDisk()
    }
    try putBack(previous)
  }

  private func putBack(_ previous: String?) throws(PersistentStoreError) {
    defer { letGo() }
    if let previous {
      guard asf_exchange(previous, targetPath) == 0 || rename(previous, targetPath) == 0 else {
        throw SystemCall.error(errno, "put the old store back", targetPath)
      }
      SystemCall.removeTree(previous)
      StagedLitter.remove(previous)
    } else {
      SystemCall.removeTree(targetPath)
    }
    try SystemCall.syncFolder(FilePathText.folder(targetPath), of: targetPath)
  }

  /// Forgets what was staged. The target is as it was.
  public func discard() {
    let isPending = state.withLock { state -> Bool in
      for member in state.members { member.abandon() }
      switch state.phase {
      case .writing, .finished:
        state.phase = .done
        return true
      case .committed, .done: return false
      }
    }
    guard isPending else { return conclude() }
    SystemCall.removeTree(stagedPath)
    StagedLitter.remove(stagedPath)
  }

  /// Removes everything that any store of this process has staged: for a program that was told to stop.
  public static func discardAllPending() { StagedLitter.removeAll() }
}

/// A file being staged.
public final class StagedFile: Sendable {
  private struct State {
    var descriptor: Int32
    var written = 0
    /// How much the disk was told to begin with.
    var handedOver = 0
  }
  private static let handOver = 8 << 20
  private let state: Mutex<State>
  /// As it will be called.
  public let path: String
  private let faults: FaultPlan?

  init(descriptor: Int32, path: String, faults: FaultPlan?) {
    state = Mutex(State(descriptor: descriptor))
    self.path = path
    self.faults = faults
  }

  deinit { abandon() }

  public var bytesWritten: Int { state.withLock { $0.written } }

  /// Appends bytes.
  ///
  /// - Throws: `.noSpace`, `.inputOutput`.
  public func write(_ bytes: UnsafeRawBufferPointer) throws(PersistentStoreError) {
    try state.withLock { state throws(PersistentStoreError) in
      guard state.descriptor >= 0 else {
        throw PersistentStoreError(.internalInconsistency, "the file is closed", at: StoreLocation(file: path))
      }
      var rest = bytes
      while let base = rest.baseAddress, !rest.isEmpty {
        if let error = faults?.next(.write) { throw SystemCall.error(error, "write", path) }
        let count = faults?.shortWrite(rest.count) ?? rest.count
        let done = Glibc.write(state.descriptor, base, count)
        if done < 0 {
          if errno == EINTR { continue }
          throw SystemCall.error(errno, "write", path)
        }
        state.written += done
        // The disk begins with what is there while the format makes the rest, and the sync at the end waits for less. Only
        // a wish: whether it is heard does not matter.
        if state.written - state.handedOver >= Self.handOver {
          asf_begin_writing(state.descriptor, Int64(state.handedOver), Int64(state.written - state.handedOver))
          state.handedOver = state.written
        }
        rest = UnsafeRawBufferPointer(rebasing: rest[done...])
      }
    }
  }

  public func write(_ bytes: [UInt8]) throws(PersistentStoreError) {
    try bytes.withUnsafeBufferPointer { buffer throws(PersistentStoreError) in
      try write(UnsafeRawBufferPointer(buffer))
    }
  }

  /// Nothing to do for formats: the kit closes what it opened. Here for those who like to say it.
  public func close() throws(PersistentStoreError) {}

  /// - Parameter like: The file whose extended attributes it gets.
  func seal(mode: mode_t, like: String?, owner: stat?) throws(PersistentStoreError) {
    try state.withLock { state throws(PersistentStoreError) in
      let descriptor = state.descriptor
      guard descriptor >= 0 else { return }
      state.descriptor = -1
      do throws(PersistentStoreError) {
        // The owner first: changing it clears the set-user bits of the mode.
        if let owner { _ = fchown(descriptor, owner.st_uid, owner.st_gid) }
        if let like { asf_copy_attributes(like, descriptor) }
        guard fchmod(descriptor, mode) == 0 else { throw SystemCall.error(errno, "set the mode", path) }
        if let error = faults?.next(.sync) { throw SystemCall.error(error, "sync", path) }
        guard fsync(descriptor) == 0 else { throw SystemCall.error(errno, "sync", path) }
      } catch {
        Glibc.close(descriptor)
        throw error
      }
      // Some file systems tell only now that a write failed.
      guard Glibc.close(descriptor) == 0 || errno == EINTR else { throw SystemCall.error(errno, "close", path) }
    }
  }

  func abandon() {
    state.withLock { state in
      if state.descriptor >= 0 { Glibc.close(state.descriptor) }
      state.descriptor = -1
    }
  }
}

/// Faults to inject, for tests: the k-th call of any kind fails, or writes are short.
package final class FaultPlan: Sendable {
  package enum Call: Sendable { case create, write, sync, rename }
  private struct State {
    var calls = 0
    var seen: [Call] = []
  }
  private let state = Mutex(State())
  private let failing: Int?
  private let error: Int32
  private let isShort: Bool

  package init(failing: Int? = nil, error: Int32 = ENOSPC, shortWrites: Bool = false) {
    self.failing = failing
    self.error = error
    isShort = shortWrites
  }

  /// The calls so far, in order.
  package var calls: [Call] { state.withLock { $0.seen } }

  func next(_ call: Call) -> Int32? {
    state.withLock { state in
      state.seen.append(call)
      state.calls += 1
      return state.calls - 1 == failing ? error : nil
    }
  }
  func shortWrite(_ count: Int) -> Int { isShort ? max(1, count / 2) : count }
}
