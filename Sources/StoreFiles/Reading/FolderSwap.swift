import Glibc

/// Replaces the members of a directory, where the file system cannot exchange two directories: an overlay, where one of
/// them is in a lower layer (EXDEV); network and older file systems, which do not know the call (EINVAL).
///
/// The new members, whole and synced, are in a directory beside the store, with a list of what is to be (``Manifest``).
/// One rename puts that directory into the store's own, as `.atomicstore-commit`. **From then on the new store is the
/// store**: the kit reads each member of the list from there, or from its final position once it was moved. Then the
/// members are moved, each by a rename, and the list is removed. A process that is killed on the way leaves a store
/// that reads whole, and that the next commit finishes. Before that one rename the old store is untouched.
///
/// Programs that do not know the kit can see some members old and some new while a commit is under way.
struct FolderSwap {
  static let name = ".atomicstore-commit"
  private static let manifestName = ".members"

  struct Manifest: Sendable {
    /// All members of the new store.
    var members: [String]
    /// Members of the old store that the new one does not have.
    var removed: [String]

    private static let header = "atomicstore-commit 1"

    /// `+NAME` for a member, `-NAME` for one that goes, separated by NUL, which no name holds. The last byte is a NUL:
    /// a list that was cut short is not one.
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
        // Members are not hidden; and a list that somebody else wrote leads nowhere else.
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

    /// The names that a reader sees where these are in the directory, in the order of their bytes.
    func names(over present: [String]) -> [String] {
      Set(present.map { ScalarString($0) }).subtracting(removed.map { ScalarString($0) }).union(
        members.map { ScalarString($0) }
      )
      .sorted().map(\.string)
    }
  }

  /// The list of the commit that is under way in a directory; nil where there is none.
  ///
  /// - Throws: `.malformed` for a list that is not one.
  static func manifest(in folder: String) throws(PersistentStoreError) -> Manifest? {
    // A link could lead anywhere.
    guard let status = try SystemCall.status(folder + "/" + name, followLinks: false),
      status.st_mode & S_IFMT == S_IFDIR
    else {
      return nil
    }
    let path = folder + "/" + name + "/" + manifestName
    let descriptor = Glibc.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else {
      if errno == ENOENT || errno == ENOTDIR || errno == ELOOP { return nil }
      throw SystemCall.error(errno, "read the list of an unfinished commit", path)
    }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      let got = try piece.withUnsafeMutableBufferPointer { raw throws(PersistentStoreError) in
        guard let base = raw.baseAddress else { return 0 }
        return try SystemCall.read(descriptor, into: base, count: raw.count, path: path)
      }
      if got == 0 { break }
      bytes += piece[..<got]
    }
    guard let manifest = Manifest(bytes) else {
      throw PersistentStoreError(
        .malformed, "the list of an unfinished commit is damaged", at: StoreLocation(file: path))
    }
    return manifest
  }

  /// Makes the members in `staged`, which are synced, those of the store in `folder`. When this returns, they are.
  ///
  /// - Parameter store: What an error names.
  /// - Throws: where nothing was changed.
  static func begin(_ staged: String, in folder: String, _ manifest: Manifest, of store: String)
    throws(PersistentStoreError)
  {
    let path = staged + "/" + manifestName
    let descriptor = try SystemCall.open(
      path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600, doing: "write the list of a commit")
    do throws(PersistentStoreError) {
      // Who can read the store must be able to read this.
      if let status = try SystemCall.status(staged, followLinks: false) {
        _ = fchown(descriptor, uid_t.max, status.st_gid)
        guard fchmod(descriptor, status.st_mode & 0o777 & ~0o111) == 0 else {
          throw SystemCall.error(errno, "set the mode", store)
        }
      }
      try SystemCall.write(manifest.bytes, to: descriptor, path: store)
      guard fsync(descriptor) == 0 else { throw SystemCall.error(errno, "sync", store) }
    } catch {
      Glibc.close(descriptor)
      unlink(path)
      throw error
    }
    do throws(PersistentStoreError) {
      guard Glibc.close(descriptor) == 0 || errno == EINTR else { throw SystemCall.error(errno, "close", store) }
      try SystemCall.syncFolder(staged, of: store)
      guard rename(staged, folder + "/" + name) == 0 else { throw SystemCall.error(errno, "rename", store) }
    } catch {
      unlink(path)
      throw error
    }
  }

  /// Moves the members of a commit that was begun to their positions. Does nothing where none was.
  ///
  /// Can be called again after it failed or was cut short.
  ///
  /// - Parameter old: A directory that what is replaced is moved to; nil to remove it.
  static func finish(in folder: String, movingOldTo old: String?, of store: String) throws(PersistentStoreError) {
    let commit = folder + "/" + name
    guard let manifest = try manifest(in: folder) else {
      // What is in it then was never the store's.
      if try SystemCall.status(commit, followLinks: false) != nil { SystemCall.removeTree(commit) }
      return
    }
    try SystemCall.syncFolder(folder, of: store)
    func takeAway(_ name: String) throws(PersistentStoreError) {
      guard try SystemCall.status(folder + "/" + name, followLinks: false) != nil else { return }
      let result = if let old { rename(folder + "/" + name, old + "/" + name) } else { unlink(folder + "/" + name) }
      guard result == 0 || errno == ENOENT else {
        throw SystemCall.error(errno, "replace a file of the store", folder + "/" + name)
      }
    }
    for name in manifest.members where try SystemCall.status(commit + "/" + name, followLinks: false) != nil {
      // A rename replaces what is there; what is wanted once more is moved out of the way first.
      if old != nil { try takeAway(name) }
      guard rename(commit + "/" + name, folder + "/" + name) == 0 else {
        throw SystemCall.error(errno, "replace a file of the store", folder + "/" + name)
      }
    }
    for name in manifest.removed { try takeAway(name) }
    try SystemCall.syncFolder(folder, of: store)
    guard unlink(commit + "/" + manifestName) == 0 || errno == ENOENT else {
      throw SystemCall.error(errno, "remove the list of a commit", store)
    }
    SystemCall.removeTree(commit)
  }
}
