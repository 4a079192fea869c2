import CStoreFiles
import Glibc

/// Unrelated files: whatever is in a store's directory and is not one of its files, such as hidden files, directories
/// and links. They belong to other programs, version control for example, and a save preserves them.
enum UnrelatedFiles {
  /// Their names; empty if the directory does not exist.
  static func names(in folder: String) throws(PersistentStoreError) -> [String] { try FolderListing(folder).others }

  /// Why some could not be carried over.
  enum Failure: Error {
    /// A file of the new store has the name, or the disk is full, or another reason that the error gives.
    case refused(PersistentStoreError)
    /// The file system cannot create hard links to these files.
    case unsupported(PersistentStoreError)
  }

  /// Hard-links them into another directory; directories are created again, with everything in them. The originals
  /// remain.
  ///
  /// - Parameter store: The name for errors.
  static func carry(_ names: [String], from old: String, to new: String, of store: String) throws(Failure) {
    for name in names { try carry(old + "/" + name, to: new + "/" + name, shown: store + "/" + name) }
  }

  private static func carry(_ path: String, to target: String, shown: String) throws(Failure) {
    guard let status = try known(SystemCall.status, path) else {
      // It was removed meanwhile; or its name is not UTF-8 and its substitute does not exist.
      guard !shown.unicodeScalars.contains("\u{FFFD}") else {
        throw .unsupported(refusal(shown, "its name is not UTF-8"))
      }
      return
    }
    guard status.st_mode & S_IFMT == S_IFDIR else {
      if linkat(AT_FDCWD, path, AT_FDCWD, target, 0) == 0 { return }
      // It is a link with the name of a new file of the store: it had no content.
      if errno == EEXIST, status.st_mode & S_IFMT == S_IFLNK { return }
      // The file system does not support hard links, or none to files of another user.
      if SystemCall.isUnsupported(errno) || errno == EPERM || errno == EMLINK { throw .unsupported(refusal(shown)) }
      throw .refused(refusal(shown))
    }
    guard Retried.mkdir(target, 0o700) == 0 else { throw .refused(refusal(shown)) }
    do {
      for name in try SystemCall.names(in: path) {
        try carry(path + "/" + name, to: target + "/" + name, shown: shown + "/" + name)
      }
      let descriptor = try SystemCall.open(target, O_RDONLY | O_DIRECTORY, doing: "open the folder")
      defer { close(descriptor) }
      asf_copy_attributes(path, descriptor)
      let mode = try FileOwnership.copy(from: path, status, to: descriptor, shown: shown)
      guard Retried.fchmod(descriptor, mode) == 0 else { throw refusal(shown) }
      var times = [status.st_atim, status.st_mtim]
      futimens(descriptor, &times)
      if Retried.fsync(descriptor) != 0, errno != EINVAL { throw refusal(shown) }
    } catch let failure as Failure {
      throw failure
    } catch let error as PersistentStoreError {
      throw .refused(error)
    } catch {
      throw .refused(refusal(shown, "\(error)"))
    }
  }

  private static func known(
    _ status: (String, Bool) throws(PersistentStoreError) -> stat?, _ path: String
  ) throws(Failure) -> stat? {
    do throws(PersistentStoreError) { return try status(path, false) } catch { throw .refused(error) }
  }

  private static func refusal(
    _ path: String, _ reason: String = String(cString: strerror(errno))
  ) -> PersistentStoreError {
    PersistentStoreError(
      .cannotCreate,
      "this file does not belong to the store, and cannot be kept when the directory is saved: \(reason)",
      at: StoreLocation(file: path))
  }

  /// Moves those that were created during a save to the other ones.
  static func rescue(from old: String, to new: String) {
    for name in (try? names(in: old)) ?? [] {
      // Do not replace another file, and skip those already moved.
      _ = Retried.renameExclusively(old + "/" + name, new + "/" + name)
    }
  }
}
