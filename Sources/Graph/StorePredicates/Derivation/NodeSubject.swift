package import AtomicStoreSPI
package import FoundationEssentials

/// A node that expressions are evaluated on, without an object graph.
package final class NodeSubject: PredicateSubject {
  private let nodes: NodeTable
  package let node: NodeHandle
  private let entity: Entity
  private let store: UUID
  package let stepBudget: StepBudget?
  /// The composites that were asked for: their parts have slots, they have none.
  private var composites: [String] = []

  /// - Parameters:
  ///   - store: The UUID of the store that the nodes are of.
  ///   - budget: The steps that expressions may take for all nodes together; nil for a budget of each node.
  package init(_ nodes: NodeTable, _ node: NodeHandle, store: UUID, budget: StepBudget? = nil) {
    self.nodes = nodes
    self.node = node
    self.store = store
    stepBudget = budget
    entity = nodes.model.entity(at: node.entity)
  }

  package var predicateEntityName: String { entity.name }
  package var predicateEntity: Entity? { entity }
  package var objectID: ManagedObjectID {
    ManagedObjectID(storeIdentifier: store, entityName: entity.name, reference: nodes.reference(of: node))
  }
  package func isKnown(by id: ManagedObjectID) -> Bool { id == objectID }
  package func precedes(_ other: any PredicateSubject) -> Bool {
    guard let other = other as? NodeSubject else { return false }
    return nodes.reference(of: node) < other.nodes.reference(of: other.node)
  }

  package func predicateProperty(named name: String) -> PredicateProperty? {
    if let slot = entity.slot(named: name) { return PredicateProperty(index: slot, isComposite: false) }
    guard !parts(of: name).isEmpty else { return nil }
    composites.append(name)
    return PredicateProperty(index: composites.count - 1, isComposite: true)
  }

  private func parts(of composite: String) -> [Slot] {
    entity.slots.filter { $0.name.utf8.starts(with: (composite + ".").utf8) }
  }

  package func predicateValue(of property: PredicateProperty) throws(PredicateEvaluationError) -> PredicateValue {
    if property.isComposite {
      let name = composites[property.index]
      let values = parts(of: name).map { ($0.name, PredicateValue.value(nodes.value(slot: $0.index, of: node))) }
      return .composite(PredicateComposite(name: name, parts: values))
    }
    switch nodes.value(slot: property.index, of: node) {
    case .toOne(let other): return subject(other).map { .object($0) } ?? .null
    case .toMany(let others): return .list(others.compactMap { subject($0).map { .object($0) } })
    case let value: return .value(value)
    }
  }

  private func subject(_ reference: ObjectReference) -> NodeSubject? {
    nodes.handle(for: reference).map { NodeSubject(nodes, $0, store: store, budget: stepBudget) }
  }

  package var predicatePropertyNames: [String] { entity.slots.map(\.name) }
  package var customFunctions: CustomFunctions? { nil }
}
