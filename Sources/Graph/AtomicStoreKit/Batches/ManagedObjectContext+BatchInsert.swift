import AtomicStoreSPI
import FoundationEssentials
import StoreCoordination
import StorePredicates

/// Changes to many objects at once, written to the stores at once. The objects of contexts do not change until they
/// merge the result.
extension ManagedObjectContext {
  /// Inserts many objects, and saves them: all or none.
  ///
  /// No managed objects are created, so hooks do not run; the model's rules are checked, defaults are set, and
  /// uniqueness constraints hold. Only attributes can be set. Contexts that merge automatically merge the result,
  /// others by ``mergeChanges(fromRemoteContextSave:into:)``.
  ///
  /// - Throws: Errors of the rows, with their numbers; `.managedObjectConstraintMerge`; `.persistentStoreSave`; the
  ///   errors of the row handler.
  @discardableResult
  public func execute(_ request: BatchInsertRequest) throws -> BatchResult {
    checkThread()
    let cache = try batchCache(request)
    let plan = try batchPlan(request.entityName, cache)
    // Objects compute derived attributes, and incremental stores give references to objects.
    if !plan.derived.isEmpty || cache.isIncremental { return try insertThroughContext(request, plan) }
    let nextRow = request.makeRowHandler()
    var given: [SlotValues] = []
    var rows: [ManagedObjectSnapshot] = []
    let budget = StepBudget()
    while true {
      var row = BatchRow(plan, transformers)
      if try nextRow(&row) { break }
      // Only an update needs to know what was set.
      if request.constraintRule == .update { given.append(row.values) }
      rows.append(ManagedObjectSnapshot(entity: plan.index, values: try row.complete(rows.count + 1, budget)))
    }
    let repetitions = RepeatedSave.repetitions
    repeat {
      let version = try presentBatchVersion(cache)
      var insertion = BatchInsertion(plan, cache, version, request.constraintRule, rows: rows)
      try insertion.decide(given)
      if let result = try save(insertion) { return result }
    } while repetitions.take()
    throw ManagedObjectError(
      .persistentStoreSave,
      "nothing was inserted: gave up after 100 attempts, because other processes keep changing the store")
  }

  /// - Returns: Nil if another save came first.
  private func save(_ insertion: BatchInsertion) throws(ManagedObjectError) -> BatchResult? {
    var changes = insertion.changes()
    let cache = insertion.cache
    do throws(PersistentStoreError) {
      let references = try cache.store.newReferences(count: changes.inserted.count) { changes.inserted[$0] }
      for (index, reference) in references.enumerated() { changes.inserted[index].reference = reference }
      guard !changes.isEmpty else {
        return BatchResult(changes: ObjectIDChanges(), skippedCount: insertion.skippedCount, objectIDs: [])
      }
      guard
        try persistentStoreCoordinator.save([(cache.store, changes)], expecting: [insertion.version]) != nil
      else { return nil }
    } catch {
      throw ManagedObjectError(.persistentStoreSave, "nothing was inserted", underlying: error)
    }
    let name = insertion.plan.name
    let insertedIDs = changes.inserted.compactMap { object in
      object.reference.map {
        ManagedObjectID(storeIdentifier: cache.identifier, entityName: name, reference: $0)
      }
    }
    let updatedIDs = insertion.updatedIDs
    var ids = ObjectIDChanges(inserted: insertedIDs, updated: updatedIDs)
    ids.transactionAuthor = transactionAuthor
    deliverBatch(ids)
    return BatchResult(
      changes: ids, skippedCount: insertion.skippedCount,
      objectIDs: updatedIDs.isEmpty ? insertedIDs : insertedIDs + updatedIDs)
  }

  private func batchCache(_ request: BatchInsertRequest) throws(ManagedObjectError) -> StoreCache {
    let stores: [PersistentStore]
    if let store = request.affectedStore {
      stores = [store.latest]
    } else {
      stores = persistentStoreCoordinator.persistentStores.filter { store in
        !store.isReadOnly && store.model.entity(named: request.entityName).map { store.takes($0) } ?? false
      }
    }
    guard let store = stores.first, !store.isReadOnly else { throw noStore(for: request.entityName) }
    guard stores.count == 1 else {
      throw ManagedObjectError(
        .storeAssignment, "several stores accept \(request.entityName): set affectedStore",
        entityName: request.entityName)
    }
    return topmost.cache(of: store)
  }

  private func batchPlan(_ name: String, _ cache: StoreCache) throws(ManagedObjectError) -> EntityPlan {
    guard let entity = cache.store.model.entity(named: name), cache.store.takes(entity) else {
      throw ManagedObjectError(
        .storeAssignment,
        "\(cache.store.path) does not accept \(name)"
          + Suggestion.text(for: name, among: cache.store.model.entities.map(\.name)), entityName: name)
    }
    guard !entity.isAbstract else {
      throw ManagedObjectError(.invalidValue, "\(name) is abstract and cannot have objects", entityName: name)
    }
    let plan = cache.plan.entities[entity.index]
    for p in plan.relationships {
      guard let rule = plan.properties[p].rule, rule.isMandatory || rule.minimumCount > 0 else { continue }
      if plan.properties[p].isToMany, rule.minimumCount <= 0, allowsEmptyNonOptionalToMany { continue }
      throw ManagedObjectError(
        .validationMissingMandatoryProperty,
        "\(name) cannot be inserted in a batch: \(plan.properties[p].name) must lead to an object, and a batch sets "
          + "attributes only", entityName: name, key: plan.properties[p].name)
    }
    return plan
  }

  /// The store's version now. A file that another process replaced is read first.
  private func presentBatchVersion(_ cache: StoreCache) throws(ManagedObjectError) -> NodeVersion {
    do throws(PersistentStoreError) { try persistentStoreCoordinator.reloadIfChanged(cache.store) } catch {
      throw ManagedObjectError(.persistentStoreSave, "nothing was inserted", underlying: error)
    }
    guard let version = cache.presentVersion() else {
      throw ManagedObjectError(.storeAssignment, "\(cache.store.path) is not open")
    }
    return version
  }

  private func insertThroughContext(_ request: BatchInsertRequest, _ plan: EntityPlan) throws -> BatchResult {
    let context = batchContext()
    let nextRow = request.makeRowHandler()
    var skippedCount = 0
    var count = 0
    // An object whose row says what it says already belongs to the result as well.
    var matched = ObjectList()
    let budget = StepBudget()
    while true {
      var row = BatchRow(plan, transformers)
      if try nextRow(&row) { break }
      count += 1
      let (given, transients) = (row.values, row.transients)
      let values = try row.complete(count, budget)
      let found = try context.objects(withUniqueValuesOf: plan.entity, in: request.affectedStore) { name in
        plan.property(named: name).flatMap {
          plan.properties[$0].attribute == nil ? nil : values[plan.properties[$0].slot].map { .constant($0) }
        }
      }
      if !found.isEmpty, request.constraintRule == .skip {
        skippedCount += 1
        continue
      }
      if request.constraintRule == .update, let object = found.first {
        guard found.count == 1, object.plan.isKind(of: plan.index) else {
          throw ManagedObjectError(
            .managedObjectConstraintMerge,
            "row \(count) of \(plan.name) has unique values of "
              + (found.count == 1 ? "an object of another entity" : "\(found.count) different objects")
              + "; nothing was inserted", entityName: plan.name)
        }
        try object.set(given, transients)
        if !object.isInserted { matched.append(object) }
        continue
      }
      let object = try context.insertNewObject(forEntityName: request.entityName)
      if let store = request.affectedStore { try context.assign(object, to: store) }
      try object.set(given, transients)
    }
    let changes = try saveBatch(context)
    let ids = changes.inserted + matched.elements.map(\.objectID)
    return BatchResult(changes: changes, skippedCount: skippedCount, objectIDs: ids)
  }
}

extension ManagedObject {
  /// Sets the values of a row of a batch.
  fileprivate final func set(_ given: SlotValues, _ transients: [Int: Any?]) throws(ManagedObjectError) {
    for (p, value) in transients.sorted(by: { $0.key < $1.key }) { try setValue(value, at: p) }
    for property in plan.properties where property.slot >= 0 {
      if let value = given[property.slot] { try setValue(value, at: property.index) }
    }
  }
}
