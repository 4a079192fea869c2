import CStoreFiles
import Glibc

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
  static func copy(from old: String, _ status: stat, to descriptor: Int32, shown: String) throws(PersistentStoreError)
    -> mode_t
  {
    if fchown(descriptor, status.st_uid, status.st_gid) != 0 { _ = fchown(descriptor, uid_t.max, status.st_gid) }
    var now = stat()
    guard fstat(descriptor, &now) == 0 else { throw SystemCall.error(errno, "look at the file", shown) }
    var mode = status.st_mode & 0o7777
    if now.st_uid != status.st_uid || now.st_gid != status.st_gid {
      let list = try AccessList(of: old, status)
      if now.st_gid != status.st_gid {
        mode &= ~S_ISGID | (status.st_mode & S_IFMT == S_IFDIR ? S_ISGID : 0)
        guard list.groupPermissions & ~list.other == 0 else {
          throw refusal(
            shown,
            "the members of its group \(status.st_gid) would lose access: a file of user \(now.st_uid) cannot be given to it"
          )
        }
      }
      if now.st_uid != status.st_uid {
        mode &= ~S_ISUID
        try checkOwner(status, list, isGroupKept: now.st_gid == status.st_gid, newOwner: now.st_uid, shown)
      }
    }
    guard asf_copy_access_lists(old, descriptor) == 0 else {
      throw SystemCall.error(errno, "keep the access control list", shown)
    }
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
      let own = groups.filter {
        $0.key == old.st_gid ? asf_is_member(old.st_uid, $0.key) != 0 : asf_is_member(old.st_uid, $0.key) > 0
      }
      granted = own.isEmpty ? list.other : own.values.reduce(0) { $0 | $1 & mask }
    }
    if old.st_mode & S_IFMT != S_IFDIR { granted |= 1 }
    guard list.owner & ~granted == 0 else {
      throw refusal(
        shown, "its owner \(old.st_uid) would lose access: a file of user \(newOwner) cannot be given to them")
    }
  }

  private static func refusal(_ path: String, _ reason: String) -> PersistentStoreError {
    PersistentStoreError(
      .permissionDenied, "\(reason). Save it as its owner, or widen its group's permissions",
      at: StoreLocation(file: path))
  }
}
