import Glibc
import Synchronization

/// Files that belong to a store of one file and are beside it in a hidden directory. They are staged as a
/// separate directory, and published just before the store gets its name.
///
/// The directory contains a file with the UUID of its store, so that later saves know what they would replace.
final class StagedCompanions: Sendable {
  /// The file with the UUID of the store.
  static let markName = ".atomicstore-store"

  private struct State: ~Copyable {
    /// The name of the directory beside the store; nil as long as nothing was written.
    var root: String?
    var staged: StagedStore?
    var published: PublishedStore?
    var owner: CompanionOwner?
    /// Whether there is no file: what replaces an old directory is removed as well.
    var isEmpty = false
  }
  private let state = Mutex(State())
  private let targetPath: String
  private let faults: FaultPlan?

  init(targetPath: String, faults: FaultPlan?) {
    self.targetPath = targetPath
    self.faults = faults
  }

  private func finalPath(_ root: String) -> String { FilePathText.folder(targetPath) + "/" + root }

  /// Sets the store that the files belong to. Call it before anything is written.
  func setOwner(_ owner: CompanionOwner) { state.withLock { $0.owner = owner } }

  // MARK: Writing

  /// Writes a file.
  ///
  /// - Parameter directory: names separated by `/`, the first of which begins with a dot.
  func write(_ name: String, in directory: String, _ bytes: UnsafeRawBufferPointer) throws(PersistentStoreError) {
    let parts = directory.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    guard let root = parts.first, root.utf8.first == UInt8(ascii: "."), (parts + [name]).allSatisfy(StagedFiles.isName)
    else {
      throw PersistentStoreError(
        .invalidValue, "'\(directory)/\(name)' cannot name a file beside the store", at: StoreLocation(file: targetPath)
      )
    }
    try state.withLock { state throws(PersistentStoreError) in
      try begin(root, &state)
      guard let files = state.staged?.files else { return }
      let file = try files.file(at: (parts.dropFirst() + [name]).joined(separator: "/"))
      try file.write(bytes)
      try file.park()
    }
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
    let (path, owner) = (finalPath(root), state.owner)
    let check: StagedStore.DirectoryCheck = { (old) throws(PersistentStoreError) in
      try CompanionOwner.check(old, shownAs: path, replacedBy: owner)
    }
    if try SystemCall.status(path, followLinks: false) != nil { try check(path) }
    state.staged = try StagedStore(tree: path, policy: .replaceAny, replacing: check, ceiling: nil, faults: faults)
    state.root = root
    guard let owner, let files = state.staged?.files else { return }
    try files.file(at: Self.markName).write(Array((owner.identifier + "\n").utf8))
  }

  /// Replaces the directory of the store that is replaced by an empty one, which is removed at the end: as a
  /// replacement, it is rolled back with the store, and undone after a crash.
  func removeReplaced(_ directory: String) throws(PersistentStoreError) {
    guard let root = directory.split(separator: "/").first.map(String.init) else { return }
    let path = finalPath(root)
    try state.withLock { state throws(PersistentStoreError) in
      guard state.root == nil, try SystemCall.status(path, followLinks: false) != nil else { return }
      do throws(PersistentStoreError) { try CompanionOwner.check(path, shownAs: path, replacedBy: state.owner) } catch {
        // It belongs to another store.
        if error.code == .alreadyExists { return }
        throw error
      }
      try begin(root, &state)
      state.isEmpty = true
    }
  }

  // MARK: Publishing

  /// Gives files and directories their modes, and syncs them. Only a rename remains.
  ///
  /// - Parameter ceiling: The maximum permissions that they grant to others; nil for the system's default.
  func finish(_ ceiling: PermissionCeiling?) throws(PersistentStoreError) {
    try state.withLock { state throws(PersistentStoreError) in
      state.staged?.ceiling = ceiling
      try state.staged?.finish()
    }
  }

  /// Where the files are until they are published: for reading the store before that.
  var stagedPath: (root: String, path: String)? {
    state.withLock { state in
      guard let root = state.root, let path = state.staged?.stagedPath else { return nil }
      return (root, path)
    }
  }

  /// What is published, for the record of a publication; nil if there is nothing to publish.
  func recordEntry() throws(PersistentStoreError) -> PublicationRecord.Entry? {
    try state.withLock { state throws(PersistentStoreError) in try state.staged?.recordEntry() }
  }

  /// Gives the directory its name. Call it before the store gets its own: a store without its data is worse than data
  /// without their store.
  func publish() throws(PersistentStoreError) {
    try state.withLock { state throws(PersistentStoreError) in
      guard let staged = state.staged.take() else { return }
      state.published = try staged.publish()
    }
  }

  /// Restores what was replaced, and removes what was staged or published: the store that it belongs to is not there.
  ///
  /// - Parameter cause: The reason.
  /// - Throws: `.notRolledBack` if something could not be restored. A version that another program saved meanwhile
  ///   stays, without an error.
  func remove(after cause: PersistentStoreError) throws(PersistentStoreError) {
    try state.withLock { state throws(PersistentStoreError) in
      state.root = nil
      state.staged.take()?.discard()
      guard let published = state.published.take() else { return }
      do throws(PersistentStoreError) { try published.rollBack() } catch {
        if error.code != .changedOnDisk { throw .notRolledBack(cause, error.message, targetPath) }
      }
    }
  }

  /// Removes what was replaced.
  func conclude() {
    state.withLock { state in
      guard let published = state.published.take() else { return }
      let identity = published.identity
      published.conclude()
      guard state.isEmpty, let root = state.root else { return }
      let path = finalPath(root)
      // Another save may have replaced it since.
      guard (try? FileIdentity.of(path, isOfTree: true)) == identity else { return }
      Retried.unlink(path + "/" + Self.markName)
      // If another process wrote files into it meanwhile, it stays.
      Retried.rmdir(path)
    }
  }

  /// Removes what was staged and not published.
  func abandon() { state.withLock { $0.staged.take()?.discard() } }
}

/// The store that files beside it belong to.
package struct CompanionOwner: Sendable {
  /// The UUID of the store.
  package let identifier: String
  /// The UUID of the store at the path that is replaced, and whether it is of the same type; nil if nothing is
  /// replaced. It is called only if there is a directory that it may have.
  package let replaced: @Sendable () -> (identifier: String, isOfSameType: Bool)?

  package init(
    identifier: String, replaced: @escaping @Sendable () -> (identifier: String, isOfSameType: Bool)? = { nil }
  ) {
    self.identifier = identifier
    self.replaced = replaced
  }

  /// - Throws: `.alreadyExists` if a directory is not one of the store that is written, or of the one that it replaces.
  static func check(
    _ path: String, shownAs shown: String, replacedBy owner: CompanionOwner?
  ) throws(PersistentStoreError) {
    guard let status = try SystemCall.status(path, followLinks: false), status.st_mode & S_IFMT == S_IFDIR else {
      throw PersistentStoreError(
        .alreadyExists, "the store's external data need a directory of this name, and something else has it",
        at: StoreLocation(file: shown))
    }
    let mark = mark(in: path)
    if let owner {
      if let mark, mark == owner.identifier { return }
      if let replaced = owner.replaced(), mark.map({ $0 == replaced.identifier }) ?? replaced.isOfSameType { return }
    }
    let whose = mark.map { "of the store with the UUID \($0)" } ?? "of a store that another program wrote, or"
    let rest = mark == nil ? " that was removed" : ", which is not the store that would be replaced"
    throw PersistentStoreError(
      .alreadyExists, "this directory has the external data \(whose)\(rest); move it away, or name another result",
      at: StoreLocation(file: shown))
  }

  private static func mark(in directory: String) -> String? {
    let path = directory + "/" + StagedCompanions.markName
    guard let status = try? SystemCall.status(path, followLinks: false), status.st_mode & S_IFMT == S_IFREG,
      let bytes = try? StoreProbe.read(path), bytes.count == 37, bytes.last == UInt8(ascii: "\n")
    else { return nil }
    return String(validating: bytes.dropLast(), as: UTF8.self)
  }
}
