import AtomicStoreSPI
import StoreCodecs

/// What the objects of a store reveal about its model, from which ``model()`` infers one.
///
/// Collected from a document, or from the nodes that would be written: so the result of reading a file without a schema
/// can be predicted.
struct StoreFacts {
  struct Relationship: Equatable {
    var destination: String
    var minimumCount: Int
    var maximumCount: Int
  }
  enum Property: Equatable {
    /// Undefined if objects differ: each value then specifies its type.
    case attribute(AttributeType)
    case relationship(Relationship)
  }
  /// The facts about one entity with objects, by its name in the file.
  struct Entity {
    var name: String
    var properties: [ScalarString: Property] = [:]
  }
  /// Objects of one entity are in a relationship to another entity: the first is a sub-entity of the second.
  struct Kinship: Hashable {
    var entity: ScalarString
    var ancestor: ScalarString
  }

  var entities: [Entity] = []
  /// Includes destinations, which need not have objects.
  var destinations: Set<ScalarString> = []
  var kinships: Set<Kinship> = []
  /// Names with their case, from the metadata.
  var names: [String] = []

  init() {}

  /// The names of entities in Core Data's metadata.
  static func names(in entries: PropertyListDictionary) -> [String] {
    entries["NSStoreModelVersionHashes"]?.dictionaryValue?.keys ?? []
  }

  /// Adds a property as one object has it. Throws if it contradicts another object.
  mutating func add(
    _ property: Property, named name: ScalarString, to entity: Int
  ) throws(PersistentStoreError) {
    guard let known = entities[entity].properties[name] else {
      entities[entity].properties[name] = property
      if case .relationship(let relationship) = property { destinations.insert(ScalarString(relationship.destination)) }
      return
    }
    if known == property { return }
    guard case .attribute = known, case .attribute = property else {
      throw Self.contradiction(entities[entity].name, name.string)
    }
    entities[entity].properties[name] = .attribute(.undefined)
  }

  static func contradiction(_ entity: String, _ property: String) -> PersistentStoreError {
    PersistentStoreError(
      .malformed, "objects disagree about '\(property)': specify a model to decide which one is correct",
      at: StoreLocation(entity: entity, property: property))
  }
}

extension StoreFacts {
  /// The facts that a file with these nodes would reveal.
  init(_ nodes: NodeTable, entries: PropertyListDictionary) throws(PersistentStoreError) {
    names = Self.names(in: entries)
    let all = nodes.model.entities
    let written = all.map { ScalarString(NameFolding.entity.fold($0.name)) }
    for entity in all where nodes.count(of: entity.index) > 0 {
      entities.append(Entity(name: written[entity.index].string))
      let reader = nodes.reader(of: entity.index)
      for slot in entity.slots {
        let name = ScalarString(NameFolding.property.fold(slot.name))
        if let type = slot.attributeType {
          guard (0..<reader.count).contains(where: { !reader.isNull(slot: slot.index, row: $0) }) else { continue }
          try add(.attribute(type), named: name, to: entities.count - 1)
          continue
        }
        guard let number = slot.destination, let relationship = slot.relationship else { continue }
        let destination = written[number]
        try add(
          .relationship(
            Relationship(
              destination: destination.string, minimumCount: relationship.minimumCount,
              maximumCount: relationship.maximumCount)), named: name, to: entities.count - 1)
        for found in Self.targets(reader, slot, count: all.count) where found != number {
          kinships.insert(Kinship(entity: written[found], ancestor: destination))
        }
      }
    }
  }

  /// The actual destination entities of a relationship, in ascending order.
  private static func targets(_ reader: EntityReader, _ slot: Slot, count: Int) -> [Int] {
    var found = [Bool](repeating: false, count: count)
    for row in 0..<reader.count {
      if slot.isToMany {
        let nodes = reader.toMany(slot: slot.index, row: row)
        for index in 0..<nodes.count { found[nodes[index].entity] = true }
      } else if let node = reader.toOne(slot: slot.index, row: row) {
        found[node.entity] = true
      }
    }
    return found.indices.filter { found[$0] }
  }
}
