import CStoreFiles
import Glibc
import Synchronization

/// Stages a store's new contents beside the target and publishes them in one step, or not at all.
///
/// Stage, fsync, rename (where something is there: exchange), fsync the directory above. Where the file system cannot exchange, a
/// file is replaced by a rename, and a directory's members by a recoverable sequence of renames. Symbolic links stay and their
/// target is replaced; mode, group and access control list stay, the owner where the system allows. Whatever fails leaves the old
/// bytes and nothing beside them.
public final class StagedStore: Sendable {
  /// What is written: one file, or a directory of files.
  public enum Layout: Sendable {
    /// One file.
    case file
    /// A directory with files in it.
    case folder
  }
  /// What may be replaced.
  public enum Policy: Sendable {
    /// Nothing may be there.
    case createNew
    /// Only the very file that was read; nil only where nothing is.
    case replaceOnlyIf(FileIdentity?)
    /// Whatever is there.
    case replaceAny
  }

  /// Where the result goes, links followed.
  public let targetPath: String
  /// Whether one file or a directory is written.
  public let layout: Layout
  let policy: Policy
  let stagedPath: String
  let faults: FaultPlan?
  /// Files in the target's directory that a save keeps, hidden ones aside, which it keeps in any case.
  let unrelated: [String]
  private let ceiling: PermissionCeiling?
  /// Whether what is staged has no name and is never published.
  private let isUnnamed: Bool
  /// How many members are open at a time: a process may have 1,024 descriptors, and needs some for itself.
  private static let openMembers = 32

  enum Phase {
    case writing, finished
    case committed(Replaced)
    /// Nothing of it is this value's to remove any more.
    case done
  }
  /// What a commit did with what was at the target.
  enum Replaced {
    case nothing
    /// It bears the staged name now.
    case exchanged
    /// A second name, or a copy, of the file that was there.
    case file(keeper: String)
    /// Its members are in another directory, and these are their names and those of the new store's.
    case members(keeper: String, old: [String], new: [String])
  }
  struct State {
    var phase = Phase.writing
    var members: [StagedFile] = []
    /// How many of the first members were closed for now.
    var parked = 0
    /// The lock that says that what is staged is in use.
    var hold: Int32?
    /// What was staged, as it was when it took the target's place.
    var staged: FileIdentity?
    /// What is at the target after the commit.
    var committed: FileIdentity?
  }
  let state = Mutex(State())

  /// Prepares to write a store.
  ///
  /// - Throws: `.cannotCreate` for a missing directory, `.permissionDenied`, `.noSpace`.
  public convenience init(target path: String, layout: StoreTraits.Layout, policy: Policy) throws(PersistentStoreError)
  {
    try self.init(target: path, layout: layout, policy: policy, keeping: [], faults: nil)
  }

  /// - Parameters:
  ///   - unrelated: files in the target's directory that are not the store's.
  ///   - ceiling: the most that a new file or directory grants others; nil for what the system gives new files.
  package init(
    target path: String, layout: StoreTraits.Layout, policy: Policy, keeping unrelated: [String] = [],
    ceiling: PermissionCeiling? = nil, faults: FaultPlan? = nil
  ) throws(PersistentStoreError) {
    self.unrelated = unrelated
    let place = try StorePlace.inspect(path)
    targetPath = place.resolvedPath
    self.layout = layout == .file ? .file : .folder
    self.policy = policy
    self.ceiling = ceiling
    self.faults = faults
    isUnnamed = false
    let folder = FilePathText.folder(targetPath)
    guard try SystemCall.status(folder, followLinks: true) != nil else {
      throw PersistentStoreError(.cannotCreate, "the folder \(folder) does not exist", at: StoreLocation(file: path))
    }
    // A new file in its place would get by the mode that says that it is not to be changed.
    if place.kind != .nothing, faccessat(AT_FDCWD, targetPath, W_OK, AT_EACCESS) != 0, errno == EACCES || errno == EROFS {
      throw PersistentStoreError(.permissionDenied, "the store is protected against writing", at: StoreLocation(file: path))
    }
    StagedItems.removeStale(in: folder)
    stagedPath = StagedItems.name(beside: targetPath)
    StagedItems.add(stagedPath)
    if self.layout == .folder {
      if let error = faults?.next(.create) ?? (mkdir(stagedPath, 0o700) == 0 ? nil : errno) {
        StagedItems.remove(stagedPath)
        throw SystemCall.error(error, "create a folder beside the store", path)
      }
      try inherit()
      hold(stagedPath)
    }
  }

  /// Prepares a file without a name in a directory: for a result that is read and never gets a path. It is its owner's alone, and
  /// ends with the process, however that ends.
  ///
  /// - Parameter shown: what errors name.
  package init(unnamedIn folder: String, shownAs shown: String) throws(PersistentStoreError) {
    targetPath = shown
    stagedPath = folder
    layout = .file
    policy = .createNew
    unrelated = []
    ceiling = .ownerOnly
    faults = nil
    isUnnamed = true
  }

  deinit {
    discard()
    letGo()
  }

  /// New members of a directory get the group and the default access control list of the one that it will replace.
  private func inherit() throws(PersistentStoreError) {
    guard let old = try SystemCall.status(targetPath, followLinks: false), old.st_mode & S_IFMT == S_IFDIR else { return }
    let descriptor = try SystemCall.open(stagedPath, O_RDONLY | O_DIRECTORY, doing: "open the folder")
    defer { close(descriptor) }
    // What cannot be kept is found out, and said, when the store is finished.
    _ = fchown(descriptor, uid_t.max, old.st_gid)
    _ = asf_copy_access_lists(targetPath, descriptor)
    guard fchmod(descriptor, 0o700 | old.st_mode & S_ISGID) == 0 else { throw SystemCall.error(errno, "set the mode", targetPath) }
  }

  func hold(_ path: String) {
    letGo()
    let descriptor = StagedItems.hold(path)
    state.withLock { $0.hold = descriptor }
  }
  func letGo() {
    state.withLock { state in
      if let hold = state.hold { close(hold) }
      state.hold = nil
    }
  }

  // MARK: For formats

  /// The file of a store that is one file. Ask once.
  public func file() throws(PersistentStoreError) -> StagedFile {
    guard layout == .file else {
      throw PersistentStoreError(.internalInconsistency, "the store is a folder: write members")
    }
    if isUnnamed { return try unnamedFile() }
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
    guard !bytes.isEmpty, name != ".", name != "..", !bytes.contains(UInt8(ascii: "/")), !bytes.contains(0), bytes.count <= 255 else {
      throw PersistentStoreError(
        .invalidValue, "'\(name)' cannot name a file", at: StoreLocation(file: targetPath))
    }
    return try open(stagedPath + "/" + name, shownAs: targetPath + "/" + name)
  }

  private func open(_ path: String, shownAs shown: String) throws(PersistentStoreError) -> StagedFile {
    if let error = faults?.next(.create) { throw SystemCall.error(error, "create a file", shown) }
    // Formats write one member after the other: those that were written first are done.
    let full = state.withLock { state -> StagedFile? in
      guard state.members.count - state.parked >= Self.openMembers else { return nil }
      state.parked += 1
      return state.members[state.parked - 1]
    }
    try full?.park()
    let descriptor: Int32
    do {
      descriptor = try SystemCall.open(
        path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600, doing: "create a file beside the store")
    } catch {
      throw PersistentStoreError(error.code, error.message, at: StoreLocation(file: shown))
    }
    let file = StagedFile(descriptor: descriptor, stagedPath: path, path: shown, faults: faults)
    state.withLock { $0.members.append(file) }
    return file
  }

  private func unnamedFile() throws(PersistentStoreError) -> StagedFile {
    var descriptor = asf_unnamed_file(stagedPath)
    if descriptor < 0 {
      // A file system without such files: one whose name goes at once.
      let path = StagedItems.name(beside: stagedPath + "/store")
      do {
        descriptor = try SystemCall.open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600, doing: "stage the result in \(stagedPath)")
      } catch {
        throw PersistentStoreError(error.code, error.message, at: StoreLocation(file: targetPath))
      }
      unlink(path)
    }
    let file = StagedFile(descriptor: descriptor, stagedPath: "/proc/self/fd/\(descriptor)", path: targetPath, faults: nil)
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
    if !isUnnamed { try seal(members) }
    state.withLock { $0.phase = .finished }
  }

  private func seal(_ members: [StagedFile]) throws(PersistentStoreError) {
    let old = try SystemCall.status(targetPath, followLinks: false)
    let oldIsFolder = old.map { $0.st_mode & S_IFMT == S_IFDIR } ?? false
    let permissions = NewFilePermissions(ceiling: ceiling)
    let folder = layout == .file ? FilePathText.folder(targetPath) : stagedPath
    for member in members {
      // What is replaced gives its mode, owner and attributes to what takes its place; members do so one by one.
      let path = layout == .file ? targetPath : oldIsFolder ? member.path : nil
      let known = try path.flatMap { path throws(PersistentStoreError) in try SystemCall.status(path, followLinks: false) }
      let replaced = known.flatMap { status in path.flatMap { status.st_mode & S_IFMT == S_IFREG ? ($0, status) : nil } }
      try member.seal(replacing: replaced) { group throws(PersistentStoreError) in
        try permissions.mode(isFolder: false, in: folder, group: group)
      }
    }
    guard layout == .folder else { return }
    let descriptor = try SystemCall.open(stagedPath, O_RDONLY | O_DIRECTORY, doing: "open the folder")
    defer { close(descriptor) }
    let mode: mode_t
    if let old, oldIsFolder {
      mode = try FileOwnership.copy(from: targetPath, old, to: descriptor, shown: targetPath)
      asf_copy_attributes(targetPath, descriptor)
    } else {
      var own = stat()
      guard fstat(descriptor, &own) == 0 else { throw SystemCall.error(errno, "look at the folder", targetPath) }
      mode = try permissions.mode(isFolder: true, in: FilePathText.folder(targetPath), group: own.st_gid) | own.st_mode & S_ISGID
    }
    guard fchmod(descriptor, mode) == 0 else { throw SystemCall.error(errno, "set the mode", targetPath) }
    if let error = faults?.next(.sync) { throw SystemCall.error(error, "sync the folder", targetPath) }
    try SystemCall.syncFolder(stagedPath, of: targetPath)
  }

  /// Lets what was staged be read before it takes the target's place.
  public func sourceForVerification(name: String) throws(PersistentStoreError) -> StoreSource {
    guard isUnnamed else {
      let place = try StorePlace.inspect(stagedPath)
      return try StoreSource(opening: place.shown(as: name))
    }
    guard let descriptor = state.withLock({ $0.members.first })?.descriptor else {
      throw PersistentStoreError(.internalInconsistency, "the format staged no file", at: StoreLocation(file: name))
    }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw SystemCall.error(errno, "look at the file", name) }
    // Opening this is opening the file anew: it is read from its beginning.
    let path = "/proc/self/fd/\(descriptor)"
    return try StoreSource(opening: StorePlace(file: path, shownAs: name, size: Int(status.st_size), identity: FileIdentity(path, status)))
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
    guard !isUnnamed else { return }
    SystemCall.removeTree(stagedPath)
    StagedItems.remove(stagedPath)
  }

  /// Removes everything that any store of this process has staged: for a program that was told to stop.
  public static func discardAllPending() { StagedItems.removeAll() }
}
