import AtomicStoreSPI
import FoundationEssentials
import StorePredicates

/// A node that expressions are evaluated on, without an object graph.
final class NodeSubject: PredicateSubject {
  private let nodes: NodeTable
  private let node: NodeHandle
  private let entity: Entity
  private let store: UUID

  init(_ nodes: NodeTable, _ node: NodeHandle, store: UUID) {
    self.nodes = nodes
    self.node = node
    self.store = store
    entity = nodes.model.entity(at: node.entity)
  }

  var predicateEntityName: String { entity.name }
  var objectID: ManagedObjectID {
    ManagedObjectID(storeIdentifier: store, entityName: entity.name, reference: nodes.reference(of: node))
  }
  func isKnown(by id: ManagedObjectID) -> Bool { id == objectID }
  func precedes(_ other: any PredicateSubject) -> Bool {
    guard let other = other as? NodeSubject else { return false }
    return nodes.reference(of: node) < other.nodes.reference(of: other.node)
  }

  func predicateProperty(named name: String) -> PredicateProperty? {
    entity.slot(named: name).map { PredicateProperty(index: $0, isComposite: false) }
  }

  func predicateValue(of property: PredicateProperty) throws(PredicateEvaluationError) -> PredicateValue {
    switch nodes.value(slot: property.index, of: node) {
    case .toOne(let other): return subject(other).map { .object($0) } ?? .null
    case .toMany(let others): return .list(others.compactMap { subject($0).map { .object($0) } })
    case let value: return .value(value)
    }
  }

  private func subject(_ reference: ObjectReference) -> NodeSubject? {
    nodes.handle(for: reference).map { NodeSubject(nodes, $0, store: store) }
  }

  var predicatePropertyNames: [String] { entity.slots.map(\.name) }
  var stepBudget: StepBudget? { nil }
  var customFunctions: CustomFunctions? { nil }
}
