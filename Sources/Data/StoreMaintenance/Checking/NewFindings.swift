package import AtomicStoreSPI
import StorePredicates

/// What objects are called, by what they are called in one of the graphs that another one is made of.
package typealias ObjectNames = [ObjectReference: ObjectReference]

/// An object in several graphs. It may be in another entity of its hierarchy in each.
struct ObjectIdentity: Hashable {
  var root: Int
  var reference: ReferenceObject

  init(_ node: NodeHandle, _ nodes: NodeTable) {
    root = nodes.model.entity(at: node.entity).root.index
    reference = nodes.reference(of: node)
  }

  /// - Returns: nil for an entity that the model does not have.
  init?(_ object: ObjectReference, in model: ManagedObjectModel) {
    guard let entity = model.entity(named: object.entityName) else { return nil }
    root = entity.root.index
    reference = object.reference
  }
}

/// The rules of the model that objects of a graph break and that they did not break in the graphs it was made of. What
/// was broken may stay as it was, and a number of objects may come closer to its bound; otherwise no change would fit a
/// store that is invalid. Another value that breaks the same rule is a new finding.
package struct NewFindings {
  private struct Breach: Hashable {
    var object: ObjectIdentity
    var property: ScalarString
    var kind: CheckFinding.Kind
    var rule: String?
  }
  /// What broke a rule.
  private enum Cause {
    case nothing
    case value(StoredValue)
    case excess(Int)

    /// Whether it is the same as before, or closer to the rule.
    func isAsGood(as before: Cause) -> Bool {
      switch (self, before) {
      case (.nothing, .nothing): true
      case (.value(let now), .value(let value)): now == value
      case (.excess(let now), .excess(let excess)): now <= excess
      default: false
      }
    }
  }
  private let nodes: NodeTable
  private let part: CheckedProperties
  private let mayBeEmpty: (NodeHandle, Slot) -> Bool

  /// - Parameter allowsEmptyNonOptionalToMany: Leaves out to-manys that are not optional, have no minimum count and are
  ///   empty.
  init(in nodes: NodeTable, allowsEmptyNonOptionalToMany: Bool) {
    self.init(in: nodes, .all) { _, _ in allowsEmptyNonOptionalToMany }
  }

  /// - Parameters:
  ///   - part: Which properties are looked at.
  ///   - mayBeEmpty: Whether a to-many that is not optional, has no minimum count and is empty is left out.
  package init(in nodes: NodeTable, _ part: CheckedProperties, mayBeEmpty: @escaping (NodeHandle, Slot) -> Bool) {
    self.nodes = nodes
    self.part = part
    self.mayBeEmpty = mayBeEmpty
  }

  /// The findings by kind, entity and reference.
  ///
  /// - Parameter sources: The graphs before, with what their objects are called now.
  package func since(_ sources: [(nodes: NodeTable, names: ObjectNames)]) -> [CheckFinding] {
    let findings = findings(in: nodes, mayBeEmpty)
    guard !findings.isEmpty else { return [] }
    var known: [Breach: [Cause]] = [:]
    for source in sources {
      for finding in self.findings(in: source.nodes, { _, _ in false }) {
        guard let breach = breach(finding, source.names) else { continue }
        known[breach, default: []].append(cause(finding, source.nodes))
      }
    }
    return findings.filter { finding in
      guard let breach = breach(finding, [:]), let causes = known[breach] else { return true }
      let cause = cause(finding, nodes)
      return !causes.contains { cause.isAsGood(as: $0) }
    }
  }

  private func cause(_ finding: CheckFinding, _ nodes: NodeTable) -> Cause {
    if let excess = finding.excess { return .excess(excess) }
    guard finding.kind == .rule, let node = finding.object.flatMap({ nodes.handle(for: $0) }),
      let slot = finding.property.flatMap({ nodes.model.entity(at: node.entity).slot(named: $0) })
    else { return .nothing }
    return .value(nodes.value(slot: slot, of: node))
  }

  private func findings(in nodes: NodeTable, _ mayBeEmpty: (NodeHandle, Slot) -> Bool) -> [CheckFinding] {
    var list = FindingList(limit: nil)
    let budget = StepBudget()
    for entity in nodes.model.entities where nodes.count(of: entity.index) > 0 {
      EntityCheck(nodes, entity, budget).run(&list, part, mayBeEmpty: mayBeEmpty)
    }
    return list.sorted
  }

  private func breach(_ finding: CheckFinding, _ names: ObjectNames) -> Breach? {
    guard let object = finding.object, let property = finding.property,
      let identity = ObjectIdentity(names[object] ?? object, in: nodes.model)
    else { return nil }
    return Breach(object: identity, property: ScalarString(property), kind: finding.kind, rule: finding.rule)
  }
}
