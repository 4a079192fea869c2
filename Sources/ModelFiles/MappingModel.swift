package import AtomicStoreSPI
import StoreCodecs

/// A mapping model: how the entities of one version of a model become those of another, as Xcode's mapping editor
/// defines it. `StoreMigration` follows it.
package struct MappingModel: Sendable {
  /// The mapping of one property of the destination.
  package struct PropertyMapping: Sendable, Equatable {
    /// The property of the destination.
    package var name: String
    /// Whether it is listed among the relationships.
    package var isRelationship = false
    /// The expression for its value, as text; nil if there is none.
    package var expression: String?
    /// Whether the file contains an expression that cannot be converted to text.
    package var isUnreadable = false
  }

  /// The mapping of objects of one entity to those of another.
  package struct EntityMapping: Sendable, Equatable {
    /// The name of the mapping, such as `PersonToPerson`.
    package var name: String
    /// `custom`, `add`, `remove`, `copy`, `transform` or `undefined`.
    package var kind: String
    /// The source entity; nil if the mapping adds objects.
    package var sourceEntityName: String?
    /// The destination entity; nil if the mapping removes objects.
    package var destinationEntityName: String?
    /// The version hash of the source entity; nil if the file does not contain it.
    package var sourceHash: VersionHashes.Entry?
    /// The version hash of the destination entity; nil if the file does not contain it.
    package var destinationHash: VersionHashes.Entry?
    /// The expression that selects the source objects, as text.
    package var sourceExpression: String?
    /// Whether the file contains a source expression that cannot be converted to text.
    package var isSourceUnreadable = false
    /// The class of a custom migration policy; nil for none.
    package var policyClassName: String?
    /// The mapped properties: attributes, then relationships, both by name.
    package var properties: [PropertyMapping] = []
    /// Texts that value expressions can refer to.
    package var userInfo: [String: String] = [:]
  }

  /// The mapped entities, in the order of the file.
  package var entityMappings: [EntityMapping]
  /// The source model that an `.xcmappingmodel` holds; a compiled mapping model has none.
  var sourceModel: ModelDescription?
  /// The destination model that an `.xcmappingmodel` holds; a compiled mapping model has none.
  var destinationModel: ModelDescription?

  /// The two models that an `.xcmappingmodel` holds; nil for a compiled mapping model.
  package var models: (source: ManagedObjectModel, destination: ManagedObjectModel)? {
    guard let sourceModel, let destinationModel else { return nil }
    return (ManagedObjectModel(unchecked: sourceModel), ManagedObjectModel(unchecked: destinationModel))
  }

  /// Reads the mapping model at a path: `.cdm`, `.xcmappingmodel`, or the `xcmapping.xml` inside it.
  ///
  /// - Returns: nil for anything that is not a mapping model.
  /// - Throws: An error for a mapping model that cannot be read.
  package static func read(at path: String) throws(PersistentStoreError) -> MappingModel? {
    let place = try StorePath.inspect(path)
    guard place.holdsContent else { return nil }
    let source = try StoreSource(opening: place)
    var member: String?
    if source.isFolder {
      guard source.memberNames.contains("xcmapping.xml") else { return nil }
      member = "xcmapping.xml"
    }
    // Most files are something else: those that are recognized by their first bytes are not read completely.
    let head = try source.bytes(ofMember: member, limit: 4096)
    guard head.withUnsafeBytes({ $0.starts(with: "bplist".utf8) || $0.contains(UInt8(ascii: "<")) }) else { return nil }
    let name = source.displayName(ofMember: member)
    let bytes = try source.bytes(ofMember: member)
    switch bytes.withUnsafeBytes({ ModelFileKind.detect($0) }) {
    case .compiledMapping: return try compiled(try bytes.archive(name))
    case .contents:
      guard bytes.withUnsafeBytes({ ModelFileKind.detect($0, root: "database") == .mapping }) else { return nil }
      var reader = MappingSourceReader(file: name)
      return try reader.read(try XMLElement.parse(bytes.span, file: name))
    default: return nil
    }
  }

  /// The mapping models of a directory, such as an application's bundle, two levels deep, by path.
  ///
  /// - Throws: `.notFound` if it contains none; an error for one that cannot be read.
  package static func all(in directory: String) throws(PersistentStoreError) -> [(path: String, model: MappingModel)] {
    var result: [(path: String, model: MappingModel)] = []
    var waiting = [(path: directory, depth: 0)]
    while let (path, depth) = waiting.popLast() {
      for name in try StorePath.inspect(path).allNames().map({ ScalarString($0) }).sorted().map(\.string) {
        let inner = path + "/" + name
        if name.hasSuffix(".cdm") || name.hasSuffix(".xcmappingmodel") {
          guard let model = try read(at: inner) else { continue }
          result.append((inner, model))
        } else if depth < 2, try StorePath.inspect(inner).kind == .folder {
          waiting.append((inner, depth + 1))
        }
      }
    }
    guard !result.isEmpty else {
      throw PersistentStoreError(
        .notFound, "the directory does not contain a mapping model (.cdm, .xcmappingmodel)",
        at: StoreLocation(file: directory))
    }
    return result.sorted { ScalarString($0.path) < ScalarString($1.path) }
  }

  // MARK: Text

  /// The mapping as lines of text: entities, then properties with their expressions.
  package var text: String {
    var text = ""
    for (title, model) in [("from", sourceModel), ("to", destinationModel)] {
      guard let model else { continue }
      let frozen = ManagedObjectModel(unchecked: model)
      text += "\(title) a model of \(frozen.entityCount) entities, checksum \(frozen.versionHashes.checksum)\n"
    }
    for mapping in entityMappings {
      text +=
        "\(mapping.name): \(mapping.sourceEntityName ?? "nothing") → \(mapping.destinationEntityName ?? "nothing") (\(mapping.kind))\n"
      if let policy = mapping.policyClassName { text += "  policy \(policy)\n" }
      if let expression = mapping.sourceExpression { text += "  source \(expression)\n" }
      for (title, hash) in [("source", mapping.sourceHash), ("destination", mapping.destinationHash)] {
        if let hash { text += "  hash of the \(title) \(VersionHashes.hexadecimal(hash.hash))\n" }
      }
      for property in mapping.properties { text += "  \(property.name) = \(property.expression ?? "(nothing)")\n" }
    }
    return text.isEmpty ? "a mapping model without mappings\n" : text
  }
}
