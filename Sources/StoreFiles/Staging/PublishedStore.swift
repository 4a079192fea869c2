import Glibc

/// A store that has taken the target's place, with what it replaced still kept: until ``conclude()``, which removes
/// that, or ``rollBack()``, which restores it. A value that ends without either concludes.
package struct PublishedStore: ~Copyable, Sendable {
  /// What is at the target.
  package let identity: FileIdentity
  let replacement: Replacement
  private var keepsPrevious = true

  init(_ replacement: Replacement, identity: FileIdentity) {
    self.replacement = replacement
    self.identity = identity
  }

  deinit { if keepsPrevious { replacement.conclude() } }

  /// Removes what was replaced.
  package consuming func conclude() {}

  /// Puts back what was replaced, or nothing where nothing was.
  ///
  /// - Throws: `.changedOnDisk` where another process has saved since: its version stays. `.notRolledBack` naming both
  ///   paths where the old store could not be put back. `.locked` where another process is saving the store and does
  ///   not end: then the new store stays.
  package consuming func rollBack() throws(PersistentStoreError) {
    let lock = try StoreLock(for: replacement.location.targetPath)
    defer { withExtendedLifetime(lock) {} }
    keepsPrevious = false
    try replacement.rollBack(from: identity)
  }
}
