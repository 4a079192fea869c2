public import AtomicStoreSPI
import FoundationEssentials
import StoreCoordination
import StorePredicates

extension ManagedObjectContext {
  /// Returns the objects that match a request. Pending changes are processed first.
  ///
  /// Without sort keys, the order is: by store, by entity, by reference; then unsaved objects, in the order of
  /// insertion. The same request always returns the same order.
  ///
  /// ```swift
  /// for person in try context.fetch(FetchRequest(entityName: "Person")) { print(person["name"] ?? "") }
  /// ```
  ///
  /// - Throws: `.invalidFetch` for an entity that the model does not have; `.stepLimitExceeded`; the errors of the
  ///   filter.
  public func fetch<Result: ManagedObject>(_ request: FetchRequest<Result>) throws -> [Result] {
    try withStepBudget(of: request) { try fetchWithinBudget($0) }
  }

  private func fetchWithinBudget<Result: ManagedObject>(_ request: FetchRequest<Result>) throws -> [Result] {
    let start = persistentStoreCoordinator.isLogging ? PersistentStoreCoordinator.clock : nil
    if request.shouldRefreshRefetchedObjects { try refreshStaleObjects(request) }
    processPendingChanges()
    try check(request)
    let plan = try plan(request, for: .objects)
    let results = try objects(of: request, by: plan)
    if let start { logSlowFetch(request, plan, count: results.count, since: start) }
    if !request.relationshipKeyPathsForPrefetching.isEmpty {
      try prefetch(request.relationshipKeyPathsForPrefetching, of: results, entityName: request.entityName)
    }
    return results
  }

  func logSlowFetch<Result>(_ request: FetchRequest<Result>, _ plan: FetchPlan, count: Int, since start: Double) {
    let coordinator = persistentStoreCoordinator
    guard PersistentStoreCoordinator.clock - start >= coordinator.slowFetchThreshold else { return }
    coordinator.log(
      .warning, "slow fetch",
      [
        "entity": request.entityName, "predicate": request.predicate.map { "\($0)" } ?? "",
        "sort": request.sortKeys.map { ($0.isAscending ? "" : "-") + $0.keyPath }.joined(separator: ", "),
        "plan": "\(FetchExplanation(plan))", "results": "\(count)", "context": name ?? "",
        "seconds": PersistentStoreCoordinator.seconds(since: start),
      ])
  }

  /// Returns the objects that match a request, by a plan.
  func objects<Result: ManagedObject>(of request: FetchRequest<Result>, by plan: FetchPlan) throws -> [Result] {
    if case .withoutChanges = plan { return try fetchStored(request) }
    let results: [Result]
    if let found = try rows(of: request, by: plan) {
      results = try objects(of: found)
    } else {
      results = try evaluatedObjects(request)
    }
    if !request.returnsObjectsAsFaults { for object in results { _ = object.isReachable } }
    return results
  }

  private func objects<Result: ManagedObject>(of found: FoundRows) throws(ManagedObjectError) -> [Result] {
    var results: [Result] = []
    results.reserveCapacity(found.count)
    for (cache, version, nodes) in found.parts {
      let objects =
        cache.isIncremental && !version.isWindow
        ? try objects(at: nodes, in: version, of: cache) : nodes.map { object(at: $0, in: version, of: cache) }
      for object in objects {
        guard let typed = object as? Result else { throw wrongClass(object, Result.self) }
        results.append(typed)
      }
    }
    for object in found.objects {
      guard let typed = object as? Result else { throw wrongClass(object, Result.self) }
      results.append(typed)
    }
    return results
  }

  /// Returns the objects that match a request, each evaluated separately.
  private func evaluatedObjects<Result: ManagedObject>(_ request: FetchRequest<Result>) throws -> [Result] {
    if let found = try objectsFoundByParent(request) { return found }
    return try finished(request, try matching(request, try candidates(request)))
  }

  /// The objects that fulfil the predicate.
  func matching<Result: ManagedObject>(
    _ request: FetchRequest<Result>, _ objects: [ManagedObject]
  ) throws -> [ManagedObject] {
    guard let predicate = request.predicate else { return objects }
    let now = Date()
    return try objects.filter { object in
      do throws(PredicateEvaluationError) {
        return try PredicateEvaluator(object, now: now).evaluate(predicate)
      } catch {
        throw ManagedObjectError(error)
      }
    }
  }

  /// Sorts what fulfils the predicate, and applies the closure and the limits.
  func finished<Result: ManagedObject>(
    _ request: FetchRequest<Result>, _ objects: [ManagedObject]
  ) throws -> [Result] {
    var found = objects
    var results: [Result] = []
    var skipped = 0
    if !request.sortKeys.isEmpty { found = try SortKey.sort(found, by: request.sortKeys) }
    if request.filter == nil, request.fetchLimit == 0, request.fetchOffset <= 0, let all = found as? [Result] {
      return all
    }
    for object in found {
      guard let typed = object as? Result else { throw wrongClass(object, Result.self) }
      if let filter = request.filter, try !filter(typed) { continue }
      if skipped < request.fetchOffset {
        skipped += 1
        continue
      }
      results.append(typed)
      if request.fetchLimit > 0, results.count == request.fetchLimit { break }
    }
    return results
  }

  /// Returns what the stores hold, regardless of changes made here: found by a context without changes, and returned as
  /// this context's objects, with their changes.
  private func fetchStored<Result: ManagedObject>(_ request: FetchRequest<Result>) throws -> [Result] {
    try withStoresAlone(request) { other in
      try other.fetch(request).map { found in
        let object = object(with: found.objectID)
        guard let typed = object as? Result else { throw wrongClass(object, Result.self) }
        return typed
      }
    }
  }

  /// Calls a body with the objects of a request and, if that leaves out changes that there are, the same objects as
  /// their stores have them.
  func withStoredValues<Result: ManagedObject>(
    of objects: [Result], _ request: FetchRequest<Result>,
    _ body: ([Result], [ManagedObjectID: Result]) throws -> Void
  ) throws {
    guard !request.includesPendingChanges, parent == nil, hasPendingChanges else { return try body(objects, [:]) }
    try withStoresAlone(request) { other in
      let sources = try other.fetch(request).map { ($0.objectID, $0) }
      try body(objects, Dictionary(sources) { first, _ in first })
    }
  }

  /// Carries out a request that leaves out pending changes, in a context that has none.
  func withStoresAlone<Result: ManagedObject, Found>(
    _ request: FetchRequest<Result>, _ body: (ManagedObjectContext) throws -> Found
  ) throws -> Found {
    guard request.filter == nil else {
      throw ManagedObjectError(
        .invalidFetch,
        "a closure is evaluated on objects with their pending changes; to exclude pending changes, use a predicate",
        entityName: request.entityName)
    }
    let other = ManagedObjectContext(persistentStoreCoordinator)
    other.options.generation = options.generation
    return try withExtendedLifetime(other) { try body(other) }
  }

  /// Reports errors in a request before anything is evaluated, so that they are found even if the store is empty.
  func check<Result>(_ request: FetchRequest<Result>) throws(ManagedObjectError) {
    checkThread()
    guard
      request.predicate != nil || !request.sortKeys.isEmpty || !request.propertiesToGroupBy.isEmpty
        || !request.propertiesToFetch.isEmpty
    else { return }
    for entity in try entities(of: request) where entity.name.utf8.elementsEqual(request.entityName.utf8) {
      do throws(PredicateFormatError) {
        try request.predicate?.check(entity, isStrict: false)
      } catch {
        throw ManagedObjectError(.invalidFetch, "the predicate, \(error)", entityName: entity.name)
      }
      let keys = request.sortKeys.map { FetchExpression.keyPath(of: $0.keyPath) }
      for expression in keys + (request.propertiesToGroupBy + request.propertiesToFetch).map(\.expression) {
        do throws(PredicateFormatError) { try expression.check(entity) } catch {
          let suggestion = error.suggestion.map { "; \($0)" } ?? ""
          throw ManagedObjectError(
            .invalidFetch, "'\(expression)': \(error.message)\(suggestion)", entityName: entity.name)
        }
      }
    }
  }

  private func wrongClass(_ object: ManagedObject, _ wanted: ManagedObject.Type) -> ManagedObjectError {
    ManagedObjectError(
      .invalidFetch,
      "objects of \(object.plan.name) are \(type(of: object)), not \(wanted): register the class with the coordinator",
      entityName: object.plan.name)
  }

  /// Returns the IDs of the objects that match a request, without creating the objects if the stores' columns suffice.
  /// Unsaved objects have temporary IDs.
  public func fetchObjectIDs<Result: ManagedObject>(_ request: FetchRequest<Result>) throws -> [ManagedObjectID] {
    try withStepBudget(of: request) { try fetchObjectIDsWithinBudget($0) }
  }

  private func fetchObjectIDsWithinBudget<Result: ManagedObject>(_ request: FetchRequest<Result>) throws
    -> [ManagedObjectID]
  {
    processPendingChanges()
    try check(request)
    let plan = try plan(request, for: .ids)
    guard let found = try rows(of: request, by: plan) else { return try objects(of: request, by: plan).map(\.objectID) }
    var ids: [ManagedObjectID] = []
    ids.reserveCapacity(found.count)
    for (cache, version, nodes) in found.parts {
      for node in nodes {
        ids.append(
          ManagedObjectID(
            storeIdentifier: cache.identifier, entityName: cache.plan.entities[node.entity].name,
            reference: version.reference(of: node)))
      }
    }
    ids += found.objects.map(\.objectID)
    return ids
  }

  /// Returns the objects that match a request in batches. The set of objects is determined at once; each batch is
  /// created when it is requested. Callers that keep no objects never hold more than one batch.
  ///
  /// Objects that have been deleted since are left out.
  public func fetchBatches<Result: ManagedObject>(_ request: FetchRequest<Result>) throws -> AnySequence<[Result]> {
    let ids = try fetchObjectIDs(request)
    let size = request.fetchBatchSize > 0 ? request.fetchBatchSize : max(1, ids.count)
    return AnySequence<[Result]> { () -> AnyIterator<[Result]> in
      var next = 0
      return AnyIterator<[Result]> { () -> [Result]? in
        guard next < ids.count else { return nil }
        let part = ids[next..<min(next + size, ids.count)]
        next += part.count
        return part.compactMap { (id: ManagedObjectID) -> Result? in
          let object = self.object(with: id)
          return object.flags.contains(.deleted) || object.unavailableReason != nil ? nil : object as? Result
        }
      }
    }
  }

  func entities<Result>(of request: FetchRequest<Result>) throws(ManagedObjectError) -> [Entity] {
    let model = persistentStoreCoordinator.managedObjectModel
    if let last = fetchState.entitiesAskedLast, last.model === model,
      last.includesSubentities == request.includesSubentities,
      last.name.utf8.elementsEqual(request.entityName.utf8)
    {
      return last.found
    }
    let found = try entitiesFound(request)
    fetchState.entitiesAskedLast = model.map { (request.entityName, request.includesSubentities, $0, found) }
    return found
  }

  private func entitiesFound<Result>(_ request: FetchRequest<Result>) throws(ManagedObjectError) -> [Entity] {
    var models: [ManagedObjectModel] = []
    if let model = persistentStoreCoordinator.managedObjectModel {
      models = [model]
    } else {
      for store in persistentStoreCoordinator.persistentStores where !models.contains(where: { $0 === store.model }) {
        models.append(store.model)
      }
    }
    let entities = models.compactMap { $0.entity(named: request.entityName) }
    guard !entities.isEmpty else {
      let names = models.flatMap { $0.entities.map(\.name) }
      throw ManagedObjectError(
        .invalidFetch,
        "the model has no entity '\(request.entityName)'\(Suggestion.text(for: request.entityName, among: names))",
        entityName: request.entityName)
    }
    return entities.flatMap { request.includesSubentities ? $0.hierarchy : [$0] }
  }

  func cachesAsked<Result>(_ request: FetchRequest<Result>) -> [StoreCache] {
    let stores = persistentStoreCoordinator.persistentStores
    return stores.filter { store in request.affectedStores?.contains { $0.latest === store } ?? true }.map {
      cache(of: $0)
    }
  }

  /// All objects of the request's entities, in order.
  func candidates<Result>(_ request: FetchRequest<Result>) throws(ManagedObjectError) -> [ManagedObject] {
    let entities = try entities(of: request)
    let names = Set(entities.map(\.index))
    var objects: [ManagedObject] = []
    if let parent {
      var above = FetchRequest<ManagedObject>(entityName: request.entityName)
      above.includesSubentities = request.includesSubentities
      above.affectedStores = request.affectedStores
      above.includesPendingChanges = request.includesPendingChanges
      objects = try parent.candidates(above).map { child(of: $0) }
    } else {
      for cache in cachesAsked(request) {
        guard let version = cache.currentVersion() else { continue }
        if cache.isIncremental {
          objects += try storedObjects(of: entities, in: cache)
          continue
        }
        for entity in entities where entity.model === cache.store.model {
          let count = version.rowCount(of: entity.index)
          objects.reserveCapacity(objects.count + count)
          for row in 0..<count {
            objects.append(object(at: NodeHandle(entity: entity.index, row: row), in: version, of: cache))
          }
        }
      }
    }
    guard request.includesPendingChanges else {
      // Objects inserted here or in the parent are not in a store yet.
      return parent == nil ? objects : objects.filter { !$0.flags.contains(.inserted) }
    }
    if !deleted.isEmpty { objects.removeAll { $0.flags.contains(.deleted) } }
    if !inserted.isEmpty {
      let stores = request.affectedStores.map { $0.map(\.latest) }
      for object in inserted where names.contains(object.plan.index) && entities.contains(object.plan.entity) {
        if let stores {
          guard let cache = cacheForCheck(object), stores.contains(where: { $0 === cache.store }) else { continue }
        }
        // An object restored after a conflict is in both lists.
        if object.flags.contains(.permanent), object.base != nil, objects.contains(where: { $0 === object }) {
          continue
        }
        objects.append(object)
      }
    }
    return objects
  }

  /// Runs a fetch, with its entity's name, with its step budget or with that of the enclosing fetch.
  func withStepBudget<Object: ManagedObject, Result>(
    of request: FetchRequest<Object>, _ body: (FetchRequest<Object>) throws -> Result
  ) rethrows -> Result {
    let request = named(request)
    guard fetchState.stepBudget == nil else { return try body(request) }
    return try withStepBudget(StepBudget(limit: request.stepLimit, predicate: request.predicate)) { try body(request) }
  }

  /// The request with the name of its entity.
  func named<Result>(_ request: FetchRequest<Result>) -> FetchRequest<Result> {
    guard request.entityName.isEmpty else { return request }
    var named = request
    named.entityName = entityName(of: request.objectClass)
    return named
  }

  /// Runs a part of a fetch with the budget of all its parts, or with that of the enclosing fetch.
  func withStepBudget<Result>(_ budget: StepBudget, _ body: () throws -> Result) rethrows -> Result {
    guard fetchState.stepBudget == nil else { return try body() }
    fetchState.stepBudget = budget
    defer {
      fetchState.stepBudget = nil
      fetchState.storeColumns = nil
      fetchState.storeShare = nil
    }
    return try body()
  }
}
