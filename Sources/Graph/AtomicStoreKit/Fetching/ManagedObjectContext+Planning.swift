import AtomicStoreSPI
import StoreCoordination
import StorePredicates

extension ManagedObjectContext {
  /// Returns how ``fetch(_:)`` would execute a request, without executing it; for a request with groups, how
  /// ``fetchRows(_:)`` would. Pending changes are processed first.
  ///
  /// - Throws: `.invalidFetch` as ``fetch(_:)``.
  public func explain<Result: ManagedObject>(_ request: FetchRequest<Result>) throws -> FetchExplanation {
    processPendingChanges()
    let request = named(request)
    try check(request)
    guard case .store(let search) = try plan(request, for: .store) else {
      return FetchExplanation(try plan(request, for: .objects))
    }
    let grouped = explanation(ofGroups: request, search)
    if grouped?.method != .store, readsColumns(request, search, for: isGrouped(request) ? .rows : .objects) {
      return FetchExplanation(method: .columns, reason: grouped?.reason ?? search.answer.reason)
    }
    return grouped ?? FetchExplanation(.store(search))
  }

  /// Decides how to execute a checked request. Pending changes must have been processed.
  func plan<Result>(_ request: FetchRequest<Result>, for purpose: FetchPlan.Purpose) throws(ManagedObjectError)
    -> FetchPlan
  {
    let asked = parent == nil ? cachesAsked(request) : []
    // By now another store may have taken a store's place: a Save As to or from a database, or one that failed.
    for cache in asked { _ = cache.currentVersion() }
    let isIncremental = asked.contains { $0.isIncremental }
    if !isIncremental, asksForAll(request, purpose) { return .all }
    if !request.includesPendingChanges, parent == nil, hasPendingChanges { return .withoutChanges }
    if isIncremental {
      if let search = try storeSearch(request) {
        return try columnSearch(request, search, for: purpose).map { .columns([$0]) } ?? .store(search)
      }
      return .objects(request.filter == nil ? .severalStores : .hasClosure)
    }
    switch try columnSearches(request) {
    case .failure(let reason): return .objects(reason)
    case .success(let searches): return hasPendingChanges ? .columnsAndChanges(searches) : .columns(searches)
    }
  }

  /// Whether the request has no condition or order, so that no object must be examined.
  private func asksForAll<Result>(_ request: FetchRequest<Result>, _ purpose: FetchPlan.Purpose) -> Bool {
    guard request.predicate == nil else { return false }
    switch purpose {
    case .objects:
      let isWithoutChanges = !request.includesPendingChanges && parent == nil && hasPendingChanges
      return request.sortKeys.isEmpty && request.fetchLimit == 0 && !isWithoutChanges
    case .count:
      return request.filter == nil && parent == nil
        && (inserted.isEmpty && deleted.isEmpty || !request.includesPendingChanges)
    case .ids, .rows, .store: return false
    }
  }

  enum ColumnSearches {
    case success([ColumnSearch])
    case failure(FetchPlan.Reason)
  }

  /// The column searches for a request, or why it must be evaluated on objects: a closure, keys that are not columns,
  /// or changes in memory that are not in the columns and that the predicate may read through a relationship.
  private func columnSearches<Result>(_ request: FetchRequest<Result>) throws(ManagedObjectError) -> ColumnSearches {
    guard parent == nil else { return .failure(.isChildContext) }
    guard request.filter == nil else { return .failure(.hasClosure) }
    let entities = try entities(of: request)
    let caches = cachesAsked(request)
    // Objects of several stores in one order are sorted as objects.
    guard caches.count == 1 || request.sortKeys.isEmpty else { return .failure(.severalStoresInOneOrder) }
    guard !hasPendingChanges || managedObjectModel != nil else { return .failure(.storeIsClosed) }
    var searches: [ColumnSearch] = []
    for cache in caches {
      guard let version = cache.currentVersion() else { return .failure(.storeIsClosed) }
      guard isReadAsStored(cache, version) else { return .failure(.objectsDifferFromStore) }
      switch columnSearch(request, entities, in: cache, version) {
      case .success(let search): searches += search
      case .failure(let reason): return .failure(reason)
      }
    }
    return .success(searches)
  }

  /// The column search for a request in one version of a store.
  func columnSearch<Result>(
    _ request: FetchRequest<Result>, _ entities: [Entity], in cache: StoreCache, _ version: NodeVersion
  ) -> ColumnSearches {
    var asked: [(plan: EntityPlan, test: RowTest?)] = []
    let budget = fetchState.stepBudget ?? StepBudget()
    // The columns of an incremental store are filled for what is compiled.
    let conditions = cache.isIncremental ? nil : RowConditions(version, store: cache.identifier, budget: budget)
    let compiler = RowTestCompiler(
      plan: cache.plan, version: version, store: cache.identifier, conditions: conditions)
    for entity in entities where entity.model === cache.store.model && !entity.isAbstract {
      let plan = cache.plan.entities[entity.index]
      guard let predicate = request.predicate else {
        asked.append((plan, nil))
        continue
      }
      guard let test = compiler.compile(predicate, plan) else {
        return .failure(.predicate(predicate, entityName: plan.name))
      }
      guard !test.readsDeferredValues(version, plan.index) else {
        return .failure(.deferredValues(entityName: plan.name))
      }
      guard !hasPendingChanges || !isChanged(anyOf: test.entitiesLedTo) else {
        return .failure(.changesBehindRelationship(entityName: plan.name))
      }
      asked.append((plan, test))
    }
    var search = ColumnSearch(
      cache: cache, version: version, entities: asked, budget: budget, conditions: conditions)
    // With unsaved changes, objects are sorted.
    if !request.sortKeys.isEmpty, !hasPendingChanges {
      guard let sort = RowSort(request.sortKeys, entities: asked.map(\.plan), cache.plan, version) else {
        return .failure(.sortKeys(request.sortKeys))
      }
      search.sort = sort
    }
    return .success([search])
  }

  /// Whether objects without changes have the values of the store's current version: none reads an older version, and
  /// none overrides stored values. Determined once for each version, not at each fetch.
  private func isReadAsStored(_ cache: StoreCache, _ version: NodeVersion) -> Bool {
    if cache.settledVersion === version { return true }
    var isSettled = true
    cache.visit { object in
      guard object.flags.contains(.realized) else { return }
      if object.base !== version, !object.flags.contains(.inserted) { isSettled = false }
      if object.hasStoredOverlay { isSettled = false }
    }
    if isSettled { cache.settledVersion = version }
    return isSettled
  }

  /// Whether objects of one of these entities are changed here.
  private func isChanged(anyOf entities: Set<Int>) -> Bool {
    guard !entities.isEmpty else { return false }
    return [inserted, updated, deleted].contains { $0.contains { entities.contains($0.plan.index) } }
  }

  var hasPendingChanges: Bool { !(inserted.isEmpty && updated.isEmpty && deleted.isEmpty) }
}
