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

/// Hangs on a node, to see when it goes.
final class SpyPayload: Sendable {}

/// What was heard in this process, by the ``FaultyStore`` around the format: what the kit says, before a planted fault
/// changes it.
enum Spy {
  private struct WeakPayload { weak var payload: SpyPayload? }
  private static let heard = Mutex<[SpyCall]>([])
  private static let payloads = Mutex<[String: WeakPayload]>([:])
  // Both are set before the store is opened, by the one thread that there is.
  nonisolated(unsafe) static var isListening = false
  nonisolated(unsafe) static var attaches = false

  static func note(
    _ what: SpyCall.What, _ objects: @autoclosure () -> [String] = [], _ problem: @autoclosure () -> String? = nil
  ) {
    guard isListening else { return }
    let call = SpyCall(what: what, objects: objects(), problem: problem())
    heard.withLock { $0.append(call) }
  }

  /// Notes a node that was made.
  static func noteNew(
    _ node: NodeHandle, from object: ManagedObjectSnapshot, in nodes: inout NodeTable, countBefore: Int
  ) {
    guard isListening else { return }
    var problem: String?
    if nodes.count != countBefore + 1 { problem = "\(nodes.count - countBefore) nodes were created" }
    if nodes.reference(of: node) != object.reference || node.entity != object.entity {
      problem = "the node is \(nodes.objectReference(of: node))"
    }
    for (slot, value) in object.values where !nodes.model.isRelationship(slot: slot, of: object.entity) {
      let kept = nodes.value(slot: slot, of: node)
      if !kept.isIdentical(to: value) { problem = "slot \(slot) holds \(kept) instead of \(value)" }
    }
    note(.newNode, [nodes.objectReference(of: node).description], problem)
    guard attaches else { return }
    let payload = SpyPayload()
    remember(payload, for: nodes.objectReference(of: node).description)
    nodes.setPayload(payload, of: node)
  }

  /// Notes nodes that are about to be removed.
  static func noteRemoval(_ removed: [NodeHandle], from nodes: NodeTable) {
    guard isListening else { return }
    var problem: String?
    for node in removed {
      if !nodes.contains(node) { problem = "a node was gone already" }
      for slot in nodes.model.entity(at: node.entity).slots where nodes.contains(node) {
        _ = nodes.value(slot: slot.index, of: node)
      }
    }
    note(.willRemove, removed.map { nodes.objectReference(of: $0).description }.sorted(), problem)
  }

  static func forget() { heard.withLock { $0 = [] } }
  /// The calls so far. A fault of the kit's own is planted here: what it would have called.
  static var calls: [SpyCall] {
    let calls = heard.withLock { $0 }
    return FaultHooks.current.calls?(calls) ?? calls
  }
  private static func remember(_ payload: SpyPayload, for name: String) {
    payloads.withLock { $0[name] = WeakPayload(payload: payload) }
  }
  /// The nodes whose payload is still held by someone.
  static var living: Set<String> { payloads.withLock { Set($0.filter { $0.value.payload != nil }.keys) } }
}
