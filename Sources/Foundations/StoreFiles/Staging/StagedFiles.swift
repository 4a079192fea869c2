import CStoreFiles
import Glibc
import Synchronization

/// The new contents of a store, which a format writes to files that are not visible until the kit publishes them.
///
/// Passed to `AtomicStore.save(_:to:)`. A format creates its files here and writes to them, and does nothing else: the
/// kit then closes and syncs them and moves them into place in one step, or removes them if anything fails. After the
/// save, nothing can be added.
public final class StagedFiles: Sendable {
  /// One file, or a directory: as the format's `AtomicStore.layout` specifies.
  let layout: StoreLayout
  let location: StagingLocation
  /// Whether the staged file has no name and is never published.
  let isUnnamed: Bool
  /// Whether it is a directory that is published with everything in it, at any depth: see ``file(at:isExecutable:)``.
  let isTree: Bool
  /// How many members are open at the same time: a process may have 1,024 descriptors, and needs some for other
  /// purposes.
  private static let openMembers = 32

  private struct State {
    var files: [StagedFile] = []
    /// How many of the first files were closed temporarily.
    var parked = 0
    /// Directories of a tree, in the order in which they were created.
    var directories: [String] = []
    var isClosed = false
  }
  private let state = Mutex(State())
  let companions: StagedCompanions

  init(_ location: StagingLocation, layout: StoreLayout, isUnnamed: Bool = false, isTree: Bool = false) {
    self.location = location
    self.layout = layout
    self.isUnnamed = isUnnamed
    self.isTree = isTree
    companions = StagedCompanions(targetPath: location.targetPath, faults: location.faults)
  }

  /// Creates the file of a store that is one file. Call it once.
  ///
  /// - Throws: `.internalInconsistency` if the store is a directory, or the save has ended; `.noSpace`, `.inputOutput`,
  ///   `.permissionDenied`.
  public func file() throws(PersistentStoreError) -> StagedFile {
    guard layout == .file else {
      throw PersistentStoreError(.internalInconsistency, "the store is a directory: write members")
    }
    if isUnnamed { return try unnamedFile() }
    let file = try create(location.stagedPath, shownAs: location.targetPath)
    location.use.mark(location.stagedPath)
    return file
  }

  /// Creates a file in a store that is a directory.
  ///
  /// - Parameter name: The name of the file, without a directory: 1 to 255 bytes, no `/`, no NUL, neither `.` nor `..`.
  /// - Throws: `.invalidValue` for another name; `.alreadyExists` if the save already has a member of that name;
  ///   otherwise as ``file()``.
  public func member(_ name: String) throws(PersistentStoreError) -> StagedFile {
    guard layout == .folder else {
      throw PersistentStoreError(.internalInconsistency, "the store is a file: it has no members")
    }
    guard Self.isName(name) else {
      throw PersistentStoreError(
        .invalidValue, "'\(name)' cannot be the name of a file", at: StoreLocation(file: location.targetPath))
    }
    return try create(location.stagedPath + "/" + name, shownAs: location.targetPath + "/" + name)
  }

  /// Creates a file in a tree, and the directories that its path names.
  ///
  /// - Parameters:
  ///   - path: names separated by `/`, relative to the tree.
  ///   - isExecutable: Whether users who may read the file may also execute it.
  /// - Throws: as ``member(_:)``.
  package func file(at path: String, isExecutable: Bool = false) throws(PersistentStoreError) -> StagedFile {
    guard isTree else { throw PersistentStoreError(.internalInconsistency, "the store is not a tree of files") }
    let parts = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    guard parts.allSatisfy(Self.isName) else {
      throw PersistentStoreError(
        .invalidValue, "'\(path)' cannot be the path of a file", at: StoreLocation(file: location.targetPath))
    }
    try checkOpen()
    var directory = ""
    for part in parts.dropLast() {
      directory += "/" + part
      try makeDirectory(directory)
    }
    return try create(
      location.stagedPath + "/" + path, shownAs: location.targetPath + "/" + path, isExecutable: isExecutable)
  }

  /// - Parameter directory: Its path in the tree, with a slash before it.
  private func makeDirectory(_ directory: String) throws(PersistentStoreError) {
    try state.withLock { state throws(PersistentStoreError) in
      guard !state.directories.contains(directory) else { return }
      let error =
        location.faults?.next(.create) ?? (Retried.mkdir(location.stagedPath + directory, 0o700) == 0 ? nil : errno)
      if let error { throw SystemCall.error(error, "create a directory", location.targetPath + directory) }
      state.directories.append(directory)
    }
  }

  /// Whether a file can have a name.
  static func isName(_ name: String) -> Bool {
    !name.isEmpty && name != "." && name != ".." && !name.utf8.contains(UInt8(ascii: "/")) && !name.utf8.contains(0)
      && name.utf8.count <= 255
  }

  /// The name that the store's file will have, symbolic links followed: names of files beside it derive from it.
  public var fileName: String { FilePathText.name(location.targetPath) }

  /// Whether files can be written beside the store: ``writeCompanion(_:in:_:)``. Not beside a directory, nor beside a
  /// result that gets no name, such as that of a dry run.
  public var hasCompanions: Bool { layout == .file && !isUnnamed }

  /// Writes a file that belongs to a store of one file and is kept in a directory beside it. The kit publishes it with
  /// the store, or removes it where the save fails.
  ///
  /// - Parameters:
  ///   - name: of the file, 1 to 255 bytes.
  ///   - directory: beside the store's file: its name begins with a dot, and a directory within it follows after `/`.
  ///     All files of a store are in one. The directory of the store that is replaced is replaced with everything in
  ///     it.
  ///   - bytes: all of the file.
  /// - Throws: `.alreadyExists` if something else has the directory's name, such as the files of another store;
  ///   `.invalidValue` for other names; `.internalInconsistency` unless ``hasCompanions``; otherwise as ``file()``.
  public func writeCompanion(
    _ name: String, in directory: String, _ bytes: UnsafeRawBufferPointer
  ) throws(PersistentStoreError) {
    try checkOpen()
    guard hasCompanions else {
      throw PersistentStoreError(
        .internalInconsistency, "no file can be beside this store", at: StoreLocation(file: location.targetPath))
    }
    try companions.write(name, in: directory, bytes)
  }

  /// Removes the directory beside the store that is replaced, with its files, when that store is replaced. Call it if
  /// the new store has no files beside it. It has no effect after ``writeCompanion(_:in:_:)``, nor on the files of
  /// other stores.
  ///
  /// - Parameter directory: As for ``writeCompanion(_:in:_:)``.
  /// - Throws: As ``file()``.
  public func removeReplacedCompanions(in directory: String) throws(PersistentStoreError) {
    try checkOpen()
    if hasCompanions { try companions.removeReplaced(directory) }
  }

  /// Sets the store that files beside it belong to. Call it before the format writes.
  package func setCompanionOwner(_ owner: CompanionOwner) { companions.setOwner(owner) }

  // MARK: For StagedStore

  /// The files so far, in the order they were created.
  var files: [StagedFile] { state.withLock { $0.files } }
  /// The directories of a tree, with a slash before each, in the order in which they were created.
  var directories: [String] { state.withLock { $0.directories } }
  /// Whether the format's part is over: no file can be created any more.
  var isClosed: Bool { state.withLock { $0.isClosed } }

  /// Ends the format's part.
  func close() { state.withLock { $0.isClosed = true } }

  /// Closes all files and gives them up.
  func abandon() {
    state.withLock { state in
      for file in state.files { file.abandon() }
      state.isClosed = true
    }
    companions.abandon()
  }

  // MARK: Creating

  private func create(
    _ path: String, shownAs shown: String, isExecutable: Bool = false
  ) throws(PersistentStoreError) -> StagedFile {
    try checkOpen()
    if let error = location.faults?.next(.create) { throw SystemCall.error(error, "create a file", shown) }
    // Formats write one member after the other: the first ones are complete.
    let full = state.withLock { state -> StagedFile? in
      guard state.files.count - state.parked >= Self.openMembers else { return nil }
      state.parked += 1
      return state.files[state.parked - 1]
    }
    try full?.park()
    let descriptor: Int32
    do {
      StagedItems.beginMoving()
      defer { StagedItems.endMoving() }
      descriptor = try SystemCall.open(
        path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600, doing: "create a file beside the store")
    } catch {
      // Such a directory exists, but does not take files, like /proc.
      let code = error.code == .notFound ? .cannotCreate : error.code
      throw PersistentStoreError(code, error.message, at: StoreLocation(file: shown))
    }
    return add(
      StagedFile(
        descriptor: descriptor, stagedPath: path, path: shown, faults: location.faults, isExecutable: isExecutable))
  }

  private func unnamedFile() throws(PersistentStoreError) -> StagedFile {
    try checkOpen()
    var descriptor = asf_unnamed_file(location.stagedPath)
    if descriptor < 0 {
      // The file system does not support files without a name: create one and unlink it at once.
      let path = HiddenName.staged(beside: location.stagedPath + "/store")
      do {
        descriptor = try SystemCall.open(
          path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600, doing: "stage the result in \(location.stagedPath)"
        )
      } catch {
        throw PersistentStoreError(error.code, error.message, at: StoreLocation(file: location.targetPath))
      }
      Retried.unlink(path)
    }
    return add(
      StagedFile(
        descriptor: descriptor, stagedPath: "/proc/self/fd/\(descriptor)", path: location.targetPath, faults: nil))
  }

  @discardableResult func add(_ file: StagedFile) -> StagedFile {
    state.withLock { $0.files.append(file) }
    return file
  }

  func checkOpen() throws(PersistentStoreError) {
    guard !isClosed else {
      throw PersistentStoreError(
        .internalInconsistency, "the save has ended: nothing can be added", at: StoreLocation(file: location.targetPath)
      )
    }
  }
}
