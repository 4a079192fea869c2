import CStoreFiles
import Glibc

/// A directory with any content that is written under a hidden name beside its target, and moved to the target in one
/// step. It is removed if it is not committed, also if a signal ends the program.
package final class StagedDirectory {
  /// The path under which it is written.
  package let path: String
  private let target: String
  /// Keeps processes of other containers from removing the directory as a stale one.
  private let hold: Int32?
  /// Whether the directory at ``path`` was created here, so that it may be removed.
  private var isOurs = true

  /// Creates the directory.
  ///
  /// - Parameter target: The path that it is moved to.
  package init(target: String) throws(PersistentStoreError) {
    self.target = target
    path = HiddenName.staged(beside: target)
    let code = StagedItems.makeDirectory(path, mode: 0o777)
    hold = code == 0 ? StagedItems.hold(path) : nil
    guard code == 0 else { throw SystemCall.error(code, "create the directory", target) }
  }

  deinit {
    if isOurs { SystemCall.removeTree(path) }
    StagedItems.remove(path)
    if let hold { DatabaseFileHold.close(hold) }
  }

  /// Moves the directory to the target.
  ///
  /// - Parameter check: Throws if a directory must not be replaced. It is called with the target, and again with the
  ///   path that the replaced directory was moved to: another process may have added a file in between.
  /// - Throws: The errors of `check`, after which the target is as it was; `.alreadyExists` if there was nothing at the
  ///   target and another process created it; `.notRolledBack` if the replaced directory could not be moved back: the
  ///   error names its path.
  package func commit(
    _ check: (_ old: String) throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError) {
    StagedItems.beginMoving()
    defer { StagedItems.endMoving() }
    if try SystemCall.status(target, followLinks: false) == nil {
      try publish()
    } else {
      try check(target)
      try replace(check)
    }
    JointPublication.notePublished()
    try SystemCall.syncFolder(FilePathText.folder(target), of: target)
  }

  private func publish() throws(PersistentStoreError) {
    if asf_rename_exclusive(path, target) == 0 { return }
    // Without exclusive renames: a directory replaces only an empty one.
    if SystemCall.isUnsupported(errno), rename(path, target) == 0 { return }
    if errno == EEXIST || errno == ENOTEMPTY { throw .alreadyExists(target) }
    throw SystemCall.error(errno, "rename", target)
  }

  private func replace(
    _ check: (_ old: String) throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError) {
    // A signal must not remove the replaced directory before it was checked.
    StagedItems.keep(path)
    guard asf_exchange(path, target) == 0 else {
      let error = errno
      StagedItems.add(path)
      guard SystemCall.isUnsupported(error) else {
        throw SystemCall.error(error, "exchange the old directory and the new", target)
      }
      return try replaceInTwoSteps(check)
    }
    do throws(PersistentStoreError) { try check(path) } catch {
      guard asf_exchange(path, target) == 0 else {
        isOurs = false
        throw notRolledBack(error, HiddenName.keep(path, beside: target))
      }
      StagedItems.add(path)
      throw error
    }
    StagedItems.add(path)
  }

  /// On a file system that cannot exchange names.
  private func replaceInTwoSteps(
    _ check: (_ old: String) throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError) {
    let old = HiddenName.kept(beside: target)
    guard rename(target, old) == 0 else { throw SystemCall.error(errno, "move the old directory aside", target) }
    do throws(PersistentStoreError) {
      try check(old)
      try publish()
    } catch {
      guard rename(old, target) == 0 else { throw notRolledBack(error, old) }
      throw error
    }
    SystemCall.removeTree(old)
  }

  private func notRolledBack(_ cause: PersistentStoreError, _ old: String) -> PersistentStoreError {
    PersistentStoreError(
      .notRolledBack, "\(cause.message); the replaced directory is kept at \(old)", at: StoreLocation(file: target))
  }
}
