/// What a request reads of an incremental store: rows of some entities, and the values of some of their properties.
///
/// It is complete by itself: with a relationship it has the entities that this leads to, and with a to-many the
/// relationship's inverse, of which databases make it.
public struct NeededColumns: Sendable, Hashable {
  private var slots: [Int: Set<Int>] = [:]

  package init() {}

  /// Whether rows of an entity are read, if only their references.
  public func needs(entity: Int) -> Bool { slots[entity] != nil }

  /// Whether the values in a slot of an entity are read.
  public func needs(slot: Int, of entity: Int) -> Bool { slots[entity]?.contains(slot) ?? false }

  /// Whether the values in a slot are read of one of some entities.
  package func needs(slot: Int, ofAny entities: [Entity]) -> Bool {
    entities.contains { needs(slot: slot, of: $0.index) }
  }

  /// Adds the rows of an entity and of its sub-entities.
  package mutating func add(_ entity: Entity) {
    for member in entity.hierarchy where !member.isAbstract { slots[member.index, default: []].formUnion([]) }
  }

  /// Adds a property of an entity.
  package mutating func add(slot: Int, of entity: Entity) {
    guard slots[entity.index, default: []].insert(slot).inserted else { return }
    let property = entity.slots[slot]
    guard let destination = property.destination.map({ entity.model.entity(at: $0) }) else { return }
    add(destination)
    guard property.isToMany, let inverse = property.inverseSlot else { return }
    for member in destination.hierarchy where !member.isAbstract { add(slot: inverse, of: member) }
  }
}
