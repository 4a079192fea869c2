import AtomicStoreSPI
import StoreCodecs
import StoreJSON

/// An object as a message: `{"entity":"Person","reference":1,"values":{"name":"Ada","height":"double:1.65","team":2}}`.
///
/// Values of strings, integers and booleans are JSON's own; all others are texts with their type, as
/// ``AtomicStoreSPI/StoredValue/typedText``. An integer beyond 2^53 is such a text too, because many languages read
/// JSON's numbers as doubles. A to-one is a reference, a to-many a list of them.
enum ObjectMessage {
  static func load(
    _ message: JSONValue, _ source: StoreSource, into nodes: NodeTableBuilder
  ) throws(PersistentStoreError) {
    guard case .object(let members) = message else { return }
    var (name, reference, values): (String?, ReferenceObject?, [(String, JSONValue)]) = (nil, nil, [])
    var place = StoreLocation(file: source.name)
    for (key, member) in members {
      switch (key, member) {
      case ("entity", .string(let text)): name = text
      case ("reference", _): reference = ProgramValues.reference(member)
      case ("values", .object(let list)): values = list
      case ("line", .integer(let line)): place.line = max(line, 1)
      case ("member", .string(let member)) where source.isFolder: place.file = source.displayName(ofMember: member)
      default:
        throw PersistentStoreError(.malformed, "an object has a '\(key)' that is not understood", at: place)
      }
    }
    guard let name, let entity = nodes.model.entity(named: name) else {
      throw PersistentStoreError(.modelMismatch, "the model has no entity '\(name ?? "")'", at: place)
    }
    place.entity = entity.name
    guard let reference else {
      throw PersistentStoreError(.malformed, "a reference is an integer or a text", at: place)
    }
    if let file = place.file { nodes.setMember(file, entity: entity.index) }
    try nodes.beginNode(entity: entity.index, reference: reference, line: place.line ?? 0)
    for (key, value) in values {
      guard let number = entity.slot(named: key) else {
        throw PersistentStoreError(.modelMismatch, "\(name) has no property '\(key)'", at: nodes.location())
      }
      try set(value, entity.slots[number], nodes)
    }
  }

  private static func set(
    _ value: JSONValue, _ slot: Slot, _ nodes: NodeTableBuilder
  ) throws(PersistentStoreError) {
    switch slot.kind {
    case .attribute(let type):
      guard let stored = ProgramValues.value(value, type), !stored.isNull, type.accepts(stored) else {
        throw PersistentStoreError(
          .invalidValue, "the value is not of type \(type.modelName)", at: nodes.location(slot.index))
      }
      try nodes.set(stored, slot: slot.index)
    case .toOne: try nodes.set(toOne: try destination(value, slot, nodes), slot: slot.index)
    case .toMany:
      guard case .array(let list) = value else {
        throw PersistentStoreError(
          .malformed, "a to-many relationship is a list of references", at: nodes.location(slot.index))
      }
      for element in list { try nodes.append(toMany: try destination(element, slot, nodes), slot: slot.index) }
    }
  }

  private static func destination(
    _ value: JSONValue, _ slot: Slot, _ nodes: NodeTableBuilder
  ) throws(PersistentStoreError) -> ReferenceObject {
    guard let reference = ProgramValues.reference(value) else {
      throw PersistentStoreError(.malformed, "a reference is an integer or a text", at: nodes.location(slot.index))
    }
    return reference
  }

  /// Appends the line of an object, without values that are null.
  static func append(
    _ row: Int, of entity: Entity, _ reader: EntityReader, _ nodes: NodeTable, to writer: ByteWriter
  ) {
    writer.append("{\"entity\":")
    JSONValue.quote(entity.name, to: writer)
    writer.append(",\"reference\":")
    ProgramValues.append(reader.reference(row: row), to: writer)
    writer.append(",\"values\":{")
    var isFirst = true
    for slot in entity.slots where !reader.isNull(slot: slot.index, row: row) {
      if slot.isToMany, reader.toMany(slot: slot.index, row: row).isEmpty { continue }
      if !isFirst { writer.append(byte: UInt8(ascii: ",")) }
      isFirst = false
      JSONValue.quote(slot.name, to: writer)
      writer.append(byte: UInt8(ascii: ":"))
      append(slot, reader, row, nodes, to: writer)
    }
    writer.append("}}\n")
  }

  private static func append(
    _ slot: Slot, _ reader: EntityReader, _ row: Int, _ nodes: NodeTable, to writer: ByteWriter
  ) {
    switch slot.valueKind {
    case .string: JSONValue.quote(reader.string(slot: slot.index, row: row), to: writer)
    case .integer: ProgramValues.append(reader.integer(slot: slot.index, row: row), to: writer)
    case .boolean: writer.append(reader.boolean(slot: slot.index, row: row) ? "true" as StaticString : "false")
    case .toOne:
      if let node = reader.toOne(slot: slot.index, row: row) {
        ProgramValues.append(nodes.reference(of: node), to: writer)
      }
    case .toMany:
      writer.append(byte: UInt8(ascii: "["))
      let list = reader.toMany(slot: slot.index, row: row)
      for place in list.indices {
        if place > 0 { writer.append(byte: UInt8(ascii: ",")) }
        ProgramValues.append(nodes.reference(of: list[place]), to: writer)
      }
      writer.append(byte: UInt8(ascii: "]"))
    default: JSONValue.quote(reader.value(slot: slot.index, row: row).typedText, to: writer)
    }
  }
}

/// Values and references in messages.
enum ProgramValues {
  /// What a double holds exactly: languages that read JSON's numbers as doubles keep it.
  private static let exact: ClosedRange<Int64> = -(1 << 53)...(1 << 53)

  static func value(_ json: JSONValue, _ type: AttributeType) -> StoredValue? {
    switch (type.valueKind, json) {
    case (.string, .string(let text)): return .string(text)
    case (.integer, .integer(let number)): return .integer(Int64(number))
    case (.boolean, .boolean(let flag)): return .boolean(flag)
    case (.string, _): return nil
    case (_, .string(let text)): return StoredValue(typedText: text)
    default: return nil
    }
  }

  /// An integer that may be a text.
  static func integer(_ json: JSONValue) -> Int64? {
    switch json {
    case .integer(let number): return Int64(number)
    case .string(let text):
      guard case .integer(let number)? = StoredValue(typedText: text) else { return nil }
      return number
    default: return nil
    }
  }

  /// An integer, a text, or `{"integer":"9007199254740993"}`, because any text is a reference.
  static func reference(_ json: JSONValue) -> ReferenceObject? {
    switch json {
    case .integer(let number): return .integer(Int64(number))
    case .string(let text): return .string(text)
    case .object(let members):
      guard members.count == 1, members[0].0 == "integer", case .string(let text) = members[0].1 else { return nil }
      return Int64(text).map { .integer($0) }
    default: return nil
    }
  }

  static func append(_ number: Int64, to writer: ByteWriter) {
    guard exact.contains(number) else { return JSONValue.quote("integer:\(number)", to: writer) }
    writer.append(integer: number)
  }

  static func append(_ reference: ReferenceObject, to writer: ByteWriter) {
    switch reference {
    case .integer(let number) where exact.contains(number): writer.append(integer: number)
    case .integer(let number):
      writer.append("{\"integer\":\"")
      writer.append(integer: number)
      writer.append("\"}")
    case .string(let text): JSONValue.quote(text, to: writer)
    }
  }
}
