package import AtomicStoreSPI
package import FoundationEssentials
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
    let assignments = try assignments(of: request, fetch.entityName)
    if let rows = rowAssignments(assignments), let ids = try context.updateRows(fetch, rows)?.ids {
      var changes = ObjectIDChanges(updated: ids)
      changes.transactionAuthor = transactionAuthor
      return BatchResult(changes: changes, objectIDs: ids)
    }
    let objects = try context.fetch(fetch)
    var values: [[Any?]] = []
    values.reserveCapacity(objects.count)
    // `now()` is one instant for all objects.
    let now = Date()
    for object in objects {
      var row: [Any?] = []
      for (key, source) in assignments {
        let expression = source as? FetchExpression
        row.append(try expression.map { try object.value(of: $0, forKey: key, now: now) } ?? source)
      }
      values.append(row)
    }
    for (object, row) in zip(objects, values) {
      for (assignment, value) in zip(assignments, row) { try object.setValue(value, forKey: assignment.key) }
    }
    let ids = Set(objects.map(\.objectID))
    let changes = try saveBatch(context)
    return BatchResult(changes: changes, objectIDs: changes.updated.filter { ids.contains($0) })
  }

  /// The new values in the order of their keys, so that the same error is reported every time: those of attributes as
  /// they are stored.
  ///
  /// - Throws: What is wrong for every object, also if there is none.
  private func assignments(
    of request: BatchUpdateRequest, _ entityName: String
  ) throws(ManagedObjectError) -> [(key: String, source: Any?)] {
    var assignments: [(key: String, source: Any?)] = []
    let entity = managedObjectModel?.entity(named: entityName)
    let plan = entity.map { ModelPlan.plan(of: $0.model).entities[$0.index] }
    for (key, source) in request.propertiesToUpdate.sorted(by: { ScalarString($0.key) < ScalarString($1.key) }) {
      var source = StoredValue.unwrapped(source)
      // The fetch refuses an unknown entity.
      if let plan {
        let property = plan.properties[try plan.number(of: key)]
        if case .attribute(let type) = property.kind, !property.holdsAnyValue, !(source is FetchExpression) {
          source = try plan.stored(source, property, type, transformers)
        }
      }
      assignments.append((key, source))
    }
    return assignments
  }

  /// The new values as columns need them; nil where one needs objects.
  private func rowAssignments(_ assignments: [(key: String, source: Any?)]) -> [RowAssignment]? {
    var rows: [RowAssignment] = []
    for (key, source) in assignments {
      switch source {
      case let expression as FetchExpression: rows.append(RowAssignment(key, .expression(expression)))
      case let value as StoredValue: rows.append(RowAssignment(key, .value(value)))
      default: return nil
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
  /// The value of an expression for a property: a stored value, an object, a set or list of objects, the parts of a
  /// composite, or nil.
  ///
  /// - Throws: `.invalidValue` if it cannot be computed for this object, or the property does not take it.
  package final func value(
    of expression: FetchExpression, forKey key: String, now: Date
  ) throws(ManagedObjectError) -> Any? {
    let property = plan.properties[try number(of: key)]
    let value: PredicateValue
    do throws(PredicateEvaluationError) {
      value = try PredicateEvaluator(self, now: now).value(of: expression, for: property.attributeType)
    } catch {
      guard error.kind == .invalid else { throw ManagedObjectError(error) }
      throw objectError(.invalidValue, error.message, key: key, underlying: error.underlying)
    }
    switch (property.kind, value) {
    case (.attribute(let type), .value(let value)):
      if let assigned = ValueConversion.assigned(value, of: expression, to: type) { return assigned }
      throw unfit(value.displayText, "of type \(type.modelName)", key)
    case (.attribute(let type), _): throw unfit("an object or a list", "of type \(type.modelName)", key)
    case (.composite, .value(.null)), (.composite, .composite): return value.any
    case (.composite, _), (.fetched, _): throw unfit("\(expression)", "an expression of its kind", key)
    case (.toOne, _), (.toMany, _), (.orderedToMany, _): return try objects(value, property)
    }
  }

  /// The error for a value that an expression came to.
  private final func unfit(_ value: String, _ wanted: String, _ key: String) -> ManagedObjectError {
    objectError(.invalidValue, "\(value) is not \(wanted)", key: key, value: value)
  }

  private final func objects(
    _ value: PredicateValue, _ property: PropertyPlan
  ) throws(ManagedObjectError) -> Any? {
    var found: [ManagedObject] = []
    for element in value.elements {
      guard case .object(let subject) = element, let object = subject as? ManagedObject else {
        throw unfit(element.any.map { "\($0)" } ?? "nil", "an object", property.name)
      }
      found.append(object)
    }
    if property.isToMany { return property.kind == .toMany ? Set(found) : found }
    guard found.count < 2 else { throw unfit("\(found.count) objects", "one object", property.name) }
    return found.first
  }
}

/// A batch wins over what others changed meanwhile. It merges no objects: one that breaks a uniqueness constraint
/// fails.
private struct BatchConflicts: ConflictResolver {
  func resolve(_ conflict: ObjectConflict) -> ConflictResolution { .by(.mergeByPropertyObjectTrump) }
}
