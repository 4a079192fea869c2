import Glibc

/// An empty file that the kit created to reserve the path of a store that has not been saved yet.
package struct Reservation: Sendable {
  package let path: String
  private let identity: FileIdentity

  /// Creates one if there is nothing at the path; returns nil otherwise: an existing file belongs to the caller.
  ///
  /// - Throws: `.cannotCreate` or `.permissionDenied` with a directory that does not exist or is not writable.
  package static func make(at place: StorePath) throws(PersistentStoreError) -> Reservation? {
    guard place.kind == .nothing else { return nil }
    let path = place.resolvedPath
    let folder = FilePathText.folder(path)
    guard let status = try SystemCall.status(folder, followLinks: true) else {
      throw PersistentStoreError(
        .cannotCreate, "the directory \(folder) does not exist", at: StoreLocation(file: place.path))
    }
    guard status.st_mode & S_IFMT == S_IFDIR else {
      throw PersistentStoreError(.cannotCreate, "\(folder) is not a directory", at: StoreLocation(file: place.path))
    }
    let descriptor: Int32
    do {
      descriptor = try SystemCall.open(path, O_WRONLY | O_CREAT | O_EXCL, mode: 0o666, doing: "create the store")
    } catch {
      // Another program was faster: then it is its file.
      if error.code == .alreadyExists { return nil }
      throw error.code == .notFound
        ? PersistentStoreError(
          .cannotCreate, "the directory \(folder) does not exist", at: StoreLocation(file: place.path))
        : error
    }
    defer { DatabaseFileHold.close(descriptor) }
    var made = stat()
    guard Retried.fstat(descriptor, &made) == 0 else { throw SystemCall.error(errno, "look at the file", path) }
    return Reservation(path: path, identity: try FileIdentity(path, made))
  }

  /// Removes the file if it is still the same and still empty.
  package func removeIfUnsaved() {
    // Another process may be saving at this moment: then it is no longer the same.
    guard let lock = try? StoreLock(for: path, patience: 1000) else { return }
    defer { withExtendedLifetime(lock) {} }
    var status = stat()
    guard Retried.lstat(path, &status) == 0, status.st_size == 0, status.st_mode & S_IFMT == S_IFREG,
      UInt64(status.st_dev) == identity.device, UInt64(status.st_ino) == identity.inode
    else { return }
    Retried.unlink(path)
  }
}
