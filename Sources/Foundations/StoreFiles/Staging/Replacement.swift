import CStoreFiles
import Glibc

/// What a commit replaced, and how it is restored. Nothing is removed except what was staged, or what is known to be
/// the version that it replaced.
struct Replacement: Sendable {
  /// What a commit did with the old content of the target.
  enum Replaced {
    case nothing
    /// It now has the staged name.
    case exchanged
    /// A hard link to, or a copy of, the old file.
    case file(keeper: String)
    /// Its members are in another directory. With their names and those of the new store.
    case members(keeper: String, old: [String], new: [String])
  }

  let location: StagingLocation
  let layout: StoreLayout
  /// The identity of the staged file or directory when it was moved to the target.
  let staged: FileIdentity?
  let replaced: Replaced
  /// Whether the directory was replaced with everything in it, unrelated files included.
  let isTree: Bool
  /// What was published with it, beside it.
  let companions: StagedCompanions

  private var targetPath: String { location.targetPath }
  private var stagedPath: String { location.stagedPath }
  private var faults: FaultPlan? { location.faults }

  /// The path of what was replaced.
  var keeper: String? {
    switch replaced {
    case .nothing: nil
    case .exchanged: stagedPath
    case .file(let keeper), .members(let keeper, _, _): keeper
    }
  }

  /// Removes what was replaced.
  func conclude() {
    companions.conclude()
    if case .exchanged = replaced, layout == .folder, !isTree {
      UnrelatedFiles.rescue(from: stagedPath, to: targetPath)
    }
    removeReplaced()
    location.use.end()
  }

  private func removeReplaced() {
    guard let keeper else { return }
    SystemCall.removeTree(keeper)
    StagedItems.remove(keeper)
  }

  /// Undoes a commit. The store's lock is held.
  ///
  /// - Parameter committed: What the commit left at the target.
  /// - Throws: `.changedOnDisk`, `.notRolledBack`: see ``PublishedStore/rollBack()``.
  func rollBack(from committed: FileIdentity) throws(PersistentStoreError) {
    let now: FileIdentity?
    do throws(PersistentStoreError) {
      try finishInterrupted(targetPath)
      now = try FileIdentity.of(targetPath, isOfTree: isTree)
    } catch { throw leftAsItIs(after: error) }
    guard now == committed else {
      // What was replaced is two versions old.
      removeReplaced()
      location.use.end()
      throw .changedOnDisk(targetPath)
    }
    let asked = PersistentStoreError(
      .inputOutput, "the save was being rolled back", at: StoreLocation(file: targetPath))
    try putBack(known: nil, after: asked)
  }

  /// Restores what a commit replaced. The store's lock is held.
  ///
  /// - Parameter cause: The reason.
  /// - Throws: `.changedOnDisk` if another process saved over the new store, which is then kept; `.notRolledBack` if
  ///   the old store is not restored: the error names its path.
  func putBack(known old: FileIdentity?, after cause: PersistentStoreError) throws(PersistentStoreError) {
    defer { location.use.end() }
    // A signal must not remove it while it is being restored.
    if let keeper { StagedItems.keep(keeper) }
    switch replaced {
    case .nothing: try undoAfter(cause)
    case .exchanged: try exchangeBack(known: old, cause)
    case .file(let keeper): try renameBack(keeper, cause)
    case .members(let keeper, let old, let new): try moveBack(keeper, old, new, cause)
    }
    try? SystemCall.syncFolder(FilePathText.folder(targetPath), of: targetPath)
    try companions.remove(after: cause)
  }

  /// Whether something is what was staged here. If unknown, it is not.
  private func isOurs(_ path: String) -> Bool {
    guard let staged, let there = try? FileIdentity.of(path, isOfTree: isTree) else { return false }
    return there == staged
  }

  private func undoAfter(_ cause: PersistentStoreError) throws(PersistentStoreError) {
    // Move it first, then inspect it: the target could be replaced between an inspection and a removal.
    guard
      Retried.renameExclusively(targetPath, stagedPath) == 0
        || (SystemCall.isUnsupported(errno) && Retried.rename(targetPath, stagedPath) == 0)
    else {
      if errno == ENOENT { return }
      throw notRolledBack(
        cause,
        "what was written could not be removed again (\(String(cString: strerror(errno)))): it is at \(targetPath)")
    }
    if isOurs(stagedPath) { return SystemCall.removeTree(stagedPath) }
    // Not ours, or unknown: move it back.
    let isKnown = ((try? FileIdentity.of(stagedPath)) ?? nil) != nil
    guard
      Retried.renameExclusively(stagedPath, targetPath) == 0
        || (SystemCall.isUnsupported(errno) && Retried.rename(stagedPath, targetPath) == 0)
    else {
      throw notRolledBack(cause, "what was at \(targetPath) is kept at \(keep(stagedPath))")
    }
    // Another program saved over it.
    if isKnown { throw .changedOnDisk(targetPath) }
    throw notRolledBack(cause, "what was written could not be inspected, and is still at \(targetPath)")
  }

  private func exchangeBack(known old: FileIdentity?, _ cause: PersistentStoreError) throws(PersistentStoreError) {
    guard swapBack() else {
      let reason = String(cString: strerror(errno))
      throw notRolledBack(
        cause,
        "the old store could not be restored (\(reason)): the new one is at \(targetPath), what it replaced at \(keep(stagedPath))"
      )
    }
    if isOurs(stagedPath) { return SystemCall.removeTree(stagedPath) }
    guard (try? FileIdentity.of(stagedPath)) ?? nil != nil else {
      // The old store is restored, and what was written may belong to another process: keep it.
      throw notRolledBack(
        cause, "the old store is restored at \(targetPath); what was there instead is kept at \(keep(stagedPath))")
    }
    // Another process saved over the new store meanwhile: its version is the latest.
    guard swapBack() else {
      throw notRolledBack(
        cause,
        "another program saved meanwhile: its version is kept at \(keep(stagedPath)), the old one is at \(targetPath)")
    }
    if let old, let there = try? FileIdentity.of(stagedPath), there == old {
      SystemCall.removeTree(stagedPath)
      throw .changedOnDisk(targetPath)
    }
    throw notRolledBack(
      cause,
      "another program saved meanwhile: its version is at \(targetPath), an older one is kept at \(keep(stagedPath))")
  }

  private func swapBack() -> Bool {
    if let error = faults?.next(.exchangeBack) {
      errno = error
      return false
    }
    return Retried.exchange(stagedPath, targetPath) == 0
  }

  private func renameBack(_ keeper: String, _ cause: PersistentStoreError) throws(PersistentStoreError) {
    guard isOurs(targetPath) else {
      SystemCall.removeTree(keeper)
      throw .changedOnDisk(targetPath)
    }
    if Retried.rename(keeper, targetPath) == 0 { return }
    // Of another kind: first move the new store away.
    if errno == EISDIR || errno == ENOTDIR, Retried.rename(targetPath, stagedPath) == 0 {
      if Retried.rename(keeper, targetPath) == 0 { return SystemCall.removeTree(stagedPath) }
      _ = Retried.rename(stagedPath, targetPath)
    }
    let reason = String(cString: strerror(errno))
    throw notRolledBack(
      cause,
      "the old store could not be restored (\(reason)): the new one is at \(targetPath), what it replaced at \(keep(keeper))"
    )
  }

  private func moveBack(_ keeper: String, _ old: [String], _ new: [String], _ cause: PersistentStoreError)
    throws(PersistentStoreError)
  {
    do throws(PersistentStoreError) {
      // If moving failed half-way, all of the old store must be moved out before it can be restored.
      try FolderSwap.finish(in: targetPath, movingOldTo: keeper, of: targetPath)
      let names = Set(old)
      let spare = HiddenName.staged(beside: targetPath)
      location.use.reserve(spare)
      guard Retried.mkdir(spare, 0o700) == 0 else {
        throw SystemCall.error(errno, "create a directory beside the store", targetPath)
      }
      defer { SystemCall.removeTree(spare) }
      try FolderSwap.begin(
        keeper, in: targetPath, FolderSwap.Manifest(members: old, removed: new.filter { !names.contains($0) }),
        of: targetPath)
      try FolderSwap.finish(in: targetPath, movingOldTo: spare, of: targetPath)
    } catch {
      throw notRolledBack(
        cause,
        "the old store could not be restored (\(error.message)): the new one is at \(targetPath), what it replaced at \(keep(keeper))"
      )
    }
  }

  /// For a commit that cannot be inspected: both versions are kept.
  private func leftAsItIs(after cause: PersistentStoreError) -> PersistentStoreError {
    // Only when what must not be lost has its other name.
    defer { location.use.end() }
    guard let keeper else { return notRolledBack(cause, "the new store is still at \(targetPath)") }
    StagedItems.keep(keeper)
    return notRolledBack(cause, "the new store is still at \(targetPath), what it replaced is kept at \(keep(keeper))")
  }

  /// Gives what must not be lost a name that no later save removes.
  private func keep(_ path: String) -> String { keepAside(path, beside: targetPath) }

  private func notRolledBack(_ cause: PersistentStoreError, _ what: String) -> PersistentStoreError {
    .notRolledBack(cause, what, targetPath)
  }
}

/// Renames what must not be lost to a name of ``HiddenName/kept(beside:)``.
///
/// - Returns: Its path, which is the old one if that fails.
func keepAside(_ path: String, beside target: String) -> String {
  let kept = HiddenName.kept(beside: target)
  guard (try? SystemCall.status(path, followLinks: false)) != nil, Retried.rename(path, kept) == 0 else { return path }
  return kept
}

/// Finishes the commit of a store that a killed process began.
func finishInterrupted(_ path: String) throws(PersistentStoreError) {
  guard let status = try SystemCall.status(path, followLinks: false), status.st_mode & S_IFMT == S_IFDIR else { return }
  try FolderSwap.finish(in: path, movingOldTo: nil, of: path)
}

extension PersistentStoreError {
  static func notRolledBack(_ cause: PersistentStoreError, _ what: String, _ path: String) -> PersistentStoreError {
    PersistentStoreError(.notRolledBack, "\(cause.message); \(what)", at: StoreLocation(file: path))
  }

  static func changedOnDisk(_ path: String) -> PersistentStoreError {
    PersistentStoreError(
      .changedOnDisk, "the store was modified on disk since it was read", at: StoreLocation(file: path))
  }

  static func alreadyExists(_ path: String) -> PersistentStoreError {
    PersistentStoreError(
      .alreadyExists, "a file or directory already exists at this path", at: StoreLocation(file: path),
      remedy: .init(.replacement))
  }
}
