import AtomicStoreSPI
import FoundationEssentials
import StoreCoordination
import StorePredicates

/// The objects that an update changed.
package struct UpdatedRows {
  fileprivate enum Source {
    case references([ObjectReference])
    case rows([ChangedRows])
  }
  fileprivate let source: Source
  fileprivate let store: PersistentStore

  /// How many they are.
  package var count: Int {
    switch source {
    case .references(let references): references.count
    case .rows(let rows): rows.reduce(0) { $0 + $1.rows.count }
    }
  }

  /// Their IDs, which are made when they are asked for.
  package var ids: [ManagedObjectID] {
    switch source {
    case .references(let references): return references.map { store.objectID(for: $0) }
    case .rows(let rows):
      var ids: [ManagedObjectID] = []
      ids.reserveCapacity(count)
      for rows in rows {
        let name = rows.version.model.entity(at: rows.entity).name
        rows.forEachReference { ids.append(store.objectID(for: ObjectReference(entityName: name, reference: $0))) }
      }
      return ids
    }
  }
}

/// Changes of attributes that are computed of the columns of a store and written without an object for each row.
///
/// Whatever needs objects is left to them: hooks, derived attributes, relationships, values that are unique, and
/// everything that fails, so that the error is about an object.
extension ManagedObjectContext {
  /// Sets attributes of the objects that match a request in their store, and saves them.
  ///
  /// - Parameter request: Its predicate chooses the objects; it has no limit and no order.
  /// - Returns: The objects whose values changed; nil, with nothing changed, where objects are needed.
  package func updateRows(
    _ request: FetchRequest<ManagedObject>, _ assignments: [RowAssignment]
  ) throws -> UpdatedRows? {
    guard parent == nil, calloutDepth == 0, !isSaving, refusedAssignments.isEmpty else { return nil }
    processPendingChanges()
    let caches = cachesAsked(named(request))
    guard !hasPendingChanges, caches.count == 1, let cache = caches.first,
      let update = RowUpdate(named(request), assignments, self, cache)
    else { return nil }
    if cache.isIncremental, let changed = try updateInStore(update, cache) { return changed }
    // What an incremental store has now is what the changes are based on.
    var start: Int64?
    if let connection = cache.connection {
      guard let last = try? connection.lastTransaction else { return nil }
      start = last
    }
    let found: FoundRows? = try withStepBudget(of: update.request) { request in
      let plan = try plan(request, for: .rows)
      guard case .columns = plan else { return nil }
      return try rows(of: request, by: plan)
    }
    guard let found, found.parts.count == 1, let part = found.parts.first, var changes = update.changes(of: found)
    else { return nil }
    changes.lastTransaction = start
    changes.author = transactionAuthor
    changes.contextName = name
    let updated = UpdatedRows(source: .rows(changes.rows), store: cache.store)
    guard !changes.isEmpty else { return updated }
    guard try save(changes, in: part) else { return nil }
    return deliver(updated)
  }

  private func deliver(_ updated: UpdatedRows) -> UpdatedRows {
    guard updated.count > 0, !persistentStoreCoordinator.registrations.deliveries.inboxes.isEmpty else {
      return updated
    }
    var delivered = ObjectIDChanges(updated: updated.ids)
    delivered.transactionAuthor = transactionAuthor
    deliverBatch(delivered)
    return updated
  }

  /// Has a database update its rows itself; nil, with nothing changed, if it cannot.
  private func updateInStore(_ update: RowUpdate, _ cache: StoreCache) throws -> UpdatedRows? {
    guard let search = try storeSearch(update.request), case .exact = search.answer, !search.hasChanges,
      let values = update.storeValues, let refused = update.refusals
    else { return nil }
    var rows = search.fetch
    rows.sortKeys = []
    let change = StoreUpdate(
      rows: rows, values: values, refused: refused, author: transactionAuthor, contextName: name)
    do throws(PersistentStoreError) {
      guard let changed = try persistentStoreCoordinator.update(cache.store, change) else { return nil }
      return deliver(UpdatedRows(source: .references(changed), store: cache.store))
    } catch {
      throw ManagedObjectError(.persistentStoreSave, "the update failed", underlying: error)
    }
  }

  /// Passes a batch to the contexts that merge automatically.
  func deliverBatch(_ changes: ObjectIDChanges) {
    for inbox in persistentStoreCoordinator.registrations.deliveries.inboxes { inbox.put(changes) }
  }

  /// - Returns: Whether it was saved; false if another save came first, or if objects find out why not.
  private func save(
    _ changes: StoreChanges, in part: (cache: StoreCache, version: NodeVersion, nodes: ArraySlice<NodeHandle>)
  ) throws(ManagedObjectError) -> Bool {
    do throws(PersistentStoreError) {
      persistentStoreCoordinator.turns.pass()
      let expected = part.cache.isIncremental ? nil : [part.version]
      return try persistentStoreCoordinator.save([(part.cache.store, changes)], expecting: expected) != nil
    } catch {
      // Nothing was changed: objects are saved then, with the same error or without one.
      guard error.code == .notRolledBack else { return false }
      throw ManagedObjectError(
        .persistentStoreSave, "the save failed and could not be rolled back", underlying: error)
    }
  }
}

extension IncrementalConnection {
  /// The number of the last transaction, 0 without one; nil if a save does not compare it: then only the row versions
  /// of objects show that another program saved meanwhile.
  var lastTransaction: Int64? {
    get throws(PersistentStoreError) {
      try use { store throws(PersistentStoreError) in
        store.comparesTransactions ? try store.currentHistoryToken()?.number ?? 0 : nil
      }
    }
  }
}
