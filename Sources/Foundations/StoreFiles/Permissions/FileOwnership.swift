import CStoreFiles
import Glibc

/// Preserves a file's owner, group and access control list when it is replaced.
enum FileOwnership {
  /// Gives an open file the owner, group and access control list of the file that it replaces.
  ///
  /// Only the superuser can change the owner. If another user writes the file, that user becomes the owner, and the
  /// group is kept.
  ///
  /// - Parameters:
  ///   - old: The file that is replaced, and `status` its state.
  ///   - shown: The name for errors.
  /// - Returns: The mode for the file, without the set-ID bits of an owner or group that could not be kept.
  /// - Throws: `.permissionDenied` if the old owner, or the members of the old group, would lose access.
  static func copy(from old: String, _ status: stat, to descriptor: Int32, shown: String) throws(PersistentStoreError)
    -> mode_t
  {
    if Retried.fchown(descriptor, status.st_uid, status.st_gid) != 0 {
      _ = Retried.fchown(descriptor, uid_t.max, status.st_gid)
    }
    var now = stat()
    guard Retried.fstat(descriptor, &now) == 0 else { throw SystemCall.error(errno, "look at the file", shown) }
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

  /// Whether the old owner, whose permissions are now those of group or others, keeps the same access.
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
      // A user without an account cannot be looked up. Only a member could have given the file to the group.
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
