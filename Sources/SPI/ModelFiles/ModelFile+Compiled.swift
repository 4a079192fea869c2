package import AtomicStoreSPI
import StoreCodecs

extension ModelFile {
  /// The name of a version without its extension: `Company 2` for `Company 2.xcdatamodel`.
  package static func plainVersionName(_ name: String) -> String {
    for suffix in [".xcdatamodel", ".mom", ".omo"] where name.hasSuffix(suffix) {
      return String(name.dropLast(suffix.count))
    }
    return name
  }

  /// The versions of a `.xcdatamodeld` or `.momd`, by name, and the current one if it is marked; nil if the path does
  /// not have versions.
  package static func versions(at path: String) throws(PersistentStoreError) -> (names: [String], current: String?)? {
    let place = try StorePath.inspect(path)
    guard place.kind == .folder else { return nil }
    let names = try place.allNames()
    func sorted(_ suffix: String) -> [String] {
      names.filter { $0.hasSuffix(suffix) }.map { ScalarString(plainVersionName($0)) }.sorted().map(\.string)
    }
    let sources = sorted(".xcdatamodel")
    if !sources.isEmpty {
      let current = names.contains(".xccurrentversion") ? try currentVersion(place) : nil
      return (sources, current.flatMap { sources.contains($0) ? $0 : nil })
    }
    let compiled = compiledVersions(names)
    guard !compiled.isEmpty else { return nil }
    return (compiled, names.contains("VersionInfo.plist") ? try currentCompiledVersion(place) : nil)
  }

  /// The versions of a `.momd`, each a `.mom`, a `.omo` or both, by name.
  static func compiledVersions(_ members: [String]) -> [String] {
    let files = members.filter { $0.hasSuffix(".mom") || $0.hasSuffix(".omo") }
    return Set(files.map { ScalarString(plainVersionName($0)) }).sorted().map(\.string)
  }

  /// The version that `VersionInfo.plist` names; nil if it names none.
  private static func currentCompiledVersion(_ place: StorePath) throws(PersistentStoreError) -> String? {
    try propertyList(at: place.path + "/VersionInfo.plist")["NSManagedObjectModel_CurrentVersionName"]?.stringValue
  }

  /// Reads a version of a compiled model: the requested one, the current one, or the only one.
  static func readCompiled(
    _ place: StorePath, _ source: StoreSource, _ version: String?
  ) throws(PersistentStoreError) -> ModelFile {
    let names = compiledVersions(source.memberNames)
    let list = names.joined(separator: ", ")
    var wanted = version.map { plainVersionName($0) }
    let hasVersionInfo = source.memberNames.contains("VersionInfo.plist")
    if wanted == nil, hasVersionInfo { wanted = try currentCompiledVersion(place) }
    if let wanted, !names.contains(wanted) {
      throw PersistentStoreError(
        .notFound, "the model does not have the version '\(wanted)'; it has \(list)",
        at: StoreLocation(file: place.path))
    }
    guard let chosen = wanted ?? (names.count == 1 ? names.first : nil) else {
      throw PersistentStoreError(
        .invalidOption,
        (hasVersionInfo
          ? "VersionInfo.plist does not name the current version of the compiled model"
          : "the compiled model does not have the file VersionInfo.plist, which names its current version")
          + ": specify one of \(list)",
        at: StoreLocation(file: place.path))
    }
    // The optimized copy beside it contains less that can be read.
    let isOptimized = !source.memberNames.contains(chosen + ".mom")
    var file = try read(at: place.path + "/" + chosen + (isOptimized ? ".omo" : ".mom"))
    file.versionName = chosen
    file.availableVersions = names
    return file
  }

  /// Reads an XML or binary property list whose root is a dictionary.
  static func propertyList(at path: String) throws(PersistentStoreError) -> PropertyListDictionary {
    let bytes = try StoreSource(opening: try StorePath.inspect(path)).bytes()
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
      throw PersistentStoreError(.malformed, "the root is not a dictionary", at: StoreLocation(file: path))
    }
    return entries
  }
}
