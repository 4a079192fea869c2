import Glibc

/// A published store; what it replaced is kept until ``conclude()``, which removes that, or ``rollBack()``, which
/// restores it. A value that ends without either concludes.
struct PublishedStore: ~Copyable, Sendable {
  /// What is at the target.
  let identity: FileIdentity
  let replacement: Replacement
  private var keepsPrevious = true

  init(_ replacement: Replacement, identity: FileIdentity) {
    self.replacement = replacement
    self.identity = identity
  }

  deinit {
    guard keepsPrevious else { return }
    // Files of other programs in a replaced directory are rescued first.
    StagedItems.beginMoving()
    defer { StagedItems.endMoving() }
    replacement.conclude()
  }

  /// Removes what was replaced.
  consuming func conclude() {}

  /// Restores what was replaced, or removes the new store if nothing was.
  ///
  /// - Parameter isWritten: Whether the published file may have been written to since, as databases are that were
  ///   opened there. It has to be closed.
  /// - Throws: `.changedOnDisk` if another process has saved since: its version is kept. `.notRolledBack` with both
  ///   paths if the old store could not be restored. `.locked` if another process keeps saving the store: the new store
  ///   is then kept.
  consuming func rollBack(isWritten: Bool = false) throws(PersistentStoreError) {
    let lock = try StoreLock(for: replacement.location.targetPath)
    defer { withExtendedLifetime(lock) {} }
    StagedItems.beginMoving()
    defer { StagedItems.endMoving() }
    keepsPrevious = false
    var written = identity
    if isWritten, let now = try? FileIdentity.of(replacement.location.targetPath, isOfTree: replacement.isTree),
      now.isSameFile(as: identity)
    {
      written = now
    }
    let undone = Replacement(
      location: replacement.location, layout: replacement.layout, staged: isWritten ? written : replacement.staged,
      replaced: replacement.replaced, isTree: replacement.isTree, companions: replacement.companions)
    try undone.rollBack(from: written)
  }
}
