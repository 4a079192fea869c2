import CStoreFiles
import Glibc

/// A directory with any content that is filled under a hidden name beside its place, and moved there in one step. It
/// vanishes if it is not committed, also if a signal ends the program.
package final class StagedDirectory {
  /// Where it is filled.
  package let path: String
  private let target: String

  /// Makes the directory.
  ///
  /// - Parameter target: Its place.
  package init(target: String) throws(PersistentStoreError) {
    self.target = target
    path = HiddenName.staged(beside: target)
    let code = StagedItems.makeDirectory(path, mode: 0o777)
    guard code == 0 else { throw SystemCall.error(code, "create the directory", target) }
  }

  deinit {
    SystemCall.removeTree(path)
    StagedItems.remove(path)
  }

  /// Moves the directory to its place.
  ///
  /// - Parameter check: Throws if what is there must not be replaced. It is called with the place, and again with where
  ///   it was moved to: another program may have added something in between.
  /// - Throws: What `check` throws; `.alreadyExists` for what appears at a place where nothing was.
  package func commit(
    _ check: (_ old: String) throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError) {
    StagedItems.beginMoving()
    defer { StagedItems.endMoving() }
    guard try SystemCall.status(target, followLinks: false) != nil else { return try publish() }
    try check(target)
    // What is moved out is the user's until it was checked.
    StagedItems.keep(path)
    if asf_exchange(path, target) == 0 {
      do throws(PersistentStoreError) { try check(path) } catch {
        // As it was.
        if asf_exchange(path, target) == 0 { StagedItems.add(path) }
        throw error
      }
      return StagedItems.add(path)
    }
    let error = errno
    StagedItems.add(path)
    guard SystemCall.isUnsupported(error) else {
      throw SystemCall.error(error, "exchange the old directory and the new", target)
    }
    try replace(check)
  }

  private func publish() throws(PersistentStoreError) {
    if asf_rename_exclusive(path, target) == 0 { return }
    // Without exclusive renames: a directory replaces only an empty one.
    if SystemCall.isUnsupported(errno), rename(path, target) == 0 { return }
    if errno == EEXIST || errno == ENOTEMPTY { throw .alreadyExists(target) }
    throw SystemCall.error(errno, "rename", target)
  }

  /// In two steps, on a file system that cannot exchange names.
  private func replace(
    _ check: (_ old: String) throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError) {
    let old = HiddenName.kept(beside: target)
    guard rename(target, old) == 0 else { throw SystemCall.error(errno, "move the old directory aside", target) }
    do throws(PersistentStoreError) {
      try check(old)
      try publish()
    } catch {
      rename(old, target)
      throw error
    }
    SystemCall.removeTree(old)
  }
}
