import CStoreFiles
import Glibc

/// Removes a store from the disk, and nothing else.
package enum StoreRemoval {
  /// Removes a file, or the members of a directory; the directory itself is removed if nothing else is in it.
  ///
  /// Completely or not at all: a process that opens the store meanwhile, or after a crash, finds all of it or nothing.
  ///
  /// - Parameters:
  ///   - place: The store that was inspected.
  ///   - unrelated: Files in the directory that the format ignored.
  /// - Throws: `.changedOnDisk` if it is no longer the store that was inspected; `.permissionDenied`, `.inputOutput`.
  package static func remove(_ place: StorePath, keeping unrelated: [String]) throws(PersistentStoreError) {
    let path = place.resolvedPath
    let lock = try StoreLock(for: path)
    defer { withExtendedLifetime(lock) {} }
    StagedItems.beginMoving()
    defer { StagedItems.endMoving() }
    if place.listing != nil { try FolderSwap.finish(in: path, movingOldTo: nil, of: path) }
    guard try FileIdentity.of(path) == place.identity else {
      throw PersistentStoreError(
        .changedOnDisk, "another program changed the store meanwhile", at: StoreLocation(file: place.path))
    }
    guard place.listing != nil else { return try removeFile(path) }
    let listing = try FolderListing(path)
    let kept = Set(unrelated.map { ScalarString($0) })
    let own = listing.members.map(\.name).filter { !kept.contains(ScalarString($0)) }
    if listing.others.isEmpty, own.count == listing.members.count, try removeFolder(path, place.identity) { return }
    try removeMembers(own, of: path)
  }

  private static func removeFile(_ path: String) throws(PersistentStoreError) {
    guard Retried.unlink(path) == 0 else { throw SystemCall.error(errno, "remove the store", path) }
    try SystemCall.syncFolder(FilePathText.folder(path), of: path)
  }

  /// - Returns: False if the file system cannot rename the directory.
  private static func removeFolder(_ path: String, _ expected: FileIdentity?) throws(PersistentStoreError) -> Bool {
    let aside = HiddenName.staged(beside: path)
    let use = StagedItemUse()
    use.reserve(aside)
    defer { use.end() }
    guard Retried.rename(path, aside) == 0 else {
      if SystemCall.isUnsupported(errno) { return false }
      throw SystemCall.error(errno, "remove the store", path)
    }
    // Files that were created meanwhile belong to other programs.
    let listing = try? FolderListing(aside)
    guard let listing, listing.others.isEmpty, let now = try? FileIdentity.of(aside), now == expected else {
      guard Retried.renameExclusively(aside, path) == 0 else {
        throw PersistentStoreError(
          .notRolledBack,
          "the store was changed while it was being removed, and is kept at \(keepAside(aside, beside: path))",
          at: StoreLocation(file: path))
      }
      throw PersistentStoreError(
        .changedOnDisk, "another program changed the store meanwhile", at: StoreLocation(file: path))
    }
    StagedItems.add(aside)
    try SystemCall.syncFolder(FilePathText.folder(path), of: path)
    SystemCall.removeTree(aside)
    return true
  }

  /// Removes the members from a directory that is kept, or can only be removed when it is empty.
  private static func removeMembers(_ names: [String], of path: String) throws(PersistentStoreError) {
    let staged = HiddenName.staged(beside: path)
    let use = StagedItemUse()
    use.reserve(staged)
    defer { use.end() }
    guard Retried.mkdir(staged, 0o700) == 0 else {
      throw SystemCall.error(errno, "create a directory beside the store", path)
    }
    do throws(PersistentStoreError) {
      if let status = try SystemCall.status(path, followLinks: false) {
        _ = chown(staged, uid_t.max, status.st_gid)
        _ = Retried.chmod(staged, status.st_mode & 0o7777 | 0o700)
      }
      try FolderSwap.begin(staged, in: path, FolderSwap.Manifest(members: [], removed: names), of: path)
    } catch {
      SystemCall.removeTree(staged)
      throw error
    }
    try FolderSwap.finish(in: path, movingOldTo: nil, of: path)
    Retried.rmdir(path)
    try SystemCall.syncFolder(FilePathText.folder(path), of: path)
  }
}
