import CStoreFiles
import Glibc

extension StagedStore {
  /// Moves the staged store to the target, and removes what was there.
  ///
  /// - Parameter patience: How long to wait for other commits of the store, in milliseconds.
  /// - Returns: The identity of what is at the target now.
  /// - Throws: as ``publish(patience:isPartOfUnit:)``.
  @discardableResult
  package consuming func commit(patience: Int = 30_000) throws(PersistentStoreError) -> FileIdentity {
    let published = try publish(patience: patience)
    let identity = published.identity
    published.conclude()
    return identity
  }

  /// Moves the staged store to the target, and keeps what was there until the result is concluded or rolled back.
  ///
  /// Call ``finish()`` first. ``Publication`` records what is done, so that another process can undo it.
  ///
  /// - Parameters:
  ///   - patience: How long to wait for other commits of the store, in milliseconds.
  ///   - isPartOfUnit: Whether the caller syncs the directory.
  /// - Throws: `.alreadyExists` or `.changedOnDisk` if the policy forbids replacing what is there; the old bytes are
  ///   then kept, as after any other error except `.notRolledBack`, which names the paths of both the old store and the
  ///   new one. `.locked` if another process keeps saving the store.
  consuming func publish(
    patience: Int = 30_000, isPartOfUnit: Bool = false
  ) throws(PersistentStoreError) -> PublishedStore {
    guard files.isClosed, !files.isUnnamed else {
      throw PersistentStoreError(
        .internalInconsistency, "the staged store is not finished", at: StoreLocation(file: targetPath))
    }
    // Between inspecting and replacing the target, no other save through the kit may do the same.
    let lock = try StoreLock(for: targetPath, patience: patience)
    defer { withExtendedLifetime(lock) {} }
    StagedItems.beginMoving()
    defer { StagedItems.endMoving() }
    try finishInterrupted(targetPath)
    let old = try FileIdentity.of(targetPath)
    switch policy {
    case .createNew: if old != nil { throw .alreadyExists(targetPath) }
    case .replaceOnlyIf(let expected): if old != expected { throw .changedOnDisk(targetPath) }
    case .replaceAny: break
    }
    if old != nil { try check?(targetPath) }
    let isCarrying = try takeUnrelatedFiles()
    if let error = faults?.next(.rename) { throw SystemCall.error(error, "rename", targetPath) }
    let staged = try FileIdentity.of(stagedPath, isOfTree: files.isTree)
    try files.companions.publish()
    let replaced: Replacement.Replaced
    do throws(PersistentStoreError) { replaced = try exchange(old, staged, canExchange: isCarrying) } catch {
      if ownsStaged { try files.companions.remove(after: error) }
      throw error
    }
    let replacement = Replacement(
      location: location, layout: layout, staged: staged, replaced: replaced, isTree: files.isTree,
      companions: files.companions)
    ownsStaged = false
    let identity: FileIdentity
    do throws(PersistentStoreError) {
      try checkReplaced(replacement.replaced, old)
      if !isPartOfUnit {
        if let error = faults?.next(.sync) { throw SystemCall.error(error, "sync the directory", targetPath) }
        try SystemCall.syncFolder(FilePathText.folder(targetPath), of: targetPath)
      }
      guard let now = try FileIdentity.of(targetPath, isOfTree: files.isTree) else {
        throw PersistentStoreError(.changedOnDisk, "the store vanished", at: StoreLocation(file: targetPath))
      }
      identity = now
    } catch {
      // Under the store's lock, which this commit holds.
      try replacement.putBack(known: old, after: error)
      throw error
    }
    // Until now, a signal would not have removed what was replaced.
    if let keeper = replacement.keeper { StagedItems.add(keeper) }
    JointPublication.notePublished()
    return PublishedStore(replacement, identity: identity)
  }

  /// What is published here, for the record of a publication, in the order in which it is.
  func recordEntries() throws(PersistentStoreError) -> [PublicationRecord.Entry] {
    [try files.companions.recordEntry(), try recordEntry()].compactMap(\.self)
  }

  func recordEntry() throws(PersistentStoreError) -> PublicationRecord.Entry? {
    try PublicationRecord.Entry(target: targetPath, staged: stagedPath, isTree: files.isTree)
  }

  /// Carries over unrelated files in the directory that is replaced.
  ///
  /// - Returns: Whether that succeeded; false if they can only stay where they are.
  private func takeUnrelatedFiles() throws(PersistentStoreError) -> Bool {
    guard check == nil, let status = try SystemCall.status(targetPath, followLinks: false),
      status.st_mode & S_IFMT == S_IFDIR
    else { return true }
    let names = try UnrelatedFiles.names(in: targetPath) + unrelated
    guard let first = names.first else { return true }
    guard layout == .folder else {
      throw PersistentStoreError(
        .alreadyExists, "this file does not belong to the store that would be replaced, and would be lost",
        at: StoreLocation(file: targetPath + "/" + first))
    }
    do throws(UnrelatedFiles.Failure) {
      try UnrelatedFiles.carry(names, from: targetPath, to: stagedPath, of: targetPath)
    } catch {
      switch error {
      case .refused(let error): throw error
      case .unsupported: return false
      }
    }
    try SystemCall.syncFolder(stagedPath, of: targetPath)
    return true
  }

  // MARK: Publishing

  /// Moves the staged store to the target.
  ///
  /// - Parameters:
  ///   - old: What is at the target.
  ///   - staged: What was staged.
  private mutating func exchange(
    _ old: FileIdentity?, _ staged: FileIdentity?, canExchange: Bool
  ) throws(PersistentStoreError) -> Replacement.Replaced {
    guard old != nil else {
      try publishNew()
      StagedItems.keep(stagedPath)
      return .nothing
    }
    if canExchange {
      // What is moved out is a user's store: a signal must not remove it.
      StagedItems.keep(stagedPath)
      let error = faults?.next(.exchange) ?? (Retried.exchange(stagedPath, targetPath) == 0 ? 0 : errno)
      if error == 0 {
        location.use.mark(stagedPath)
        return .exchanged
      }
      StagedItems.add(stagedPath)
      guard SystemCall.isUnsupported(error) else {
        throw SystemCall.error(error, "exchange the old store and the new", targetPath)
      }
    }
    guard let status = try SystemCall.status(targetPath, followLinks: false) else { throw .changedOnDisk(targetPath) }
    switch (layout, status.st_mode & S_IFMT) {
    case (.file, S_IFREG): return try publishFile(old)
    case (.folder, S_IFDIR) where check == nil: return try publishMembers(status, staged)
    default: return try publishOverEmpty(old)
    }
  }

  private func publishNew() throws(PersistentStoreError) {
    if Retried.renameExclusively(stagedPath, targetPath) == 0 { return }
    if errno == EEXIST { throw .alreadyExists(targetPath) }
    guard SystemCall.isUnsupported(errno) else { throw SystemCall.error(errno, "rename", targetPath) }
    // The file system does not support exclusive renames. A link is exclusive as well; a directory replaces only an
    // empty one.
    if layout == .file, Retried.link(stagedPath, targetPath) == 0 {
      Retried.unlink(stagedPath)
      return
    }
    if layout == .file, errno == EEXIST { throw .alreadyExists(targetPath) }
    if layout == .file, try SystemCall.status(targetPath, followLinks: false) != nil {
      throw .alreadyExists(targetPath)
    }
    guard Retried.rename(stagedPath, targetPath) == 0 else {
      if [EEXIST, ENOTEMPTY, ENOTDIR].contains(errno) { throw .alreadyExists(targetPath) }
      throw SystemCall.error(errno, "rename", targetPath)
    }
  }

  /// Without an exchange: a hard link keeps the old file, or a copy if the file system does not support hard links.
  private func publishFile(_ old: FileIdentity?) throws(PersistentStoreError) -> Replacement.Replaced {
    let keeper = HiddenName.staged(beside: targetPath)
    location.use.reserve(keeper)
    if Retried.link(targetPath, keeper) != 0 {
      guard SystemCall.isUnsupported(errno) || errno == EPERM || errno == EMLINK else {
        throw SystemCall.error(errno, "keep the old store", targetPath)
      }
      do throws(PersistentStoreError) { try SystemCall.copy(targetPath, to: keeper) } catch {
        Retried.unlink(keeper)
        throw error
      }
    } else if try FileIdentity.of(keeper) != old {
      Retried.unlink(keeper)
      throw .changedOnDisk(targetPath)
    }
    guard Retried.rename(stagedPath, targetPath) == 0 else {
      let error = errno
      Retried.unlink(keeper)
      throw SystemCall.error(error, "rename", targetPath)
    }
    StagedItems.keep(stagedPath)
    location.use.mark(keeper)
    return .file(keeper: keeper)
  }

  /// Without an exchange: moves the members one by one, so that any later process can finish an interrupted commit.
  private mutating func publishMembers(_ status: stat, _ identity: FileIdentity?) throws(PersistentStoreError)
    -> Replacement.Replaced
  {
    let staged = Set(files.files.map { ScalarString(FilePathText.name($0.path)) })
    if let hidden = staged.first(where: { $0.string.hasPrefix(".") }) {
      throw PersistentStoreError(
        .cannotCreate, "this file system cannot replace a store that has a hidden file",
        at: StoreLocation(file: targetPath + "/" + hidden.string))
    }
    // Unrelated files stay where they are.
    for name in try FolderListing(stagedPath).names where !staged.contains(ScalarString(name)) {
      SystemCall.removeTree(stagedPath + "/" + name)
    }
    let listing = try FolderListing(targetPath)
    let kept = Set(unrelated.map { ScalarString($0) })
    let old = listing.members.filter { !kept.contains(ScalarString($0.name)) }.map(\.name)
    let new = try FolderListing(stagedPath).members.map(\.name)
    if let taken = Set(new).intersection(listing.others + unrelated).sorted().first,
      try SystemCall.status(targetPath + "/" + taken, followLinks: false).map({ $0.st_mode & S_IFMT != S_IFLNK })
        ?? false
    {
      throw PersistentStoreError(
        .cannotCreate, "this file does not belong to the store, but a new file of the store has its name",
        at: StoreLocation(file: targetPath + "/" + taken))
    }
    let keeper = try keeperDirectory(status)
    let names = Set(new)
    do throws(PersistentStoreError) {
      try FolderSwap.begin(
        stagedPath, in: targetPath, FolderSwap.Manifest(members: new, removed: old.filter { !names.contains($0) }),
        of: targetPath)
    } catch {
      Retried.rmdir(keeper)
      throw error
    }
    StagedItems.keep(stagedPath)
    let replaced = Replacement.Replaced.members(keeper: keeper, old: old, new: new)
    do throws(PersistentStoreError) {
      try FolderSwap.finish(in: targetPath, movingOldTo: keeper, of: targetPath)
    } catch {
      ownsStaged = false
      try Replacement(
        location: location, layout: layout, staged: identity, replaced: replaced, isTree: files.isTree,
        companions: files.companions
      ).putBack(known: nil, after: error)
      throw error
    }
    location.use.mark(keeper)
    return replaced
  }

  /// A directory beside the store for what is moved out of it. It may become the store's again, so it needs the same
  /// read permissions.
  private func keeperDirectory(_ status: stat) throws(PersistentStoreError) -> String {
    let keeper = HiddenName.staged(beside: targetPath)
    location.use.reserve(keeper)
    guard Retried.mkdir(keeper, 0o700) == 0 else {
      throw SystemCall.error(errno, "create a directory beside the store", targetPath)
    }
    let descriptor = Retried.open(keeper, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    if descriptor >= 0 {
      _ = Retried.fchown(descriptor, uid_t.max, status.st_gid)
      _ = asf_copy_access_lists(targetPath, descriptor)
      _ = Retried.fchmod(descriptor, status.st_mode & 0o7777 | 0o700)
      close(descriptor)
    }
    return keeper
  }

  /// Without an exchange, and if a file replaces a directory or the reverse: only over an empty target.
  private func publishOverEmpty(_ old: FileIdentity?) throws(PersistentStoreError) -> Replacement.Replaced {
    let keeper = HiddenName.staged(beside: targetPath)
    location.use.reserve(keeper)
    let isEmpty = check != nil ? true : layout == .folder ? old?.isEmpty ?? true : try FolderListing(targetPath).isEmpty
    guard isEmpty else {
      throw PersistentStoreError(
        .cannotCreate,
        "this file system cannot replace a directory by a file, or the reverse, in one step; "
          + "remove the existing one first", at: StoreLocation(file: targetPath))
    }
    guard Retried.rename(targetPath, keeper) == 0 else { throw SystemCall.error(errno, "rename", targetPath) }
    guard Retried.rename(stagedPath, targetPath) == 0 else {
      let error = errno
      _ = Retried.rename(keeper, targetPath)
      throw SystemCall.error(error, "rename", targetPath)
    }
    StagedItems.keep(stagedPath)
    location.use.mark(keeper)
    return .file(keeper: keeper)
  }

  /// A program that does not use the lock may have been faster: then what was replaced is not what was read.
  private func checkReplaced(_ replaced: Replacement.Replaced, _ old: FileIdentity?) throws(PersistentStoreError) {
    switch replaced {
    case .exchanged: try check?(stagedPath)
    case .file(let keeper): try check?(keeper)
    case .nothing, .members: break
    }
    guard case .replaceOnlyIf = policy else { return }
    if let error = faults?.next(.look) { throw SystemCall.error(error, "look at the file", targetPath) }
    switch replaced {
    case .nothing, .file: return
    case .exchanged: if try FileIdentity.of(stagedPath) != old { throw .changedOnDisk(targetPath) }
    case .members(let keeper, _, _):
      // Unrelated files that the save left in place count as well: with them, it must be unchanged.
      guard unrelated.isEmpty, let old, let out = try FileIdentity.of(keeper) else { return }
      if !out.hasSameMembers(as: old) { throw .changedOnDisk(targetPath) }
    }
  }
}
