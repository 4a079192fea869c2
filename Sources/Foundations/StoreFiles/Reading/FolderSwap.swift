import Glibc

/// Replaces the members of a directory if the file system cannot exchange two directories: an overlay with one of them
/// in a lower layer (EXDEV); network and older file systems, which do not support the call (EINVAL).
///
/// The new members, complete and synced, are in a directory beside the store, with a list of the members to come
/// (``Manifest``). One rename moves that directory into the store's own, as `.atomicstore-commit`. **From then on the
/// new store is the store**: the kit reads each member of the list from there, or from its final path once it was
/// moved. Then the members are moved, each by a rename, and the list is removed. A process that is killed in between
/// leaves a store that can be read completely, and that the next commit finishes. Before that one rename, the old store
/// is unchanged.
///
/// Programs that do not use the kit can see a mix of old and new members during a commit.
struct FolderSwap {
  static let name = ".atomicstore-commit"
  private static let manifestName = ".members"

  struct Manifest: Sendable {
    /// All members of the new store.
    var members: [String]
    /// Members of the old store that the new one does not have.
    var removed: [String]

    private static let header = "atomicstore-commit 1"

    /// `+NAME` for a member, `-NAME` for a removed one, separated by NUL, which names cannot contain. The last byte is
    /// a NUL, so that a truncated list is detected.
    var bytes: [UInt8] {
      ([Self.header] + members.map { "+" + $0 } + removed.map { "-" + $0 }).flatMap { Array($0.utf8) + [0] }
    }

    init(members: [String], removed: [String]) {
      self.members = members
      self.removed = removed
    }

    init?(_ bytes: [UInt8]) {
      guard bytes.last == 0 else { return nil }
      let lines = bytes.dropLast().split(separator: 0, omittingEmptySubsequences: false)
      guard let first = lines.first, first.elementsEqual(Self.header.utf8) else { return nil }
      self.init(members: [], removed: [])
      for line in lines.dropFirst() {
        // Members are not hidden; and a manipulated list must not lead outside the directory.
        guard let name = String(validating: line.dropFirst(), as: UTF8.self), !name.isEmpty,
          !name.utf8.starts(with: [UInt8(ascii: ".")]), !name.utf8.contains(UInt8(ascii: "/"))
        else { return nil }
        switch line.first {
        case UInt8(ascii: "+"): members.append(name)
        case UInt8(ascii: "-"): removed.append(name)
        default: return nil
        }
      }
    }

    /// The names that a reader sees if these are in the directory, in the order of their bytes.
    func names(over present: [String]) -> [String] {
      Set(present.map { ScalarString($0) }).subtracting(removed.map { ScalarString($0) }).union(
        members.map { ScalarString($0) }
      )
      .sorted().map(\.string)
    }
  }

  /// The list of the commit in progress in a directory; nil if there is none.
  ///
  /// - Throws: `.malformed` for an invalid list.
  static func manifest(in folder: String) throws(PersistentStoreError) -> Manifest? {
    // Do not follow a link, which could lead anywhere.
    guard let status = try SystemCall.status(folder + "/" + name, followLinks: false),
      status.st_mode & S_IFMT == S_IFDIR
    else {
      return nil
    }
    let path = folder + "/" + name + "/" + manifestName
    let descriptor = Retried.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else {
      if errno == ENOENT || errno == ENOTDIR || errno == ELOOP { return nil }
      throw SystemCall.error(errno, "read the list of an unfinished commit", path)
    }
    defer { close(descriptor) }
    guard let manifest = Manifest(try SystemCall.readSmallFile(descriptor, path: path)) else {
      throw PersistentStoreError(
        .malformed, "the list of an unfinished commit is damaged", at: StoreLocation(file: path))
    }
    return manifest
  }

  /// Makes the members in `staged`, which are synced, the members of the store in `folder`. The change is effective
  /// when this returns.
  ///
  /// - Parameter store: The name for errors.
  /// - Throws: An error if nothing was changed.
  static func begin(_ staged: String, in folder: String, _ manifest: Manifest, of store: String)
    throws(PersistentStoreError)
  {
    let path = staged + "/" + manifestName
    let descriptor = try SystemCall.open(
      path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600, doing: "write the list of a commit")
    do throws(PersistentStoreError) {
      // Anyone who can read the store must be able to read this.
      if let status = try SystemCall.status(staged, followLinks: false) {
        _ = Retried.fchown(descriptor, uid_t.max, status.st_gid)
        guard Retried.fchmod(descriptor, status.st_mode & 0o777 & ~0o111) == 0 else {
          throw SystemCall.error(errno, "set the mode", store)
        }
      }
      try SystemCall.write(manifest.bytes, to: descriptor, path: store)
      guard Retried.fsync(descriptor) == 0 else { throw SystemCall.error(errno, "sync", store) }
    } catch {
      Glibc.close(descriptor)
      Retried.unlink(path)
      throw error
    }
    do throws(PersistentStoreError) {
      guard Glibc.close(descriptor) == 0 || errno == EINTR else { throw SystemCall.error(errno, "close", store) }
      try SystemCall.syncFolder(staged, of: store)
      guard Retried.rename(staged, folder + "/" + name) == 0 else { throw SystemCall.error(errno, "rename", store) }
    } catch {
      Retried.unlink(path)
      throw error
    }
  }

  /// Moves the members of a commit that was begun to their final paths. Does nothing if there is none.
  ///
  /// It can be called again after a failure or interruption.
  ///
  /// - Parameter old: A directory to which replaced files are moved; nil to remove them.
  static func finish(in folder: String, movingOldTo old: String?, of store: String) throws(PersistentStoreError) {
    let commit = folder + "/" + name
    guard let manifest = try manifest(in: folder) else {
      // Its content never belonged to the store.
      if try SystemCall.status(commit, followLinks: false) != nil { SystemCall.removeTree(commit) }
      return
    }
    try SystemCall.syncFolder(folder, of: store)
    func takeAway(_ name: String) throws(PersistentStoreError) {
      guard try SystemCall.status(folder + "/" + name, followLinks: false) != nil else { return }
      let result =
        if let old { Retried.rename(folder + "/" + name, old + "/" + name) } else {
          Retried.unlink(folder + "/" + name)
        }
      guard result == 0 || errno == ENOENT else {
        throw SystemCall.error(errno, "replace a file of the store", folder + "/" + name)
      }
    }
    for name in manifest.members where try SystemCall.status(commit + "/" + name, followLinks: false) != nil {
      // A rename replaces the existing file; if that is still needed, it is moved away first.
      if old != nil { try takeAway(name) }
      guard Retried.rename(commit + "/" + name, folder + "/" + name) == 0 else {
        throw SystemCall.error(errno, "replace a file of the store", folder + "/" + name)
      }
    }
    for name in manifest.removed { try takeAway(name) }
    try SystemCall.syncFolder(folder, of: store)
    guard Retried.unlink(commit + "/" + manifestName) == 0 || errno == ENOENT else {
      throw SystemCall.error(errno, "remove the list of a commit", store)
    }
    SystemCall.removeTree(commit)
  }
}
