import AtomicStoreSPI
import FoundationEssentials
import StoreCodecs

/// A store as records of bytes in one file.
///
/// ```
/// signature     "JSONLines", 0x00, 0x01 (the version)
/// description   a binary property list: UUID, greatest reference, metadata, model, number of objects
/// for each entity that has objects
///   name, names of its properties, number of objects
///   for each object: reference, a value for each property
/// end           an empty name, then a digest of all before it
/// ```
///
/// Texts and lists begin with their length, a number of 64 bits, the lowest byte first; a value begins with a byte that
/// says what it is (``Tag``). Relationships are the destinations' references.
public struct JSONLinesStore: AtomicStore {
  public static let storeType = "JSONLines"
  public static let traits = StoreTraits(summary: "Records of bytes, with a digest", fileExtensions: ["jsonlines"])

  static let signature: [UInt8] = Array("JSONLines".utf8) + [0]
  static let version: UInt8 = 1

  public static func recognize(_ probe: StoreProbe) -> Recognition { probe.prefix.starts(with: signature) ? .yes : .no }

  /// How deep metadata and models may be nested.
  private let depth: Int

  public init(_ configuration: StoreConfiguration) throws(PersistentStoreError) {
    depth = configuration.limits.depth
  }

  // MARK: Reading

  public mutating func metadata(in source: StoreSource) throws(PersistentStoreError) -> StoreMetadata {
    var records = try RecordReader(source, depth: depth)
    return try records.description().metadata
  }

  public mutating func load(_ source: StoreSource, into nodes: NodeTableBuilder) throws(PersistentStoreError) {
    var records = try RecordReader(source, depth: depth)
    let expected = try records.description().count
    // Before anything is taken for a value: one bit that is not what it was, and the file is refused.
    try records.checkDigest()
    var count = 0
    while true {
      let name = try records.text()
      if name.isEmpty { break }
      guard let entity = nodes.model.entity(named: name) else {
        throw PersistentStoreError(.modelMismatch, "the model has no entity '\(name)'", at: records.place)
      }
      count += try load(entity, &records, into: nodes)
    }
    guard count == expected, records.isAtDigest else {
      throw records.failure("the file reports \(expected) objects, and holds \(count)")
    }
  }

  private func load(
    _ entity: Entity, _ records: inout RecordReader, into nodes: NodeTableBuilder
  ) throws(PersistentStoreError) -> Int {
    var slots: [Slot] = []
    for _ in 0..<(try records.count(of: 8)) {
      let name = try records.text()
      guard let slot = entity.slot(named: name), !slots.contains(where: { $0.index == slot }) else {
        throw PersistentStoreError(
          .modelMismatch, "\(entity.name) has no property '\(name)', or it is here twice", at: records.place)
      }
      slots.append(entity.slots[slot])
    }
    let count = try records.count(of: 9)
    for _ in 0..<count {
      try nodes.beginNode(entity: entity.index, reference: try records.reference())
      for slot in slots { try load(slot, &records, into: nodes) }
    }
    return count
  }

  private func load(
    _ slot: Slot, _ records: inout RecordReader, into nodes: NodeTableBuilder
  ) throws(PersistentStoreError) {
    switch (slot.kind, try records.tag()) {
    case (_, .null): break
    case (.attribute(let type), let tag):
      guard let value = try records.value(tag), !value.isNull, type.accepts(value) else {
        throw PersistentStoreError(
          .invalidValue, "the value is not of type \(type.modelName)", at: nodes.location(slot.index))
      }
      try nodes.set(value, slot: slot.index)
    case (.toOne, .reference): try nodes.set(toOne: try records.reference(), slot: slot.index)
    case (.toMany, .references):
      for _ in 0..<(try records.count(of: 9)) { try nodes.append(toMany: try records.reference(), slot: slot.index) }
    default:
      throw PersistentStoreError(.malformed, "a relationship holds something else", at: nodes.location(slot.index))
    }
  }

  // MARK: Writing

  public mutating func save(_ snapshot: StoreSnapshot, to staged: StagedFiles) throws(PersistentStoreError) {
    let nodes = snapshot.nodes
    var records = RecordWriter()
    try records.description(snapshot.metadata, count: nodes.model.entities.reduce(0) { $0 + nodes.count(of: $1.index) })
    for entity in nodes.model.entities where nodes.count(of: entity.index) > 0 {
      let reader = nodes.reader(of: entity.index)
      records.text(entity.name)
      records.count(entity.slots.count)
      for slot in entity.slots { records.text(slot.name) }
      records.count(reader.count)
      for row in 0..<reader.count {
        records.reference(reader.reference(row: row))
        for slot in entity.slots { records.value(slot, reader, row, nodes) }
      }
    }
    records.text("")
    records.digest()
    try staged.file().write(records.bytes)
  }
}

/// The conformance checks damage what is behind the digest, too.
extension JSONLinesStore: ChecksummedStore {
  public static func recomputeChecksum(of payload: [String: [UInt8]]) -> [String: [UInt8]]? {
    payload.mapValues { bytes in
      var records = RecordWriter(bytes: Array(bytes.dropLast(8)))
      records.digest()
      return records.bytes
    }
  }

  public static func newerVersion(of files: [String: [UInt8]]) -> [String: [UInt8]]? {
    recomputeChecksum(of: files.mapValues { signature + [version + 1] + $0.dropFirst(signature.count + 1) })
  }

  public static func crafted(from files: [String: [UInt8]]) -> [CraftedStore] {
    let longer = recomputeChecksum(of: files.mapValues { $0.dropLast(8) + [UInt8](repeating: 0, count: 9) })
    return longer.map { [CraftedStore("a byte between the last record and the digest", files: $0, .refused)] } ?? []
  }
}
