import CStoreFiles
import Glibc

/// The permissions of a new file or directory that does not replace one.
struct NewFilePermissions {
  private let creationMask: mode_t
  private let ceiling: PermissionCeiling?

  init(ceiling: PermissionCeiling?) {
    // If the creation mask is unknown, only the owner gets access: narrow permissions can be widened, a leak cannot be
    // undone.
    let mask = asf_umask()
    creationMask = mask < 0 ? 0o077 : mode_t(mask)
    self.ceiling = ceiling
  }

  /// The mode of a new file or directory, created in `folder` and owned by `group`, as the system would set it.
  func mode(isFolder: Bool, in folder: String, group: gid_t) throws(PersistentStoreError) -> mode_t {
    mode(isFolder: isFolder, inheriting: try AccessList.inherited(from: folder), group: group)
  }

  /// - Parameter inherited: The list that new files in the directory inherit.
  func mode(isFolder: Bool, inheriting inherited: AccessList?, group: gid_t) -> mode_t {
    let most: mode_t = isFolder ? 0o777 : 0o666
    // A default access control list replaces the creation mask, as in open(2).
    let mode = if let inherited { inherited.mode & most } else { most & ~creationMask }
    return ceiling?.limiting(mode, isFolder: isFolder, group: group) ?? mode
  }
}

/// The maximum permissions that a copy of a store may grant to others than its owner: those that the store itself
/// grants.
///
/// The owner of the copy can always read and write it.
package struct PermissionCeiling: Sendable {
  private struct Limit: Sendable {
    /// Read and write bits, as for a file.
    let mode: mode_t
    let group: gid_t

    func applied(to wanted: mode_t, isFolder: Bool, group: gid_t) -> mode_t {
      // Another group than the source's: for the source, its members are others.
      var most = group == self.group ? mode : (mode >> 3 & mode & 7) << 3 | mode & 7
      // Reading the files of a directory requires searching it.
      if isFolder { most = most & 0o066 | (most & 0o044) >> 2 }
      return wanted & (0o700 | most)
    }
  }
  private var limits: [Limit]

  /// No permissions for anyone except the owner.
  package static let ownerOnly = PermissionCeiling(limits: [Limit(mode: 0, group: 0)])

  private init(limits: [Limit]) { self.limits = limits }

  /// The permissions that all of the stores grant; nil if none of the paths has a store.
  package init?(of places: [StorePath]) throws(PersistentStoreError) {
    limits = []
    for place in places {
      if let ceiling = try PermissionCeiling(of: place) { limits += ceiling.limits }
    }
    if limits.isEmpty { return nil }
  }

  /// The permissions of the store at a path; for a directory, those that all of its files grant, restricted to users
  /// who may search the directory. Nil if there is no store.
  package init?(of place: StorePath) throws(PersistentStoreError) {
    guard let status = try SystemCall.status(place.resolvedPath, followLinks: true) else { return nil }
    let own = try AccessList(of: place.resolvedPath, status)
    guard status.st_mode & S_IFMT == S_IFDIR else {
      limits = [Limit(mode: own.groupPermissions << 3 | own.other, group: status.st_gid)]
      return
    }
    // A copy may be one file: it grants no more than the most private file of the directory.
    var granted: mode_t = 0o066
    for member in try FolderListing(place.resolvedPath).members {
      let list = try AccessList(of: member.path, member.status)
      // Members of another group do not get access through the directory's group.
      granted &=
        (member.status.st_gid == status.st_gid ? list.groupPermissions : list.groupPermissions & list.other) << 3
        | list.other
    }
    if own.groupPermissions & 1 == 0 { granted &= 0o007 }
    if own.other & 1 == 0 { granted &= 0o070 }
    limits = [Limit(mode: granted, group: status.st_gid)]
  }

  func limiting(_ wanted: mode_t, isFolder: Bool, group: gid_t) -> mode_t {
    limits.reduce(wanted) { $1.applied(to: $0, isFolder: isFolder, group: group) }
  }
}
