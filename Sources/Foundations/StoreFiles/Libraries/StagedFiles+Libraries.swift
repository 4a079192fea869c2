import CStoreFiles
import Glibc

/// For libraries that write to a path and to nothing else, such as those of databases and archives.
extension StagedFiles {
  /// Lets a library write the file of a store that is one file. Call it once, in place of ``file()``.
  ///
  /// The path is in its own directory, where nothing is yet, on the file system of the store. The name has the
  /// store's extension. What the library writes there becomes the staged file; what else it leaves in the directory is
  /// removed if it is empty or has an expected name, and refused otherwise: a journal or a write-ahead log has data
  /// that the file lacks.
  ///
  /// - Parameters:
  ///   - suffixes: What the names of files that are not needed have after the file's name, such as `-lock`.
  ///   - write: Writes the file and closes it. It gets the path.
  /// - Throws: `.internalInconsistency` if no file was written, or others were left beside it; what `write` throws, as
  ///   `.inputOutput` unless it is one of the kit's errors; otherwise as ``file()``.
  public func file(
    discarding suffixes: [String] = [], writtenBy write: (_ path: String) throws -> Void
  ) throws(PersistentStoreError) {
    guard layout == .file else {
      throw PersistentStoreError(.internalInconsistency, "the store is a directory: write members")
    }
    try checkOpen()
    let shown = StoreLocation(file: location.targetPath)
    // Hidden and named like a staged file: it is removed like one if the process is ended.
    let directory = HiddenName.staged(beside: isUnnamed ? location.stagedPath + "/store" : location.targetPath)
    let error = location.faults?.next(.create) ?? StagedItems.makeDirectory(directory)
    defer {
      SystemCall.removeTree(directory)
      StagedItems.remove(directory)
    }
    guard error == 0 else {
      throw SystemCall.error(error, "create a directory beside the store", location.targetPath)
    }
    location.use.mark(directory)
    let name = Self.name(forLibraryAt: location.targetPath)
    do { try write(directory + "/" + name) } catch {
      throw PersistentStoreError(wrapping: error, as: .inputOutput, at: shown)
    }
    let size = try checkWritten(name, in: directory, suffixes)
    add(try taken(directory + "/" + name, size: size))
  }

  /// `store`, with the extension of a path.
  static func name(forLibraryAt path: String) -> String {
    let fileExtension = FilePathText.fileExtension(path)
    return fileExtension.isEmpty || fileExtension.utf8.count > 64 ? "store" : "store." + fileExtension
  }

  /// Returns the size of the file that the library wrote.
  private func checkWritten(
    _ name: String, in directory: String, _ suffixes: [String]
  ) throws(PersistentStoreError) -> Int {
    func wrong(_ reason: String) -> PersistentStoreError {
      PersistentStoreError(.internalInconsistency, reason, at: StoreLocation(file: location.targetPath))
    }
    for other in try SystemCall.names(in: directory) where other != name {
      let status = try SystemCall.status(directory + "/" + other, followLinks: false)
      if status.map({ $0.st_mode & S_IFMT == S_IFREG && $0.st_size == 0 }) ?? true { continue }
      guard suffixes.contains(where: { other.utf8.elementsEqual((name + $0).utf8) }) else {
        throw wrong("the library left '\(other)' beside '\(name)', so that the file may be incomplete: close it")
      }
    }
    guard let status = try SystemCall.status(directory + "/" + name, followLinks: false) else {
      throw wrong("the library did not write the file")
    }
    guard status.st_mode & S_IFMT == S_IFREG, status.st_nlink == 1 else {
      throw wrong("what the library wrote is not a separate file")
    }
    return Int(status.st_size)
  }

  /// Moves the file to where a format would have created it.
  private func taken(_ path: String, size: Int) throws(PersistentStoreError) -> StagedFile {
    StagedItems.beginMoving()
    defer { StagedItems.endMoving() }
    let final = isUnnamed ? path : location.stagedPath
    if !isUnnamed {
      // As a file that the kit creates: until it is published, only its owner can access it.
      guard Retried.chmod(path, 0o600) == 0 else { throw SystemCall.error(errno, "set the mode", location.targetPath) }
      if let error = location.faults?.next(.rename) ?? (Retried.renameExclusively(path, final) == 0 ? nil : errno) {
        // The name has 64 random bits: where the file system cannot refuse to replace a file, there is none.
        guard SystemCall.isUnsupported(error), Retried.rename(path, final) == 0 else {
          throw SystemCall.error(error, "move the file that the library wrote", location.targetPath)
        }
      }
      location.use.mark(final)
    }
    let descriptor: Int32
    do {
      descriptor = try SystemCall.open(final, O_RDWR | O_APPEND | O_NOFOLLOW, doing: "open the file that was written")
    } catch {
      throw PersistentStoreError(error.code, error.message, at: StoreLocation(file: location.targetPath))
    }
    // A file without a name is opened again by its descriptor.
    return StagedFile(
      descriptor: descriptor, stagedPath: isUnnamed ? "/proc/self/fd/\(descriptor)" : final, path: location.targetPath,
      faults: location.faults, written: size)
  }
}
