import CStoreFiles
import Glibc

/// A store's new contents from the first byte until they are published or discarded: the kit's side of ``StagedFiles``.
///
/// Stage, fsync, rename (exchange if there is an existing store), fsync the parent directory. If the file system cannot
/// exchange, a file is replaced by a rename, and a directory's members by a recoverable sequence of renames. Symbolic
/// links are preserved and their target is replaced; mode, group and access control list are preserved, the owner if
/// the system allows it. If anything fails, the old bytes remain, without temporary files. A value that is neither
/// published nor committed discards what it staged when it ends.
package struct StagedStore: ~Copyable, Sendable {
  /// What may be replaced.
  package enum Policy: Sendable {
    /// The target must not exist.
    case createNew
    /// Only exactly the file that was read; nil if there must be nothing.
    case replaceOnlyIf(FileIdentity?)
    case replaceAny
  }

  /// The files that the format writes.
  package let files: StagedFiles
  let policy: Policy
  /// Throws if a directory must not be replaced with everything in it. It is called with its path before it is
  /// replaced, and with the path that it was moved to: another process may have added a file in between.
  package typealias DirectoryCheck = @Sendable (_ old: String) throws(PersistentStoreError) -> Void
  /// For a tree; nil for a store, whose save keeps the unrelated files of a directory.
  let check: DirectoryCheck?
  /// Files in the target's directory that a save keeps, in addition to hidden ones, which it always keeps.
  let unrelated: [String]
  var ceiling: PermissionCeiling?
  /// Whether this value must remove what is staged.
  var ownsStaged = true

  var location: StagingLocation { files.location }
  package var layout: StoreLayout { files.layout }
  /// The path of the result, with links followed.
  package var targetPath: String { location.targetPath }
  var stagedPath: String { location.stagedPath }
  var faults: FaultPlan? { location.faults }

  /// Prepares to write a store.
  ///
  /// - Parameters:
  ///   - unrelated: Files in the target's directory that do not belong to the store.
  ///   - ceiling: The maximum permissions that a new file or directory grants to others; nil for the system's default.
  ///   - sweeps: Whether what killed processes left in the directory is removed first.
  /// - Throws: `.cannotCreate` for a missing directory, `.permissionDenied`, `.noSpace`.
  package init(
    target path: String, layout: StoreLayout, policy: Policy, keeping unrelated: [String] = [],
    ceiling: PermissionCeiling? = nil, sweeps: Bool = true, faults: FaultPlan? = nil
  ) throws(PersistentStoreError) {
    try self.init(path, layout, policy, unrelated, nil, ceiling, sweeps, faults)
  }

  /// Prepares to write a directory with files at any depth, which replaces a directory with everything in it.
  ///
  /// - Parameters:
  ///   - check: Throws if the directory at the path must not be replaced.
  /// - Throws: as for a store.
  package init(
    tree path: String, policy: Policy, replacing check: @escaping DirectoryCheck, ceiling: PermissionCeiling? = nil,
    faults: FaultPlan? = nil
  ) throws(PersistentStoreError) {
    try self.init(path, .folder, policy, [], check, ceiling, true, faults)
  }

  private init(
    _ path: String, _ layout: StoreLayout, _ policy: Policy, _ unrelated: [String], _ check: DirectoryCheck?,
    _ ceiling: PermissionCeiling?, _ sweeps: Bool, _ faults: FaultPlan?
  ) throws(PersistentStoreError) {
    let place = try StorePath.inspect(path)
    let targetPath = place.resolvedPath
    let folder = FilePathText.folder(targetPath)
    guard try SystemCall.status(folder, followLinks: true) != nil else {
      throw PersistentStoreError(.cannotCreate, "the directory \(folder) does not exist", at: StoreLocation(file: path))
    }
    // Replacing a write-protected file would circumvent its mode.
    if place.kind != .nothing, faccessat(AT_FDCWD, targetPath, W_OK, AT_EACCESS) != 0, errno == EACCES || errno == EROFS
    {
      throw PersistentStoreError(
        .permissionDenied, "the store is write-protected", at: StoreLocation(file: path))
    }
    if sweeps { StaleItems.remove(in: folder) }
    let location = StagingLocation(
      targetPath: targetPath, stagedPath: HiddenName.staged(beside: targetPath), faults: faults)
    StagedItems.beginMoving()
    defer { StagedItems.endMoving() }
    location.use.reserve(location.stagedPath)
    StagedItems.add(location.stagedPath)
    if layout == .folder { try Self.makeDirectory(location, shownAs: path) }
    files = StagedFiles(location, layout: layout, isTree: check != nil)
    self.check = check
    self.policy = policy
    self.unrelated = unrelated
    self.ceiling = ceiling
  }

  /// Prepares a file without a name in a directory, for a result that is read and never gets a path. Only its owner can
  /// access it, and it is removed when the process ends, however it ends.
  ///
  /// - Parameter shown: The name for errors.
  package init(unnamedIn folder: String, shownAs shown: String) {
    files = StagedFiles(
      StagingLocation(targetPath: shown, stagedPath: folder, faults: nil), layout: .file, isUnnamed: true)
    policy = .createNew
    check = nil
    unrelated = []
    ceiling = .ownerOnly
  }

  deinit {
    guard ownsStaged else { return }
    files.abandon()
    guard !files.isUnnamed else { return }
    SystemCall.removeTree(files.location.stagedPath)
    StagedItems.remove(files.location.stagedPath)
    files.location.use.end()
  }

  private static func makeDirectory(_ location: StagingLocation, shownAs path: String) throws(PersistentStoreError) {
    let staged = location.stagedPath
    do throws(PersistentStoreError) {
      if let error = location.faults?.next(.create) ?? (Retried.mkdir(staged, 0o700) == 0 ? nil : errno) {
        throw SystemCall.error(error, "create a directory beside the store", path)
      }
      try inherit(from: location.targetPath, to: staged)
    } catch {
      Retried.rmdir(staged)
      StagedItems.remove(staged)
      throw error
    }
    location.use.mark(staged)
  }

  /// New members of a directory get the group and the default access control list of the directory that it will
  /// replace.
  private static func inherit(from target: String, to staged: String) throws(PersistentStoreError) {
    guard let old = try SystemCall.status(target, followLinks: false), old.st_mode & S_IFMT == S_IFDIR else { return }
    let descriptor = try SystemCall.open(staged, O_RDONLY | O_DIRECTORY, doing: "open the folder")
    defer { close(descriptor) }
    // What cannot be preserved is determined, and reported, when the store is finished.
    _ = Retried.fchown(descriptor, uid_t.max, old.st_gid)
    _ = asf_copy_access_lists(target, descriptor)
    guard Retried.fchmod(descriptor, 0o700 | old.st_mode & S_ISGID) == 0 else {
      throw SystemCall.error(errno, "set the mode", target)
    }
  }

  // MARK: Finishing

  /// Closes and syncs all that was written, and sets its final mode and owner. Only renames remain.
  package func finish() throws(PersistentStoreError) {
    files.close()
    let members = files.files
    guard layout == .folder || members.count == 1 else {
      throw PersistentStoreError(
        .internalInconsistency, "the format did not create a file", at: StoreLocation(file: targetPath))
    }
    if !files.isUnnamed { try seal(members) }
  }

  private func seal(_ members: [StagedFile]) throws(PersistentStoreError) {
    let old = try SystemCall.status(targetPath, followLinks: false)
    let oldIsFolder = old.map { $0.st_mode & S_IFMT == S_IFDIR } ?? false
    let permissions = NewFilePermissions(ceiling: ceiling)
    let folder = layout == .file ? FilePathText.folder(targetPath) : stagedPath
    // Read once, if there is a new file: a store may have hundreds.
    var inherited: AccessList??
    for member in members {
      // The mode, owner and attributes of the old store are copied to the new one, for members one by one.
      let path = layout == .file ? targetPath : oldIsFolder ? member.path : nil
      let known = try path.flatMap { path throws(PersistentStoreError) in
        try SystemCall.status(path, followLinks: false)
      }
      let replaced = known.flatMap { status in path.flatMap { status.st_mode & S_IFMT == S_IFREG ? ($0, status) : nil }
      }
      try member.seal(replacing: replaced) { group throws(PersistentStoreError) in
        let list: AccessList? = if let inherited { inherited } else { try AccessList.inherited(from: folder) }
        inherited = .some(list)
        return permissions.mode(isFolder: false, inheriting: list, group: group)
      }
    }
    try files.companions.finish(ceiling)
    guard layout == .folder else { return }
    for directory in files.directories.reversed() { try sealDirectory(directory, permissions) }
    try sealDirectory("", permissions)
  }

  /// - Parameter directory: Its path in the staged directory, with a slash before it; empty for that itself.
  private func sealDirectory(
    _ directory: String, _ permissions: NewFilePermissions
  ) throws(PersistentStoreError) {
    let (path, final) = (stagedPath + directory, targetPath + directory)
    let descriptor = try SystemCall.open(path, O_RDONLY | O_DIRECTORY, doing: "open the folder")
    defer { close(descriptor) }
    let mode: mode_t
    if let old = try SystemCall.status(final, followLinks: false), old.st_mode & S_IFMT == S_IFDIR {
      mode = try FileOwnership.copy(from: final, old, to: descriptor, shown: final)
      asf_copy_attributes(final, descriptor)
    } else {
      var own = stat()
      guard Retried.fstat(descriptor, &own) == 0 else { throw SystemCall.error(errno, "look at the folder", final) }
      mode =
        try permissions.mode(isFolder: true, in: FilePathText.folder(targetPath), group: own.st_gid) | own.st_mode
        & S_ISGID
    }
    guard Retried.fchmod(descriptor, mode) == 0 else { throw SystemCall.error(errno, "set the mode", final) }
    if let error = faults?.next(.sync) { throw SystemCall.error(error, "sync the directory", final) }
    try SystemCall.syncFolder(path, of: final)
  }

  /// Returns the staged contents as a source before they are published. Call ``finish()`` first.
  package func sourceForVerification(name: String) throws(PersistentStoreError) -> StoreSource {
    guard files.isUnnamed else {
      let place = try StorePath.inspect(stagedPath)
      return try StoreSource(
        opening: place.shown(as: name),
        companions: files.companions.stagedPath.map { (files.fileName, $0.root, $0.path) })
    }
    guard let descriptor = files.files.first?.descriptor else {
      throw PersistentStoreError(
        .internalInconsistency, "the format did not create a file", at: StoreLocation(file: name))
    }
    var status = stat()
    guard Retried.fstat(descriptor, &status) == 0 else { throw SystemCall.error(errno, "look at the file", name) }
    // Opening this path opens the file again, so that it is read from its beginning.
    let path = "/proc/self/fd/\(descriptor)"
    return try StoreSource(
      opening: StorePath(file: path, shownAs: name, size: Int(status.st_size), identity: FileIdentity(path, status)))
  }

  /// Removes what was staged. The target is unchanged.
  package consuming func discard() {}

  /// Removes everything that any store of this process has staged, for a program that is asked to stop. A store that is
  /// being published is first published whole; no other one is before the program has ended.
  ///
  /// - Parameter end: Ends the program.
  package static func discardAllPending(andThen end: () -> Never) -> Never {
    StagedItems.whileNothingMoves {
      StagedItems.removeAll()
      StoreLock.removeAllHeld()
      end()
    }
  }
}
