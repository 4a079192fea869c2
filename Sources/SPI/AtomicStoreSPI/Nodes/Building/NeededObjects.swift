import StorePrimitives

/// What a caller reads of a store. Damage elsewhere does not concern it.
package struct NeededObjects: Sendable, Hashable {
  private struct Relationship: Hashable {
    var root: Int
    var name: ScalarString
  }
  /// The root entities of the hierarchies whose objects are read: formats keep a hierarchy together.
  private var roots: Set<Int> = []
  private var relationships: Set<Relationship> = []

  /// Objects of an entity.
  package init(of entity: Entity) { add(entity) }

  /// Adds the objects of an entity.
  package mutating func add(_ entity: Entity) { roots.insert(entity.root.index) }

  /// Adds what a key path reads, from an entity or its sub-entities. A to-one at its end reads only references; a
  /// to-many reads the objects at its other end, which may be all that says which they are.
  ///
  /// - Returns: Whether it is known what the key path reads.
  package mutating func add(_ keyPath: [String], from entity: Entity) -> Bool {
    var entities = [entity]
    for (index, key) in keyPath.enumerated() where !key.hasPrefix("@") {
      var destinations: [Entity] = []
      var isKnown = false
      for entity in entities.flatMap(\.hierarchy) {
        guard let slot = entity.slot(named: key).map({ entity.slots[$0] }) else { continue }
        guard slot.attribute?.derivationExpression == nil else { return false }
        isKnown = true
        guard let destination = slot.destination.map({ entity.model.entity(at: $0) }) else { continue }
        relationships.insert(Relationship(root: entity.root.index, name: ScalarString(slot.name)))
        guard slot.isToMany || index < keyPath.count - 1 else { continue }
        roots.insert(destination.root.index)
        destinations.append(destination)
      }
      guard isKnown else { return false }
      entities = destinations
    }
    return true
  }

  /// Whether the objects of an entity are read.
  func contains(_ entity: Entity) -> Bool { roots.contains(entity.root.index) }

  /// Whether what was lost at a location is read: references of a relationship, or objects.
  package func contains(_ location: StoreLocation, in model: ManagedObjectModel) -> Bool {
    guard let entity = location.entity.flatMap({ model.entity(named: $0) }) else { return true }
    guard let slot = location.property.flatMap({ entity.slot(named: $0) }).map({ entity.slots[$0] }),
      slot.isRelationship
    else { return contains(entity) }
    return contains(slot, of: entity)
  }

  /// Whether a relationship is read, from either end.
  private func contains(_ slot: Slot, of entity: Entity) -> Bool {
    if relationships.contains(Relationship(root: entity.root.index, name: ScalarString(slot.name))) { return true }
    guard let destination = slot.destination, let inverse = slot.inverseSlot else { return false }
    let other = entity.model.entity(at: destination)
    return relationships.contains(
      Relationship(root: other.root.index, name: ScalarString(other.slots[inverse].name)))
  }
}
