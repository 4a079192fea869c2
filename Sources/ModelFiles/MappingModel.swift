package import AtomicStoreSPI
import FoundationEssentials
import StoreCodecs

/// A mapping model: how the entities of one version of a model become those of another. It can be displayed only; there
/// is not a migration.
package struct MappingModel: Sendable {
  /// The mapping of one property of the destination.
  package struct PropertyMapping: Sendable, Equatable {
    /// The property of the destination.
    var name: String
    /// The expression for its value; nil if there is none.
    var expression: String?
  }

  /// The mapping of objects of one entity to those of another.
  package struct EntityMapping: Sendable, Equatable {
    /// The name of the mapping, such as `PersonToPerson`.
    var name: String
    /// `custom`, `add`, `remove`, `copy` or `transform`.
    var kind: String
    /// The source entity; nil if the mapping adds objects.
    var sourceEntityName: String?
    /// The destination entity; nil if the mapping removes objects.
    var destinationEntityName: String?
    /// The version hash of the source entity; nil if the file does not contain it.
    var sourceHash: VersionHashes.Entry?
    /// The version hash of the destination entity; nil if the file does not contain it.
    var destinationHash: VersionHashes.Entry?
    /// The expression that selects the source objects.
    var sourceExpression: String?
    /// The class of a custom migration policy; nil for none.
    var policyClassName: String?
    /// The mapped properties, in the order of the file.
    var properties: [PropertyMapping] = []
  }

  /// The mapped entities, in the order of the file.
  package var entityMappings: [EntityMapping]
  /// The source model that an `.xcmappingmodel` holds; a compiled mapping model has none.
  var sourceModel: ModelDescription?
  /// The destination model that an `.xcmappingmodel` holds; a compiled mapping model has none.
  var destinationModel: ModelDescription?

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
      return try document(try XMLElement.parse(bytes.span, file: name), file: name)
    default: return nil
    }
  }

  // MARK: Compiled

  private static func compiled(_ archive: KeyedArchive) throws(PersistentStoreError) -> MappingModel {
    let root = try archive.root.expect(class: "NSMappingModel")
    var expressions = ArchivedPredicateText()
    var result: [EntityMapping] = []
    for object in try root.list("NSEntityMappings") ?? [] {
      let kinds = [1: "custom", 2: "add", 3: "remove", 4: "copy", 5: "transform"]
      var mapping = EntityMapping(
        name: try object.string("NSMappingName") ?? "",
        kind: kinds[try object.integer("NSMappingType") ?? 0] ?? "undefined",
        sourceEntityName: try object.string("NSSourceEntityName"),
        destinationEntityName: try object.string("NSDestinationEntityName"))
      mapping.sourceHash = try hash(object, "NSSourceEntityVersionHash", mapping.sourceEntityName)
      mapping.destinationHash = try hash(object, "NSDestinationEntityVersionHash", mapping.destinationEntityName)
      mapping.policyClassName = try object.string("NSEntityMigrationPolicyClassName")
      if let expression = try object["NSSourceExpression"] {
        mapping.sourceExpression = try expressions.expression(expression)
      }
      for key in ["NSAttributeMappings", "NSRelationshipMappings"] {
        for property in try object.list(key) ?? [] {
          var text: String?
          if let expression = try property["NSValueExpression"] {
            text = try expressions.expression(expression) ?? "(an expression that cannot be converted to text)"
          }
          mapping.properties.append(
            PropertyMapping(name: try property.string("NSDestinationPropertyName") ?? "", expression: text))
        }
      }
      result.append(mapping)
    }
    return MappingModel(entityMappings: result)
  }

  private static func hash(
    _ object: KeyedArchive.Value, _ key: String, _ name: String?
  ) throws(PersistentStoreError) -> VersionHashes.Entry? {
    guard let name, let hash = try object[key]?.dataValue else { return nil }
    return VersionHashes.Entry(entityName: name, hash: hash)
  }

  // MARK: Source

  /// An object of the XML store of the mapping editor.
  private struct Record {
    var kind: String
    var attributes: [String: String] = [:]
    /// The entity mapping that it belongs to.
    var owner: String?
  }

  private static func document(_ root: XMLElement, file: String) throws(PersistentStoreError) -> MappingModel {
    var records: [(id: String, record: Record)] = []
    for element in root.elements where element.name == "object" {
      var record = Record(kind: (element[attribute: "type"] ?? "").uppercased())
      for child in element.elements {
        if child.name == "attribute" {
          record.attributes[(child[attribute: "name"] ?? "").lowercased()] = child.text
        } else if child.name == "relationship", child[attribute: "destination"]?.uppercased() == "XDDEVENTITYMAPPING" {
          record.owner = child[attribute: "idrefs"]?.split(separator: " ").first.map(String.init)
        }
      }
      records.append((element[attribute: "id"] ?? "", record))
    }
    var model = MappingModel(entityMappings: [])
    var indexByID: [String: Int] = [:]
    var order: [Int] = []
    for (id, record) in records where record.kind == "XDDEVENTITYMAPPING" {
      indexByID[id] = model.entityMappings.count
      order.append(record.attributes["mappingnumber"].flatMap { Int($0) } ?? .max)
      model.entityMappings.append(entityMapping(record))
    }
    for (_, record) in records {
      switch record.kind {
      case "XDDEVATTRIBUTEMAPPING", "XDDEVRELATIONSHIPMAPPING":
        guard let index = record.owner.flatMap({ indexByID[$0] }) else { continue }
        let expression =
          record.attributes["valueexpression"] ?? record.attributes["sourcekeypath"].map { "$source.\($0)" }
        model.entityMappings[index].properties.append(
          PropertyMapping(name: record.attributes["name"] ?? "", expression: expression))
      case "XDDEVMAPPINGMODEL":
        model.sourceModel = try embedded(record.attributes["sourcemodeldata"], "\(file)@sourcemodeldata")
        model.destinationModel = try embedded(record.attributes["destinationmodeldata"], "\(file)@destinationmodeldata")
      default: break
      }
    }
    model.entityMappings = model.entityMappings.indices.sorted { (order[$0], $0) < (order[$1], $1) }.map {
      model.entityMappings[$0]
    }
    for index in model.entityMappings.indices {
      model.entityMappings[index].properties.sort { ScalarString($0.name) < ScalarString($1.name) }
    }
    return model
  }

  private static func entityMapping(_ record: Record) -> EntityMapping {
    func text(_ key: String) -> String? { record.attributes[key].flatMap { $0.isEmpty ? nil : $0 } }
    return EntityMapping(
      name: text("name") ?? "", kind: (text("mappingtypename") ?? "undefined").lowercased(),
      sourceEntityName: text("sourcename"),
      destinationEntityName: text("destinationname"), sourceExpression: text("sourcefilterpredicatestring"),
      policyClassName: text("migrationpolicyclassname"))
  }

  /// A model from before Xcode 4, as bytes within the store; nil if there is none.
  private static func embedded(_ text: String?, _ name: String) throws(PersistentStoreError) -> ModelDescription? {
    guard let text, let data = Data(base64Encoded: Data(text.utf8.filter { $0 > UInt8(ascii: " ") })), !data.isEmpty
    else { return nil }
    return try ModelFile.read(contents: Array(data), name: name).description
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
