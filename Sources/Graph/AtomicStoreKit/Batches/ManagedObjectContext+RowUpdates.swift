package import AtomicStoreSPI
import FoundationEssentials
import StoreCoordination
import StorePredicates

/// A new value of an attribute of many objects.
package struct RowAssignment {
  /// Where the value comes from.
  package enum Source {
    /// A value of the attribute's type.
    case value(StoredValue)
    /// An expression of the values before any assignment; another value if it gives one that the type does not take.
    case expression(FetchExpression, whenUnfit: StoredValue?)
  }
  let name: String
  let source: Source

  package init(_ name: String, _ source: Source) {
    self.name = name
    self.source = source
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
  ) throws -> [ManagedObjectID]? {
    guard parent == nil, calloutDepth == 0, !isSaving, refusedAssignments.isEmpty else { return nil }
    processPendingChanges()
    let caches = cachesAsked(named(request))
    guard !hasPendingChanges, caches.count == 1, let cache = caches.first,
      let update = RowUpdate(named(request), assignments, self, cache)
    else { return nil }
    if cache.isIncremental, let changed = try updateInStore(update, cache) { return changed }
    // What an incremental store has now is what the changes are based on.
    var start: Int64?
    if let connection = cache.store.connection {
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
    guard !changes.isEmpty else { return [] }
    guard try save(changes, in: part) else { return nil }
    return deliver(
      changes.updated.compactMap { object in
        object.reference.map {
          ObjectReference(entityName: cache.plan.entities[object.entity].name, reference: $0)
        }
      }, of: cache)
  }

  private func deliver(_ changed: [ObjectReference], of cache: StoreCache) -> [ManagedObjectID] {
    let ids = changed.map { cache.store.objectID(for: $0) }
    var delivered = ObjectIDChanges(updated: ids)
    delivered.transactionAuthor = transactionAuthor
    deliverBatch(delivered)
    return ids
  }

  /// Has a database update its rows itself; nil, with nothing changed, if it cannot.
  private func updateInStore(_ update: RowUpdate, _ cache: StoreCache) throws -> [ManagedObjectID]? {
    guard let search = try storeSearch(update.request), case .exact = search.answer, !search.hasChanges,
      let values = update.storeValues, let refused = update.refusals
    else { return nil }
    var rows = search.fetch
    rows.sortKeys = []
    let change = StoreUpdate(
      rows: rows, values: values, refused: refused, author: transactionAuthor, contextName: name)
    do throws(PersistentStoreError) {
      guard let changed = try persistentStoreCoordinator.update(cache.store, change) else { return nil }
      return changed.isEmpty ? [] : deliver(changed, of: cache)
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

/// What is set in which columns.
private struct RowUpdate {
  let request: FetchRequest<ManagedObject>
  private let cache: StoreCache
  private let targets: [Target]
  private let expressions: [FetchExpression]
  private let types: [AttributeType]
  private let computation: RowComputation?

  private struct Target {
    let slot: Int
    let type: AttributeType
    let source: RowAssignment.Source
    /// Of the expressions, if it is one.
    let expression: Int
  }

  /// Nil where objects are needed.
  init?(
    _ request: FetchRequest<ManagedObject>, _ assignments: [RowAssignment], _ context: ManagedObjectContext,
    _ cache: StoreCache
  ) {
    guard let entity = cache.store.model.entity(named: request.entityName),
      cache.plan.entities.allSatisfy({ $0.derived.isEmpty }),
      context.classes.isEmpty,
      !cache.isIncremental || cache.registeredObjects.isEmpty
    else { return nil }
    let plans = entity.hierarchy.map { cache.plan.entities[$0.index] }
    let first = cache.plan.entities[entity.index]
    var targets: [Target] = []
    var expressions: [FetchExpression] = []
    var types: [AttributeType] = []
    for assignment in assignments {
      guard let p = first.property(named: assignment.name),
        case .attribute(let type) = first.properties[p].kind, first.properties[p].slot >= 0,
        !type.needsObjects, !plans.contains(where: { $0.constraints.contains { $0.contains(p) } })
      else { return nil }
      targets.append(
        Target(
          slot: first.properties[p].slot, type: type, source: assignment.source, expression: expressions.count))
      if case .expression(let expression, _) = assignment.source {
        expressions.append(expression)
        types.append(type)
      }
    }
    computation =
      expressions.isEmpty
      ? nil : RowComputation(expressions, for: types, entityName: request.entityName, budget: nil)
    guard expressions.isEmpty || computation != nil else { return nil }
    // All columns that are read: for an incremental store, they are filled for the request.
    var names = assignments.map(\.name)
    for plan in plans {
      for property in plan.properties {
        guard let rule = property.rule else { continue }
        // What an object has of transient properties is not in a column, nor are the members of an incremental store.
        let isCount = property.isToMany && cache.isIncremental
        guard property.slot >= 0, !isCount || !rule.limitsCount else { return nil }
        if !isCount { names.append(property.name) }
      }
    }
    var read: Set<ScalarString> = []
    let columns =
      (computation?.leaves ?? [])
      + names.filter { read.insert(ScalarString($0)).inserted }.map {
        .keyPath($0.split(separator: ".").map(String.init))
      }
    var wide = request
    wide.propertiesToFetch = columns.map { FetchColumn("", $0) }
    self.request = wide
    self.cache = cache
    self.targets = targets
    self.expressions = expressions
    self.types = types
  }

  /// The assignments as a database gets them; nil where it would not know what to do with a value.
  var storeValues: [(slot: Int, value: FetchExpression)]? {
    var values: [(slot: Int, value: FetchExpression)] = []
    for target in targets {
      switch target.source {
      case .value(let value), .expression(.constant(let value), _):
        guard let value = ValueConversion.assigned(value, to: target.type) else { return nil }
        values.append((target.slot, .constant(value)))
      case .expression(let expression, nil): values.append((target.slot, expression))
      case .expression: return nil
      }
    }
    return values
  }

  /// What objects of each entity must not be so that their new values, and the others, break no rule; nil where a
  /// predicate cannot say that, or a new value breaks one.
  var refusals: [(entity: Int, predicate: FetchPredicate)]? {
    guard let entity = cache.store.model.entity(named: request.entityName), let values = storeValues else { return nil }
    let assigned = Dictionary(values.map { ($0.slot, $0.value) }) { _, last in last }
    let budget = StepBudget()
    var refusals: [(entity: Int, predicate: FetchPredicate)] = []
    for number in entity.hierarchy.map(\.index) {
      var parts: [FetchPredicate] = []
      for property in cache.plan.entities[number].properties {
        guard let rule = property.rule, !property.isToMany else { continue }
        let path = property.name.split(separator: ".").map(String.init)
        switch assigned[property.slot] {
        case nil:
          guard let part = rule.breaking(path) else { return nil }
          parts.append(part)
        case .constant(let value)?:
          guard rule.violations(value, budget).isEmpty else { return nil }
        case let expression?:
          guard !rule.limitsValues else { return nil }
          // A sum of what is not null is not null.
          guard rule.isMandatory else { continue }
          parts += expression.keyPaths.map {
            .comparison(FetchPredicate.Comparison(.keyPath($0), .equal, .constant(.null)))
          }
        }
      }
      if !parts.isEmpty { refusals.append((number, .or(parts))) }
    }
    return refusals
  }

  /// The changes of rows; nil where a value breaks a rule, or cannot be computed.
  func changes(of found: ManagedObjectContext.FoundRows) -> StoreChanges? {
    var changes = StoreChanges()
    var computation = computation
    let leaves = (computation?.leaves ?? [.evaluatedObject]).map { FetchColumn("", $0) }
    guard let (_, version, nodes) = found.parts.first,
      let rows = ColumnRows(found, columns: leaves, entityName: request.entityName)
    else { return nil }
    let budget = StepBudget()
    var rules: RowRules?
    var calculations: [RowReader] = []
    let compiler = RowTestCompiler(plan: cache.plan, version: version, store: cache.identifier)
    var number = nodes.startIndex
    var isComplete = true
    rows.forEachRow { row in
      guard isComplete else { return }
      let node = nodes[number]
      number += 1
      if rules?.entity != node.entity {
        let plan = cache.plan.entities[node.entity]
        rules = RowRules(plan, version, leavesOutCounts: cache.isIncremental)
        let found = zip(expressions, types).compactMap { compiler.calculation($0, for: $1, plan) }
        calculations =
          found.count == expressions.count ? found.map { RowReader($0, version, plan.index) } : []
        isComplete = targets.allSatisfy { !version.hasDeferredValues(entity: node.entity, slot: $0.slot) }
      }
      var values = calculations.map { PredicateValue.value($0.number(node.row).value) }
      if values.isEmpty, computation != nil, isComplete {
        // An error is reported about an object.
        do throws(PredicateEvaluationError) { values = try computation?.values(of: row) ?? [] } catch {
          isComplete = false
        }
      }
      guard isComplete, let rules, !rules.areDeferred else {
        isComplete = false
        return
      }
      var changed = SlotValues()
      for target in targets {
        guard let value = target.source.value(target.type, values, target.expression) else {
          isComplete = false
          return
        }
        let old = version.attribute(slot: target.slot, type: target.type, of: node)
        if !old.isIdentical(to: value) { changed[target.slot] = value }
      }
      guard changed.slotLimit > 0 else { return }
      guard rules.allow(changed, node.row, budget) else {
        isComplete = false
        return
      }
      changes.updated.append(
        ManagedObjectSnapshot(entity: node.entity, reference: version.reference(of: node), values: changed))
    }
    return isComplete ? changes : nil
  }
}

extension RowAssignment.Source {
  /// The value, or that of the expression with this number; nil if the type does not take it.
  fileprivate func value(_ type: AttributeType, _ values: [PredicateValue], _ expression: Int) -> StoredValue? {
    switch self {
    case .value(let value): return value
    case .expression(_, let whenUnfit):
      guard case .value(let value) = values[expression] else { return nil }
      return ValueConversion.assigned(value, to: type) ?? whenUnfit
    }
  }
}

extension FetchExpression {
  /// The key paths of the expression and its arguments.
  fileprivate var keyPaths: [[String]] {
    if case .keyPath(let path) = self { return [path] }
    return FetchTree.expression(self).parts.flatMap { part -> [[String]] in
      if case .expression(let expression) = part { expression.keyPaths } else { [] }
    }
  }
}

extension AttributeType {
  /// Whether values are converted by objects only.
  fileprivate var needsObjects: Bool {
    switch self {
    case .transformable, .undefined, .composite: true
    default: false
    }
  }
}

extension ValidationRule {
  /// Whether it limits the number of members of a to-many that has some.
  fileprivate var limitsCount: Bool { minimumCount > 0 || maximumCount > 0 }
}

/// The rules of the model for the rows of an entity whose attributes change.
private struct RowRules {
  let entity: Int
  private let reader: EntityReader
  private let attributes: [(slot: Int, rule: ColumnRule)]
  private let toOnes: [Int]
  private let counts: [(slot: Int, rule: ValidationRule)]
  /// Whether a value that is read by a rule is still in the store's file.
  let areDeferred: Bool

  init(_ plan: EntityPlan, _ version: NodeVersion, leavesOutCounts: Bool) {
    entity = plan.index
    let reader = version.nodes.reader(of: plan.index)
    self.reader = reader
    attributes = plan.entity.slots.compactMap { slot in ColumnRule(slot, reader).map { (slot.index, $0) } }
    let ends = plan.relationships.compactMap { p in
      plan.properties[p].rule.map { (property: plan.properties[p], rule: $0) }
    }
    toOnes = ends.filter { !$0.property.isToMany && $0.rule.isMandatory }.map(\.property.slot)
    counts =
      leavesOutCounts
      ? [] : ends.filter { $0.property.isToMany && $0.rule.limitsCount }.map { ($0.property.slot, $0.rule) }
    areDeferred = attributes.contains { version.hasDeferredValues(entity: plan.index, slot: $0.slot) }
  }

  /// Whether a row may have new values. A to-many that is empty was so before.
  func allow(_ changed: SlotValues, _ row: Int, _ budget: StepBudget) -> Bool {
    attributes.allSatisfy { slot, rule in
      changed[slot].map { rule.violations($0, budget).isEmpty } ?? rule.violations(row, budget).isEmpty
    } && toOnes.allSatisfy { reader.toOne(slot: $0, row: row) != nil }
      && counts.allSatisfy { slot, rule in
        let count = reader.toMany(slot: slot, row: row).count
        return count == 0 || count >= rule.minimumCount && (rule.maximumCount <= 0 || count <= rule.maximumCount)
      }
  }
}
