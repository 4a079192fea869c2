import Glibc

/// Identifies a file and its state: device and inode, size and modification time. For a directory: those of all its
/// files.
///
/// For a directory, only files that a store may consist of count: those whose names do not begin with a dot. The
/// directory's other content, and the modification time of the directory itself, are irrelevant for the store. The
/// identity of a whole tree includes all of it, at any depth.
package struct FileIdentity: Hashable, Sendable {
  package let device: UInt64
  package let inode: UInt64
  /// In bytes; for a directory, the total of its files.
  package let size: Int64
  /// For a directory, the latest of its files.
  package let modificationSeconds: Int64
  package let modificationNanoseconds: Int64
  /// For a directory, a hash of the names and the states of its files; 0 for a file.
  private let members: UInt64
  /// Whether everything in a directory counts.
  private let isOfTree: Bool

  /// - Parameters:
  ///   - status: The status of the path, after or without following links.
  ///   - listing: For a directory, its content, if already known.
  ///   - isOfTree: Whether everything in a directory counts, at any depth.
  init(
    _ path: String, _ status: stat, _ listing: FolderListing? = nil, isOfTree: Bool = false
  ) throws(PersistentStoreError) {
    self.isOfTree = isOfTree
    device = UInt64(status.st_dev)
    inode = UInt64(status.st_ino)
    guard status.st_mode & S_IFMT == S_IFDIR else {
      size = Int64(status.st_size)
      modificationSeconds = Int64(status.st_mtim.tv_sec)
      modificationNanoseconds = Int64(status.st_mtim.tv_nsec)
      members = 0
      return
    }
    var digest = Digest()
    var total: Int64 = 0
    var latest = (seconds: Int64.min, nanoseconds: Int64(0))
    let list = if let listing { listing } else { try FolderListing(path) }
    for member in list.members {
      digest.add(member.name)
      digest.add(member.status)
      total += Int64(member.status.st_size)
      let time = (Int64(member.status.st_mtim.tv_sec), Int64(member.status.st_mtim.tv_nsec))
      if time > latest { latest = time }
    }
    if isOfTree { try digest.add(tree: path, named: "") }
    size = total
    modificationSeconds = latest.seconds == .min ? 0 : latest.seconds
    modificationNanoseconds = latest.nanoseconds
    members = digest.value
  }

  /// The identity of what is at a path, without following links; nil if there is nothing.
  static func of(_ path: String, isOfTree: Bool = false) throws(PersistentStoreError) -> FileIdentity? {
    guard let status = try SystemCall.status(path, followLinks: false) else { return nil }
    return try FileIdentity(path, status, isOfTree: isOfTree)
  }

  /// Whether both have the same content: as `==`, except for the directory that contains the members.
  func hasSameMembers(as other: FileIdentity) -> Bool { size == other.size && members == other.members }

  /// All of it but the device, whose number another boot or mount of the disk can change, for a file that another
  /// process reads.
  var text: String {
    "\(inode) \(size) \(modificationSeconds) \(modificationNanoseconds) \(members)"
      + (isOfTree ? Self.treeSuffix : "")
  }
  private static let treeSuffix = " tree"
  /// Whether a text is the identity of a whole tree.
  static func isOfTree(text: String) -> Bool { text.hasSuffix(treeSuffix) }

  package var isEmpty: Bool { size == 0 }
  package func isSameFile(as other: FileIdentity) -> Bool { device == other.device && inode == other.inode }

  /// FNV-1a, 64 bits: the same in every process.
  private struct Digest {
    var value: UInt64 = 0xCBF2_9CE4_8422_2325
    mutating func add(_ text: String) {
      for byte in text.utf8 { add(byte) }
      add(UInt8(0))
    }
    mutating func add(_ status: stat) {
      for part in [
        Int64(truncatingIfNeeded: status.st_ino), Int64(status.st_size), Int64(status.st_mtim.tv_sec),
        Int64(status.st_mtim.tv_nsec),
      ] { add(part) }
    }
    /// Everything in a directory; of directories, only that they are there.
    mutating func add(tree path: String, named prefix: String) throws(PersistentStoreError) {
      for name in try SystemCall.names(in: path).map({ ScalarString($0) }).sorted().map(\.string) {
        let (inner, shown) = (path + "/" + name, prefix + name)
        guard let status = try SystemCall.status(inner, followLinks: false) else { continue }
        add(shown)
        if status.st_mode & S_IFMT == S_IFDIR { try add(tree: inner, named: shown + "/") } else { add(status) }
      }
    }
    private mutating func add(_ number: Int64) { withUnsafeBytes(of: number) { for byte in $0 { add(byte) } } }
    private mutating func add(_ byte: UInt8) { value = (value ^ UInt64(byte)) &* 0x100_0000_01B3 }
  }
}
