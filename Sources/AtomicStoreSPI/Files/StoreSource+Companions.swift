import Glibc

/// Files and folders beside a store's file that belong to it by their name.
extension StoreSource {
  /// The last part of the file's path, symbolic links followed; nil for what is in memory.
  public var fileName: String? {
    switch content {
    case .file(let path), .folder(let path): FilePathText.name(path)
    case .memory: nil
    }
  }

  /// What is beside the store under this name, for example `fileName + "-wal"`; nil where nothing is, and for a source in memory.
  /// A name may lead into a folder: `.Store_SUPPORT/_EXTERNAL_DATA`.
  ///
  /// - Throws: `.unsupportedFileKind` for a symbolic link, which could lead anywhere, and for what is neither file nor folder.
  public func companion(named name: String) throws(PersistentStoreError) -> StoreSource? {
    let store: String
    switch content {
    case .file(let path), .folder(let path): store = path
    case .memory: return nil
    }
    var path = FilePathText.folder(store)
    for part in name.split(separator: "/") {
      guard part != "..", part != "." else { return nil }
      path += "/" + part
      guard let status = try SystemCall.status(path, followLinks: false) else { return nil }
      guard status.st_mode & S_IFMT != S_IFLNK else {
        throw PersistentStoreError(
          .unsupportedFileKind, "this belongs to the store and is a symbolic link, which is not followed", at: StoreLocation(file: path))
      }
    }
    return try StoreSource(opening: try StorePlace.inspect(path))
  }

  /// What identifies the file or folder as it is now, to find out whether it changed; nil for what is in memory.
  public func currentIdentity() throws(PersistentStoreError) -> FileIdentity? {
    switch content {
    case .file(let path), .folder(let path): try FileIdentity.of(path)
    case .memory: nil
    }
  }
}
