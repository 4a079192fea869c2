import CStoreFiles
import Glibc
import Synchronization

/// Files that belong to a store of one file and are beside it in a hidden directory, until the store is published:
/// staged under another name, and given theirs just before the store gets its own.
///
/// They are new with the store. A directory that is there already belongs to another one and is not touched.
final class StagedCompanions: Sendable {
  private struct State {
    /// The name of the directory beside the store; nil as long as nothing was written.
    var root: String?
    var stagedPath = ""
    /// Below the root, in the order in which they were created.
    var directories: [String] = []
    var files: [StagedFile] = []
    var isPublished = false
  }
  private let state = Mutex(State())
  private let targetPath: String
  private let faults: FaultPlan?
  private let use = StagedItemUse()

  init(targetPath: String, faults: FaultPlan?) {
    self.targetPath = targetPath
    self.faults = faults
  }

  private func finalPath(_ root: String) -> String { FilePathText.folder(targetPath) + "/" + root }

  // MARK: Writing

  /// Writes a file.
  ///
  /// - Parameter directory: names separated by `/`, the first of which begins with a dot.
  func write(_ name: String, in directory: String, _ bytes: UnsafeRawBufferPointer) throws(PersistentStoreError) {
    let parts = directory.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    guard let root = parts.first, root.utf8.first == UInt8(ascii: "."), (parts + [name]).allSatisfy(Self.isName) else {
      throw PersistentStoreError(
        .invalidValue, "'\(directory)/\(name)' cannot name a file beside the store", at: StoreLocation(file: targetPath)
      )
    }
    try state.withLock { state throws(PersistentStoreError) in
      try begin(root, &state)
      var path = state.stagedPath
      for part in parts.dropFirst() {
        path += "/" + part
        if !state.directories.contains(path) { try makeDirectory(path, &state) }
      }
      let shown = FilePathText.folder(targetPath) + "/" + directory + "/" + name
      if let error = faults?.next(.create) { throw SystemCall.error(error, "create a file", shown) }
      let descriptor = try SystemCall.open(
        path + "/" + name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600, doing: "create a file beside the store")
      let file = StagedFile(descriptor: descriptor, stagedPath: path + "/" + name, path: shown, faults: faults)
      state.files.append(file)
      try file.write(bytes)
      try file.park()
    }
  }

  private static func isName(_ name: String) -> Bool {
    !name.isEmpty && name != "." && name != ".." && !name.utf8.contains(UInt8(ascii: "/")) && !name.utf8.contains(0)
      && name.utf8.count <= 255
  }

  private func begin(_ root: String, _ state: inout State) throws(PersistentStoreError) {
    if let known = state.root {
      guard known == root else {
        throw PersistentStoreError(
          .internalInconsistency, "a store has one directory beside it, not '\(known)' and '\(root)'",
          at: StoreLocation(file: targetPath))
      }
      return
    }
    guard try SystemCall.status(finalPath(root), followLinks: false) == nil else { throw taken(root) }
    let path = HiddenName.staged(beside: targetPath)
    StagedItems.beginMoving()
    defer { StagedItems.endMoving() }
    StagedItems.add(path)
    do throws(PersistentStoreError) { try makeDirectory(path, &state) } catch {
      StagedItems.remove(path)
      throw error
    }
    state.root = root
    state.stagedPath = path
    use.mark(path)
  }

  private func makeDirectory(_ path: String, _ state: inout State) throws(PersistentStoreError) {
    if let error = faults?.next(.create) ?? (mkdir(path, 0o700) == 0 ? nil : errno) {
      throw SystemCall.error(error, "create a directory beside the store", targetPath)
    }
    state.directories.append(path)
  }

  private func taken(_ root: String) -> PersistentStoreError {
    PersistentStoreError(
      .alreadyExists, "this directory has the external data of an earlier store; move it away first",
      at: StoreLocation(file: finalPath(root)))
  }

  // MARK: Publishing

  /// Gives files and directories their modes, and syncs them. Only a rename remains.
  func seal(_ permissions: NewFilePermissions) throws(PersistentStoreError) {
    try state.withLock { state throws(PersistentStoreError) in
      let folder = FilePathText.folder(targetPath)
      for file in state.files {
        try file.seal(replacing: nil) { group throws(PersistentStoreError) in
          try permissions.mode(isFolder: false, in: folder, group: group)
        }
      }
      for path in state.directories.reversed() {
        guard let status = try SystemCall.status(path, followLinks: false) else { throw .changedOnDisk(targetPath) }
        let mode = try permissions.mode(isFolder: true, in: folder, group: status.st_gid)
        guard chmod(path, mode) == 0 else { throw SystemCall.error(errno, "set the mode", targetPath) }
        if let error = faults?.next(.sync) { throw SystemCall.error(error, "sync the directory", targetPath) }
        try SystemCall.syncFolder(path, of: targetPath)
      }
    }
  }

  /// Where the files are until they are published: for reading the store before that.
  var staged: (root: String, path: String)? {
    state.withLock { state in state.root.map { ($0, state.stagedPath) } }
  }

  /// Gives the directory its name. Call it before the store gets its own: a store without its data is worse than data
  /// without their store.
  func publish() throws(PersistentStoreError) {
    try state.withLock { state throws(PersistentStoreError) in
      guard let root = state.root, !state.isPublished else { return }
      if let error = faults?.next(.rename) { throw SystemCall.error(error, "rename", finalPath(root)) }
      if asf_rename_exclusive(state.stagedPath, finalPath(root)) != 0 {
        if errno == EEXIST { throw taken(root) }
        // A directory replaces an empty one only.
        guard SystemCall.isUnsupported(errno), rename(state.stagedPath, finalPath(root)) == 0 else {
          throw SystemCall.error(errno, "rename", finalPath(root))
        }
      }
      StagedItems.remove(state.stagedPath)
      state.isPublished = true
      use.end()
    }
    try SystemCall.syncFolder(FilePathText.folder(targetPath), of: targetPath)
  }

  /// Removes what was staged, or published: the store that it belongs to is not there.
  func remove() {
    state.withLock { state in
      guard let root = state.root else { return }
      for file in state.files { file.abandon() }
      if !state.isPublished || rename(finalPath(root), state.stagedPath) == 0 {
        SystemCall.removeTree(state.stagedPath)
      }
      StagedItems.remove(state.stagedPath)
      state.root = nil
      use.end()
    }
  }

  /// Removes what was staged and not published.
  func abandon() {
    guard !state.withLock({ $0.isPublished }) else { return use.end() }
    remove()
  }
}
