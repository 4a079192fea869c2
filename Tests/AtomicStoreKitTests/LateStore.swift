import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials

/// A test format of one file: a line for each object, with values in base 64, where a run of one byte is its count.
/// Values of at least four kilobytes are supplied on first read, from what the load kept.
struct LateStore: AtomicStore {
  static let storeType = "Late"
  static let traits = StoreTraits(
    summary: "Values in base 64, for tests", fileExtensions: ["late"], isSelfDescribing: false)
  /// Whether the load says how much a run stands for.
  @TaskLocal static var saysSize = true
  /// Whether long values are deferred.
  @TaskLocal static var defersValues = true

  private struct Key: Hashable {
    var object: ObjectReference
    var slot: Int
  }
  private var kept: [Key: StoredValue] = [:]

  static func recognize(_ probe: StoreProbe) -> Recognition { probe.begins(with: "LATE 1\n") ? .yes : .no }

  init(_ configuration: StoreConfiguration) throws(PersistentStoreError) {}

  private func lines(_ source: StoreSource) throws(PersistentStoreError) -> [[String]] {
    let bytes = try source.bytes().withUnsafeBytes { Array($0) }
    return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map { line in
      line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
    }
  }

  mutating func metadata(in source: StoreSource) throws(PersistentStoreError) -> StoreMetadata {
    guard let head = try lines(source).dropFirst().first, let uuid = UUID(uuidString: head[0]) else {
      throw PersistentStoreError(.malformed, "no head", at: StoreLocation(file: source.name, line: 2))
    }
    var metadata = StoreMetadata(storeType: Self.storeType, uuid: uuid, lastReference: Int64(head[1]) ?? 0)
    let list = String(decoding: Data(base64Encoded: head[2]) ?? Data(), as: UTF8.self)
    if case .dictionary(let entries) = try PropertyListValue(typedText: list) { metadata.entries = entries }
    return metadata
  }

  mutating func load(_ source: StoreSource, into nodes: NodeTableBuilder) throws(PersistentStoreError) {
    for fields in try lines(source).dropFirst(2) {
      guard let entity = nodes.model.entity(named: fields[0]), let reference = Int64(fields[1]) else {
        throw PersistentStoreError(.malformed, "no object", at: StoreLocation(file: source.name))
      }
      try nodes.beginNode(entity: entity.index, reference: reference)
      for slot in entity.slots {
        guard let value = Self.value(fields[slot.index + 2], slot) else { continue }
        if Self.saysSize, fields[slot.index + 2].hasPrefix("*") { nodes.addInput(bytes: Self.size(value)) }
        if Self.defersValues, Self.size(value) >= 4 << 10 {
          let object = ObjectReference(entityName: entity.name, reference: .integer(reference))
          kept[Key(object: object, slot: slot.index)] = value
          nodes.defer(slot: slot.index)
        } else {
          try nodes.set(value, slot: slot.index)
        }
      }
    }
  }

  private static func size(_ value: StoredValue) -> Int {
    switch value {
    case .string(let text): text.utf8.count
    case .data(let data): data.count
    default: 0
    }
  }

  private static func value(_ field: String, _ slot: Slot) -> StoredValue? {
    guard !field.isEmpty else { return nil }
    var data = Data(base64Encoded: String(field.dropFirst())) ?? Data()
    if field.hasPrefix("*") {
      let run = field.dropFirst().split(separator: " ").compactMap { Int($0) }
      data = Data(repeating: UInt8(run[0]), count: run[1])
    }
    return slot.attributeType == .string ? .string(String(decoding: data, as: UTF8.self)) : .data(data)
  }

  mutating func value(slot: Int, of node: NodeHandle, in nodes: NodeTable) throws(PersistentStoreError) -> StoredValue {
    guard let value = kept[Key(object: nodes.objectReference(of: node), slot: slot)] else {
      throw PersistentStoreError(.internalInconsistency, "\(nodes.objectReference(of: node)) was not deferred")
    }
    return value
  }

  mutating func save(_ snapshot: StoreSnapshot, to staged: StagedFiles) throws(PersistentStoreError) {
    let metadata = snapshot.metadata
    let list = Data(try PropertyListValue.dictionary(metadata.entries).typedText.utf8).base64EncodedString()
    var text = "LATE 1\n\(metadata.uuid)\t\(metadata.lastReference)\t\(list)\n"
    for entity in snapshot.nodes.model.entities {
      let reader = snapshot.nodes.reader(of: entity.index)
      for row in 0..<reader.count {
        let fields = entity.slots.map { slot -> String in
          let bytes = reader.bytes(slot: slot.index, row: row).withUnsafeBufferPointer { Array($0) }
          guard !reader.isNull(slot: slot.index, row: row) else { return "" }
          if bytes.count > 9, bytes.allSatisfy({ $0 == bytes[0] }) { return "*\(bytes[0]) \(bytes.count)" }
          return "=" + Data(bytes).base64EncodedString()
        }
        text += ([entity.name, "\(reader.reference(row: row))"] + fields).joined(separator: "\t") + "\n"
      }
    }
    try staged.file().write(Array(text.utf8))
  }
}
