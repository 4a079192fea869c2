public import AtomicStoreSPI
import StoreCodecs

/// A model file, read: Xcode's `.xcdatamodeld`, `.xcdatamodel`, or the `contents` within under any name.
public struct ModelFile: Sendable {
  public var description: ModelDescription
  /// What was kept without being understood, or read with a grain of salt, each with its line.
  public var warnings: [ModelFileWarning]
  /// The version that was read, as `Company 2`; nil for a bare `contents` file.
  public var versionName: String?
  /// All versions of a `.xcdatamodeld`, by name.
  public var availableVersions: [String]

  /// Reads the model at a path.
  ///
  /// - Parameter version: The version of a `.xcdatamodeld`, with or without its extension; nil for the current one, or
  ///   the first where none is marked.
  /// - Throws: `.notFound`; `.malformed` with line and column; `.notSupported` for compiled models, models from before
  ///   Xcode 4 and mapping models, saying which it is; `.invalidModel` for parents that lead in a circle or nowhere.
  public static func read(at path: String, version: String? = nil) throws(PersistentStoreError) -> ModelFile {
    let place = try StorePlace.inspect(path)
    switch place.kind {
    case .nothing: throw PersistentStoreError(.notFound, "there is no model", at: StoreLocation(file: path))
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
    if source.memberNames.contains("contents") {
      var name = path.split(separator: "/").last.map(String.init) ?? path
      if name.hasSuffix(".xcdatamodel") { name.removeLast(".xcdatamodel".count) }
      return try read(source, member: "contents", versionName: name)
    }
    if source.memberNames.contains("elements") { throw ModelFileKind.oldArchive.refusal(path) }
    if names.contains(where: { $0.hasSuffix(".mom") || $0.hasSuffix(".omo") }) {
      throw ModelFileKind.compiled.refusal(path)
    }
    if source.memberNames.contains("xcmapping.xml") { throw ModelFileKind.mapping.refusal(path) }
    throw PersistentStoreError(
      .unrecognizedFormat, "the folder is no model: it holds neither versions nor a contents file",
      at: StoreLocation(file: path))
  }

  private static func readVersions(
    _ place: StorePlace, _ names: [String], _ version: String?
  ) throws(PersistentStoreError) -> ModelFile {
    // By name without the extension: `M` before `M 2`.
    let versions = names.filter { $0.hasSuffix(".xcdatamodel") }
      .map { ScalarString(String($0.dropLast(".xcdatamodel".count))) }.sorted().map(\.string)
    let list = versions.joined(separator: ", ")
    var warnings: [ModelFileWarning] = []
    var wanted = version.map { $0.hasSuffix(".xcdatamodel") ? String($0.dropLast(".xcdatamodel".count)) : $0 }
    if wanted == nil, names.contains(".xccurrentversion") { wanted = try currentVersion(place) }
    if let wanted, !versions.contains(wanted) {
      throw PersistentStoreError(
        .notFound, "the model has no version '\(wanted)'; it has \(list.isEmpty ? "none" : list)",
        at: StoreLocation(file: place.path))
    }
    guard let chosen = wanted ?? versions.first else {
      throw PersistentStoreError(.malformed, "the folder holds no version of the model", at: StoreLocation(file: place.path))
    }
    if wanted == nil, versions.count > 1 {
      warnings.append(
        ModelFileWarning(line: nil, text: "no version is marked as the current one; of \(list) the first was read"))
    }
    var file = try read(at: place.path + "/" + chosen + ".xcdatamodel")
    file.warnings = warnings + file.warnings
    file.versionName = chosen
    file.availableVersions = versions
    return file
  }

  /// The version that `.xccurrentversion` names; nil for an empty dictionary, as some repositories have it.
  private static func currentVersion(_ place: StorePlace) throws(PersistentStoreError) -> String? {
    let path = place.path + "/.xccurrentversion"
    let bytes = try StoreSource(opening: try StorePlace.inspect(path)).bytes()
    let list: PropertyListValue
    if bytes.withUnsafeBytes({ PropertyList.isBinary($0) }) {
      do throws(PersistentStoreError) {
        list = try PropertyList.decodeBinary(bytes.withUnsafeBytes { Array($0) })
      } catch {
        throw error.located(StoreLocation(file: path))
      }
    } else {
      list = try PropertyList.decodeXML(bytes.span, file: path)
    }
    guard let entries = list.dictionaryValue else {
      throw PersistentStoreError(.malformed, "this is no dictionary", at: StoreLocation(file: path))
    }
    guard let name = entries["_XCCurrentVersionName"]?.stringValue else { return nil }
    return name.hasSuffix(".xcdatamodel") ? String(name.dropLast(".xcdatamodel".count)) : name
  }

  private static func read(
    _ source: StoreSource, member: String?, versionName: String?
  ) throws(PersistentStoreError) -> ModelFile {
    let name = source.displayName(ofMember: member)
    let bytes = try source.bytes(ofMember: member)
    let kind = bytes.withUnsafeBytes { ModelFileKind.detect($0) }
    guard kind == .contents else { throw kind.refusal(name) }
    let root = try XMLElement.parse(bytes.span, file: name)
    guard root.name == "model" else {
      let kind = bytes.withUnsafeBytes { ModelFileKind.detect($0, root: root.name) }
      if kind != .unknown { throw kind.refusal(name) }
      // Say what the root is, it tells the person most.
      throw PersistentStoreError(
        .unrecognizedFormat, "this is no model: the root element is <\(root.name)>, a model's is <model>",
        at: root.location)
    }
    var reader = ModelReader(file: name)
    let description = try reader.model(root)
    return ModelFile(
      description: description, warnings: reader.warnings, versionName: versionName, availableVersions: [])
  }
}
