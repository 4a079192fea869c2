import AtomicStoreSPI
import StorePredicates

/// Which events of a context change the results of a request.
extension FetchRequest {
  /// Whether the results may change without a change of the objects themselves, or depend on each other.
  ///
  /// - Parameter keyPath: What the results are divided into sections by.
  func needsWholeFetch(sectionedBy keyPath: String? = nil, in model: ManagedObjectModel?) -> Bool {
    if fetchLimit > 0 || fetchOffset > 0 || filter != nil || affectedStores != nil || !includesPendingChanges {
      return true
    }
    let columns = (propertiesToFetch + propertiesToGroupBy).map { "\($0.expression)" }
    let conditions = [predicate, havingPredicate].compactMap { $0.map { "\($0)" } }
    // A number with a decimal point is taken for a path, which costs only time.
    return ((sortKeys + rowSortKeys).map(\.keyPath) + [keyPath ?? ""] + columns + conditions).contains { text in
      text.utf8.contains(UInt8(ascii: ".")) || text.contains("@") || text.contains("SUBQUERY")
        || text.contains("FUNCTION") || text.contains("BLOCKPREDICATE")
    } || fetchesProperties(model)
  }

  /// Whether the entity has fetched properties, which a predicate may read.
  private func fetchesProperties(_ model: ManagedObjectModel?) -> Bool {
    guard let entity = model?.entity(named: entityName) else { return true }
    return entity.properties.contains { if case .fetchedProperty = $0 { true } else { false } }
  }

  /// Whether an object is of the entity whose objects are fetched.
  func isOfEntity(_ object: ManagedObject) -> Bool {
    var entity: Entity? = object.entity
    while let next = entity {
      if next.name.utf8.elementsEqual(entityName.utf8) { return true }
      entity = includesSubentities ? next.superentity : nil
    }
    return false
  }
}
