import AtomicStoreSPI

/// A line that holds an object.
enum ObjectLine {
  static func load(
    _ line: JSONValue, _ place: StoreLocation, into nodes: NodeTableBuilder
  ) throws(PersistentStoreError) {
    let fields = try Fields(line, ["entity", "id", "values"], place)
    let name = try fields.string("entity")
    guard let entity = nodes.model.entity(named: name) else {
      throw PersistentStoreError(.modelMismatch, "the model has no entity '\(name)'", at: place)
    }
    if let file = place.file { nodes.setMember(file, entity: entity.index) }
    try nodes.beginNode(
      entity: entity.index, reference: try Self.reference(try fields.value("id"), place), line: place.line ?? 0)
    guard case .object(let values) = try fields.value("values") else {
      throw PersistentStoreError(.malformed, "'values' is an object", at: place)
    }
    for (key, value) in values {
      guard let slot = entity.slot(named: key) else {
        throw PersistentStoreError(.modelMismatch, "\(name) has no property '\(key)'", at: nodes.location())
      }
      switch nodes.model.entity(at: entity.index).slots[slot].kind {
      case .attribute(let type): try nodes.set(try Self.stored(value, type, nodes.location(slot)), slot: slot)
      case .toOne: try nodes.set(toOne: try Self.reference(value, nodes.location(slot)), slot: slot)
      case .toMany:
        guard case .array(let list) = value else {
          throw PersistentStoreError(.malformed, "a relationship to many is a list of ids", at: nodes.location(slot))
        }
        for element in list { try nodes.append(toMany: try Self.reference(element, nodes.location(slot)), slot: slot) }
      }
    }
  }

  private static func reference(_ value: JSONValue, _ place: StoreLocation) throws(PersistentStoreError)
    -> ReferenceObject
  {
    switch value {
    case .integer(let number): return .integer(number)
    case .string(let text): return .string(text)
    default: throw PersistentStoreError(.malformed, "an id is a whole number or a text", at: place)
    }
  }

  private static func stored(
    _ value: JSONValue, _ type: AttributeType, _ place: StoreLocation
  ) throws(PersistentStoreError) -> StoredValue {
    let stored: StoredValue?
    switch (type, value) {
    case (.string, .string(let text)): stored = .string(text)
    case (.integer16, .integer(let number)), (.integer32, .integer(let number)), (.integer64, .integer(let number)):
      stored = .integer(number)
    case (.boolean, .boolean(let flag)): stored = .boolean(flag)
    case (_, .string(let text)) where type != .string: stored = StoredValue(typedText: text)
    default: stored = nil
    }
    guard let stored, !stored.isNull, type.accepts(stored) else {
      throw PersistentStoreError(.invalidValue, "the value is not of type \(type.modelName)", at: place)
    }
    return stored
  }
}
