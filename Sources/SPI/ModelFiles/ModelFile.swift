public import AtomicStoreSPI
import StoreCodecs

/// A model file: Xcode's `.xcdatamodeld`, `.xcdatamodel` or the `contents` inside it, compiled models (`.momd`,
/// `.mom`), and models from before Xcode 4 (`elements`). The kind is detected by content, not by name.
///
/// ```swift
/// let file = try ModelFile.read(at: "Library.xcdatamodeld")
/// let model = try ManagedObjectModel(file.description)
/// ```
public struct ModelFile: Sendable {
  /// The model as it is in the file. It is not validated here: pass it to `ManagedObjectModel`.
  public var description: ModelDescription
  /// What was kept without being understood, omitted, or doubtful, with line numbers for text files.
  package var warnings: [ModelFileWarning]
  /// The name of the version that was read, such as `Company 2`; nil for a single file.
  public var versionName: String?
  /// All versions of a `.xcdatamodeld` or `.momd`, by name.
  public var availableVersions: [String]

  /// Reads the model at a path.
  ///
  /// - Parameters:
  ///   - path: A model file or directory of any of these kinds.
  ///   - version: The version of a `.xcdatamodeld` or `.momd`, with or without its extension; nil for the current one.
  ///     If none is marked as current, it is the first of a `.xcdatamodeld`, or the only one of a `.momd`.
  /// - Throws: `.notFound`; `.malformed` with line and column, or for archives with the object and the keys that lead
  ///   to it; `.notSupported` for mapping models, naming the kind, and for optimized compiled models (`.omo`) with
  ///   something that is not known of their layout; `.invalidModel` for
  ///   parents that do not exist or form a cycle.
  public static func read(at path: String, version: String? = nil) throws(PersistentStoreError) -> ModelFile {
    let place = try StorePath.inspect(path)
    switch place.kind {
    case .nothing: throw PersistentStoreError(.notFound, "the model does not exist", at: StoreLocation(file: path))
    case .zeroLength, .emptyFolder:
      throw PersistentStoreError(.malformed, "the model is empty", at: StoreLocation(file: path))
    case .file: return try read(try StoreSource(opening: place), member: nil, versionName: nil)
    case .folder: break
    }
    let names = try place.allNames()
    if names.contains(".xccurrentversion") || names.contains(where: { $0.hasSuffix(".xcdatamodel") }) {
      return try readVersions(place, names, version)
    }
    let source = try StoreSource(opening: place)
    for member in ["contents", "elements"] where source.memberNames.contains(member) {
      let name = path.split(separator: "/").last.map(String.init) ?? path
      return try read(source, member: member, versionName: plainVersionName(name))
    }
    if !compiledVersions(source.memberNames).isEmpty { return try readCompiled(place, source, version) }
    if source.memberNames.contains("xcmapping.xml") { throw ModelFileKind.mapping.refusal(path) }
    throw PersistentStoreError(
      .unrecognizedFormat, "the directory is not a model: it contains neither versions nor a contents file",
      at: StoreLocation(file: path))
  }

  /// Reads a model file that is already in memory.
  ///
  /// - Parameters:
  ///   - bytes: The bytes of the file.
  ///   - name: The name for errors.
  public static func read(contents bytes: [UInt8], name: String) throws(PersistentStoreError) -> ModelFile {
    try read(StoreSource(bytes: bytes, name: name), member: nil, versionName: nil)
  }

  /// Reads the model that a SQLite store caches (`Z_MODELCACHE.Z_CONTENT`): a compiled model, compressed with DEFLATE.
  ///
  /// - Parameters:
  ///   - bytes: The compressed bytes.
  ///   - name: The name for errors.
  /// - Throws: `.malformed`, `.limitExceeded` for more than 64 MB of model.
  public static func read(cached bytes: [UInt8], name: String) throws(PersistentStoreError) -> ModelFile {
    let archive: [UInt8]
    do throws(PersistentStoreError) { archive = try RawDeflate.inflate(bytes) } catch {
      throw error.located(StoreLocation(file: name))
    }
    return try read(contents: archive, name: name)
  }

  private static func readVersions(
    _ place: StorePath, _ names: [String], _ version: String?
  ) throws(PersistentStoreError) -> ModelFile {
    // Sorted by name without the extension: `M` before `M 2`.
    let versions = names.filter { $0.hasSuffix(".xcdatamodel") }
      .map { ScalarString(String($0.dropLast(".xcdatamodel".count))) }.sorted().map(\.string)
    let list = versions.joined(separator: ", ")
    var warnings: [ModelFileWarning] = []
    var wanted = version.map { plainVersionName($0) }
    if wanted == nil, names.contains(".xccurrentversion") { wanted = try currentVersion(place) }
    if let wanted, !versions.contains(wanted) {
      throw PersistentStoreError(
        .notFound, "the model does not have the version '\(wanted)'; it has \(list.isEmpty ? "none" : list)",
        at: StoreLocation(file: place.path))
    }
    guard let chosen = wanted ?? versions.first else {
      throw PersistentStoreError(
        .malformed, "the directory contains no version of the model", at: StoreLocation(file: place.path))
    }
    if wanted == nil, versions.count > 1 {
      warnings.append(
        ModelFileWarning(line: nil, text: "no version is marked as the current one; the first of \(list) was read"))
    }
    var file = try read(at: place.path + "/" + chosen + ".xcdatamodel")
    file.warnings = warnings + file.warnings
    file.versionName = chosen
    file.availableVersions = versions
    return file
  }

  /// The version that `.xccurrentversion` names; nil for an empty dictionary, which some repositories contain.
  static func currentVersion(_ place: StorePath) throws(PersistentStoreError) -> String? {
    let entries = try propertyList(at: place.path + "/.xccurrentversion")
    return entries["_XCCurrentVersionName"]?.stringValue.map { plainVersionName($0) }
  }

  private static func read(
    _ source: StoreSource, member: String?, versionName: String?
  ) throws(PersistentStoreError) -> ModelFile {
    let name = source.displayName(ofMember: member)
    let bytes = try source.bytes(ofMember: member)
    var kind = bytes.withUnsafeBytes { ModelFileKind.detect($0) }
    var root: XMLElement?
    if kind == .contents {
      let element = try XMLElement.parse(bytes.span, file: name)
      root = element
      if element.name != "model" {
        kind = bytes.withUnsafeBytes { ModelFileKind.detect($0, root: element.name) }
        // The name of the root element is the most useful hint.
        guard kind != .unknown else {
          throw PersistentStoreError(
            .unrecognizedFormat,
            "this is not a model: the root element is <\(element.name)>, that of a model is <model>",
            at: element.location)
        }
      }
    }
    switch kind {
    case .contents:
      guard let root else { throw kind.refusal(name) }
      var reader = ModelReader(file: name)
      let description = try reader.model(root)
      return ModelFile(
        description: description, warnings: reader.warnings, versionName: versionName, availableVersions: [])
    case .compiled:
      var reader = CompiledModelReader(file: name)
      let description = try reader.model(try bytes.archive(name))
      return ModelFile(
        description: description, warnings: reader.warnings, versionName: versionName, availableVersions: [])
    case .optimized:
      var reader = OptimizedModelReader(file: name, bytes: bytes.withUnsafeBytes { Array($0) })
      let description = try reader.model()
      return ModelFile(
        description: description, warnings: reader.warnings, versionName: versionName, availableVersions: [])
    case .oldArchive:
      var reader = OldModelReader(file: name)
      let description = try reader.model(try bytes.archive(name))
      return ModelFile(
        description: description, warnings: reader.warnings, versionName: versionName, availableVersions: [])
    default: throw kind.refusal(name)
    }
  }
}

extension StoreBytes {
  /// Reads the bytes as a keyed archive.
  func archive(_ name: String) throws(PersistentStoreError) -> KeyedArchive {
    try withUnsafeBytes { bytes throws(PersistentStoreError) in try KeyedArchive(bytes, file: name) }
  }
}
