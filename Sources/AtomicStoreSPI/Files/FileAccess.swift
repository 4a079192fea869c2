import CStoreFiles
import Glibc

/// Who may read, write and search a file or a directory: its mode, or its POSIX access control list where it has one.
///
/// Permissions are the low three bits of a mode: 4 read, 2 write, 1 search.
struct AccessList: Equatable {
  var owner: mode_t
  /// What the owning group's own entry grants, before the mask.
  var group: mode_t
  var other: mode_t
  /// The most that anybody but the owner and the others gets; nil where no entry names a user or a group.
  var mask: mode_t?
  var users: [uid_t: mode_t] = [:]
  var groups: [gid_t: mode_t] = [:]

  init(mode: mode_t) {
    owner = mode >> 6 & 7
    group = mode >> 3 & 7
    other = mode & 7
  }

  /// Decodes the value of an attribute `system.posix_acl_access` or `system.posix_acl_default`; nil where it is not one.
  init?(attribute bytes: [UInt8]) {
    // A version, then eight bytes each: tag, permissions and id, all little-endian.
    guard bytes.count >= 4, bytes.count % 8 == 4, bytes[0] == 2, bytes[1...3].allSatisfy({ $0 == 0 }) else { return nil }
    func number(_ offset: Int, _ count: Int) -> UInt32 { (0..<count).reduce(0) { $0 | UInt32(bytes[offset + $1]) << (8 * UInt32($1)) } }
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

  /// The tags of entries, as Linux's `posix_acl.h` has them.
  private enum Tag {
    static let owner: UInt32 = 1
    static let user: UInt32 = 2
    static let owningGroup: UInt32 = 4
    static let group: UInt32 = 8
    static let mask: UInt32 = 16
    static let other: UInt32 = 32
  }

  /// Who may access what is at a path.
  init(of path: String, _ status: stat) throws(PersistentStoreError) {
    self = try Self.attribute("system.posix_acl_access", of: path) ?? AccessList(mode: status.st_mode)
  }

  /// What a directory hands on to new files in it; nil where that is left to the file mode creation mask.
  static func inherited(from folder: String) throws(PersistentStoreError) -> AccessList? {
    try attribute("system.posix_acl_default", of: folder)
  }

  private static func attribute(_ name: String, of path: String) throws(PersistentStoreError) -> AccessList? {
    // The largest value that the system keeps.
    var bytes = [UInt8](repeating: 0, count: 1 << 16)
    let length = bytes.withUnsafeMutableBytes { raw in raw.baseAddress.map { Int(asf_get_attribute(path, name, $0, Int64(raw.count))) } ?? 0 }
    guard length >= 0 else {
      if [ENODATA, EOPNOTSUPP, ENOSYS, ENOENT].contains(errno) { return nil }
      throw SystemCall.error(errno, "read the access control list", path)
    }
    return AccessList(attribute: Array(bytes[..<length]))
  }

  /// As the mode shows them: the mask in the place of the group.
  var mode: mode_t { owner << 6 | (mask ?? group) << 3 | other }
  /// What a member of the owning group gets by that.
  var groupPermissions: mode_t { group & (mask ?? 7) }
}

/// What a new file or directory gets where nothing is replaced that it could have it from.
struct NewFilePermissions {
  private let creationMask: mode_t
  private let ceiling: PermissionCeiling?

  init(ceiling: PermissionCeiling?) {
    // Where the system does not say, only the owner: permissions that are too narrow can be widened, a leak cannot be undone.
    let mask = asf_umask()
    creationMask = mask < 0 ? 0o077 : mode_t(mask)
    self.ceiling = ceiling
  }

  /// The mode of a new file or directory, made in `folder` and owned by `group`, as the system would give it.
  func mode(isFolder: Bool, in folder: String, group: gid_t) throws(PersistentStoreError) -> mode_t {
    let most: mode_t = isFolder ? 0o777 : 0o666
    // A default access control list takes the place of the creation mask, as it does in open(2).
    let mode = if let inherited = try AccessList.inherited(from: folder) { inherited.mode & most } else { most & ~creationMask }
    return ceiling?.limiting(mode, isFolder: isFolder, group: group) ?? mode
  }
}

/// The most that a copy of a store may grant to others than its owner: what the store grants itself.
///
/// The owner of the copy can always read and write it.
package struct PermissionCeiling: Sendable {
  /// Read and write bits, as of a file.
  private let mode: mode_t
  private let group: gid_t

  /// Nobody but the owner.
  package static let ownerOnly = PermissionCeiling(mode: 0, group: 0)

  private init(mode: mode_t, group: gid_t) {
    self.mode = mode
    self.group = group
  }

  /// What the store at a path grants: of a directory store, what its files grant those who may search the directory. Nil where
  /// there is none.
  package init?(of place: StorePlace) throws(PersistentStoreError) {
    guard let status = try SystemCall.status(place.resolvedPath, followLinks: true) else { return nil }
    let own = try AccessList(of: place.resolvedPath, status)
    group = status.st_gid
    guard status.st_mode & S_IFMT == S_IFDIR else {
      mode = own.groupPermissions << 3 | own.other
      return
    }
    var granted: mode_t = 0
    for member in try FolderListing(place.resolvedPath).members {
      let list = try AccessList(of: member.path, member.status)
      // Members of another group are nobody's that the directory's group knows.
      granted |= (member.status.st_gid == status.st_gid ? list.groupPermissions : list.groupPermissions & list.other) << 3 | list.other
    }
    if own.groupPermissions & 1 == 0 { granted &= 0o007 }
    if own.other & 1 == 0 { granted &= 0o070 }
    mode = granted
  }

  fileprivate func limiting(_ wanted: mode_t, isFolder: Bool, group: gid_t) -> mode_t {
    // Another group than the source's: to the source these are others.
    var most = group == self.group ? mode : (mode >> 3 & mode & 7) << 3 | mode & 7
    // To read the files of a directory is to search it.
    if isFolder { most = most & 0o066 | (most & 0o044) >> 2 }
    return wanted & (0o700 | most)
  }
}

/// Keeps a file's owner, group and access control list for what takes its place.
enum FileOwnership {
  /// Gives an open file the owner, the group and the access control list of the one that it replaces.
  ///
  /// Only the superuser can give a file away. A file that another user writes is that user's, of the same group.
  ///
  /// - Parameters:
  ///   - old: what is replaced, and `status` its state.
  ///   - shown: what an error names.
  /// - Returns: The mode that the file is to have, without the set-ID bits of an owner or group that could not be kept.
  /// - Throws: `.permissionDenied` where the old owner, or the members of the old group, would lose access.
  static func copy(from old: String, _ status: stat, to descriptor: Int32, shown: String) throws(PersistentStoreError) -> mode_t {
    if fchown(descriptor, status.st_uid, status.st_gid) != 0 { _ = fchown(descriptor, uid_t.max, status.st_gid) }
    var now = stat()
    guard fstat(descriptor, &now) == 0 else { throw SystemCall.error(errno, "look at the file", shown) }
    var mode = status.st_mode & 0o7777
    if now.st_uid != status.st_uid || now.st_gid != status.st_gid {
      let list = try AccessList(of: old, status)
      if now.st_gid != status.st_gid {
        mode &= ~S_ISGID | (status.st_mode & S_IFMT == S_IFDIR ? S_ISGID : 0)
        guard list.groupPermissions & ~list.other == 0 else {
          throw refusal(shown, "the members of its group \(status.st_gid) would lose access: a file of user \(now.st_uid) cannot be given to it")
        }
      }
      if now.st_uid != status.st_uid {
        mode &= ~S_ISUID
        try checkOwner(status, list, isGroupKept: now.st_gid == status.st_gid, newOwner: now.st_uid, shown)
      }
    }
    guard asf_copy_access_lists(old, descriptor) == 0 else { throw SystemCall.error(errno, "keep the access control list", shown) }
    return mode
  }

  /// Whether the old owner, who is now one of many, can do what they could.
  private static func checkOwner(
    _ old: stat, _ list: AccessList, isGroupKept: Bool, newOwner: uid_t, _ shown: String
  ) throws(PersistentStoreError) {
    // The superuser needs no permission.
    guard old.st_uid != 0 else { return }
    let mask = list.mask ?? 7
    var granted: mode_t
    if let named = list.users[old.st_uid] {
      granted = named & mask
    } else {
      var groups = list.groups
      if isGroupKept { groups[old.st_gid] = list.group | groups[old.st_gid, default: 0] }
      // A user without an account cannot be asked about. Who gave the file to the group was in it.
      let own = groups.filter { $0.key == old.st_gid ? asf_is_member(old.st_uid, $0.key) != 0 : asf_is_member(old.st_uid, $0.key) > 0 }
      granted = own.isEmpty ? list.other : own.values.reduce(0) { $0 | $1 & mask }
    }
    if old.st_mode & S_IFMT != S_IFDIR { granted |= 1 }
    guard list.owner & ~granted == 0 else {
      throw refusal(shown, "its owner \(old.st_uid) would lose access: a file of user \(newOwner) cannot be given to them")
    }
  }

  private static func refusal(_ path: String, _ reason: String) -> PersistentStoreError {
    PersistentStoreError(
      .permissionDenied, "\(reason). Save it as its owner, or widen its group's permissions", at: StoreLocation(file: path))
  }
}
