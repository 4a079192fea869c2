import AtomicStoreSPI

/// Finds objects whose required relationships the records leave without a value.
struct RequiredRelationshipCheck {
  private let stated: StatedEnds
  /// The store before the import; nil if there is none.
  private let old: NodeTable?
  private let nodes: NodeTable

  /// - Parameter nodes: The objects after the import, whose two ends agree.
  init(_ nodes: NodeTable, _ stated: StatedEnds, since old: NodeTable?) {
    self.nodes = nodes
    self.stated = stated
    self.old = old
  }

  /// - Returns: New objects that are to have several others, which may follow.
  /// - Throws: `ImportStop.graph` with, for each other object, the record because of which it is without a value.
  func run() throws(ImportStop) -> [SelectionNote] {
    var problems: [GraphProblem] = []
    var notes: [SelectionNote] = []
    for entity in nodes.model.entities {
      let required = entity.slots.filter { $0.isRelationship && !$0.isOptional }
      if required.isEmpty { continue }
      let reader = nodes.reader(of: entity.index)
      var waiting: [Int: Int] = [:]
      for node in nodes.handles(of: entity.index) {
        for slot in required
        where slot.isToMany
          ? reader.toMany(slot: slot.index, row: node.row).isEmpty
          : reader.toOne(slot: slot.index, row: node.row) == nil
        {
          if let problem = problem(of: node, slot) {
            problems.append(problem)
          } else if isNew(node) {
            waiting[slot.index, default: 0] += 1
          }
        }
      }
      for (slot, count) in waiting.sorted(by: { $0.key < $1.key }) {
        notes.append(
          SelectionNote(
            subject: "\(entity.name).\(entity.slots[slot].name)", count: count,
            text: "new objects have none, although the model requires one: 'check' lists them"))
      }
    }
    guard problems.isEmpty else { throw ImportStop.graph(problems) }
    return notes
  }

  private func isNew(_ node: NodeHandle) -> Bool { old?.handle(for: nodes.objectReference(of: node)) == nil }

  /// - Returns: nil where the store had no value either: that is not the tables' fault. Nil also for a new object that
  ///   is to have several others: they may follow.
  private func problem(of node: NodeHandle, _ slot: Slot) -> GraphProblem? {
    let object = nodes.objectReference(of: node)
    guard let (cause, property) = cause(of: node, slot, previousTargets(of: node, slot)) else {
      guard isNew(node), !slot.isToMany else { return nil }
      return GraphProblem(
        objects: [object], property: slot.name, value: "", message: "a value is needed", kind: .missing)
    }
    return GraphProblem(
      objects: [nodes.objectReference(of: cause)], property: property, value: "\(object)",
      message: "this leaves \(object) without '\(slot.name)', which the model requires", kind: .missing)
  }

  /// What an object named in the store, as objects of the result; nothing if the store does not have it.
  private func previousTargets(of node: NodeHandle, _ slot: Slot) -> [NodeHandle] {
    guard let old, let there = old.handle(for: nodes.reference(of: node), entity: node.entity),
      there.entity == node.entity
    else { return [] }
    let targets: [ObjectReference] =
      switch old.value(slot: slot.index, of: there) {
      case .toOne(let target): [target]
      case .toMany(let list): list
      default: []
      }
    return targets.compactMap { nodes.handle(for: $0) }
  }

  /// The record because of which an object lost what it named, and the relationship that the record states.
  private func cause(of node: NodeHandle, _ slot: Slot, _ before: [NodeHandle]) -> (NodeHandle, property: String)? {
    if before.isEmpty { return nil }
    if stated.contains(node, slot: slot.index) { return (node, slot.name) }
    guard let inverse = slot.inverseSlot else { return nil }
    for partner in before {
      let other = nodes.model.entity(at: partner.entity).slots[inverse]
      if stated.contains(partner, slot: inverse) { return (partner, other.name) }
      // It belongs to an object now whose record names it.
      if case .toOne(let owner) = nodes.value(slot: inverse, of: partner), let found = nodes.handle(for: owner),
        stated.contains(found, slot: slot.index)
      {
        return (found, nodes.model.entity(at: found.entity).slots[slot.index].name)
      }
    }
    return nil
  }
}
