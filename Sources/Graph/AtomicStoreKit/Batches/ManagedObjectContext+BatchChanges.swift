import AtomicStoreSPI
import FoundationEssentials
import StoreCoordination
import StorePredicates

extension ManagedObjectContext {
  /// Sets properties of all objects that match a request in their stores, and saves: all or none. Unsaved changes of
  /// this context are not considered.
  ///
  /// Hooks do not run; inverses are updated, derived attributes are computed, and the model's rules are checked.
  ///
  /// - Throws: `.invalidFetch`, `.undefinedKey`, `.invalidValue`, and what ``save()`` throws.
  @discardableResult
  public func execute(_ request: BatchUpdateRequest) throws -> BatchResult {
    checkThread()
    let context = batchContext()
    var fetch = FetchRequest<ManagedObject>(entityName: request.entityName, predicate: request.predicate)
    fetch.objectClass = request.objectClass ?? ManagedObject.self
    fetch = named(fetch)
    fetch.includesSubentities = request.includesSubentities
    fetch.affectedStores = request.affectedStores
    if let rows = rowAssignments(request, fetch), let ids = try context.updateRows(fetch, rows)?.ids {
      var changes = ObjectIDChanges(updated: ids)
      changes.transactionAuthor = transactionAuthor
      return BatchResult(changes: changes, objectIDs: ids)
    }
    let objects = try context.fetch(fetch)
    // Sorted, so that the same error is reported every time.
    let assignments = request.propertiesToUpdate.sorted { ScalarString($0.key) < ScalarString($1.key) }
    var values: [[Any?]] = []
    values.reserveCapacity(objects.count)
    // `now()` is one instant for all objects.
    let now = Date()
    for object in objects {
      var row: [Any?] = []
      for (key, source) in assignments { row.append(try object.batchValue(source, forKey: key, now: now)) }
      values.append(row)
    }
    for (object, row) in zip(objects, values) {
      for (assignment, value) in zip(assignments, row) { try object.setValue(value, forKey: assignment.key) }
    }
    let ids = Set(objects.map(\.objectID))
    let changes = try saveBatch(context)
    return BatchResult(changes: changes, objectIDs: changes.updated.filter { ids.contains($0) })
  }

  /// The new values as columns need them; nil where one needs objects.
  private func rowAssignments(
    _ request: BatchUpdateRequest, _ fetch: FetchRequest<ManagedObject>
  ) -> [RowAssignment]? {
    guard let entity = managedObjectModel?.entity(named: fetch.entityName) else { return nil }
    let plan = ModelPlan.plan(of: entity.model).entities[entity.index]
    var rows: [RowAssignment] = []
    for (key, source) in request.propertiesToUpdate {
      guard let p = plan.property(named: key), case .attribute(let type) = plan.properties[p].kind else { return nil }
      if let expression = StoredValue.unwrapped(source) as? FetchExpression {
        rows.append(RowAssignment(key, .expression(expression, whenUnfit: nil)))
      } else {
        guard let value = StoredValue(any: source, type: type) else { return nil }
        rows.append(RowAssignment(key, .value(value)))
      }
    }
    return rows
  }

  /// Deletes all objects that match a request in their stores, and saves: all or none. Unsaved changes of this context
  /// are not considered.
  ///
  /// Delete rules are applied, Deny included; hooks do not run.
  ///
  /// - Throws: `.invalidFetch`, and what ``save()`` throws.
  @discardableResult
  public func execute(_ request: BatchDeleteRequest) throws -> BatchResult {
    checkThread()
    let context = batchContext()
    if request.objectIDs == nil, let changes = try context.deleteRows(named(request.fetchRequest)) {
      return BatchResult(changes: changes, objectIDs: changes.deleted)
    }
    let objects =
      try request.objectIDs.map { context.existingObjects(with: $0) } ?? context.fetch(named(request.fetchRequest))
    for object in objects { context.delete(object) }
    let changes = try saveBatch(context)
    return BatchResult(changes: changes, objectIDs: changes.deleted)
  }

  /// Applies what other contexts or batch requests saved to contexts: as ``mergeChanges(fromDidSave:)``, for IDs that
  /// may come from elsewhere.
  public static func mergeChanges(fromRemoteContextSave changes: ObjectIDChanges, into contexts: [ManagedObjectContext])
  {
    for context in contexts { context.mergeChanges(fromDidSave: changes) }
  }

  // MARK: Contexts for batches

  /// A context without classes, so that no hooks run.
  func batchContext() -> ManagedObjectContext {
    let context = ManagedObjectContext(persistentStoreCoordinator, classes: [:])
    context.name = "batch"
    context.isObservable = false
    context.options.isBatch = true
    context.transactionAuthor = transactionAuthor
    context.conflictResolver = BatchConflicts()
    return context
  }

  /// Saves, and returns the IDs of all changes.
  func saveBatch(_ context: ManagedObjectContext) throws(ManagedObjectError) -> ObjectIDChanges {
    var saved = ObjectIDChanges()
    let observation = context.observe { event in
      if case .didSave(let changes) = event { saved = context.savedIDs(of: changes) }
    }
    defer { observation.cancel() }
    try context.save()
    return saved
  }
}

extension ManagedObject {
  /// The new value of a property: the given one, or that of an expression, in the property's type.
  final func batchValue(_ source: Any?, forKey key: String, now: Date) throws(ManagedObjectError) -> Any? {
    let property = plan.properties[try number(of: key)]
    let type: AttributeType? = if case .attribute(let type) = property.kind { type } else { nil }
    guard let expression = StoredValue.unwrapped(source) as? FetchExpression else { return source }
    let value: PredicateValue
    do throws(PredicateEvaluationError) {
      value = try PredicateEvaluator(self, now: now).value(of: expression, for: type)
    } catch {
      throw ManagedObjectError(error)
    }
    switch (property.kind, value) {
    case (.attribute(let type), .value(let value)):
      if let assigned = ValueConversion.assigned(value, to: type) { return assigned }
      throw refusal(value.displayText, property, type.modelName)
    case (.toOne, .object(let subject)): return subject as? ManagedObject
    case (.toOne, .value(.null)): return nil
    default: throw refusal("\(expression)", property, "an expression of its kind")
    }
  }
}

/// A batch wins over what others changed meanwhile. It merges no objects: one that breaks a uniqueness constraint
/// fails.
private struct BatchConflicts: ConflictResolver {
  func resolve(_ conflict: ObjectConflict) -> ConflictResolution { .by(.mergeByPropertyObjectTrump) }
}
