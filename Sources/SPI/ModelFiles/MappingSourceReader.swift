import AtomicStoreSPI
import FoundationEssentials
import StoreCodecs

/// Reads an `xcmapping.xml`, the Core Data XML store of Xcode's mapping editor.
///
/// The editor stores only what was entered. What it left to Xcode is added here as Xcode's compiler adds it: names of
/// mappings, `$source.name` for an attribute that both entities have, and for such a relationship the objects that its
/// objects become. A compiled mapping model of the same mappings is read equal.
struct MappingSourceReader {
  /// An object of the store.
  private struct Record {
    var kind: String
    var attributes: [String: String] = [:]
    /// The entity mapping of a property mapping, or the mapping model of an entity mapping.
    var owner: String?

    /// The text of an attribute; nil if it is empty.
    subscript(_ key: String) -> String? { attributes[key].flatMap { $0.isEmpty ? nil : $0 } }
    /// Whether Xcode generates the expression.
    var isGenerated: Bool { self["autogenerateexpression"] != "0" }
  }

  private let file: String
  private var expressions = ArchivedPredicateText()
  private var source: ManagedObjectModel?
  /// The entity mappings with their records, in the order of their numbers.
  private var mappings: [(id: String, record: Record)] = []
  private var properties: [String: [Record]] = [:]

  init(file: String) { self.file = file }

  mutating func read(_ root: XMLElement) throws(PersistentStoreError) -> MappingModel {
    var model = MappingModel(entityMappings: [])
    let records = Self.records(root)
    let owners = Set(records.lazy.filter { $0.record.kind == "XDDEVMAPPINGMODEL" }.map(\.id))
    for (id, record) in records {
      switch record.kind {
      case "XDDEVMAPPINGMODEL":
        model.sourceModel = try embedded(record["sourcemodeldata"], "\(file)@sourcemodeldata")
        model.destinationModel = try embedded(record["destinationmodeldata"], "\(file)@destinationmodeldata")
      case "XDDEVENTITYMAPPING":
        // The editor leaves mappings behind that were removed from the mapping model.
        if record.owner.map({ owners.contains($0) }) ?? owners.isEmpty { mappings.append((id, record)) }
      case "XDDEVATTRIBUTEMAPPING", "XDDEVRELATIONSHIPMAPPING":
        if let owner = record.owner { properties[owner, default: []].append(record) }
      default: break
      }
    }
    let order = mappings.map { $0.record["mappingnumber"].flatMap { Int($0) } ?? .max }
    mappings = mappings.indices.sorted { (order[$0], $0) < (order[$1], $1) }.map { mappings[$0] }
    source = model.sourceModel.map { ManagedObjectModel(unchecked: $0) }
    let destination = model.destinationModel.map { ManagedObjectModel(unchecked: $0) }
    for (id, record) in mappings {
      var mapping = try entityMapping(record)
      mapping.sourceHash = Self.hash(mapping.sourceEntityName, source)
      mapping.destinationHash = Self.hash(mapping.destinationEntityName, destination)
      for property in properties[id] ?? [] { mapping.properties.append(try self.property(property, of: mapping)) }
      mapping.properties.sort {
        ($0.isRelationship ? 1 : 0, ScalarString($0.name)) < ($1.isRelationship ? 1 : 0, ScalarString($1.name))
      }
      model.entityMappings.append(mapping)
    }
    return model
  }

  private static func records(_ root: XMLElement) -> [(id: String, record: Record)] {
    root.elements.filter { $0.name == "object" }.map { element in
      var record = Record(kind: (element[attribute: "type"] ?? "").uppercased())
      let owner = record.kind == "XDDEVENTITYMAPPING" ? "mappingmodel" : "entitymapping"
      for child in element.elements {
        let name = (child[attribute: "name"] ?? "").lowercased()
        if child.name == "attribute" {
          record.attributes[name] = child.text
        } else if child.name == "relationship", name == owner {
          record.owner = child[attribute: "idrefs"]?.split(separator: " ").first.map(String.init)
        }
      }
      return (element[attribute: "id"] ?? "", record)
    }
  }

  private static func hash(_ name: String?, _ model: ManagedObjectModel?) -> VersionHashes.Entry? {
    guard let name, let model else { return nil }
    return model.versionHashes.entries.first { ScalarString($0.entityName) == ScalarString(name) }
  }

  // MARK: Entities

  /// The name that a mapping was given, or the one that Xcode shows for it.
  private static func name(_ record: Record) -> String {
    if let name = record["name"] { return name }
    guard let source = record["sourcename"], let destination = record["destinationname"] else {
      return record["sourcename"] ?? record["destinationname"] ?? ""
    }
    return "\(source)To\(destination)"
  }

  private mutating func entityMapping(_ record: Record) throws(PersistentStoreError) -> MappingModel.EntityMapping {
    let sourceName = record["sourcename"]
    var kind = (record["mappingtypename"] ?? "undefined").lowercased()
    if kind == "undefined" {
      if record["migrationpolicyclassname"] != nil {
        kind = "custom"
      } else if sourceName == nil {
        kind = "add"
      } else if record["destinationname"] == nil {
        kind = "remove"
      } else {
        kind = "transform"
      }
    }
    var mapping = MappingModel.EntityMapping(
      name: Self.name(record), kind: kind, sourceEntityName: sourceName,
      destinationEntityName: record["destinationname"])
    mapping.policyClassName = record["migrationpolicyclassname"]
    if let archive = try archive(record["userinfodata"], "userinfodata") {
      mapping.userInfo = try MappingModel.texts(in: archive.root)
    }
    guard let sourceName else { return mapping }
    if let archive = try archive(record["sourceexpressiondata"], "sourceexpressiondata") {
      mapping.sourceExpression = try expressions.expression(archive.root)
      mapping.isSourceUnreadable = mapping.sourceExpression == nil
    } else {
      let filter = record["sourcefilterpredicatestring"] ?? "TRUEPREDICATE"
      mapping.sourceExpression =
        "FETCH(FUNCTION($manager, 'fetchRequestForSourceEntityNamed:predicateString:', "
        + "\(ArchivedPredicateText.quoted(sourceName)), \(ArchivedPredicateText.quoted(filter))), "
        + "$manager.sourceContext, NO)"
    }
    return mapping
  }

  // MARK: Properties

  private mutating func property(
    _ record: Record, of mapping: MappingModel.EntityMapping
  ) throws(PersistentStoreError) -> MappingModel.PropertyMapping {
    var property = MappingModel.PropertyMapping(
      name: record["name"] ?? "", isRelationship: record.kind == "XDDEVRELATIONSHIPMAPPING")
    if let archive = try archive(record["valueexpressiondata"], "valueexpressiondata of '\(property.name)'") {
      property.expression = try expressions.expression(archive.root)
      property.isUnreadable = property.expression == nil
      return property
    }
    guard let entity = mapping.sourceEntityName.flatMap({ source?.entity(named: $0) }) else { return property }
    guard property.isRelationship else {
      let isKnown = entity.slots.contains {
        !$0.isRelationship && ($0.name == property.name || $0.name.hasPrefix(property.name + "."))
      }
      if isKnown { property.expression = "$source." + property.name }
      return property
    }
    if record.isGenerated { property.expression = relationship(record, property.name, entity) }
    return property
  }

  /// The expression of a relationship by its key path and mapping, or by its name where the source has the same.
  private func relationship(_ record: Record, _ name: String, _ entity: Entity) -> String? {
    func call(_ selector: String, _ argument: String, _ objects: String) -> String {
      "FUNCTION($manager, '\(selector):sourceInstances:', \(ArchivedPredicateText.quoted(argument)), \(objects))"
    }
    let path = record["sourcekeypath"].map { $0.hasPrefix("$") ? $0 : "$source." + $0 }
    let slot = entity.slot(named: name).map { entity.slots[$0] }.flatMap { $0.isRelationship ? $0 : nil }
    guard let objects = path ?? slot.map({ "$source." + $0.name }) else { return nil }
    if let mapping = record["sourcemappingname"] {
      return call("destinationInstancesForEntityMappingNamed", mapping, objects)
    }
    if path == nil, let destination = slot?.destination, let source {
      let possible = mappings.filter { _, record in
        record["destinationname"] != nil
          && record["sourcename"].flatMap { source.entity(named: $0) }?
            .isKindOf(entity: source.entity(at: destination)) == true
      }
      if possible.count == 1 {
        return call("destinationInstancesForEntityMappingNamed", Self.name(possible[0].record), objects)
      }
    }
    return call("destinationInstancesForSourceRelationshipNamed", slot?.name ?? name, objects)
  }

  // MARK: Bytes within the store

  private func bytes(_ text: String?) -> [UInt8]? {
    guard let text, let data = Data(base64Encoded: Data(text.utf8.filter { $0 > UInt8(ascii: " ") })), !data.isEmpty
    else { return nil }
    return Array(data)
  }

  private func archive(_ text: String?, _ name: String) throws(PersistentStoreError) -> KeyedArchive? {
    guard let text else { return nil }
    guard let bytes = bytes(text) else {
      throw PersistentStoreError(.malformed, "\(name) is not base64", at: StoreLocation(file: file))
    }
    return try KeyedArchive(bytes, file: "\(file)@\(name)")
  }

  /// A model from before Xcode 4, as bytes within the store; nil if there is none.
  private func embedded(_ text: String?, _ name: String) throws(PersistentStoreError) -> ModelDescription? {
    guard let bytes = bytes(text) else { return nil }
    return try ModelFile.read(contents: bytes, name: name).description
  }
}
