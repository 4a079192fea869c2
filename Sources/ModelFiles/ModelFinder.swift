public import AtomicStoreSPI
import Glibc

/// Finds the models in a folder, an application bundle or a source tree: by their content, whatever their names.
public struct ModelFinder: Sendable {
  /// A model that was found.
  public struct Found: Sendable {
    /// The file, or the directory of one version; a store where its model was found in that.
    public var path: String
    public var description: ModelDescription
    public var model: ManagedObjectModel
    public var hashes: VersionHashes
    /// Other places with a model of the same version hashes.
    public var samePaths: [String] = []
  }

  /// In the order of their paths; models of equal version hashes are one.
  public private(set) var found: [Found] = []
  /// Files of the model family that could not be read, with the reason.
  public private(set) var refusals: [PersistentStoreError] = []
  private var looked = 0

  /// How many files and folders are looked at, at most.
  public static let maximumFileCount = 200_000
  static let maximumDepth = 32

  /// Looks through all that is below a path. Symbolic links are not followed.
  ///
  /// - Parameter carried: Called with the path of each file that is not a model: the model that it carries, such as a
  ///   store has it, or nil.
  /// - Throws: `.notFound`, `.limitExceeded` for more than ``maximumFileCount`` files and directories.
  public init(
    searching path: String, carried: (String) -> ModelDescription? = { _ in nil }
  ) throws(PersistentStoreError) {
    var folders: [(path: String, depth: Int)] = [(path, 0)]
    var files: [String] = []
    while let (folder, depth) = folders.popLast() {
      let place = try StorePlace.inspect(folder)
      guard place.holdsContent else {
        if depth == 0 {
          throw PersistentStoreError(.notFound, "there is no file or folder", at: StoreLocation(file: path))
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
            .limitExceeded, "more than \(Self.maximumFileCount) files and folders: name a smaller folder",
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
    guard let place = try? StorePlace.inspect(path), let source = try? StoreSource(opening: place),
      let head = try? source.bytes(limit: 512)
    else { return }
    if head.withUnsafeBytes({ Self.mayBeModel($0) }) {
      do throws(PersistentStoreError) {
        let file = try ModelFile.read(at: path)
        let isMember = path.hasSuffix("/contents") || path.hasSuffix("/elements")
        return add(file.description, isMember ? String(path.dropLast("/contents".count)) : path)
      } catch {
        // A file of another kind is not a refusal.
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

  /// Whether the first bytes are those of a model file: an archive, or XML that begins with a model or a property list.
  private static func mayBeModel(_ bytes: UnsafeRawBufferPointer) -> Bool {
    if bytes.starts(with: "bplist".utf8) { return true }
    guard ModelFileKind.detect(bytes) == .contents else { return false }
    let text = String(decoding: bytes, as: UTF8.self)
    return text.contains("<model") || text.contains("<plist")
  }

  /// The model whose version hashes are those of a store; nil where none is.
  public func model(for hashes: VersionHashes) -> Found? {
    found.first { $0.model.versionHashDifferences(from: hashes).isEmpty }
  }

  /// The models that come closest to the hashes of a store, those with the fewest entities that differ first, with what
  /// differs.
  public func nearMisses(for hashes: VersionHashes, limit: Int = 3) -> [(
    found: Found, differences: [VersionHashDifference]
  )] {
    let names = Set(hashes.entries.map { ScalarString($0.entityName) })
    var near: [(found: Found, differences: [VersionHashDifference])] = []
    for candidate in found where candidate.model.entities.contains(where: { names.contains(ScalarString($0.name)) }) {
      near.append((candidate, candidate.model.versionHashDifferences(from: hashes)))
    }
    // The sort is stable: of equally near ones the first path comes first.
    near.sort { $0.differences.count < $1.differences.count }
    return Array(near.prefix(limit))
  }
}
