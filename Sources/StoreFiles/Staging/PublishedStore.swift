import Glibc

/// A published store; what it replaced is kept until ``conclude()``, which removes that, or ``rollBack()``, which
/// restores it. A value that ends without either concludes.
package struct PublishedStore: ~Copyable, Sendable {
  /// What is at the target.
  package let identity: FileIdentity
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
  package consuming func conclude() {}

  /// Restores what was replaced, or removes the new store if nothing was.
  ///
  /// - Throws: `.changedOnDisk` if another process has saved since: its version is kept. `.notRolledBack` with both
  ///   paths if the old store could not be restored. `.locked` if another process keeps saving the store: the new store
  ///   is then kept.
  package consuming func rollBack() throws(PersistentStoreError) {
    let lock = try StoreLock(for: replacement.location.targetPath)
    defer { withExtendedLifetime(lock) {} }
    StagedItems.beginMoving()
    defer { StagedItems.endMoving() }
    keepsPrevious = false
    try replacement.rollBack(from: identity)
  }

  /// As ``rollBack()``, also if the published file was written to since, as databases do that are opened there. It has
  /// to be closed.
  package consuming func rollBackWritten() throws(PersistentStoreError) {
    let lock = try StoreLock(for: replacement.location.targetPath)
    defer { withExtendedLifetime(lock) {} }
    StagedItems.beginMoving()
    defer { StagedItems.endMoving() }
    keepsPrevious = false
    var written = identity
    if let now = try? FileIdentity.of(replacement.location.targetPath, isOfTree: replacement.isTree),
      now.device == identity.device,
      now.inode == identity.inode
    {
      written = now
    }
    let undone = Replacement(
      location: replacement.location, layout: replacement.layout, staged: written, replaced: replacement.replaced,
      isTree: replacement.isTree, companions: replacement.companions)
    try undone.rollBack(from: written)
  }
}
