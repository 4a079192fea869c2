import CStoreFiles
package import Glibc

/// System calls: repeated after a signal; errors have the path, of staged files that of the result, and the system's
/// message.
package enum SystemCall {
  package static func error(_ number: Int32, _ doing: String, _ path: String) -> PersistentStoreError {
    let code: PersistentStoreError.Code =
      switch number {
      case ENOENT: .notFound
      case EACCES, EPERM, EROFS: .permissionDenied
      case ENOSPC, EDQUOT, EFBIG: .noSpace
      case EEXIST, ENOTEMPTY: .alreadyExists
      case ENOTDIR, EISDIR, ELOOP, ENAMETOOLONG, EXDEV: .cannotCreate
      default: .inputOutput
      }
    return PersistentStoreError(
      code, "cannot \(doing): \(String(cString: strerror(number)))", at: StoreLocation(file: HiddenName.shown(path)))
  }

  package static func status(_ path: String, followLinks: Bool) throws(PersistentStoreError) -> stat? {
    var value = stat()
    let result = followLinks ? Retried.stat(path, &value) : Retried.lstat(path, &value)
    if result == 0 { return value }
    if errno == ENOENT || errno == ENOTDIR { return nil }
    throw error(errno, "look at the file", path)
  }

  package static func open(_ path: String, _ flags: Int32, mode: mode_t = 0, doing: String) throws(PersistentStoreError)
    -> Int32
  {
    let descriptor = Retried.open(path, flags | O_CLOEXEC, mode)
    guard descriptor >= 0 else { throw error(errno, doing, path) }
    return descriptor
  }

  /// Reads up to `count` bytes; 0 at the end.
  static func read(
    _ descriptor: Int32, into buffer: UnsafeMutableRawPointer, count: Int, path: String
  ) throws(PersistentStoreError) -> Int {
    while true {
      let got = Glibc.read(descriptor, buffer, count)
      if got >= 0 { return got }
      if errno != EINTR { throw error(errno, "read", path) }
    }
  }

  /// Reads up to `count` bytes at an offset, without moving the descriptor's own; 0 at the end.
  static func read(
    _ descriptor: Int32, into buffer: UnsafeMutableRawPointer, count: Int, at offset: Int, path: String
  ) throws(PersistentStoreError) -> Int {
    while true {
      let got = Glibc.pread(descriptor, buffer, count, off_t(offset))
      if got >= 0 { return got }
      if errno != EINTR { throw error(errno, "read", path) }
    }
  }

  /// Reads a file of the kit's own, such as the record of a publication: more than 64 MB is refused.
  static func readSmallFile(_ descriptor: Int32, path: String) throws(PersistentStoreError) -> [UInt8] {
    var bytes: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      let got = try piece.withUnsafeMutableBufferPointer { raw throws(PersistentStoreError) in
        guard let base = raw.baseAddress else { return 0 }
        return try read(descriptor, into: base, count: raw.count, path: path)
      }
      if got == 0 { return bytes }
      bytes += piece[..<got]
      guard bytes.count <= 64 << 20 else {
        throw PersistentStoreError(.limitExceeded, "the file is too large", at: StoreLocation(file: path))
      }
    }
  }

  /// Writes all bytes.
  static func write(_ bytes: [UInt8], to descriptor: Int32, path: String) throws(PersistentStoreError) {
    var written = 0
    while written < bytes.count {
      let done = bytes[written...].withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if done >= 0 { written += done } else if errno != EINTR { throw error(errno, "write", path) }
    }
  }

  /// Copies a file with its mode, its owner if possible, and its modification time.
  static func copy(_ path: String, to other: String) throws(PersistentStoreError) {
    let from = try open(path, O_RDONLY | O_NOFOLLOW, doing: "keep the old store")
    defer { DatabaseFileHold.close(from) }
    let to = try open(other, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600, doing: "keep the old store")
    defer { DatabaseFileHold.close(to) }
    var piece = [UInt8](repeating: 0, count: 1 << 18)
    while true {
      let got = try piece.withUnsafeMutableBufferPointer { raw throws(PersistentStoreError) in
        guard let base = raw.baseAddress else { return 0 }
        return try read(from, into: base, count: raw.count, path: path)
      }
      if got == 0 { break }
      try write(Array(piece[..<got]), to: to, path: path)
    }
    var status = stat()
    guard Retried.fstat(from, &status) == 0 else { throw error(errno, "look at the file", path) }
    _ = Retried.fchown(to, status.st_uid, status.st_gid)
    var times = [status.st_atim, status.st_mtim]
    guard Retried.fchmod(to, status.st_mode & 0o7777) == 0, futimens(to, &times) == 0, Retried.fsync(to) == 0 else {
      throw error(errno, "keep the old store", path)
    }
  }

  /// Whether an error number means that the file system does not support the call, or not for these files.
  static func isUnsupported(_ number: Int32) -> Bool {
    [EINVAL, ENOSYS, EXDEV, EOPNOTSUPP, ENOTTY].contains(number)
  }

  /// - Parameter store: The name for errors, since the directory of a store that is being written is temporary.
  static func syncFolder(_ path: String, of store: String) throws(PersistentStoreError) {
    let descriptor = Retried.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw error(errno, "open the folder", store) }
    defer { close(descriptor) }
    // Some file systems cannot sync a directory and return EINVAL.
    if Retried.fsync(descriptor) != 0, errno != EINVAL, errno != EROFS {
      throw error(errno, "sync the directory", store)
    }
  }

  /// The names in a directory except `.` and `..`, in the order of their bytes.
  ///
  /// - Throws: `.changedOnDisk` if the directory keeps being replaced while it is read.
  static func names(in path: String) throws(PersistentStoreError) -> [String] {
    // A save replaces this directory by another one and then empties it: a list made meanwhile matches neither.
    for _ in 0..<20 {
      guard let folder = Retried.opendir(path) else { throw error(errno, "list the directory", path) }
      defer { closedir(folder) }
      var names: [ScalarString] = []
      errno = 0
      while let entry = readdir(folder) {
        let name = withUnsafePointer(to: &entry.pointee.d_name) {
          $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
        }
        if name != ".", name != ".." { names.append(ScalarString(name)) }
        errno = 0
      }
      if errno != 0 { throw error(errno, "list the directory", path) }
      var listed = stat()
      guard Retried.fstat(dirfd(folder), &listed) == 0 else { throw error(errno, "inspect the directory", path) }
      if let there = try status(path, followLinks: true), there.st_dev == listed.st_dev, there.st_ino == listed.st_ino {
        return names.sorted().map(\.string)
      }
    }
    throw PersistentStoreError(.changedOnDisk, "the directory keeps being replaced", at: StoreLocation(file: path))
  }

  /// Whether a directory has a name that does not begin with a dot; false also if it cannot be listed. It reads names
  /// until it finds one.
  static func hasVisibleNames(in path: String) -> Bool {
    guard let folder = Retried.opendir(path) else { return false }
    defer { closedir(folder) }
    while let entry = readdir(folder) {
      if entry.pointee.d_name.0 != CChar(bitPattern: UInt8(ascii: ".")) { return true }
    }
    return false
  }

  /// Removes a directory that has nothing in it; others, and what is not there, stay as they are.
  package static func removeEmptyFolder(_ path: String) { Retried.rmdir(path) }

  /// Removes a file, or a directory with its content. Links are removed, not followed. What cannot be removed is left.
  package static func removeTree(_ path: String) {
    var value = stat()
    guard Retried.lstat(path, &value) == 0 else { return }
    if value.st_mode & S_IFMT == S_IFDIR {
      for name in (try? names(in: path)) ?? [] { removeTree(path + "/" + name) }
      Retried.rmdir(path)
    } else {
      Retried.unlink(path)
    }
  }
}
