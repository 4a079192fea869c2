import Glibc
import Synchronization

/// Files beside a store that is changed in place: new ones are there before the format's transaction ends, old ones are
/// removed after it.
///
/// A format that edits its files itself writes to this what a store of a new file would give to
/// ``StagedFiles/writeCompanion(_:in:_:)``. No file is replaced: until the transaction ends, the store names the old
/// ones.
public final class CompanionChanges: Sendable {
  private struct State {
    var unit: Publication?
    var removed: [String] = []
  }
  private let state = Mutex(State())
  private let storePath: String

  /// - Parameter place: The store.
  package init(beside place: StorePath) { storePath = place.resolvedPath }

  /// The path of a file beside the store.
  ///
  /// - Throws: `.invalidValue` for what cannot name one; `.unsupportedFileKind` if a directory on the way to it is a
  ///   link or a file.
  private func path(_ name: String, in directory: String) throws(PersistentStoreError) -> (folder: String, file: String)
  {
    let parts = directory.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    guard parts.first?.utf8.first == UInt8(ascii: "."), (parts + [name]).allSatisfy(StagedFiles.isName) else {
      throw PersistentStoreError(
        .invalidValue, "'\(directory)/\(name)' cannot name a file beside the store", at: StoreLocation(file: storePath))
    }
    var folder = FilePathText.folder(storePath)
    for part in parts {
      folder += "/" + part
      guard let status = try SystemCall.status(folder, followLinks: false), status.st_mode & S_IFMT != S_IFDIR else {
        continue
      }
      throw PersistentStoreError(
        .unsupportedFileKind, "the store's external data need a directory of this name, and something else has it",
        at: StoreLocation(file: folder))
    }
    return (folder, folder + "/" + name)
  }

  /// Stages a file.
  ///
  /// - Parameters:
  ///   - name: A name that no file in the directory has.
  ///   - directory: Names separated by `/`, the first of which begins with a dot.
  /// - Throws: `.alreadyExists` if there is a file of the name; errors of the file system.
  public func write(
    _ name: String, in directory: String, _ bytes: UnsafeRawBufferPointer
  ) throws(PersistentStoreError) {
    let (folder, file) = try path(name, in: directory)
    try state.withLock { state throws(PersistentStoreError) in
      let unit: Publication
      if let known = state.unit {
        unit = known
      } else {
        unit = try Publication(madeOf: [try StorePath.inspect(storePath)])
      }
      state.unit = unit
      do {
        try unit.makeDirectory(folder)
        try unit.addFile(at: file, replaces: false) { try $0.write(bytes) }
      } catch {
        throw PersistentStoreError(wrapping: error, as: .inputOutput, at: StoreLocation(file: file))
      }
    }
  }

  /// Notes a file that the store no longer names.
  public func remove(_ name: String, in directory: String) throws(PersistentStoreError) {
    let file = try path(name, in: directory).file
    state.withLock { $0.removed.append(file) }
  }

  /// Gives the new files their names.
  package func publish() throws(PersistentStoreError) { try state.withLock { $0.unit }?.publish() }

  /// Removes the new files: the transaction was rolled back.
  package func rollBack(after error: PersistentStoreError) throws(PersistentStoreError) {
    try state.withLock { $0.unit.take() }?.rollBack(after: error)
  }

  /// Removes the old files: the transaction has ended.
  package func conclude() {
    let (unit, removed) = state.withLock { ($0.unit, $0.removed) }
    unit?.conclude()
    // One that cannot be removed takes room, and nothing else.
    for file in removed { Retried.unlink(file) }
  }
}
