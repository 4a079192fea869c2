import AtomicStoreSPI
import FoundationEssentials
import StoreCodecs

/// One transaction, as it is in the journal: the objects as they are afterwards, those that were removed, and what
/// changed of the metadata.
///
/// A record is a binary property list. Objects have their entity and properties by name, so that a model that lists
/// them in another order reads the same.
struct Record {
  var number: Int64
  /// Whether nothing before it counts any more.
  var isReset = false
  /// The UUID and the model, where they were set.
  var identity: UUID?
  var model: ModelDescription?
  var entries: PropertyListDictionary?
  var lastReference: Int64?
  var removed: [Graph.Key] = []
  var objects: [(key: Graph.Key, object: Graph.Object)] = []

  init(number: Int64) { self.number = number }

  /// A whole store.
  init(whole snapshot: StoreSnapshot, number: Int64) {
    self.number = number
    isReset = true
    set(snapshot.metadata)
    for entity in snapshot.nodes.model.entities {
      let reader = snapshot.nodes.reader(of: entity.index)
      for row in 0..<reader.count {
        var object = Graph.Object(entity: entity.index, version: number)
        for slot in entity.slots {
          let value = reader.value(slot: slot.index, row: row)
          if !value.isNull { object.values[slot.index] = value }
        }
        objects.append((Graph.Key(root: entity.root.index, reference: reader.reference(row: row)), object))
      }
    }
  }

  mutating func set(_ metadata: StoreMetadata) {
    identity = metadata.uuid
    model = metadata.model
    entries = metadata.entries
    lastReference = metadata.lastReference
  }

  // MARK: Writing

  func bytes(of model: ManagedObjectModel?) throws(PersistentStoreError) -> [UInt8] {
    var fields: PropertyListDictionary = ["number": .integer(Int128(number)), "reset": .boolean(isReset)]
    if let identity { fields["uuid"] = .string(identity.uuidString) }
    if let model = self.model { fields["model"] = model.propertyList }
    if let entries { fields["entries"] = .dictionary(entries) }
    if let lastReference { fields["last"] = .integer(Int128(lastReference)) }
    if let model {
      fields["removed"] = .array(
        removed.map { .array([.string(model.entity(at: $0.root).name), Self.value($0.reference)]) })
      fields["objects"] = .array(objects.map { Self.value($0.key, $0.object, model) })
    }
    return try PropertyList.encodeBinary(.dictionary(fields))
  }

  private static func value(
    _ key: Graph.Key, _ object: Graph.Object, _ model: ManagedObjectModel
  ) -> PropertyListValue {
    let entity = model.entity(at: object.entity)
    var list: [PropertyListValue] = [
      .string(entity.name), value(key.reference), .integer(Int128(object.version)),
    ]
    for (slot, stored) in object.values {
      list.append(.string(entity.slots[slot].name))
      switch stored {
      case .toOne(let end): list.append(value(end))
      case .toMany(let ends): list.append(.array(ends.map(value)))
      default: list.append(.string(stored.typedText))
      }
    }
    return .array(list)
  }

  private static func value(_ end: ObjectReference) -> PropertyListValue {
    .array([.string(end.entityName), value(end.reference)])
  }
  private static func value(_ reference: ReferenceObject) -> PropertyListValue {
    switch reference {
    case .integer(let number): .integer(Int128(number))
    case .string(let text): .string(text)
    }
  }

  // MARK: Reading

  /// - Parameter model: Nil to read the metadata alone.
  init(_ bytes: [UInt8], _ model: ManagedObjectModel?, depth: Int) throws(PersistentStoreError) {
    // A record has three levels above those of metadata and models.
    let value = try PropertyList.decodeBinary(bytes, maximumDepth: min(depth + 3, PropertyList.maximumDepth))
    guard let fields = value.dictionaryValue else { throw Self.malformed("it is not a dictionary") }
    let known = ["number", "reset", "uuid", "model", "entries", "last", "removed", "objects"]
    if let other = fields.keys.first(where: { !known.contains($0) }) { throw Self.malformed("'\(other)' is not known") }
    number = try Self.integer(fields["number"], "number")
    guard let isReset = fields["reset"]?.booleanValue else { throw Self.malformed("'reset' is not a truth value") }
    self.isReset = isReset
    if let text = fields["uuid"] {
      guard let uuid = text.stringValue.flatMap({ UUID(uuidString: $0) }) else {
        throw Self.malformed("'uuid' is not a UUID")
      }
      identity = uuid
    }
    if let model = fields["model"] { self.model = try ModelDescription(propertyList: model) }
    if let entries = fields["entries"] {
      guard let entries = entries.dictionaryValue else { throw Self.malformed("'entries' is not a dictionary") }
      self.entries = entries
    }
    if let last = fields["last"] { lastReference = try Self.integer(last, "last") }
    guard let model else { return }
    for item in try Self.list(fields["removed"] ?? [], "removed") {
      let end = try Self.end(item)
      removed.append(Graph.Key(root: try Self.entity(end.entityName, model).root.index, reference: end.reference))
    }
    for item in try Self.list(fields["objects"] ?? [], "objects") {
      let parts = try Self.list(item, "object")
      guard parts.count >= 3, parts.count % 2 == 1, let name = parts[0].stringValue else {
        throw Self.malformed("an object has an entity, a reference, a version, and pairs of names and values")
      }
      let entity = try Self.entity(name, model)
      var object = Graph.Object(entity: entity.index, version: try Self.integer(parts[2], "version"))
      for index in stride(from: 3, to: parts.count, by: 2) {
        guard let name = parts[index].stringValue, let slot = entity.slot(named: name) else {
          throw Self.malformed("\(entity.name) does not have the property \(parts[index])")
        }
        object.values[slot] = try Self.stored(parts[index + 1], entity.slots[slot], entity)
      }
      let reference = try Self.reference(parts[1])
      objects.append((Graph.Key(root: entity.root.index, reference: reference), object))
    }
  }

  private static func stored(
    _ value: PropertyListValue, _ slot: Slot, _ entity: Entity
  ) throws(PersistentStoreError) -> StoredValue {
    switch slot.kind {
    case .toOne: return .toOne(try end(value))
    case .toMany:
      var ends: [ObjectReference] = []
      for item in try list(value, slot.name) { ends.append(try end(item)) }
      return .toMany(ends)
    case .attribute(let type):
      guard let text = value.stringValue, let stored = StoredValue(typedText: text), type.accepts(stored) else {
        throw PersistentStoreError(
          .invalidValue, "the value is not of type \(type.modelName)",
          at: StoreLocation(entity: entity.name, property: slot.name))
      }
      return stored
    }
  }

  private static func entity(_ name: String, _ model: ManagedObjectModel) throws(PersistentStoreError) -> Entity {
    guard let entity = model.entity(named: name) else {
      throw PersistentStoreError(.modelMismatch, "the model does not have an entity '\(name)'")
    }
    return entity
  }

  private static func end(_ value: PropertyListValue) throws(PersistentStoreError) -> ObjectReference {
    let parts = try list(value, "reference")
    guard parts.count == 2, let name = parts[0].stringValue else {
      throw malformed("an object is named by its entity and its reference")
    }
    return ObjectReference(entityName: name, reference: try reference(parts[1]))
  }

  private static func reference(_ value: PropertyListValue) throws(PersistentStoreError) -> ReferenceObject {
    if case .string(let text) = value { return .string(text) }
    return .integer(try integer(value, "reference"))
  }

  private static func list(
    _ value: PropertyListValue, _ name: String
  ) throws(PersistentStoreError) -> [PropertyListValue] {
    guard let list = value.arrayValue else { throw malformed("'\(name)' is not a list") }
    return list
  }

  private static func integer(_ value: PropertyListValue?, _ name: String) throws(PersistentStoreError) -> Int64 {
    guard case .integer(let number)? = value, let number = Int64(exactly: number) else {
      throw malformed("'\(name)' is not an integer of 64 bits")
    }
    return number
  }

  private static func malformed(_ message: String) -> PersistentStoreError {
    PersistentStoreError(.malformed, "the record is not valid: \(message)")
  }
}
