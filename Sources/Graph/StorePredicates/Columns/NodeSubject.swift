package import AtomicStoreSPI
package import FoundationEssentials
import StorePrimitives

/// A node that expressions are evaluated on, without an object graph.
package final class NodeSubject: PredicateSubject {
  /// What all subjects have that are reached from one: the table, and the keys that were asked for.
  private final class Table {
    let nodes: NodeTable
    let store: UUID
    let stepBudget: StepBudget?
    private var entities: [Int: Keys] = [:]

    init(_ nodes: NodeTable, _ store: UUID, _ budget: StepBudget?) {
      self.nodes = nodes
      self.store = store
      stepBudget = budget
    }

    func keys(of entity: Int) -> Keys {
      if let keys = entities[entity] { return keys }
      let keys = Keys(entity, nodes)
      entities[entity] = keys
      return keys
    }
  }

  /// The keys of an entity that were asked for: few, and each for many nodes.
  private final class Keys {
    let entity: Entity
    private(set) var known: [(name: String, slots: [Slot], isComposite: Bool)] = []
    /// For relationships.
    private(set) lazy var reader = nodes.reader(of: entity.index)
    private let nodes: NodeTable

    init(_ entity: Int, _ nodes: NodeTable) {
      self.entity = nodes.model.entity(at: entity)
      self.nodes = nodes
    }

    func property(named name: String) -> PredicateProperty? {
      let found = known.firstIndex { $0.name.hasSameScalars(as: name) } ?? add(name)
      return found.map { PredicateProperty(index: $0, isComposite: known[$0].isComposite) }
    }

    private func add(_ name: String) -> Int? {
      let slot = entity.slot(named: name).map { entity.slots[$0] }
      // The parts of a composite have slots, it has none.
      let slots = slot.map { [$0] } ?? entity.slots.filter { $0.name.utf8.starts(with: (name + ".").utf8) }
      guard !slots.isEmpty else { return nil }
      known.append((name, slots, slot == nil))
      return known.count - 1
    }
  }

  private let table: Table
  package private(set) var node: NodeHandle
  private var keys: Keys

  /// - Parameters:
  ///   - store: The UUID of the store that the nodes are of.
  ///   - budget: The steps that expressions may take for all nodes together; nil for a budget of each node.
  package convenience init(_ nodes: NodeTable, _ node: NodeHandle, store: UUID, budget: StepBudget? = nil) {
    self.init(Table(nodes, store, budget), node)
  }

  /// A subject for each of some nodes.
  package static func all(
    _ nodes: some Sequence<NodeHandle>, of table: NodeTable, store: UUID, budget: StepBudget?
  ) -> [NodeSubject] {
    let table = Table(table, store, budget)
    return nodes.map { NodeSubject(table, $0) }
  }

  private init(_ table: Table, _ node: NodeHandle) {
    self.table = table
    self.node = node
    keys = table.keys(of: node.entity)
  }

  /// Makes it another node of the table. Values that hold the subject are of the new node from then on.
  func move(to other: NodeHandle) {
    if other.entity != node.entity { keys = table.keys(of: other.entity) }
    node = other
  }

  package var stepBudget: StepBudget? { table.stepBudget }
  package var predicateEntityName: String { keys.entity.name }
  package var predicateEntity: Entity? { keys.entity }
  package var subjectNumber: UInt64 { node.rawBits }
  package var objectID: ManagedObjectID {
    ManagedObjectID(
      storeIdentifier: table.store, entityName: keys.entity.name, reference: table.nodes.reference(of: node))
  }
  package func isKnown(by id: ManagedObjectID) -> Bool { id == objectID }
  package func precedes(_ other: any PredicateSubject) -> Bool {
    guard let other = other as? NodeSubject else { return false }
    return table.nodes.reference(of: node) < other.table.nodes.reference(of: other.node)
  }

  package func predicateProperty(named name: String) -> PredicateProperty? { keys.property(named: name) }

  package func predicateValue(of property: PredicateProperty) throws(PredicateEvaluationError) -> PredicateValue {
    let known = keys.known[property.index]
    if property.isComposite {
      let values = known.slots.map { ($0.name, PredicateValue.value(table.nodes.value(slot: $0.index, of: node))) }
      return .composite(PredicateComposite(name: known.name, parts: values))
    }
    let slot = known.slots[0].index
    switch known.slots[0].kind {
    case .attribute: return .value(table.nodes.value(slot: slot, of: node))
    case .toOne: return keys.reader.toOne(slot: slot, row: node.row).flatMap { subject($0) } ?? .null
    case .toMany:
      let others = keys.reader.toMany(slot: slot, row: node.row)
      var list: [PredicateValue] = []
      list.reserveCapacity(others.count)
      for index in others.indices { if let other = subject(others[index]) { list.append(other) } }
      return .list(list)
    }
  }

  /// Nil for a node that was removed.
  private func subject(_ node: NodeHandle) -> PredicateValue? {
    table.nodes.contains(node) ? .object(NodeSubject(table, node)) : nil
  }

  package var predicatePropertyNames: [String] { keys.entity.slots.map(\.name) }
  package var customFunctions: CustomFunctions? { nil }
}
