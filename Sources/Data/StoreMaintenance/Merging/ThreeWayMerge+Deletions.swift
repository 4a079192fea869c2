import AtomicStoreSPI

/// Objects that one side deleted. They are gone, unless the other side changed them or has a new reference to them:
/// then the conflict rule decides.
///
/// A decision applies to every value: a reference to an object that it deletes has the value of the side that deleted
/// the object, and a to-one of an object that it keeps names what it named on the side that kept it.
extension ThreeWayMerge {
  /// - Returns: The objects of the result to remove.
  mutating func decideDeletions() throws -> [NodeHandle] {
    let uses = (
      first: newUses(in: first, ofThoseMissingIn: second), second: newUses(in: second, ofThoseMissingIn: first)
    )
    var deleted: [ObjectReference] = []
    var kept: Set<ObjectReference> = []
    for entity in base.model.entities {
      for node in base.handles(of: entity.index) {
        let object = base.objectReference(of: node)
        if movedObjects.contains(object) { continue }
        let (mine, theirs) = (first.handle(for: object), second.handle(for: object))
        guard (mine == nil) != (theirs == nil), let there = mine ?? theirs else { continue }
        let side = mine == nil ? Side.second : .first
        deleted.append(object)
        let isChanged =
          side == .first
          ? isChanged(there, first, node, namesOfFirst, namesOfBase)
          : isChanged(there, second, node, names, namesOfBase)
        let use = side == .first ? uses.first[object] : uses.second[object]
        guard let reason = isChanged ? "changed" : use else { continue }
        if try decide(object, there, side, reason) { kept.insert(object) }
      }
    }
    try keepNamedObjects(&kept)
    return deleted.compactMap { kept.contains($0) || first.handle(for: $0) == nil ? nil : nodes.handle(for: $0) }
  }

  private func graph(of side: Side) -> NodeTable { side == .first ? first : second }

  /// Decides about an object that only one side still has.
  ///
  /// - Returns: Whether it is kept.
  private mutating func decide(
    _ object: ObjectReference, _ node: NodeHandle, _ side: Side, _ reason: String
  ) throws -> Bool {
    let conflict = StoreMerge.Conflict(
      object: object, property: nil, first: side == .first ? reason : "deleted",
      second: side == .first ? "deleted" : reason)
    let name = graph(of: side).objectReference(of: node)
    guard decision.takesSecond(conflict, nil, nil) == (side == .second) else {
      guard decision.open.isEmpty else { return false }
      if side == .first { decidedOfFirst.deleted.insert(name) } else { decidedOfSecond.deleted.insert(name) }
      return false
    }
    // The side that kept it may also have changed its entity.
    if name != object { namesOfBase[object] = name }
    if side == .first {
      decidedOfSecond.kept.insert(name)
    } else {
      decidedOfFirst.kept.insert(name)
      let entity = nodes.model.entity(named: name.entityName)?.index ?? node.entity
      added.append((node, try nodes.addCacheNode(entity: entity, reference: object.reference)))
    }
    takenWhole.append((node, side))
    return true
  }

  /// Keeps the objects that to-ones of the result name because of a decision, although the side that lost it deleted
  /// them: otherwise the value would be that of neither side.
  private mutating func keepNamedObjects(_ kept: inout Set<ObjectReference>) throws {
    // Without a decision there is no result.
    guard decision.open.isEmpty else { return }
    lostReferences = referencesToDeleted(of: .first) + referencesToDeleted(of: .second)
    for lost in lostReferences {
      let name = graph(of: lost.side).name(of: lost.node)
      guard let there = counterpart(of: lost), graph(of: lost.side.other).name(of: there) == name else { continue }
      try keepObject(namedBy: lost.slot, there, lost.side.other, &kept)
    }
    // Each object that is kept may name others.
    var next = 0
    while next < takenWhole.count {
      let (node, side) = takenWhole[next]
      next += 1
      for slot in graph(of: side).model.entity(at: node.entity).slots where slot.isRelationship && !slot.isToMany {
        try keepObject(namedBy: slot, node, side, &kept)
      }
    }
  }

  /// The object that the other side has in place of one with a lost reference.
  private func counterpart(of lost: LostReference) -> NodeHandle? {
    graph(of: lost.side.other).handle(for: graph(of: lost.side).objectReference(of: lost.node))
  }

  private func referencesToDeleted(of side: Side) -> [LostReference] {
    let deleted = side == .first ? decidedOfFirst.deleted : decidedOfSecond.deleted
    guard !deleted.isEmpty else { return [] }
    let graph = graph(of: side)
    var found: [LostReference] = []
    for entity in graph.model.entities {
      for slot in entity.slots where slot.isRelationship && !slot.isToMany {
        for node in graph.handles(of: entity.index) {
          guard case .toOne(let reference) = graph.value(slot: slot.index, of: node), deleted.contains(reference),
            !deleted.contains(graph.objectReference(of: node)), !isOfBase(reference, slot, node, graph)
          else { continue }
          found.append(LostReference(side: side, node: node, slot: slot))
        }
      }
    }
    return found
  }

  /// Whether an object named another one already in the base.
  private func isOfBase(_ reference: ObjectReference, _ slot: Slot, _ node: NodeHandle, _ graph: NodeTable) -> Bool {
    guard let there = base.handle(for: graph.objectReference(of: node)), base.name(of: there) == graph.name(of: node),
      case .toOne(let old) = base.value(slot: slot.index, of: there)
    else { return false }
    return base.handle(for: old) == base.handle(for: reference)
  }

  /// Adds the to-ones that get the value of the side that deleted what they name to the settled conflicts.
  mutating func settleLostReferences() {
    for lost in lostReferences {
      let graph = graph(of: lost.side)
      let object = graph.objectReference(of: lost.node)
      let value = graph.value(slot: lost.slot.index, of: lost.node).shownText
      let other = counterpart(of: lost).flatMap {
        self.graph(of: lost.side.other).value(forKey: lost.slot.name, of: $0)
      }
      let shown = (other ?? .null).shownText
      let isFirst = lost.side == .first
      decision.settle(
        StoreMerge.Conflict(
          object: (isFirst ? namesOfFirst : names)[object] ?? object, property: lost.slot.name,
          first: isFirst ? value : shown, second: isFirst ? shown : value))
    }
  }

  private mutating func keepObject(
    namedBy slot: Slot, _ node: NodeHandle, _ side: Side, _ kept: inout Set<ObjectReference>
  ) throws {
    let graph = graph(of: side)
    guard case .toOne(let name) = graph.value(slot: slot.index, of: node), let there = graph.handle(for: name),
      self.graph(of: side.other).handle(for: name) == nil, let original = base.handle(for: name)
    else { return }
    let object = base.objectReference(of: original)
    guard !kept.contains(object) else { return }
    let reason = "the value of \(graph.objectReference(of: node)).\(slot.name)"
    if try decide(object, there, side, reason) { kept.insert(object) }
  }

  /// What refers in a graph, but not in the base, to objects that the other graph deleted: the first such property of
  /// each, as text. Without this, a reference that one side made would go with what the other side deleted.
  private func newUses(in graph: NodeTable, ofThoseMissingIn other: NodeTable) -> [ObjectReference: String] {
    var deleted: Set<ObjectReference> = []
    for entity in base.model.entities {
      for node in base.handles(of: entity.index) {
        let object = base.objectReference(of: node)
        if other.handle(for: object) == nil, graph.handle(for: object) != nil { deleted.insert(object) }
      }
    }
    guard !deleted.isEmpty else { return [:] }
    var uses: [ObjectReference: String] = [:]
    for entity in graph.model.entities {
      for slot in entity.slots where slot.isRelationship && !slot.followsFromInverse(in: graph.model) {
        for node in graph.handles(of: entity.index) {
          let used = graph.value(slot: slot.index, of: node).references.filter { deleted.contains($0) }
          guard !used.isEmpty else { continue }
          let object = graph.objectReference(of: node)
          let original = base.handle(for: object).flatMap { base.name(of: $0) == object.entityName ? $0 : nil }
          let before = Set(original.map { base.value(slot: slot.index, of: $0).references } ?? [])
          for reference in used where !before.contains(reference) && uses[reference] == nil {
            uses[reference] = "the value of \(object).\(slot.name)"
          }
        }
      }
    }
    return uses
  }
}

/// A to-one of one side that names, unlike in the base, an object which a decision deletes.
struct LostReference {
  let side: ThreeWayMerge.Side
  let node: NodeHandle
  let slot: Slot
}

/// What was decided about objects that one side has and the other side deleted, as far as it concerns the values of one
/// of the two sides.
struct DecidedDeletions {
  /// Objects that this side deleted, and that the result has.
  var kept: Set<ObjectReference> = []
  /// Objects that this side has, and that the result does not have.
  var deleted: Set<ObjectReference> = []

  var isEmpty: Bool { kept.isEmpty && deleted.isEmpty }

  /// The value that a relationship of this side would have if it had been set knowing the decisions.
  func applied(
    to value: StoredValue, _ before: StoredValue, _ slot: Slot, _ model: ManagedObjectModel
  ) -> StoredValue {
    if isEmpty { return value }
    // A kept object may have become one that this relationship cannot name.
    let before = before.accepted(by: slot, in: model)
    if case .toOne(let reference) = value, deleted.contains(reference) { return before }
    switch (value, before) {
    case (.null, .toOne(let old)) where kept.contains(old): return before
    case (.null, .toMany(let old)), (.toMany([]), .toMany(let old)):
      let restored = old.filter(kept.contains)
      return restored.isEmpty ? value : .toMany(restored)
    case (.toMany(let list), .toMany(let old)):
      let there = Set(list)
      let missing = old.filter { kept.contains($0) && !there.contains($0) }
      guard !missing.isEmpty else { return value }
      // Where nothing else changed, also the sequence is that of before.
      let restored = there.union(missing)
      if list == old.filter({ there.contains($0) }), restored.count == old.count { return before }
      return .toMany(list + missing)
    default: return value
    }
  }
}
