import AtomicStoreSPI

extension ThreeWayMerge {
  /// Objects whose entity a side changed within its hierarchy. Their slots are others than those of the base, so one
  /// side's object is taken as a whole: the one that changed, or by the rule if both did.
  mutating func decideEntities() throws {
    let moved = movedNodes()
    guard !moved.isEmpty else { return }
    movedObjects = Set(moved.map(\.object))
    // A reference to one of these objects names its new entity. That alone does not change the object that refers to
    // it.
    var originals = (first: ObjectNames(), second: ObjectNames())
    for node in moved {
      originals.first[first.objectReference(of: node.mine)] = node.object
      originals.second[second.objectReference(of: node.theirs)] = node.object
    }
    for node in moved {
      let one = first.objectReference(of: node.mine)
      let other = second.objectReference(of: node.theirs)
      let takesSecond = takesSecond(node, originals)
      let name = takesSecond ? other : one
      if name != node.object { namesOfBase[node.object] = name }
      if name != one { namesOfFirst[one] = name }
      if name != other { names[other] = name }
      takenWhole.append(takesSecond ? (node.theirs, .second) : (node.mine, .first))
      guard takesSecond, let here = nodes.handle(for: one), let own = nodes.model.entity(named: other.entityName) else {
        continue
      }
      guard one != other else {
        for slot in own.slots { try nodes.set(.null, slot: slot.index, of: here) }
        added.append((node.theirs, here))
        continue
      }
      nodes.remove(here)
      added.append((node.theirs, try nodes.addCacheNode(entity: own.index, reference: other.reference)))
    }
    try renameReferences()
  }

  private struct MovedNode {
    let object: ObjectReference
    let original: NodeHandle
    let mine: NodeHandle
    let theirs: NodeHandle
  }

  private func movedNodes() -> [MovedNode] {
    var found: [MovedNode] = []
    for entity in base.model.entities {
      for node in base.handles(of: entity.index) {
        let object = base.objectReference(of: node)
        guard let mine = first.handle(for: object), let theirs = second.handle(for: object),
          first.name(of: mine) != entity.name || second.name(of: theirs) != entity.name
        else { continue }
        found.append(MovedNode(object: object, original: node, mine: mine, theirs: theirs))
      }
    }
    return found
  }

  private mutating func takesSecond(
    _ node: MovedNode, _ originals: (first: ObjectNames, second: ObjectNames)
  ) -> Bool {
    let one = first.name(of: node.mine)
    let other = second.name(of: node.theirs)
    let name = node.object.entityName
    if one == other, isIdentical(node, originals) { return false }
    let changesFirst = isChanged(node.mine, first, node.original, originals.first, [:])
    let changesSecond = isChanged(node.theirs, second, node.original, originals.second, [:])
    guard changesFirst, changesSecond else { return changesSecond }
    let conflict = StoreMerge.Conflict(
      object: node.object, property: nil, first: one == name ? "changed" : "now of the entity \(one)",
      second: other == name ? "changed" : "now of the entity \(other)")
    return decision.takesSecond(conflict, (first, node.mine), (second, node.theirs))
  }

  /// Whether two objects of one entity have the same values, except for what follows from others.
  private func isIdentical(_ node: MovedNode, _ originals: (first: ObjectNames, second: ObjectNames)) -> Bool {
    first.model.entity(at: node.mine.entity).slots.allSatisfy { slot in
      slot.followsFromInverse(in: first.model) || slot.isDerived
        || first.value(slot: slot.index, of: node.mine).renamed(originals.first)
          .isIdentical(to: second.value(slot: slot.index, of: node.theirs).renamed(originals.second))
    }
  }

  /// Relationships name objects with their entities.
  private mutating func renameReferences() throws {
    guard !namesOfFirst.isEmpty else { return }
    for entity in nodes.model.entities {
      for slot in entity.slots where slot.isRelationship {
        for node in nodes.handles(of: entity.index) {
          let value = nodes.value(slot: slot.index, of: node)
          let moved = value.references.compactMap { namesOfFirst[$0] }
          guard !moved.isEmpty else { continue }
          let renamed = value.renamed(namesOfFirst)
          do { try nodes.set(renamed, slot: slot.index, of: node) } catch {
            // It cannot name some of them any more. The side that moved them has taken out what the base had; but what
            // the other one has put in would be lost.
            let former = formerReferences(of: nodes.objectReference(of: node), slot)
            guard former.isSuperset(of: moved.filter { !slot.accepts($0, in: nodes.model) }) else { throw error }
            try nodes.set(renamed.accepted(by: slot, in: nodes.model), slot: slot.index, of: node)
          }
        }
      }
    }
  }

  /// What an object's relationship named in the base, by the names in the result.
  private func formerReferences(of object: ObjectReference, _ slot: Slot) -> Set<ObjectReference> {
    guard let node = base.handle(for: object), base.name(of: node) == object.entityName else { return [] }
    return Set(base.value(slot: slot.index, of: node).renamed(namesOfBase).references)
  }
}

extension Slot {
  /// Whether objects of a reference's entity can be in the relationship.
  func accepts(_ reference: ObjectReference, in model: ManagedObjectModel) -> Bool {
    guard let destination, let entity = model.entity(named: reference.entityName) else { return false }
    return entity.isKindOf(entity: model.entity(at: destination))
  }
}

extension StoredValue {
  /// The value without objects of entities that a relationship does not lead to.
  func accepted(by slot: Slot, in model: ManagedObjectModel) -> StoredValue {
    switch self {
    case .toOne(let reference) where !slot.accepts(reference, in: model): .null
    case .toMany(let list): .toMany(list.filter { slot.accepts($0, in: model) })
    default: self
    }
  }
}
