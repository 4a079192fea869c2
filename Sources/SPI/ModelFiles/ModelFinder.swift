public import AtomicStoreSPI
import Glibc

/// Finds the models in a directory, an application bundle or a source tree: by content, regardless of names.
public struct ModelFinder: Sendable {
  /// A model that was found.
  public struct Found: Sendable {
    /// The file, or the directory of one version; a store if the model is embedded in it.
    public var path: String
    /// The model as its file describes it.
    package var description: ModelDescription
    /// The compiled model.
    package var model: ManagedObjectModel
    /// Its version hashes, by which stores identify it.
    var hashes: VersionHashes
    /// Other paths with a model of the same version hashes.
    package var samePaths: [String] = []
  }

  /// The models in the order of their paths; models with equal version hashes are listed once.
  package private(set) var found: [Found] = []
  /// The errors of model files that could not be read.
  package private(set) var refusals: [PersistentStoreError] = []
  private var looked = 0

  /// The maximum number of files and directories that are examined.
  static let maximumFileCount = 200_000
  static let maximumDepth = 32

  /// Searches everything below a path. Symbolic links are not followed.
  ///
  /// - Parameters:
  ///   - path: A file or a directory.
  ///   - carried: Called with the path of each file that is not a model. Returns the model embedded in it, as in a
  ///     store, or nil.
  /// - Throws: `.notFound`; `.limitExceeded` for more than `maximumFileCount` files and directories.
  public init(
    searching path: String, carried: (String) -> ModelDescription? = { _ in nil }
  ) throws(PersistentStoreError) {
    try self.init(searching: [path], carried: carried)
  }

  /// Searches everything below several paths: see ``init(searching:carried:)``.
  public init(
    searching paths: [String], carried: (String) -> ModelDescription? = { _ in nil }
  ) throws(PersistentStoreError) {
    for path in paths { try search(path, carried) }
  }

  private mutating func search(
    _ path: String, _ carried: (String) -> ModelDescription?
  ) throws(PersistentStoreError) {
    var folders: [(path: String, depth: Int)] = [(path, 0)]
    var files: [String] = []
    while let (folder, depth) = folders.popLast() {
      let place = try StorePath.inspect(folder)
      guard place.holdsContent else {
        if depth == 0 {
          throw PersistentStoreError(.notFound, "the file or directory does not exist", at: StoreLocation(file: path))
        }
        continue
      }
      guard place.kind == .folder else {
        files.append(folder)
        continue
      }
      for name in try place.allNames() {
        looked += 1
        guard looked <= Self.maximumFileCount else {
          throw PersistentStoreError(
            .limitExceeded, "more than \(Self.maximumFileCount) files and directories: specify a smaller directory",
            at: StoreLocation(file: path))
        }
        var status = stat()
        let child = folder + "/" + name
        guard lstat(child, &status) == 0 else { continue }
        if status.st_mode & S_IFMT == S_IFDIR, depth < Self.maximumDepth { folders.append((child, depth + 1)) }
        if status.st_mode & S_IFMT == S_IFREG, status.st_size > 0 { files.append(child) }
      }
    }
    for file in files.map({ ScalarString($0) }).sorted() { look(at: file.string, carried) }
  }

  private mutating func look(at path: String, _ carried: (String) -> ModelDescription?) {
    guard let place = try? StorePath.inspect(path), let source = try? StoreSource(opening: place),
      let head = try? source.bytes(limit: 512)
    else { return }
    if head.withUnsafeBytes({ Self.mayBeModel($0) }) {
      do throws(PersistentStoreError) {
        let file = try ModelFile.read(at: path)
        let isMember = path.hasSuffix("/contents") || path.hasSuffix("/elements")
        return add(file.description, isMember ? String(path.dropLast("/contents".count)) : path)
      } catch {
        // A file of another kind is not an error.
        if error.code != .unrecognizedFormat, error.code != .notSupported { return refusals.append(error) }
      }
    }
    if let description = carried(path) { add(description, path) }
  }

  private mutating func add(_ description: ModelDescription, _ path: String) {
    let model = (try? ManagedObjectModel(description)) ?? ManagedObjectModel(unchecked: description)
    let hashes = model.versionHashes
    if let index = found.firstIndex(where: { $0.hashes == hashes }) {
      found[index].samePaths.append(path)
    } else {
      found.append(Found(path: path, description: description, model: model, hashes: hashes))
    }
  }

  /// Whether the first bytes are those of a model file: an archive, or XML that starts with a model or a property list.
  private static func mayBeModel(_ bytes: UnsafeRawBufferPointer) -> Bool {
    if bytes.starts(with: "bplist".utf8) { return true }
    guard ModelFileKind.detect(bytes) == .contents else { return false }
    let text = String(decoding: bytes, as: UTF8.self)
    return text.contains("<model") || text.contains("<plist")
  }

  /// The model that has the version hashes of a store; nil if there is none.
  public func model(for hashes: VersionHashes) -> Found? {
    found.first { $0.model.versionHashDifferences(from: hashes).isEmpty }
  }

  /// The models whose entities together are those of a store, merged, as of a store that was opened with
  /// `mergedModelFromBundles:`; nil if a store has an entity that no model describes with its hash.
  ///
  /// Only a model that has no other entities is a part of it. Of models with the same entities, the first is taken.
  public func mergedModel(for hashes: VersionHashes) -> (model: ModelDescription, parts: [Found])? {
    func names(_ candidate: Found) -> Set<ScalarString> {
      Set(candidate.hashes.entries.map { ScalarString($0.entityName) })
    }
    var covered: Set<ScalarString> = []
    var parts: [Found] = []
    // The sort is stable. The largest first, so that a model is not added for entities that a later one has, too.
    let candidates = found.filter { candidate in
      candidate.hashes.entries.allSatisfy { hashes[$0.entityName] == $0.hash }
    }
    for candidate in candidates.sorted(by: { $0.hashes.entries.count > $1.hashes.entries.count })
    where !names(candidate).isSubset(of: covered) {
      var part = candidate
      // What another part describes, too, with the same hash: classes and the like may differ.
      part.description.entities.removeAll { $0.namesInHierarchy.isSubset(of: covered) }
      covered.formUnion(names(candidate))
      parts.append(part)
    }
    guard covered.count == hashes.entries.count, let merged = try? ModelDescription(merging: parts.map(\.description)),
      let model = try? ManagedObjectModel(merged), model.versionHashDifferences(from: hashes).isEmpty
    else { return nil }
    return (merged, parts)
  }

  /// The models closest to the version hashes of a store, those with the fewest differing entities first, with the
  /// differences.
  package func nearMisses(for hashes: VersionHashes, limit: Int = 3) -> [(
    found: Found, differences: [VersionHashDifference]
  )] {
    let names = Set(hashes.entries.map { ScalarString($0.entityName) })
    var near: [(found: Found, differences: [VersionHashDifference])] = []
    for candidate in found where candidate.model.entities.contains(where: { names.contains(ScalarString($0.name)) }) {
      near.append((candidate, candidate.model.versionHashDifferences(from: hashes)))
    }
    // The sort is stable: of equally near models, the first path comes first.
    near.sort { $0.differences.count < $1.differences.count }
    return Array(near.prefix(limit))
  }
}

extension EntityDescription {
  /// The names of the entity and all its sub-entities.
  fileprivate var namesInHierarchy: Set<ScalarString> {
    subentities.reduce(into: [ScalarString(name)]) { $0.formUnion($1.namesInHierarchy) }
  }
}
