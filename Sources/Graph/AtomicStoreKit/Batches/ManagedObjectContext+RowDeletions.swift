import AtomicStoreSPI
import StoreCoordination
import StorePredicates

/// Deletions that a database carries out itself.
///
/// Whatever needs objects is left to them: hooks, delete rules that do more than clear a to-one, inverses that are
/// ordered or limited, and derived attributes.
extension ManagedObjectContext {
  /// Deletes the objects that match a request in their database, and saves.
  ///
  /// - Returns: What was deleted, and changed as a consequence; nil, with nothing changed, where objects are needed.
  package func deleteRows(_ request: FetchRequest<ManagedObject>) throws -> ObjectIDChanges? {
    guard parent == nil, calloutDepth == 0, !isSaving, refusedAssignments.isEmpty, request.fetchLimit == 0,
      request.fetchOffset == 0
    else { return nil }
    processPendingChanges()
    let request = named(request)
    let caches = cachesAsked(request)
    guard !hasPendingChanges, caches.count == 1, let cache = caches.first, cache.isIncremental, classes.isEmpty,
      cache.registeredObjects.isEmpty, cache.plan.entities.allSatisfy({ $0.derived.isEmpty }),
      let search = try storeSearch(request), case .exact = search.answer, !search.hasChanges,
      let refused = refusals(search.fetch.entities, cache)
    else { return nil }
    var rows = search.fetch
    rows.sortKeys = []
    let change = StoreUpdate(
      rows: rows, values: [], refused: refused, author: transactionAuthor, contextName: name)
    do throws(PersistentStoreError) {
      guard let changed = try persistentStoreCoordinator.delete(cache.store, change) else { return nil }
      var changes = ObjectIDChanges(
        updated: changed.updated.map { cache.store.objectID(for: $0) },
        deleted: changed.deleted.map { cache.store.objectID(for: $0) })
      changes.transactionAuthor = transactionAuthor
      if !changes.deleted.isEmpty { deliverBatch(changes) }
      return changes
    } catch {
      throw ManagedObjectError(.persistentStoreSave, "the deletion failed", underlying: error)
    }
  }

  /// What the owners of to-manys that lose an object must not be, so that they break no rule; nil where objects are
  /// needed.
  private func refusals(_ entities: [Int], _ cache: StoreCache) -> [(entity: Int, predicate: FetchPredicate)]? {
    var refusals: [Int: FetchPredicate] = [:]
    for number in entities {
      let plan = cache.plan.entities[number]
      for p in plan.relationships {
        let property = plan.properties[p]
        guard property.slot >= 0, property.kind == .toOne, property.deleteRule == .nullify else { return nil }
        guard property.inverse >= 0 else { continue }
        let destination = cache.plan.entities[property.destination]
        guard destination.properties[property.inverse].kind == .toMany else { return nil }
        for owner in destination.entity.hierarchy where !owner.isAbstract && refusals[owner.index] == nil {
          guard let breaking = breaking(cache.plan.entities[owner.index]) else { return nil }
          refusals[owner.index] = breaking
        }
      }
    }
    return refusals.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  /// What an object fulfils that breaks a rule of its entity; nil where a predicate cannot say that.
  private func breaking(_ plan: EntityPlan) -> FetchPredicate? {
    var parts: [FetchPredicate] = []
    for property in plan.properties {
      guard let rule = property.rule else { continue }
      guard !property.isToMany, property.slot >= 0,
        let part = rule.breaking(property.name.split(separator: ".").map(String.init))
      else { return nil }
      parts.append(part)
    }
    return .or(parts)
  }
}
