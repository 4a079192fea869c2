import AtomicStoreKit
import CommandSupport
import FoundationEssentials
import Glibc
import ModelFiles
import StoreCodecs

/// Files that appear together with a store, and only with it: they are written beside their paths at once, so that what
/// prevents it is known before the store is written, and moved there after the store is.
final class PendingFiles {
  private final class Staged {
    private var store: StagedStore?
    init(_ store: consuming StagedStore) { self.store = consume store }
    func commit() throws { try store.take()?.commit() }
    func discard() { store = nil }
  }
  private var staged: [Staged] = []
  private var models: [StagedModel] = []
  private var texts: [String] = []
  private var madeDirectories: [String] = []
  private var isCommitted = false
  /// What is written or read besides, with all that is in it.
  private let stores: [StorePath]
  /// What is read, and what was added.
  private var taken: [StorePath]

  /// Neither stores nor what is read is replaced, whatever is forced.
  ///
  /// - Parameters:
  ///   - stores: Paths or URLs of stores that are written or read besides.
  ///   - sources: The paths of other files, and models, that are read.
  init(besides stores: [String], reading sources: [String]) throws {
    func places(_ paths: [String]) throws -> [StorePath] {
      try paths.filter { $0 != "-" && !$0.isEmpty && !Input.isURL($0) }.map { try StorePath.inspect($0) }
    }
    self.stores = try places(stores)
    taken = try places(sources)
  }

  deinit { discard() }

  /// Notes that a file is written, here or by the caller.
  ///
  /// - Throws: An error if that would replace a part of the store, another result or what is read.
  func reserve(_ path: String) throws {
    let place = try StorePath.inspect(path)
    let isInStore = stores.contains { StorePath.isSame($0, path: path) || $0.contains(place) }
    let isTaken = taken.contains { StorePath.isSame($0, path: path) || place.contains($0) }
    if isInStore || isTaken {
      throw CommandFailure("\(path): this is another file that the command reads or writes", exitCode: 73)
    }
    taken.append(place)
  }

  /// Adds a file; `-` is standard output.
  ///
  /// - Parameter force: Whether a file that exists is replaced.
  func add(_ bytes: [UInt8], to path: String, force: Bool) throws {
    guard path != "-" else { return texts.append(String(decoding: bytes, as: UTF8.self)) }
    try reserve(path)
    try FileOutput.refuseDirectory(path)
    guard force || !FileManager.default.fileExists(atPath: path) else {
      throw CommandFailure("\(path): something is there already; --force replaces it", exitCode: 73)
    }
    let store = try StagedStore(target: path, layout: .file, policy: force ? .replaceAny : .createNew)
    try store.files.file().write(bytes)
    try store.finish()
    staged.append(Staged(store))
  }

  /// Adds a model, whose path is reserved.
  func add(_ model: StagedModel) { models.append(model) }

  /// Makes a directory for files, unless there is one. It is removed again if nothing is committed.
  func makeDirectory(_ path: String) {
    let isNew = mkdir(path, 0o777) == 0
    if isNew { madeDirectories.append(path) }
  }

  /// Puts everything in its place.
  func commit() throws {
    try JointPublication.run { try move() }
    try print()
  }

  /// Moves the files to their paths.
  func move() throws {
    isCommitted = true
    for file in staged { try file.commit() }
    for model in models { try model.commit() }
  }

  /// Prints what goes to standard output. It may wait for a reader, so it is not a part of a joint publication.
  func print() throws { for text in texts { try Diagnostics.put(text) } }

  private func discard() {
    for file in staged { file.discard() }
    models = []
    guard !isCommitted else { return }
    for directory in madeDirectories { SystemCall.removeEmptyFolder(directory) }
  }
}
