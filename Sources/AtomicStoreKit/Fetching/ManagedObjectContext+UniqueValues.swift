package import AtomicStoreSPI
package import StoreCoordination

extension ManagedObjectContext {
  /// Returns the objects that have unique values, saved or not: constraint after constraint, each object once.
  ///
  /// - Parameters:
  ///   - entity: The entity whose constraints count. Objects of others that inherit a constraint are found as well.
  ///   - store: The store to search; nil for all.
  ///   - value: The value of a property by name. Null, and nil for a property that is not an attribute, is equal to
  ///     nothing.
  package func objects(
    withUniqueValuesOf entity: Entity, in store: PersistentStore? = nil, _ value: (String) -> StoredValue?
  ) throws -> [ManagedObject] {
    var found = ObjectList()
    for (index, constraint) in entity.uniquenessConstraints.enumerated() {
      var parts: [FetchPredicate] = []
      for name in constraint {
        guard let value = value(name), !value.isNull else { break }
        let path = name.split(separator: ".").map(String.init)
        parts.append(.comparison(FetchPredicate.Comparison(.keyPath(path), .equal, .constant(value))))
      }
      guard parts.count == constraint.count else { continue }
      // A constraint holds for all entities below the one that declares it. Inherited ones come first.
      var holder = entity
      while let above = holder.superentity, above.uniquenessConstraints.count > index { holder = above }
      var request = FetchRequest<ManagedObject>(entityName: holder.name, predicate: .and(parts))
      request.affectedStores = store.map { [$0] }
      for object in try fetch(request) where !found.contains(object) { found.append(object) }
    }
    return found.elements
  }
}
