import AtomicStoreSPI

/// Makes both ends of relationships agree after records were added to a store.
///
/// Only ends that records state can contradict each other. An end that no record states follows the stated ends: it
/// gets the objects that name it now, and loses those that no longer do. What no record concerns stays as it is.
struct InverseReconciliation {
  private let stated: StatedEnds
  /// The store before the import; nil if there is none.
  private let old: NodeTable?
  private(set) var nodes: NodeTable
  /// Stated ends that contradict each other.
  private(set) var problems: [GraphProblem] = []
  /// How many objects follow what records state, by relationship.
  private(set) var notes: [SelectionNote] = []

  /// - Parameters:
  ///   - nodes: The objects of the store with the values of the records. The store's two ends agree; those of the
  ///     records need not.
  ///   - old: The objects of the store before.
  init(_ nodes: NodeTable, _ stated: StatedEnds, since old: NodeTable?) {
    self.nodes = nodes
    self.stated = stated
    self.old = old
  }

  /// How the values of one end change that no record states.
  private struct Changes {
    /// The object whose record names this one, for a to-one.
    var owners: [NodeHandle: NodeHandle] = [:]
    var added: [NodeHandle: [NodeHandle]] = [:]
    var removed: [NodeHandle: Set<NodeHandle>] = [:]
  }

  mutating func run() throws(PersistentStoreError) {
    for pair in nodes.model.inversePairs where isStated(pair.first, pair.second) || isStated(pair.second, pair.first) {
      if pair.isOwnInverse {
        var changes = Changes()
        var same = Changes()
        collect(pair.first, pair.first, &changes, &same)
        // Objects lose their partner at this end, and get another one at the other, which is the same.
        changes.removed.merge(same.removed) { $0.union($1) }
        try apply(changes, at: pair.first, facing: pair.first)
      } else {
        var first = Changes()
        var second = Changes()
        collect(pair.first, pair.second, &second, &first)
        collect(pair.second, pair.first, &first, &second)
        try apply(first, at: pair.first, facing: pair.second)
        try apply(second, at: pair.second, facing: pair.first)
      }
    }
  }

  /// The entities whose objects may be at an end.
  private func entities(at end: InversePair.End, facing other: InversePair.End) -> [Int] {
    nodes.model.entity(at: other.destination).hierarchy.map(\.index)
  }

  private func isStated(_ end: InversePair.End, _ other: InversePair.End) -> Bool {
    entities(at: end, facing: other).contains { stated.hasAny(entity: $0, slot: end.slot) }
  }

  // MARK: What follows

  /// Collects what follows from the stated values of an end.
  ///
  /// - Parameters:
  ///   - changes: Those of the other end.
  ///   - own: Those of this end: objects whose partner in a one-to-one, or whose member, now belongs to another one.
  private mutating func collect(
    _ end: InversePair.End, _ other: InversePair.End, _ changes: inout Changes, _ own: inout Changes
  ) {
    let ends = EndReader(nodes)
    let before = old.map { EndReader($0) }
    for entity in entities(at: end, facing: other) {
      for node in stated.nodes(entity: entity, slot: end.slot) {
        let targets = ends.targets(of: node, end)
        let previous = before.map { previousTargets(of: node, end, $0) } ?? []
        if targets.isEmpty, previous.isEmpty { continue }
        let known = MemberSet(previous)
        for target in targets {
          if stated.contains(target, slot: other.slot) {
            if !ends.names(target, other, node) { addDisagreement(node, end, target, other) }
            continue
          }
          if other.isToMany {
            if !known.contains(target) { changes.added[target, default: []].append(node) }
            continue
          }
          if let owner = changes.owners[target], owner != node {
            addDoubleOwner(owner, node, end, target, other)
            continue
          }
          changes.owners[target] = node
          guard let loser = ends.targets(of: target, other).first, loser != node,
            !stated.contains(loser, slot: end.slot)
          else { continue }
          own.removed[loser, default: []].insert(target)
        }
        let remaining = MemberSet(targets)
        for target in previous where !remaining.contains(target) && !stated.contains(target, slot: other.slot) {
          changes.removed[target, default: []].insert(node)
        }
      }
    }
  }

  /// What an object named in the store, as objects of the result.
  private func previousTargets(of node: NodeHandle, _ end: InversePair.End, _ before: EndReader) -> [NodeHandle] {
    guard let old, let there = old.handle(for: nodes.reference(of: node), entity: node.entity),
      there.entity == node.entity
    else { return [] }
    return before.targets(of: there, end).compactMap { nodes.handle(for: old.reference(of: $0), entity: $0.entity) }
  }

  /// Sets the values of an end that no record states.
  private mutating func apply(
    _ changes: Changes, at end: InversePair.End, facing other: InversePair.End
  ) throws(PersistentStoreError) {
    let concerned = Set(changes.owners.keys).union(changes.added.keys).union(changes.removed.keys)
    var counts: [Int: Int] = [:]
    for node in concerned.sorted(by: { ($0.entity, $0.row) < ($1.entity, $1.row) }) {
      let value = nodes.value(slot: end.slot, of: node)
      let result: StoredValue
      if end.isToMany {
        guard case .toMany(let list) = value else { continue }
        let removed = Set((changes.removed[node] ?? []).map { nodes.objectReference(of: $0) })
        // Members that stay keep their order; new ones follow in the order of references.
        let added = (changes.added[node] ?? []).sorted { nodes.reference(of: $0) < nodes.reference(of: $1) }
        result = .toMany(list.filter { !removed.contains($0) } + added.map { nodes.objectReference(of: $0) })
      } else if let owner = changes.owners[node] {
        result = .toOne(nodes.objectReference(of: owner))
      } else {
        guard case .toOne(let partner) = value, let there = nodes.handle(for: partner),
          changes.removed[node]?.contains(there) ?? false
        else { continue }
        result = .null
      }
      if result.isIdentical(to: value) { continue }
      try nodes.set(result, slot: end.slot, of: node)
      counts[node.entity, default: 0] += 1
    }
    for (entity, count) in counts.sorted(by: { $0.key < $1.key }) {
      notes.append(
        SelectionNote(
          subject: "\(nodes.model.entity(at: entity).name).\(end.name)", count: count,
          text: "changed to agree with '\(other.name)'"))
    }
  }

  // MARK: Contradictions

  private mutating func addDisagreement(
    _ node: NodeHandle, _ end: InversePair.End, _ target: NodeHandle, _ other: InversePair.End
  ) {
    let (object, named) = (nodes.objectReference(of: node), nodes.objectReference(of: target))
    problems.append(.disagreement(of: object, end.name, with: named, other.name))
    // Which of the two records is wrong is not known.
    problems.append(
      GraphProblem(
        objects: [named], property: other.name, value: "\(object)",
        message: "\(object) is not named here, but its '\(end.name)' names \(named): correct one of the two, or leave "
          + "one of the two columns out",
        kind: .reference))
  }

  private mutating func addDoubleOwner(
    _ one: NodeHandle, _ two: NodeHandle, _ end: InversePair.End, _ target: NodeHandle, _ other: InversePair.End
  ) {
    for (node, rival) in [(one, two), (two, one)] {
      let named = nodes.objectReference(of: target)
      problems.append(
        GraphProblem(
          objects: [nodes.objectReference(of: node)], property: end.name, value: "\(named)",
          message: "\(named) is named here and by \(nodes.objectReference(of: rival)), but its '\(other.name)' can "
            + "name only one object",
          kind: .reference))
    }
  }
}

/// Members of a to-many, in a set if there are many.
private struct MemberSet {
  private let list: [NodeHandle]
  private let set: Set<NodeHandle>?

  init(_ list: [NodeHandle]) {
    self.list = list
    set = list.count > 8 ? Set(list) : nil
  }

  func contains(_ node: NodeHandle) -> Bool { set?.contains(node) ?? list.contains(node) }
}

/// Reads the values of an end.
private final class EndReader {
  private let readers: [EntityReader]
  private var members: [NodeHandle: MemberSet] = [:]

  init(_ nodes: NodeTable) { readers = (0..<nodes.model.entityCount).map { nodes.reader(of: $0) } }

  func targets(of node: NodeHandle, _ end: InversePair.End) -> [NodeHandle] {
    let reader = readers[node.entity]
    guard end.isToMany else { return reader.toOne(slot: end.slot, row: node.row).map { [$0] } ?? [] }
    let list = reader.toMany(slot: end.slot, row: node.row)
    return list.withUnsafeBufferPointer { Array($0) }
  }

  /// Whether an object names another one. A to-many is read once.
  func names(_ node: NodeHandle, _ end: InversePair.End, _ other: NodeHandle) -> Bool {
    guard end.isToMany else { return readers[node.entity].toOne(slot: end.slot, row: node.row) == other }
    if let known = members[node] { return known.contains(other) }
    let found = MemberSet(targets(of: node, end))
    members[node] = found
    return found.contains(other)
  }
}
