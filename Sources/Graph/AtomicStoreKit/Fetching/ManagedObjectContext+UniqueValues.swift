package import AtomicStoreSPI
package import StoreCoordination
import StorePredicates

extension ManagedObjectContext {
  /// Returns the objects that have unique values, saved or not: constraint after constraint, each object once.
  ///
  /// - Parameters:
  ///   - entity: The entity whose constraints count. Objects of others that inherit a constraint are found as well.
  ///   - store: The store to search; nil for all.
  ///   - constraint: The index of the constraint that counts; nil for all.
  ///   - value: The value of a property by name: a constant, or the ID of an object. Null and nil are equal to nothing.
  package func objects(
    withUniqueValuesOf entity: Entity, in store: PersistentStore? = nil, constraint only: Int? = nil,
    _ value: (String) -> FetchExpression?
  ) throws -> [ManagedObject] {
    var found = ObjectList()
    for (index, constraint) in entity.uniquenessConstraints.enumerated() where only == nil || only == index {
      var parts: [FetchPredicate] = []
      for name in constraint {
        guard let value = value(name), value != .constant(.null) else { break }
        parts.append(.hasUnique(value, in: name))
      }
      guard parts.count == constraint.count else { continue }
      let holder = entity.declaringEntity(ofConstraint: index)
      var request = FetchRequest<ManagedObject>(entityName: holder.name, predicate: .and(parts))
      request.affectedStores = store.map { [$0] }
      for object in try fetch(request) where !found.contains(object) { found.append(object) }
    }
    return found.elements
  }
}

extension Entity {
  /// The entity that declares a uniqueness constraint, which holds for all entities below it. Inherited constraints
  /// come first.
  package func declaringEntity(ofConstraint index: Int) -> Entity {
    var holder = self
    while let above = holder.superentity, above.uniquenessConstraints.count > index { holder = above }
    return holder
  }
}
