import AtomicStoreSPI

/// Makes the two ends of one-to-one relationships agree where a conflict rule decided one of them.
///
/// The rule decides about objects that both sides have and changed. The object at the other end may be in one store
/// only, or changed by one side only: then it still has that side's value, although the other side won.
struct OneToOneEnds {
  private struct End: Hashable {
    let node: NodeHandle
    let slot: Int
  }
  private var decided: Set<End> = []

  /// A relationship that was cleared.
  struct Cleared {
    let node: NodeHandle
    let slot: Slot
    /// The object that it named.
    let partner: ObjectReference
  }

  /// Notes that a conflict of an object of the result was decided by the rule.
  mutating func decide(_ node: NodeHandle, _ slot: Slot) {
    guard slot.isRelationship, !slot.isToMany else { return }
    decided.insert(End(node: node, slot: slot.index))
  }

  /// Clears what names an object that does not name it back because the rule decided so.
  ///
  /// - Throws: `.inverseMismatch` where the model requires the value that would be cleared.
  func clear(in nodes: inout NodeTable) throws(PersistentStoreError) -> [Cleared] {
    guard !decided.isEmpty else { return [] }
    let slots = Set(decided.map(\.slot))
    var cleared: [Cleared] = []
    for pair in nodes.model.inversePairs where !pair.first.isToMany && !pair.second.isToMany {
      for (end, other) in pair.isOwnInverse
        ? [(pair.first, pair.second)]
        : [
          (pair.first, pair.second), (pair.second, pair.first),
        ] where slots.contains(other.slot)
      {
        cleared += try clear(end, facing: other, in: &nodes)
      }
    }
    return cleared
  }

  private func clear(
    _ end: InversePair.End, facing other: InversePair.End, in nodes: inout NodeTable
  ) throws(PersistentStoreError) -> [Cleared] {
    var cleared: [Cleared] = []
    for entity in nodes.model.entity(at: other.destination).hierarchy {
      let slot = entity.slots[end.slot]
      for node in nodes.handles(of: entity.index) where !decided.contains(End(node: node, slot: end.slot)) {
        guard case .toOne(let partner) = nodes.value(slot: end.slot, of: node),
          let there = nodes.handle(for: partner), decided.contains(End(node: there, slot: other.slot))
        else { continue }
        let back = nodes.value(slot: other.slot, of: there)
        let object = nodes.objectReference(of: node)
        if back.isIdentical(to: .toOne(object)) { continue }
        guard slot.isOptional else {
          throw PersistentStoreError(
            .inverseMismatch,
            "\(partner) is named here, but its '\(other.name)' is \(back.shownText) by the conflict rule, and the "
              + "model requires a value of '\(slot.name)'",
            at: StoreLocation(entity: entity.name, reference: object.reference.description, property: slot.name))
        }
        try nodes.set(.null, slot: end.slot, of: node)
        cleared.append(Cleared(node: node, slot: slot, partner: partner))
      }
    }
    return cleared
  }
}
