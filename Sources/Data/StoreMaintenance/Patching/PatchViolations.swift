import AtomicStoreSPI
import StoreCoordination

/// What a patched graph breaks of the model's rules that the graph before did not: values, required values and objects,
/// numbers of objects, uniqueness constraints. What is broken already stays as it was; otherwise no patch would fit a
/// store that is invalid.
struct PatchViolations {
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
    NewFindings(in: new, allowsEmptyNonOptionalToMany: allowsEmptyNonOptionalToMany).since([(old, [:])]).map {
      PatchConflict(object: $0.object, property: $0.property, found: $0.value, message: $0.message)
    }
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
        if let number = known[Membership(group, ObjectIdentity(node, new))] { parts[number, default: []].append(node) }
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
    var object: ObjectIdentity

    init(_ group: UniquenessGroup, _ object: ObjectIdentity) {
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
      for node in group.nodes { known[Membership(group, ObjectIdentity(node, old))] = number }
    }
    return known
  }
}
