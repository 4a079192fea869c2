import AtomicStoreSPI
import StoreMaintenance

/// Finds objects whose relationships the records leave with fewer or more objects than the model allows.
struct RelationshipRuleCheck {
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
  /// - Throws: `ImportStop.graph` with, for each other object, the records because of which it breaks the rule. What
  ///   the store had already is not the tables' fault.
  func run() throws(ImportStop) -> [SelectionNote] {
    var waiting: [NodeHandle: Int] = [:]
    let findings = NewFindings(in: nodes, .relationships) { node, slot in
      guard isNew(node) else { return previousTargets(of: node, slot).isEmpty }
      // By entity and slot.
      waiting[NodeHandle(entity: node.entity, row: slot.index), default: 0] += 1
      return true
    }.since(old.map { [(nodes: $0, names: [:])] } ?? [])
    let problems = findings.flatMap(problems)
    guard problems.isEmpty else { throw ImportStop.graph(problems) }
    return waiting.sorted { ($0.key.entity, $0.key.row) < ($1.key.entity, $1.key.row) }.map { key, count in
      let entity = nodes.model.entity(at: key.entity)
      return SelectionNote(
        subject: "\(entity.name).\(entity.slots[key.row].name)", count: count,
        text: "new objects have none, although the model requires one: 'check' lists them")
    }
  }

  private func isNew(_ node: NodeHandle) -> Bool { old?.handle(for: nodes.objectReference(of: node)) == nil }

  private func problems(_ finding: CheckFinding) -> [GraphProblem] {
    guard let object = finding.object, let node = nodes.handle(for: object), let property = finding.property,
      let slot = nodes.model.entity(at: node.entity).slot(named: property).map({
        nodes.model.entity(at: node.entity).slots[$0]
      })
    else { return [] }
    let before = previousTargets(of: node, slot)
    let excess = excess(of: node, slot, before)
    guard excess.isEmpty else {
      let inverse = slot.inverseSlot.map { nodes.model.entity(at: excess[0].entity).slots[$0].name }
      return excess.map { partner in
        GraphProblem(
          objects: [nodes.objectReference(of: partner)], property: inverse ?? slot.name, value: "\(object)",
          message: "\(object).\(property) has \(finding.message)")
      }
    }
    let kind = finding.kind == .missing ? ImportProblem.Kind.missing : .rule
    guard let (cause, causing) = cause(of: node, slot, before) else {
      return [
        GraphProblem(
          objects: [object], property: property, value: finding.value ?? "",
          message: finding.kind == .missing ? "a value is needed" : finding.message, kind: kind)
      ]
    }
    return [
      GraphProblem(
        objects: [nodes.objectReference(of: cause)], property: causing, value: "\(object)",
        message: kind == .missing
          ? "this leaves \(object) without '\(property)', which the model requires"
          : cause == node ? finding.message : "\(object).\(property) has \(finding.message)", kind: kind)
    ]
  }

  /// Of the objects that a to-many has too many of, the last ones whose records put them there. None if the object's
  /// own record has them.
  private func excess(of node: NodeHandle, _ slot: Slot, _ before: [NodeHandle]) -> [NodeHandle] {
    guard slot.isToMany, let maximum = slot.relationship?.maximumCount, maximum > 0, let inverse = slot.inverseSlot,
      !stated.contains(node, slot: slot.index)
    else { return [] }
    let members = nodes.targets(of: node, slot)
    guard members.count > maximum else { return [] }
    let known = Set(before)
    let added = members.filter { !known.contains($0) && stated.contains($0, slot: inverse) }
      .sorted { ($0.entity, $0.row) < ($1.entity, $1.row) }
    return added.suffix(members.count - maximum)
  }

  /// What an object named in the store, as objects of the result; nothing if the store does not have it.
  private func previousTargets(of node: NodeHandle, _ slot: Slot) -> [NodeHandle] {
    guard let old, let there = old.handle(for: nodes.reference(of: node), entity: node.entity),
      there.entity == node.entity
    else { return [] }
    return old.targets(of: there, slot).compactMap { nodes.handle(for: old.objectReference(of: $0)) }
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

extension NodeTable {
  /// The objects that a relationship leads to.
  fileprivate func targets(of node: NodeHandle, _ slot: Slot) -> [NodeHandle] {
    switch value(slot: slot.index, of: node) {
    case .toOne(let target): handle(for: target).map { [$0] } ?? []
    case .toMany(let list): list.compactMap { handle(for: $0) }
    default: []
    }
  }
}
