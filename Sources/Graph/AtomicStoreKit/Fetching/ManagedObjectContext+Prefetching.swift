package import AtomicStoreSPI
import StorePredicates

extension ManagedObjectContext {
  /// Fetches the values of the objects that key paths lead to, and holds the objects until the next call.
  ///
  /// - Throws: `.invalidFetch` for a path that contains anything but relationships.
  func prefetch(
    _ paths: [String], of objects: [ManagedObject], entityName: String
  ) throws(ManagedObjectError) {
    let entity = managedObjectModel?.entity(named: entityName)
    var found = ObjectList()
    for path in paths {
      let keys = path.split(separator: ".").map(String.init)
      if let entity { try checkPrefetching(keys, path, of: entity) }
      var current = ObjectList(objects)
      for key in keys {
        var next = ObjectList()
        for object in current where object.isReachable {
          guard let p = object.plan.property(named: key) else { continue }
          switch object.plan.properties[p].kind {
          case .toOne: if let other = object.toOneObject(p) { next.append(other) }
          case .toMany, .orderedToMany: for other in object.toManyObjects(p) { next.append(other) }
          default: break
          }
        }
        for object in next where object.isReachable { found.append(object) }
        current = next
      }
    }
    fetchState.prefetched = found.elements
  }

  /// Finds errors in a path even if there are no objects. Keys that only a sub-entity has are accepted.
  private func checkPrefetching(
    _ keys: [String], _ path: String, of entity: Entity
  ) throws(ManagedObjectError) {
    var current = [entity]
    for key in keys {
      let next = current.flatMap(\.hierarchy).compactMap { holder -> Entity? in
        guard case .relationship(let relationship)? = holder.property(named: key) else { return nil }
        return holder.model.entity(named: relationship.destinationEntityName)
      }
      guard let first = next.first else {
        throw ManagedObjectError(
          .invalidFetch,
          "cannot prefetch '\(path)': \(current[0].name) does not have a relationship '\(key)'"
            + Suggestion.text(for: key, among: current[0].relationshipsByName.keys.sorted()),
          entityName: entity.name, key: path)
      }
      current = [first]
    }
  }

  /// Gives objects that were read from an older version of their store the present values, with their changes kept.
  func refreshStaleObjects<Result>(_ request: FetchRequest<Result>) throws(ManagedObjectError) {
    let wanted = Set(try entities(of: request).map(\.name).map { ScalarString($0) })
    for cache in cachesAsked(request) {
      try readAgain(wanted, in: cache)
      guard let version = cache.currentVersion() else { continue }
      let stale = cache.registeredObjects.filter {
        $0.base != nil && $0.base !== version && wanted.contains(ScalarString($0.plan.name))
      }
      if !stale.isEmpty { mergeNewer(into: stale) }
    }
  }

  /// Reads the rows of objects again that an incremental store may have changed since.
  private func readAgain(_ entities: Set<ScalarString>, in cache: StoreCache) throws(ManagedObjectError) {
    guard cache.isIncremental else { return }
    let read = cache.registeredObjects.filter {
      $0.flags.contains(.realized) && entities.contains(ScalarString($0.plan.name))
    }
    do throws(PersistentStoreError) { try cache.renew(read) } catch {
      throw ManagedObjectError(.persistentStoreOperation, "the store could not be asked", underlying: error)
    }
  }

  /// Returns the objects with these IDs that exist, in the order of the IDs, with their values fetched. IDs of objects
  /// that do not exist, or that are deleted in this context, are left out.
  package func existingObjects(with ids: [ManagedObjectID]) -> [ManagedObject] {
    ids.compactMap { id in
      let object = object(with: id)
      return object.isReachable && !object.flags.contains(.deleted) ? object : nil
    }
  }
}
