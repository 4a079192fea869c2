import AtomicStoreSPI

/// Makes the two ends of one-to-one relationships agree where a conflict rule decides.
///
/// Objects are merged one by one. The rule decides about an object that both sides changed. The object at the other end
/// may be in one store only, changed by one side only, or deleted: then it still has that side's value, although the
/// other side won.
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

  /// Clears what names an object that does not name it back, unless the rule decided that value itself. For merges with
  /// a rule only: without one, neither side may lose anything.
  ///
  /// - Throws: `.inverseMismatch` where the model requires the value that would be cleared.
  func clear(in nodes: inout NodeTable) throws(PersistentStoreError) -> [Cleared] {
    var cleared: [Cleared] = []
    for pair in nodes.model.inversePairs where !pair.first.isToMany && !pair.second.isToMany {
      cleared += try clear(pair.first, facing: pair.second, in: &nodes)
      if !pair.isOwnInverse { cleared += try clear(pair.second, facing: pair.first, in: &nodes) }
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
          let there = nodes.handle(for: partner)
        else { continue }
        let back = nodes.value(slot: other.slot, of: there)
        let object = nodes.objectReference(of: node)
        if back.isIdentical(to: .toOne(object)) { continue }
        guard slot.isOptional else {
          throw PersistentStoreError(
            .inverseMismatch,
            "\(partner) is named here, but its '\(other.name)' is \(back.shownText) after the merge, and the "
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
