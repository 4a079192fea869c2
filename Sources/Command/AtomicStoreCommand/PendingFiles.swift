import AtomicStoreKit
import CommandSupport

/// Files that appear together with a store, and only with it. They are written beside their paths at once, so that what
/// prevents it is known before the store is written, and are published with the store.
final class PendingFiles {
  /// What the store is published with.
  let publication: Publication
  private var texts: [String] = []
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
    self.stores = try FileOutput.places(stores)
    taken = try FileOutput.places(sources)
    publication = try Publication(madeOf: taken)
  }

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
    try FileOutput.check(path, besides: [], replaces: force)
    try publication.addFile(bytes, at: path, replaces: force)
  }

  /// Publishes everything that was not published with a store.
  func commit() throws {
    try publication.commit()
    try print()
  }

  /// Prints what goes to standard output. It may wait for a reader, so it comes after the publication.
  func print() throws { for text in texts { try Diagnostics.put(text) } }
}
