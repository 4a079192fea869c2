import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials
import Synchronization

/// A call that the kit made to a store, and what was seen there.
struct SpyCall: Codable, Sendable {
  enum What: String, Codable { case metadata, load, newReference, newNode, update, willRemove, save }
  var what: What
  /// The objects concerned: entity and reference.
  var objects: [String] = []
  /// What was not as it should be; nil for nothing.
  var problem: String?
}

/// Writes down what is called. Outside of everything: what it hears is what the kit says.
struct SpyStore<Base: AtomicStore>: AtomicStore {
  private var base: Base

  static var storeType: String { Base.storeType }
  static var traits: StoreTraits { Base.traits }
  static func recognize(_ probe: StoreProbe) -> Recognition { Base.recognize(probe) }
  var traits: StoreTraits { base.traits }
  var layout: StoreLayout { base.layout }

  init(_ configuration: StoreConfiguration) throws(PersistentStoreError) { base = try Base(configuration) }

  mutating func metadata(in source: StoreSource) throws(PersistentStoreError) -> StoreMetadata {
    Spy.note(.metadata)
    return try base.metadata(in: source)
  }
  mutating func inferModel(from source: StoreSource) throws(PersistentStoreError) -> ModelDescription {
    try base.inferModel(from: source)
  }
  mutating func load(_ source: StoreSource, into nodes: NodeTableBuilder) throws(PersistentStoreError) {
    Spy.note(.load)
    try base.load(source, into: nodes)
  }
  var writesDeferredValues: Bool { base.writesDeferredValues }

  mutating func value(slot: Int, of node: NodeHandle, in nodes: NodeTable) throws(PersistentStoreError) -> StoredValue {
    try base.value(slot: slot, of: node, in: nodes)
  }
  mutating func newReferenceObject(
    for object: ManagedObjectSnapshot, in nodes: NodeTable, metadata: inout StoreMetadata
  ) throws(PersistentStoreError) -> ReferenceObject {
    let reference = try base.newReferenceObject(for: object, in: nodes, metadata: &metadata)
    Spy.note(.newReference, ["\(nodes.model.entity(at: object.entity).name)/\(reference)"])
    return reference
  }
  mutating func newCacheNode(
    for object: ManagedObjectSnapshot, in nodes: inout NodeTable
  ) throws(PersistentStoreError) -> NodeHandle {
    let before = nodes.count
    let node = try base.newCacheNode(for: object, in: &nodes)
    var problem: String?
    if nodes.count != before + 1 { problem = "\(nodes.count - before) nodes were created" }
    if nodes.reference(of: node) != object.reference || node.entity != object.entity {
      problem = "the node is \(nodes.objectReference(of: node))"
    }
    for (slot, value) in object.values where !nodes.model.isRelationship(slot: slot, of: object.entity) {
      let kept = nodes.value(slot: slot, of: node)
      if !kept.isIdentical(to: value) { problem = "slot \(slot) holds \(kept) instead of \(value)" }
    }
    Spy.note(.newNode, [nodes.objectReference(of: node).description], problem)
    if Spy.attaches {
      let payload = SpyPayload()
      Spy.remember(payload, for: nodes.objectReference(of: node).description)
      nodes.setPayload(payload, of: node)
    }
    return node
  }
  mutating func updateCacheNode(
    _ node: NodeHandle, from object: ManagedObjectSnapshot, in nodes: inout NodeTable
  ) throws(PersistentStoreError) {
    let name = nodes.objectReference(of: node).description
    let isSame = nodes.reference(of: node) == object.reference && node.entity == object.entity
    Spy.note(
      .update, [name], isSame ? nil : "the object is \(object.reference.map(\.description) ?? "without a reference")")
    try base.updateCacheNode(node, from: object, in: &nodes)
  }
  mutating func willRemoveCacheNodes(_ removed: [NodeHandle], from nodes: inout NodeTable) {
    var problem: String?
    for node in removed {
      if !nodes.contains(node) { problem = "a node was gone already" }
      for slot in nodes.model.entity(at: node.entity).slots where nodes.contains(node) {
        _ = nodes.value(slot: slot.index, of: node)
      }
    }
    Spy.note(.willRemove, removed.map { nodes.objectReference(of: $0).description }.sorted(), problem)
    base.willRemoveCacheNodes(removed, from: &nodes)
  }
  func selection(from snapshot: StoreSnapshot) throws(PersistentStoreError) -> StoreSelection? {
    try base.selection(from: snapshot)
  }
  mutating func save(_ snapshot: StoreSnapshot, to staged: StagedFiles) throws(PersistentStoreError) {
    Spy.note(.save)
    try base.save(snapshot, to: staged)
  }
  mutating func willRemove(from coordinator: (any StoreCoordinating)?) { base.willRemove(from: coordinator) }
}

/// Hangs on a node, to see when it goes.
final class SpyPayload: Sendable {}

/// What was heard in this process.
enum Spy {
  private struct WeakPayload { weak var payload: SpyPayload? }
  private static let heard = Mutex<[SpyCall]>([])
  private static let payloads = Mutex<[String: WeakPayload]>([:])
  // Set before the store is opened, by the one thread that there is.
  nonisolated(unsafe) static var attaches = false

  static func note(_ what: SpyCall.What, _ objects: [String] = [], _ problem: String? = nil) {
    heard.withLock { $0.append(SpyCall(what: what, objects: objects, problem: problem)) }
  }
  static func forget() { heard.withLock { $0 = [] } }
  /// The calls so far. A fault of the kit's own is planted here: what it would have called.
  static var calls: [SpyCall] {
    let calls = heard.withLock { $0 }
    return FaultHooks.current.calls?(calls) ?? calls
  }
  static func remember(_ payload: SpyPayload, for name: String) {
    payloads.withLock { $0[name] = WeakPayload(payload: payload) }
  }
  /// The nodes whose payload is still held by someone.
  static var living: Set<String> { payloads.withLock { Set($0.filter { $0.value.payload != nil }.keys) } }
}
