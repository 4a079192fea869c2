/// Two relationships that are each other's inverse, or one that is its own.
///
/// Each must name the other: a relationship whose named inverse names a third one is one-way.
package struct InversePair: Sendable {
  /// One relationship, as declared by the topmost entity that has it.
  package struct End: Sendable, Equatable {
    package let entity: Int
    package let slot: Int
    /// The entity that it leads to: that of the other end, or a sub-entity of it.
    package let destination: Int
    package let name: String
    package let isToMany: Bool
    let keepsSequence: Bool
  }
  /// If one end is to-one and the other to-many, the to-one.
  package let first: End
  package let second: End

  package var isOwnInverse: Bool { first == second }
  /// Whether exactly one end is to-many, so that a rule can prefer the to-one or the to-many end.
  var isOneToMany: Bool { first.isToMany != second.isToMany }
  /// Whether both ends are to-one.
  var isOneToOne: Bool { !first.isToMany && !second.isToMany }
}

extension ManagedObjectModel {
  /// All pairs of inverse relationships, in the order of entities and slots.
  package var inversePairs: [InversePair] {
    var pairs: [InversePair] = []
    for entity in records.indices {
      // Inherited slots come first, and belong to the super-entity.
      let inherited = records[entity].superentity.map { records[$0].slots.count } ?? 0
      for slot in records[entity].slots.dropFirst(inherited) {
        guard let end = end(slot, of: entity), let other = inverse(of: slot, declaredIn: entity) else { continue }
        guard (end.entity, end.slot) <= (other.entity, other.slot) else { continue }
        pairs.append(
          end.isToMany && !other.isToMany
            ? InversePair(first: other, second: end) : InversePair(first: end, second: other))
      }
    }
    return pairs
  }

  private func end(_ slot: Slot, of entity: Int) -> InversePair.End? {
    guard let destination = slot.destination else { return nil }
    return InversePair.End(
      entity: entity, slot: slot.index, destination: destination, name: slot.name, isToMany: slot.isToMany,
      keepsSequence: slot.keepsSequence)
  }

  /// The other end of a relationship that has an inverse: see ``Slot/inverseSlot``.
  private func inverse(of slot: Slot, declaredIn entity: Int) -> InversePair.End? {
    guard let inverseSlot = slot.inverseSlot, let number = slot.destination else { return nil }
    let destination = self.entity(at: number)
    let inverse = destination.slots[inverseSlot]
    guard let back = inverse.destination, isKind(back, of: entity) else { return nil }
    // The topmost entity with the slot declares it.
    var owner = destination
    while let above = owner.superentity, above.slots.count > inverse.index { owner = above }
    return end(inverse, of: owner.index)
  }
}
