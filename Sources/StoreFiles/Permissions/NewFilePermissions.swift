import CStoreFiles
import Glibc

/// What a new file or directory gets where nothing is replaced that it could have it from.
struct NewFilePermissions {
  private let creationMask: mode_t
  private let ceiling: PermissionCeiling?

  init(ceiling: PermissionCeiling?) {
    // Where the system does not say, only the owner: permissions that are too narrow can be widened, a leak cannot be
    // undone.
    let mask = asf_umask()
    creationMask = mask < 0 ? 0o077 : mode_t(mask)
    self.ceiling = ceiling
  }

  /// The mode of a new file or directory, made in `folder` and owned by `group`, as the system would give it.
  func mode(isFolder: Bool, in folder: String, group: gid_t) throws(PersistentStoreError) -> mode_t {
    let most: mode_t = isFolder ? 0o777 : 0o666
    // A default access control list takes the place of the creation mask, as it does in open(2).
    let mode =
      if let inherited = try AccessList.inherited(from: folder) { inherited.mode & most } else { most & ~creationMask }
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

  /// What the store at a path grants: of a directory store, what its files grant those who may search the directory.
  /// Nil where there is none.
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
      granted |=
        (member.status.st_gid == status.st_gid ? list.groupPermissions : list.groupPermissions & list.other) << 3
        | list.other
    }
    if own.groupPermissions & 1 == 0 { granted &= 0o007 }
    if own.other & 1 == 0 { granted &= 0o070 }
    mode = granted
  }

  func limiting(_ wanted: mode_t, isFolder: Bool, group: gid_t) -> mode_t {
    // Another group than the source's: to the source these are others.
    var most = group == self.group ? mode : (mode >> 3 & mode & 7) << 3 | mode & 7
    // To read the files of a directory is to search it.
    if isFolder { most = most & 0o066 | (most & 0o044) >> 2 }
    return wanted & (0o700 | most)
  }
}
