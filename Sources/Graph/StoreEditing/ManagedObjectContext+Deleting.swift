import AtomicStoreKit
import AtomicStoreSPI

/// What deletions must not leave without an object.
extension ManagedObjectContext {
  /// The relationships that must have objects, and that no delete rule reaches when objects of an entity are deleted:
  /// without an inverse, or with one whose rule is No Action. The store clears them.
  func unseenRequirements(_ entityName: String) -> [(owner: Entity, slot: Slot)] {
    let entity = persistentStoreCoordinator.persistentStores.lazy.compactMap { $0.model.entity(named: entityName) }
      .first
    guard let entity else { return [] }
    let concerned = Self.deletedEntities(with: entity)
    return entity.model.entities.flatMap { owner in
      owner.slots.filter { slot in
        guard let rule = slot.relationship, !rule.isOptional || slot.isToMany && rule.minimumCount > 1,
          owner.superentity?.slot(named: slot.name) == nil,
          let destination = slot.destination.map({ owner.model.entity(at: $0) }),
          destination.hierarchy.contains(where: { concerned.contains($0.index) })
        else { return false }
        guard let inverse = slot.inverseSlot else { return true }
        return destination.slots[inverse].relationship?.deleteRule == .noAction
      }.map { (owner, $0) }
    }
  }

  /// The entities of which objects may be deleted with those of an entity.
  private static func deletedEntities(with entity: Entity) -> Set<Int> {
    var found: Set<Int> = []
    var rest = entity.hierarchy
    while let next = rest.popLast() {
      guard found.insert(next.index).inserted else { continue }
      for slot in next.slots where slot.relationship?.deleteRule == .cascade {
        if let destination = slot.destination { rest += next.model.entity(at: destination).hierarchy }
      }
    }
    return found
  }

  /// Refuses deletions after which a relationship has fewer objects than it must have.
  func refuseLoss(of relationships: [(owner: Entity, slot: Slot)]) throws {
    guard !deletedObjects.isEmpty else { return }
    for (owner, slot) in relationships {
      for object in try fetch(FetchRequest<ManagedObject>(entityName: owner.name)) where !object.isDeleted {
        let ends = try object.objects(forRelationshipNamed: slot.name, holds: false)
        let left = ends.count(where: { !$0.isDeleted })
        // An optional relationship may be empty, whatever its minimum is.
        guard left < ends.count, left > 0 || !slot.isOptional else { continue }
        let least = slot.relationship?.minimumCount ?? 0
        if left >= max(least, 1) || slot.isToMany && left >= least && (slot.isOptional || allowsEmptyNonOptionalToMany)
        {
          continue
        }
        let name = "\(object.entity.name)/\(object.objectID.reference.map(\.description) ?? "new")"
        let gone = ends.filter(\.isDeleted).compactMap { $0.objectID.reference.map(\.description) }
        throw ManagedObjectError(
          .validationRelationshipDeniedDelete,
          "\(name).\(slot.name) would have \(left == 0 ? "no object" : "\(left) objects") without "
            + gone.prefix(5).joined(separator: ", ") + (gone.count > 5 ? " …" : ""),
          objectID: object.objectID, entityName: object.entity.name, key: slot.name)
      }
    }
  }
}
