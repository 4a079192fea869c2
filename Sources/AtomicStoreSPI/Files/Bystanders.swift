import CStoreFiles
import Glibc

/// What lies in the folder of a store and is none of its files: hidden ones, folders, links. They belong to somebody else, a version
/// control perhaps, and a save takes them along.
enum Bystanders {
  /// Their names; none where there is no folder.
  static func names(in folder: String) throws(PersistentStoreError) -> [String] {
    var found: [String] = []
    for name in try SystemCall.names(in: folder) where try FileIdentity.member(name, of: folder) == nil { found.append(name) }
    return found
  }

  /// Gives them a second name in another folder, folders with everything in them. They keep the first.
  ///
  /// - Parameter store: What an error names.
  /// - Throws: where one cannot be: a file of the new store has its name, or the file system cannot give a file two names.
  static func carry(_ names: [String], from old: String, to new: String, of store: String) throws(PersistentStoreError) {
    for name in names { try carry(old + "/" + name, to: new + "/" + name, shown: store + "/" + name) }
  }

  private static func carry(_ path: String, to target: String, shown: String) throws(PersistentStoreError) {
    guard let status = try SystemCall.status(path, followLinks: false) else {
      // Gone meanwhile; or its name is not UTF-8 and what stands for it names nothing.
      guard !shown.unicodeScalars.contains("\u{FFFD}") else { throw refusal(shown, "its name is not UTF-8") }
      return
    }
    guard status.st_mode & S_IFMT == S_IFDIR else {
      if linkat(AT_FDCWD, path, AT_FDCWD, target, 0) == 0 { return }
      // A link where the store has a file now: it held nothing itself.
      if errno == EEXIST, status.st_mode & S_IFMT == S_IFLNK { return }
      throw refusal(shown)
    }
    guard mkdir(target, 0o700) == 0 else { throw refusal(shown) }
    for name in try SystemCall.names(in: path) { try carry(path + "/" + name, to: target + "/" + name, shown: shown + "/" + name) }
    let descriptor = try SystemCall.open(target, O_RDONLY | O_DIRECTORY, doing: "open the folder")
    defer { close(descriptor) }
    _ = fchown(descriptor, status.st_uid, status.st_gid)
    asf_copy_attributes(path, descriptor)
    guard fchmod(descriptor, status.st_mode & 0o7777) == 0 else { throw refusal(shown) }
    var times = [status.st_atim, status.st_mtim]
    futimens(descriptor, &times)
    if fsync(descriptor) != 0, errno != EINVAL { throw refusal(shown) }
  }

  private static func refusal(
    _ path: String, _ reason: String = String(cString: strerror(errno))
  ) -> PersistentStoreError {
    PersistentStoreError(
      .cannotCreate, "this is none of the store's files, and cannot be kept when the folder is saved: \(reason)",
      at: StoreLocation(file: path))
  }

  /// Moves those that came while a save was at work, after it, to where the others are.
  static func rescue(from old: String, to new: String) {
    for name in (try? names(in: old)) ?? [] {
      // Not over another, and not where it lies already.
      _ = asf_rename_exclusive(old + "/" + name, new + "/" + name)
    }
  }
}
