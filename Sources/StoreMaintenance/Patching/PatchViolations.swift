import AtomicStoreSPI
import StoreCoordination

/// What a patched graph breaks of the model's rules that the graph before did not: values, required values and objects,
/// numbers of objects, uniqueness constraints. What is broken already stays as it was; otherwise no patch would fit a
/// store that is invalid.
struct PatchViolations {
  /// An object in both graphs. It may have moved to another entity of its hierarchy.
  private struct Identity: Hashable {
    var root: Int
    var reference: ReferenceObject
  }
  /// What is broken.
  private struct Breach: Hashable {
    var object: Identity
    var property: ScalarString
    var kind: CheckFinding.Kind
    var rule: String?
  }
  private let old: NodeTable
  private let new: NodeTable

  private let allowsEmptyNonOptionalToMany: Bool

  init(from old: NodeTable, to new: NodeTable, allowsEmptyNonOptionalToMany: Bool) {
    self.old = old
    self.new = new
    self.allowsEmptyNonOptionalToMany = allowsEmptyNonOptionalToMany
  }

  /// The violations, by entity, as what does not fit.
  func conflicts() -> [PatchConflict] { values() + uniqueness() }

  // MARK: Values

  private func values() -> [PatchConflict] {
    var findings = Self.findings(in: new)
    if allowsEmptyNonOptionalToMany { findings.removeAll { $0.kind == .missing && $0.isWarning } }
    guard !findings.isEmpty else { return [] }
    let known = Set(Self.findings(in: old).compactMap(breach))
    return findings.filter { finding in breach(finding).map { !known.contains($0) } ?? true }.map {
      PatchConflict(object: $0.object, property: $0.property, found: $0.value, message: $0.message)
    }
  }

  private static func findings(in nodes: NodeTable) -> [CheckFinding] {
    var list = FindingList(limit: nil)
    for entity in nodes.model.entities where nodes.count(of: entity.index) > 0 {
      EntityCheck(nodes, entity).run(&list)
    }
    return list.sorted
  }

  private func breach(_ finding: CheckFinding) -> Breach? {
    guard let object = finding.object, let entity = new.model.entity(named: object.entityName),
      let property = finding.property
    else { return nil }
    return Breach(
      object: Identity(root: entity.root.index, reference: object.reference), property: ScalarString(property),
      kind: finding.kind, rule: finding.rule)
  }

  // MARK: Uniqueness

  private func uniqueness() -> [PatchConflict] {
    let groups = UniquenessGroup.all(in: new)
    guard !groups.isEmpty else { return [] }
    let known = sharedBefore()
    var conflicts: [PatchConflict] = []
    for group in groups {
      // Those that shared their values before are allowed to.
      var parts: [Int: [NodeHandle]] = [:]
      for node in group.nodes {
        if let number = known[Membership(group, identity(node, new))] { parts[number, default: []].append(node) }
      }
      let before = parts.max { ($0.value.count, -$0.key) < ($1.value.count, -$1.key) }?.value ?? []
      let allowed = before.count > 1 ? before : Array(group.nodes.prefix(1))
      guard let first = allowed.first else { continue }
      let (isAllowed, other) = (Set(allowed), new.objectReference(of: first))
      for node in group.nodes where !isAllowed.contains(node) {
        conflicts.append(
          PatchConflict(
            object: new.objectReference(of: node), property: group.constraint.joined(separator: ", "),
            found: group.keyText, message: "'\(group.keyText)' is also that of \(other), and must be unique"))
      }
    }
    return conflicts
  }

  /// An object in a group of equal values.
  private struct Membership: Hashable {
    var entity: Int
    var constraint: [ScalarString]
    var object: Identity

    init(_ group: UniquenessGroup, _ object: Identity) {
      entity = group.entity.index
      constraint = group.constraint.map { ScalarString($0) }
      self.object = object
    }
  }

  /// The objects of the old graph that break a uniqueness constraint, with the number of the group that they break it
  /// in.
  private func sharedBefore() -> [Membership: Int] {
    var known: [Membership: Int] = [:]
    for (number, group) in UniquenessGroup.all(in: old).enumerated() {
      for node in group.nodes { known[Membership(group, identity(node, old))] = number }
    }
    return known
  }

  private func identity(_ node: NodeHandle, _ nodes: NodeTable) -> Identity {
    Identity(root: nodes.model.entity(at: node.entity).root.index, reference: nodes.reference(of: node))
  }
}
