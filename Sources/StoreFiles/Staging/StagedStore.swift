import CStoreFiles
import Glibc

/// A store's new contents from the first byte until they are published or discarded: the kit's side of ``StagedFiles``.
///
/// Stage, fsync, rename (where something is there: exchange), fsync the directory above. Where the file system cannot
/// exchange, a file is replaced by a rename, and a directory's members by a recoverable sequence of renames. Symbolic
/// links stay and their target is replaced; mode, group and access control list stay, the owner where the system
/// allows. Whatever fails leaves the old bytes and nothing beside them. A value that is neither published nor committed
/// discards what it staged when it ends.
package struct StagedStore: ~Copyable, Sendable {
  /// What may be replaced.
  package enum Policy: Sendable {
    /// Nothing may be there.
    case createNew
    /// Only the very file that was read; nil only where nothing is.
    case replaceOnlyIf(FileIdentity?)
    case replaceAny
  }

  /// For the format.
  package let files: StagedFiles
  let policy: Policy
  /// Files in the target's directory that a save keeps, hidden ones aside, which it keeps in any case.
  let unrelated: [String]
  private let ceiling: PermissionCeiling?
  /// Whether what is staged is this value's to remove.
  var ownsStaged = true

  var location: StagingLocation { files.location }
  package var layout: StoreLayout { files.layout }
  /// Where the result goes, links followed.
  package var targetPath: String { location.targetPath }
  var stagedPath: String { location.stagedPath }
  var faults: FaultPlan? { location.faults }

  /// Prepares to write a store.
  ///
  /// - Parameters:
  ///   - unrelated: files in the target's directory that are not the store's.
  ///   - ceiling: the most that a new file or directory grants others; nil for what the system gives new files.
  /// - Throws: `.cannotCreate` for a missing directory, `.permissionDenied`, `.noSpace`.
  package init(
    target path: String, layout: StoreLayout, policy: Policy, keeping unrelated: [String] = [],
    ceiling: PermissionCeiling? = nil, faults: FaultPlan? = nil
  ) throws(PersistentStoreError) {
    let place = try StorePlace.inspect(path)
    let targetPath = place.resolvedPath
    let folder = FilePathText.folder(targetPath)
    guard try SystemCall.status(folder, followLinks: true) != nil else {
      throw PersistentStoreError(.cannotCreate, "the folder \(folder) does not exist", at: StoreLocation(file: path))
    }
    // A new file in its place would get by the mode that says that it is not to be changed.
    if place.kind != .nothing, faccessat(AT_FDCWD, targetPath, W_OK, AT_EACCESS) != 0, errno == EACCES || errno == EROFS
    {
      throw PersistentStoreError(
        .permissionDenied, "the store is protected against writing", at: StoreLocation(file: path))
    }
    StaleItems.remove(in: folder)
    let location = StagingLocation(
      targetPath: targetPath, stagedPath: HiddenName.staged(beside: targetPath), faults: faults)
    StagedItems.add(location.stagedPath)
    if layout == .folder { try Self.makeDirectory(location, shownAs: path) }
    files = StagedFiles(location, layout: layout)
    self.policy = policy
    self.unrelated = unrelated
    self.ceiling = ceiling
  }

  /// Prepares a file without a name in a directory: for a result that is read and never gets a path. It is its owner's
  /// alone, and ends with the process, however that ends.
  ///
  /// - Parameter shown: what errors name.
  package init(unnamedIn folder: String, shownAs shown: String) {
    files = StagedFiles(
      StagingLocation(targetPath: shown, stagedPath: folder, faults: nil), layout: .file, isUnnamed: true)
    policy = .createNew
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
      if let error = location.faults?.next(.create) ?? (mkdir(staged, 0o700) == 0 ? nil : errno) {
        throw SystemCall.error(error, "create a folder beside the store", path)
      }
      try inherit(from: location.targetPath, to: staged)
    } catch {
      rmdir(staged)
      StagedItems.remove(staged)
      throw error
    }
    location.use.mark(staged)
  }

  /// New members of a directory get the group and the default access control list of the one that it will replace.
  private static func inherit(from target: String, to staged: String) throws(PersistentStoreError) {
    guard let old = try SystemCall.status(target, followLinks: false), old.st_mode & S_IFMT == S_IFDIR else { return }
    let descriptor = try SystemCall.open(staged, O_RDONLY | O_DIRECTORY, doing: "open the folder")
    defer { close(descriptor) }
    // What cannot be kept is found out, and said, when the store is finished.
    _ = fchown(descriptor, uid_t.max, old.st_gid)
    _ = asf_copy_access_lists(target, descriptor)
    guard fchmod(descriptor, 0o700 | old.st_mode & S_ISGID) == 0 else {
      throw SystemCall.error(errno, "set the mode", target)
    }
  }

  // MARK: Finishing

  /// Closes and syncs all that was written, and gives it the mode and owner it will have. Only renames remain.
  package func finish() throws(PersistentStoreError) {
    files.close()
    let members = files.files
    guard layout == .folder || members.count == 1 else {
      throw PersistentStoreError(
        .internalInconsistency, "the format staged no file", at: StoreLocation(file: targetPath))
    }
    if !files.isUnnamed { try seal(members) }
  }

  private func seal(_ members: [StagedFile]) throws(PersistentStoreError) {
    let old = try SystemCall.status(targetPath, followLinks: false)
    let oldIsFolder = old.map { $0.st_mode & S_IFMT == S_IFDIR } ?? false
    let permissions = NewFilePermissions(ceiling: ceiling)
    let folder = layout == .file ? FilePathText.folder(targetPath) : stagedPath
    for member in members {
      // What is replaced gives its mode, owner and attributes to what takes its place; members do so one by one.
      let path = layout == .file ? targetPath : oldIsFolder ? member.path : nil
      let known = try path.flatMap { path throws(PersistentStoreError) in
        try SystemCall.status(path, followLinks: false)
      }
      let replaced = known.flatMap { status in path.flatMap { status.st_mode & S_IFMT == S_IFREG ? ($0, status) : nil }
      }
      try member.seal(replacing: replaced) { group throws(PersistentStoreError) in
        try permissions.mode(isFolder: false, in: folder, group: group)
      }
    }
    try files.companions.seal(permissions)
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
      mode =
        try permissions.mode(isFolder: true, in: FilePathText.folder(targetPath), group: own.st_gid) | own.st_mode
        & S_ISGID
    }
    guard fchmod(descriptor, mode) == 0 else { throw SystemCall.error(errno, "set the mode", targetPath) }
    if let error = faults?.next(.sync) { throw SystemCall.error(error, "sync the folder", targetPath) }
    try SystemCall.syncFolder(stagedPath, of: targetPath)
  }

  /// Lets what was staged be read before it is published. Call ``finish()`` first.
  package func sourceForVerification(name: String) throws(PersistentStoreError) -> StoreSource {
    guard files.isUnnamed else {
      let place = try StorePlace.inspect(stagedPath)
      return try StoreSource(
        opening: place.shown(as: name), companions: files.companions.staged.map { (files.fileName, $0.root, $0.path) })
    }
    guard let descriptor = files.files.first?.descriptor else {
      throw PersistentStoreError(.internalInconsistency, "the format staged no file", at: StoreLocation(file: name))
    }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw SystemCall.error(errno, "look at the file", name) }
    // Opening this is opening the file anew: it is read from its beginning.
    let path = "/proc/self/fd/\(descriptor)"
    return try StoreSource(
      opening: StorePlace(file: path, shownAs: name, size: Int(status.st_size), identity: FileIdentity(path, status)))
  }

  /// Removes what was staged. The target is as it was.
  package consuming func discard() {}

  /// Removes everything that any store of this process has staged: for a program that was told to stop.
  package static func discardAllPending() { StagedItems.removeAll() }
}
