import Glibc

/// What is at the path of a store, determined by the kit before any format is used.
///
/// ```swift
/// let place = try StorePath.inspect("people.xml")
/// if case .nothing = place.kind { print("\(place.path) does not exist") }
/// ```
public struct StorePath: Sendable {
  /// What is at a path.
  public enum Kind: Sendable, Hashable {
    /// Nothing; or a symbolic link to a path with nothing.
    case nothing
    /// A file of zero bytes, which reserves the path of a new store.
    case zeroLength
    /// A file with at least one byte.
    case file
    /// A directory that is not empty.
    case folder
    /// An empty directory: for a format that uses directories, the path of a new store.
    case emptyFolder
  }
  /// The path as specified.
  public let path: String
  /// The absolute path with symbolic links followed: that of the file that is read and replaced.
  public let resolvedPath: String
  /// What is at the path, links followed.
  public let kind: Kind
  /// Whether the path itself is a symbolic link.
  package let isSymbolicLink: Bool
  /// The file's size in bytes; 0 for a directory, or for nothing.
  public let size: Int
  /// Nil if there is nothing.
  package let identity: FileIdentity?
  /// The content of a directory, listed once and shared.
  let listing: FolderListing?

  private init(
    path: String, resolvedPath: String, kind: Kind, isSymbolicLink: Bool, size: Int, identity: FileIdentity?,
    listing: FolderListing? = nil
  ) {
    self.path = path
    self.resolvedPath = resolvedPath
    self.kind = kind
    self.isSymbolicLink = isSymbolicLink
    self.size = size
    self.identity = identity
    self.listing = listing
  }

  /// A file that was already inspected.
  init(file path: String, shownAs shown: String, size: Int, identity: FileIdentity) {
    self.init(path: shown, resolvedPath: path, kind: .file, isSymbolicLink: false, size: size, identity: identity)
  }

  /// The same place with another name for messages.
  func shown(as name: String) -> StorePath {
    StorePath(
      path: name, resolvedPath: resolvedPath, kind: kind, isSymbolicLink: false, size: size, identity: identity,
      listing: listing)
  }

  /// Whether there is something that a format could read.
  package var holdsContent: Bool { kind == .file || kind == .folder }
  /// In lower case, without the leading dot.
  package var fileExtension: String { FilePathText.fileExtension(path) }

  /// Inspects a path, following symbolic links.
  ///
  /// ```swift
  /// switch try StorePath.inspect("people.csvstore").kind {
  /// case .folder: print("a directory")
  /// default: print("not a directory")
  /// }
  /// ```
  ///
  /// - Throws: `.unsupportedFileKind` for devices, pipes and sockets, `.cannotCreate` for a cycle of links,
  ///   `.permissionDenied` if the system denies access.
  public static func inspect(_ path: String) throws(PersistentStoreError) -> StorePath {
    guard !path.isEmpty, !path.utf8.contains(0) else {
      throw PersistentStoreError(.cannotCreate, "the path is empty or contains a NUL", at: StoreLocation(file: path))
    }
    // A slash at the end says that a directory is meant; as part of a name, it would hide what is renamed from the
    // system calls.
    let (followed, isLink) = try follow(FilePathText.trim(path))
    let resolved = named(FilePathText.absolute(followed))
    guard let status = try SystemCall.status(resolved, followLinks: true) else {
      // The link of a process to its pipe names nothing in a directory.
      if isLink, let status = try SystemCall.status(path, followLinks: true),
        ![S_IFREG, S_IFDIR].contains(status.st_mode & S_IFMT)
      {
        throw PersistentStoreError(
          .unsupportedFileKind, "this is neither a file nor a directory", at: StoreLocation(file: path))
      }
      return StorePath(
        path: path, resolvedPath: resolved, kind: .nothing, isSymbolicLink: isLink, size: 0, identity: nil)
    }
    if path.utf8.last == UInt8(ascii: "/"), status.st_mode & S_IFMT == S_IFREG {
      throw PersistentStoreError(
        .unsupportedFileKind, "this is a file, not a directory: leave out the slash at the end",
        at: StoreLocation(file: path))
    }
    let kind: Kind
    var listing: FolderListing?
    switch status.st_mode & S_IFMT {
    case S_IFREG: kind = status.st_size == 0 ? .zeroLength : .file
    case S_IFDIR:
      let list = try FolderListing(resolved)
      kind = list.isEmpty ? .emptyFolder : .folder
      listing = list
    default:
      throw PersistentStoreError(
        .unsupportedFileKind, "this is neither a file nor a directory", at: StoreLocation(file: path))
    }
    return StorePath(
      path: path, resolvedPath: resolved, kind: kind, isSymbolicLink: isLink, size: Int(status.st_size),
      identity: try FileIdentity(resolved, status, listing), listing: listing)
  }

  /// What is at a path, as ``inspect(_:)`` finds it, without inspecting each file of a directory.
  ///
  /// - Throws: The errors of ``inspect(_:)``.
  package static func kind(of path: String) throws(PersistentStoreError) -> Kind {
    if !path.isEmpty, !path.utf8.contains(0), let status = try? SystemCall.status(path, followLinks: true),
      status.st_mode & S_IFMT == S_IFDIR, SystemCall.hasVisibleNames(in: path)
    {
      return .folder
    }
    return try inspect(path).kind
  }

  /// The path with a name at its end, which can be renamed, where it ends with `.` or `..`.
  private static func named(_ path: String) -> String {
    guard [".", ".."].contains(FilePathText.name(path)), let real = realpath(path, nil) else { return path }
    defer { free(real) }
    return String(cString: real)
  }

  /// The file that links lead to, whether or not it exists.
  private static func follow(_ path: String) throws(PersistentStoreError) -> (String, Bool) {
    var current = path
    var isLink = false
    for _ in 0..<40 {
      guard let status = try SystemCall.status(current, followLinks: false), status.st_mode & S_IFMT == S_IFLNK else {
        return (current, isLink)
      }
      isLink = true
      var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
      let length = buffer.withUnsafeMutableBytes { raw in
        raw.baseAddress.map { readlink(current, $0.assumingMemoryBound(to: CChar.self), raw.count) } ?? -1
      }
      guard length > 0 else { throw SystemCall.error(errno, "read the link", current) }
      guard let target = String(validating: buffer[..<length], as: UTF8.self) else {
        throw PersistentStoreError(
          .unsupportedFileKind, "the link leads to a path that is not UTF-8", at: StoreLocation(file: path))
      }
      current = FilePathText.trim(target.hasPrefix("/") ? target : FilePathText.folder(current) + "/" + target)
    }
    throw PersistentStoreError(.cannotCreate, "symbolic links form a cycle", at: StoreLocation(file: path))
  }

  /// The absolute form of a path, which remains valid when the current directory changes.
  package static func absolute(_ path: String) -> String { FilePathText.absolute(path) }

  /// Whether a place and a path are the same file, by device and inode, or by name if there is nothing.
  package static func isSame(_ place: StorePath, path: String) -> Bool {
    guard let other = try? inspect(path) else { return false }
    if let one = place.identity, let two = other.identity { return one.isSameFile(as: two) }
    guard place.identity == nil, other.identity == nil else { return false }
    return place.absolutePath == other.absolutePath
  }

  /// Whether a place is inside the directory of this one, at any depth.
  package func contains(_ other: StorePath) -> Bool { other.absolutePath.utf8.starts(with: (absolutePath + "/").utf8) }

  /// The directory that contains it.
  package var folder: String { FilePathText.folder(absolutePath) }

  private var absolutePath: String {
    let folder = FilePathText.folder(resolvedPath)
    guard let real = realpath(folder, nil) else { return resolvedPath }
    defer { free(real) }
    return String(cString: real) + "/" + FilePathText.name(resolvedPath)
  }

  /// Returns all names in a directory, including hidden ones and directories, in the order of their bytes; none for a
  /// file.
  package func allNames() throws(PersistentStoreError) -> [String] {
    guard kind == .folder else { return [] }
    if let listing { return listing.names }
    return try FolderListing(resolvedPath).names
  }

  /// Returns the first bytes, from which formats recognize their files.
  package func probe() throws(PersistentStoreError) -> StoreProbe {
    if kind == .folder {
      let list = if let listing { listing } else { try FolderListing(resolvedPath) }
      // Hidden names are ignored here; links and directories have a name but no content.
      let names =
        list.others.allSatisfy { $0.hasPrefix(".") }
        ? list.members.map(\.name) : list.names.filter { !$0.hasPrefix(".") }
      var prefixes: [ScalarString: [UInt8]] = [:]
      for member in list.members.prefix(64) {
        prefixes[ScalarString(member.name)] = try StoreProbe.read(member.path)
      }
      var probe = StoreProbe(
        name: path, prefix: [], size: 0, isFolder: true, memberNames: names, fileExtension: fileExtension,
        prefixes: prefixes)
      probe.listing = list
      return probe
    }
    return StoreProbe(
      name: path, prefix: try StoreProbe.read(resolvedPath), size: size, isFolder: false, memberNames: [],
      fileExtension: fileExtension, prefixes: [:])
  }
}
