import Glibc

/// The first bytes of a file or directory, from which a format recognizes it.
public struct StoreProbe: Sendable {
  /// The maximum number of bytes of a file that are shown.
  static let prefixLength = 4096

  /// The path, or another name for messages.
  public var name: String
  /// The first bytes of a file; empty for a directory.
  public var prefix: [UInt8]
  /// The size of the file in bytes; 0 for a directory.
  public var size: Int
  /// Whether it is a directory.
  public var isFolder: Bool
  /// For a directory: the names in it that do not begin with a dot, in the order of their bytes.
  public var memberNames: [String]
  /// In lower case, without the leading dot.
  public var fileExtension: String
  private var prefixes: [ScalarString: [UInt8]]
  /// From where members are read on request; nil for a probe created in memory.
  var listing: FolderListing?
  /// The directory, if only its names were listed: what is inspected of it is what a format asks for.
  private var folder: String?

  /// A probe of a directory for which only the names in it are listed; nil if it cannot be listed, or is empty.
  package init?(namesIn folder: String) {
    guard let all = try? SystemCall.names(in: folder), !all.isEmpty else { return nil }
    self.init(
      name: folder, prefix: [], size: 0, isFolder: true, memberNames: all.filter { !$0.hasPrefix(".") },
      fileExtension: FilePathText.fileExtension(folder))
    self.folder = folder
  }

  /// Creates a probe of content in memory, to test ``AtomicStore/recognize(_:)``.
  ///
  /// - Parameters:
  /// - name: The path, or what stands for it.
  /// - prefix: The first bytes of the file, at most ``prefixLength``.
  /// - size: The size of the whole file, in bytes.
  /// - isFolder: Whether it is a directory.
  /// - memberNames: The names of a directory's files, without those that begin with a dot, in the order of their bytes.
  /// - fileExtension: In lower case, without the leading dot.
  /// - prefixes: The first bytes of a directory's files, by name.
  package init(
    name: String, prefix: [UInt8], size: Int, isFolder: Bool = false, memberNames: [String] = [],
    fileExtension: String = "", prefixes: [ScalarString: [UInt8]] = [:]
  ) {
    self.name = name
    self.prefix = prefix
    self.size = size
    self.isFolder = isFolder
    self.memberNames = memberNames
    self.fileExtension = fileExtension
    self.prefixes = prefixes
  }

  /// Returns the first bytes of a member of a directory; empty if it does not exist or is not a file.
  public func prefix(ofMember name: String) -> [UInt8] {
    if let prefix = prefixes[ScalarString(name)] { return prefix }
    var path = listing?.member(named: name)?.path
    if let folder, !name.utf8.contains(UInt8(ascii: "/")),
      let status = try? SystemCall.status(folder + "/" + name, followLinks: false), status.st_mode & S_IFMT == S_IFREG
    {
      path = folder + "/" + name
    }
    return path.flatMap { try? Self.read($0) } ?? []
  }

  /// Whether the file begins with this text.
  public func begins(with text: StaticString) -> Bool {
    text.withUTF8Buffer { prefix.starts(with: $0) }
  }

  /// Reads the first bytes of a file.
  static func read(_ path: String) throws(PersistentStoreError) -> [UInt8] {
    let descriptor = try SystemCall.open(path, O_RDONLY | O_NONBLOCK, doing: "open")
    defer { DatabaseFileHold.close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: prefixLength)
    var filled = 0
    while filled < bytes.count {
      let got = try bytes.withUnsafeMutableBufferPointer { buffer throws(PersistentStoreError) in
        guard let base = buffer.baseAddress else { return 0 }
        return try SystemCall.read(descriptor, into: base + filled, count: buffer.count - filled, path: path)
      }
      if got == 0 { break }
      filled += got
    }
    bytes.removeLast(bytes.count - filled)
    return bytes
  }
}
