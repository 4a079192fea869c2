import CStoreFiles
import Glibc

/// The permissions to read, write and search a file or directory: its mode, or its POSIX access control list if it has
/// one.
///
/// Permissions are the low three bits of a mode: 4 read, 2 write, 1 search.
struct AccessList: Equatable {
  var owner: mode_t
  /// The permissions of the owning group's own entry, before the mask.
  var group: mode_t
  var other: mode_t
  /// The maximum permissions of all except the owner and others; nil if no entry names a user or a group.
  var mask: mode_t?
  var users: [uid_t: mode_t] = [:]
  var groups: [gid_t: mode_t] = [:]

  init(mode: mode_t) {
    owner = mode >> 6 & 7
    group = mode >> 3 & 7
    other = mode & 7
  }

  /// Decodes the value of an attribute `system.posix_acl_access` or `system.posix_acl_default`; nil if it is not one.
  init?(attribute bytes: [UInt8]) {
    // A version, then entries of eight bytes: tag, permissions and id, all little-endian.
    guard bytes.count >= 4, bytes.count % 8 == 4, bytes[0] == 2, bytes[1...3].allSatisfy({ $0 == 0 }) else {
      return nil
    }
    func number(_ offset: Int, _ count: Int) -> UInt32 {
      (0..<count).reduce(0) { $0 | UInt32(bytes[offset + $1]) << (8 * UInt32($1)) }
    }
    self.init(mode: 0)
    for entry in stride(from: 4, to: bytes.count, by: 8) {
      let permissions = mode_t(number(entry + 2, 2)) & 7
      let id = number(entry + 4, 4)
      switch number(entry, 2) {
      case Tag.owner: owner = permissions
      case Tag.user: users[id] = permissions
      case Tag.owningGroup: group = permissions
      case Tag.group: groups[id] = permissions
      case Tag.mask: mask = permissions
      case Tag.other: other = permissions
      default: return nil
      }
    }
  }

  /// The tags of entries, as in Linux's `posix_acl.h`.
  private enum Tag {
    static let owner: UInt32 = 1
    static let user: UInt32 = 2
    static let owningGroup: UInt32 = 4
    static let group: UInt32 = 8
    static let mask: UInt32 = 16
    static let other: UInt32 = 32
  }

  /// Reads the permissions of a file or directory.
  init(of path: String, _ status: stat) throws(PersistentStoreError) {
    self = try Self.attribute("system.posix_acl_access", of: path) ?? AccessList(mode: status.st_mode)
  }

  /// The list that new files in a directory inherit; nil if the file mode creation mask applies instead.
  static func inherited(from folder: String) throws(PersistentStoreError) -> AccessList? {
    try attribute("system.posix_acl_default", of: folder)
  }

  private static func attribute(_ name: String, of path: String) throws(PersistentStoreError) -> AccessList? {
    var bytes = [UInt8](repeating: 0, count: 1 << 9)
    var length = value(of: name, path, into: &bytes)
    if length < 0, errno == ERANGE {
      // The maximum size of an attribute value.
      bytes = [UInt8](repeating: 0, count: 1 << 16)
      length = value(of: name, path, into: &bytes)
    }
    guard length >= 0 else {
      if [ENODATA, EOPNOTSUPP, ENOSYS, ENOENT].contains(errno) { return nil }
      throw SystemCall.error(errno, "read the access control list", path)
    }
    return AccessList(attribute: Array(bytes[..<length]))
  }

  /// The length of an attribute's value, which is read into the bytes; negative for an error.
  private static func value(of name: String, _ path: String, into bytes: inout [UInt8]) -> Int {
    bytes.withUnsafeMutableBytes { raw in
      raw.baseAddress.map { Int(asf_get_attribute(path, name, $0, Int64(raw.count))) } ?? 0
    }
  }

  /// The permissions as a mode, with the mask in place of the group.
  var mode: mode_t { owner << 6 | (mask ?? group) << 3 | other }
  /// The permissions of a member of the owning group.
  var groupPermissions: mode_t { group & (mask ?? 7) }
}
