import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials
import StoreJSON
import StorePredicates

/// Makes objects of JSON: finds those that have the values of a uniqueness constraint, and creates the others.
struct ObjectJSONReader {
  let context: ManagedObjectContext
  let ignoresUnknownKeys: Bool
  private var byID: [String: ManagedObject] = [:]
  /// Relationships, set when all objects are known.
  private var links: [(object: ManagedObject, name: String, ends: [JSONValue], isToMany: Bool)] = []
  private var nested: [(object: ManagedObject, name: String, index: Int, end: ManagedObject)] = []

  init(_ context: ManagedObjectContext, ignoresUnknownKeys: Bool) {
    self.context = context
    self.ignoresUnknownKeys = ignoresUnknownKeys
  }

  mutating func read(_ json: JSONValue, _ entity: Entity) throws -> [ManagedObject] {
    let list: [JSONValue] = if case .array(let list) = json { list } else { [json] }
    var objects: [ManagedObject] = []
    for (index, item) in list.enumerated() { objects.append(try object(item, entity, "item \(index + 1)", 0)) }
    for link in links { try connect(link) }
    return objects
  }

  private mutating func object(
    _ json: JSONValue, _ expected: Entity, _ place: String, _ depth: Int
  ) throws -> ManagedObject {
    guard case .object(let members) = json else { throw failure("is not a JSON object", expected, place) }
    let entity = try concrete(json, expected, place)
    var values: [(name: String, value: StoredValue)] = []
    var relationships: [(name: String, json: JSONValue, slot: Slot)] = []
    for (name, member) in members
    where ![ObjectJSONWriter.idKey, ObjectJSONWriter.entityKey].contains(where: { name.utf8.elementsEqual($0.utf8) }) {
      guard let number = entity.slot(named: name) else {
        if ignoresUnknownKeys { continue }
        let known = entity.slots.map(\.name)
        throw failure(
          "has the key '\(name)', which is not a stored property\(Suggestion.text(for: name, among: known))", entity,
          place, name)
      }
      let slot = entity.slots[number]
      guard case .attribute(let type) = slot.kind else {
        relationships.append((name, member, slot))
        continue
      }
      guard let value = StoredValue(json: member, slot: slot) else {
        throw failure("does not hold a value of type \(type.modelName)", entity, place, name)
      }
      values.append((name, value))
    }
    let object = try found(entity, values) ?? context.insertNewObject(forEntityName: entity.name)
    if case .string(let id)? = json[ObjectJSONWriter.idKey] { byID[id] = object }
    for (name, value) in values { try object.setValue(value, forKey: name) }
    for (name, member, slot) in relationships {
      try note(object, entity, name, member, slot, "\(place).\(name)", depth)
    }
    return object
  }

  private func concrete(_ json: JSONValue, _ expected: Entity, _ place: String) throws -> Entity {
    guard let named = json[ObjectJSONWriter.entityKey] else { return expected }
    guard case .string(let name) = named, let entity = expected.model.entity(named: name),
      entity.isKindOf(entity: expected)
    else { throw failure("is not of the entity or a sub-entity of it", expected, place, ObjectJSONWriter.entityKey) }
    return entity
  }

  /// The object that has the values of one of the entity's uniqueness constraints.
  private func found(_ entity: Entity, _ values: [(name: String, value: StoredValue)]) throws -> ManagedObject? {
    try context.objects(withUniqueValuesOf: entity) { name in
      values.first { $0.name.utf8.elementsEqual(name.utf8) }?.value
    }.first
  }

  // MARK: Relationships

  private mutating func note(
    _ object: ManagedObject, _ entity: Entity, _ name: String, _ json: JSONValue, _ slot: Slot, _ place: String,
    _ depth: Int
  ) throws {
    guard depth < 200 else { throw failure("is nested too deeply", entity, place, name) }
    guard case .relationship(let relationship)? = entity.property(named: name),
      let destination = entity.model.entity(named: relationship.destinationEntityName)
    else { return }
    var ends: [JSONValue]
    switch (json, relationship.isToMany) {
    case (.null, false): ends = []
    case (.object, false): ends = [json]
    case (.array(let list), true): ends = list
    default:
      throw failure("does not hold \(relationship.isToMany ? "a list of objects" : "an object")", entity, place, name)
    }
    for end in ends {
      guard let reference = end[ObjectJSONWriter.referenceKey] else { continue }
      guard case .string = reference, case .object(let members) = end, members.count == 1 else {
        throw failure(
          "has a \(ObjectJSONWriter.referenceKey) that is no text, or other members beside it", entity, place, name)
      }
    }
    for (index, end) in ends.enumerated() where end[ObjectJSONWriter.referenceKey] == nil {
      let made = try self.object(end, destination, relationship.isToMany ? "\(place)[\(index)]" : place, depth + 1)
      // Referred to like an object that stands elsewhere.
      let id = "nested \(nested.count)"
      nested.append((object, name, index, made))
      byID[id] = made
      ends[index] = .object([(ObjectJSONWriter.referenceKey, .string(id))])
    }
    links.append((object, name, ends, relationship.isToMany))
  }

  private func connect(_ link: (object: ManagedObject, name: String, ends: [JSONValue], isToMany: Bool)) throws {
    var ends: [ManagedObject] = []
    for end in link.ends {
      guard case .string(let text)? = end[ObjectJSONWriter.referenceKey] else { continue }
      if let known = byID[text] {
        ends.append(known)
      } else if let id = context.persistentStoreCoordinator.managedObjectID(forURIRepresentation: text) {
        ends.append(try context.existingObject(with: id))
      } else {
        throw failure("refers to \(text), which does not exist", link.object.entity, link.name, link.name)
      }
    }
    if link.isToMany {
      try link.object.setValue(ends, forKey: link.name)
    } else {
      try link.object.setValue(ends.first, forKey: link.name)
    }
  }

  private func failure(
    _ text: String, _ entity: Entity, _ place: String, _ property: String? = nil
  ) -> PersistentStoreError {
    PersistentStoreError(
      .invalidValue, "\(place) \(text)", at: StoreLocation(entity: entity.name, property: property))
  }
}
