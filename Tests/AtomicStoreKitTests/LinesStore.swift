import AtomicStoreKit
import FoundationEssentials
import Synchronization

/// A test format: a line for each node, values as text. It supplies one attribute on first read, hangs a payload on its
/// nodes, derives references where told to, and writes down which of its hooks are called.
struct LinesStore: AtomicStore {
  static let storeType = "Lines"
  static let traits = StoreTraits(
    summary: "Lines of text, for tests", fileExtensions: ["lines"], isSelfDescribing: false,
    readOptions: [
      StoreOption(
        name: "defer", help: "Supply names on first read; carry: and write those that no one read as they are.",
        values: ["yes", "no", "carry"]),
      StoreOption(name: "fail", help: "Where to fail.", values: ["load", "save", "never"]),
    ])

  /// What the hooks note, shared by the values of one test.
  final class Journal: Sendable {
    private let lines = Mutex<[String]>([])
    func note(_ line: String) { lines.withLock { $0.append(line) } }
    var all: [String] { lines.withLock { $0 } }
  }
  @TaskLocal static var journal = Journal()

  let options: StoreOptions
  private var names: [Int64: String] = [:]

  static func recognize(_ probe: StoreProbe) -> Recognition { probe.begins(with: "LINES 1\n") ? .yes : .no }

  init(_ configuration: StoreConfiguration) throws(PersistentStoreError) {
    options = configuration.options
    Self.journal.note("init")
  }

  private func lines(_ source: StoreSource) throws(PersistentStoreError) -> [[String]] {
    let bytes = try source.bytes().withUnsafeBytes { Array($0) }
    return String(decoding: bytes, as: UTF8.self).split(separator: "\n").dropFirst()
      .map { $0.split(separator: "\t", omittingEmptySubsequences: false).map(String.init) }
  }

  mutating func metadata(in source: StoreSource) throws(PersistentStoreError) -> StoreMetadata {
    Self.journal.note("metadata")
    guard let head = try lines(source).first, head.count == 3, let uuid = UUID(uuidString: head[0]),
      let last = Int64(head[1])
    else { throw PersistentStoreError(.malformed, "no head", at: StoreLocation(file: source.name, line: 2)) }
    var entries = PropertyListDictionary()
    if !head[2].isEmpty { entries["note"] = .string(head[2]) }
    return StoreMetadata(storeType: Self.storeType, uuid: uuid, entries: entries, lastReference: last)
  }

  mutating func load(_ source: StoreSource, into nodes: NodeTableBuilder) throws(PersistentStoreError) {
    Self.journal.note("load")
    if options["fail"] == "load" { throw PersistentStoreError(.malformed, "asked to fail") }
    guard let person = nodes.model.entity(named: "Person"), let name = person.slot(named: "name"),
      let friend = person.slot(named: "friend"), let friends = person.slot(named: "friends")
    else { return }
    // A line names one friend: who has whom for a friend is the other end.
    nodes.markAbsent(slot: friends, entity: person.index)
    for (index, fields) in try lines(source).dropFirst().enumerated() {
      guard fields.count == 3, let reference = Int64(fields[0]) else {
        throw PersistentStoreError(.malformed, "three fields", at: StoreLocation(file: source.name, line: index + 3))
      }
      try nodes.beginNode(entity: person.index, reference: reference, line: index + 3)
      nodes.attach("payload of \(reference)")
      if options["defer"] == "yes" || options["defer"] == "carry" {
        names[reference] = fields[1]
        nodes.defer(slot: name)
      } else {
        try nodes.set(.string(fields[1]), slot: name)
      }
      if let other = Int64(fields[2]) { try nodes.set(toOne: other, slot: friend) }
    }
  }

  var writesDeferredValues: Bool { options["defer"] == "carry" }

  mutating func value(slot: Int, of node: NodeHandle, in nodes: NodeTable) throws(PersistentStoreError) -> StoredValue {
    Self.journal.note("value \(nodes.reference(of: node))")
    guard case .integer(let reference) = nodes.reference(of: node), let name = names[reference] else { return .null }
    return .string(name)
  }

  mutating func newCacheNode(
    for object: ManagedObjectSnapshot, in nodes: inout NodeTable
  ) throws(PersistentStoreError) -> NodeHandle {
    Self.journal.note("new \(object.reference.map(\.description) ?? "?")")
    guard let reference = object.reference else { throw PersistentStoreError(.internalInconsistency, "no reference") }
    let node = try nodes.addCacheNode(entity: object.entity, reference: reference)
    if let slot = nodes.model.entity(at: object.entity).slot(named: "name"), let value = object.values[slot] {
      // By name, as a format may.
      try nodes.setValue(value, forKey: "name", of: node)
    }
    nodes.setPayload("payload of \(reference)", of: node)
    return node
  }

  mutating func updateCacheNode(
    _ node: NodeHandle, from object: ManagedObjectSnapshot, in nodes: inout NodeTable
  ) throws(PersistentStoreError) {
    Self.journal.note("update \(nodes.reference(of: node))")
    for (slot, value) in object.values { try nodes.set(value, slot: slot, of: node) }
  }

  mutating func willRemoveCacheNodes(_ removed: [NodeHandle], from nodes: inout NodeTable) {
    Self.journal.note("remove \(removed.map { nodes.reference(of: $0).description }.joined(separator: ","))")
  }

  mutating func save(_ snapshot: StoreSnapshot, to staged: StagedFiles) throws(PersistentStoreError) {
    Self.journal.note("save")
    if options["fail"] == "save" { throw PersistentStoreError(.unsupportedByFormat, "asked to fail") }
    var text = "LINES 1\n\(snapshot.metadata.uuid)\t\(snapshot.metadata.lastReference)\t"
    text += "\(snapshot.metadata.entries["note"]?.stringValue ?? "")\n"
    if let person = snapshot.nodes.model.entity(named: "Person"), let name = person.slot(named: "name"),
      let friend = person.slot(named: "friend")
    {
      let reader = snapshot.nodes.reader(of: person.index)
      for row in 0..<reader.count {
        let other = reader.toOne(slot: friend, row: row).map { "\(snapshot.nodes.reference(of: $0))" } ?? ""
        var value = reader.string(slot: name, row: row)
        if snapshot.nodes.isDeferred(slot: name, of: NodeHandle(entity: person.index, row: row)),
          case .integer(let reference) = reader.reference(row: row)
        {
          value = names[reference] ?? ""
        }
        text += "\(reader.reference(row: row))\t\(value)\t\(other)\n"
      }
    }
    try staged.file().write(Array(text.utf8))
  }

  mutating func willRemove(from coordinator: (any StoreCoordinating)?) {
    Self.journal.note(coordinator == nil ? "willRemove nil" : "willRemove")
  }
}

/// People with a name, a friend, and friends the other way.
let peopleModel = ModelDescription(entities: [
  EntityDescription(
    name: "Person",
    properties: [
      .attribute("name", .string),
      .toOne("friend", "Person", inverse: "friends"),
      .toMany("friends", "Person", inverse: "friend"),
    ])
])
