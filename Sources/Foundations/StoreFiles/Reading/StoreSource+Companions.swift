import Glibc

/// Files and folders beside a store's file that belong to it by their name.
extension StoreSource {
  private var path: String? {
    switch content {
    case .file(let path): path
    case .folder(let listing): listing.path
    case .memory: nil
    }
  }

  /// The last part of the file's path, symbolic links followed; nil for what is in memory.
  public var fileName: String? {
    companions?.fileName ?? path.map { FilePathText.name($0) }
  }

  /// What is beside the store under this name, for example `fileName + "-wal"`; nil where nothing is, and for a source
  /// in memory. A name may lead into a folder: `.Store_SUPPORT/_EXTERNAL_DATA`.
  ///
  /// - Throws: `.unsupportedFileKind` for a symbolic link, which could lead anywhere, and for what is neither file nor
  ///   folder.
  public func companion(named name: String) throws(PersistentStoreError) -> StoreSource? {
    guard let store = path else { return nil }
    var path = FilePathText.folder(store)
    var parts = name.split(separator: "/")
    if let companions {
      guard parts.first.map({ $0 == companions.root }) ?? false else { return nil }
      parts.removeFirst()
      path = companions.path
    }
    for part in parts {
      guard part != "..", part != "." else { return nil }
      path += "/" + part
      guard let status = try SystemCall.status(path, followLinks: false) else { return nil }
      guard status.st_mode & S_IFMT != S_IFLNK else {
        throw PersistentStoreError(
          .unsupportedFileKind, "this belongs to the store and is a symbolic link, which is not followed",
          at: StoreLocation(file: path))
      }
    }
    return try StoreSource(opening: try StorePath.inspect(path).shown(as: HiddenName.shown(path)))
  }

  /// Which file or directory is there now, and in which state; nil for what is in memory. Two equal values mean that it
  /// was not changed in between.
  public func currentState() throws(PersistentStoreError) -> State? {
    guard let path else { return nil }
    return try FileIdentity.of(path).map { State(identity: $0) }
  }

  /// The state of a file or directory at one moment: see ``currentState()``.
  public struct State: Hashable, Sendable {
    let identity: FileIdentity
  }
}
