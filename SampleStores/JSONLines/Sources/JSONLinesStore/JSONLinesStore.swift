import AtomicStoreSPI
import FoundationEssentials

/// A store as lines of JSON: a line that describes the store, then a line for each object.
///
/// ```
/// {"store":"JSONLines","version":1,"uuid":"…","last":3,"objects":3,"model":{…},"metadata":{…}}
/// {"entity":"Person","id":1,"values":{"name":"Ada","born":"date:-2714860800.0","team":2}}
/// ```
///
/// Texts, whole numbers and truth values are JSON's own; other values are texts that say what they are (`double:0.1`,
/// `data:AAEC`), so that every bit comes back. Relationships are the destinations' ids.
public struct JSONLinesStore: AtomicStore {
  public static let storeType = "JSONLines"
  public static let traits = StoreTraits(
    summary: "Lines of JSON, one object each", fileExtensions: ["jsonl", "ndjson"])

  public static func recognize(_ probe: StoreProbe) -> Recognition {
    probe.begins(with: "{\"store\":\"JSONLines\"") ? .yes : .no
  }

  public init(_ configuration: StoreConfiguration) throws(PersistentStoreError) {}

  // MARK: Reading

  public mutating func metadata(in source: StoreSource) throws(PersistentStoreError) -> StoreMetadata {
    var lines = try LineReader(source)
    return try Header(try lines.next(), lines.place).metadata
  }

  public mutating func load(_ source: StoreSource, into nodes: NodeTableBuilder) throws(PersistentStoreError) {
    var lines = try LineReader(source)
    let header = try Header(try lines.next(), lines.place)
    var count = 0
    while !lines.isAtEnd {
      try load(try lines.next(), lines.place, into: nodes)
      count += 1
    }
    // A file that was cut at the end of a line has every line whole and is not whole itself.
    guard count == header.count else {
      throw PersistentStoreError(.malformed, "the first line tells of \(header.count) objects, and \(count) follow", at: lines.place)
    }
  }

  private func load(
    _ line: JSONValue, _ place: StoreLocation, into nodes: NodeTableBuilder
  ) throws(PersistentStoreError) {
    let fields = try Fields(line, ["entity", "id", "values"], place)
    let name = try fields.string("entity")
    guard let entity = nodes.model.entity(named: name) else {
      throw PersistentStoreError(.modelMismatch, "the model has no entity '\(name)'", at: place)
    }
    try nodes.beginNode(entity: entity.index, reference: try Self.reference(try fields.value("id"), place), line: place.line ?? 0)
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

  private static func reference(_ value: JSONValue, _ place: StoreLocation) throws(PersistentStoreError) -> ReferenceObject {
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
      throw PersistentStoreError(.invalidValue, "the value is no \(type.modelName)", at: place)
    }
    return stored
  }

  // MARK: Writing

  public mutating func save(_ snapshot: StoreSnapshot, to staged: StagedStore) throws(PersistentStoreError) {
    let file = try staged.file()
    var text = LineWriter()
    let count = snapshot.nodes.model.entities.reduce(0) { $0 + snapshot.nodes.count(of: $1.index) }
    text.header(snapshot.metadata, count: count)
    for entity in snapshot.nodes.model.entities where !entity.isAbstract {
      let reader = snapshot.nodes.reader(of: entity.index)
      for row in 0..<reader.count {
        text.object(entity, reader, row, snapshot.nodes)
        if text.bytes.count > 1 << 18 {
          try file.write(text.bytes)
          text.bytes.removeAll(keepingCapacity: true)
        }
      }
    }
    try file.write(text.bytes)
  }
}
