import Glibc

/// For libraries that read from a path and from nothing else, such as those of databases and archives.
extension StoreSource {
  /// Calls a closure with the path of a file that has the content of the source.
  ///
  /// It is the store's own file: let the library open it for reading only, and so that it creates nothing beside it.
  /// For what is in memory or has no name, such as the result of a dry run, it is a private copy, which is removed
  /// afterwards.
  ///
  /// - Parameters:
  ///   - member: The name of a file of a directory; nil if the source is one file.
  ///   - body: Reads the file and closes it. It gets the path.
  /// - Throws: `.changedOnDisk` if the file changes while it is read; what `body` throws, as `.malformed` unless it is
  ///   one of the kit's errors; otherwise as ``bytes(ofMember:limit:)``.
  public func withFile<Result>(
    ofMember member: String? = nil, _ body: (_ path: String) throws -> Result
  ) throws(PersistentStoreError) -> Result {
    let shown = StoreLocation(file: displayName(ofMember: member))
    guard let path = try namedPath(ofMember: member) else {
      return try withCopy(ofMember: member) { path throws(PersistentStoreError) in
        do { return try body(path) } catch { throw PersistentStoreError(wrapping: error, at: shown) }
      }
    }
    guard let before = try FileIdentity.of(path) else {
      throw PersistentStoreError(.notFound, "the file does not exist", at: shown)
    }
    let result = Swift.Result { try body(path) }
    guard try FileIdentity.of(path) == before else {
      throw PersistentStoreError(.changedOnDisk, "the file changed while it was being read", at: shown)
    }
    do { return try result.get() } catch { throw PersistentStoreError(wrapping: error, at: shown) }
  }

  /// The path of a file or member, if another library can open it.
  private func namedPath(ofMember member: String?) throws(PersistentStoreError) -> String? {
    switch content {
    // A descriptor of this process: libraries that resolve the path find no file.
    case .file(let path) where member == nil: return path.hasPrefix("/proc/") ? nil : path
    case .folder(let listing):
      guard let member, let found = listing.member(named: member) else { return nil }
      let final = listing.path + "/" + member
      return try SystemCall.status(found.path, followLinks: false) == nil ? final : found.path
    default: return nil
    }
  }

  private func withCopy<Result>(
    ofMember member: String?, _ body: (String) throws(PersistentStoreError) -> Result
  ) throws(PersistentStoreError) -> Result {
    // Named like a staged file: a later save in the directory removes what an ended process left.
    let directory = HiddenName.staged(beside: Self.temporaryFolder + "/store")
    let error = StagedItems.makeDirectory(directory)
    defer {
      SystemCall.removeTree(directory)
      StagedItems.remove(directory)
    }
    guard error == 0 else {
      throw SystemCall.error(error, "create a directory for a copy", Self.temporaryFolder)
    }
    let path = directory + "/" + StagedFiles.name(forLibraryAt: displayName(ofMember: member))
    let descriptor = try SystemCall.open(path, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600, doing: "copy the store")
    defer { DatabaseFileHold.close(descriptor) }
    try readChunks(ofMember: member) { chunk throws(PersistentStoreError) in
      try SystemCall.write(Array(chunk), to: descriptor, path: path)
      return true
    }
    return try body(path)
  }

  private static var temporaryFolder: String {
    guard let value = getenv("TMPDIR"), value[0] == CChar(bitPattern: UInt8(ascii: "/")) else { return "/tmp" }
    return String(cString: value)
  }
}
