extension ManagedObjectContext {
  /// How many objects the request would find.
  public func count<Result: ManagedObject>(for request: FetchRequest<Result>) throws -> Int {
    try withStepBudget(of: request) { try countWithinBudget(request) }
  }

  private func countWithinBudget<Result: ManagedObject>(_ request: FetchRequest<Result>) throws -> Int {
    processPendingChanges()
    try check(request)
    if request.filter == nil, request.predicate == nil, parent == nil,
      inserted.isEmpty && deleted.isEmpty || !request.includesPendingChanges, let entities = try? entities(of: request) {
      var count = 0
      for home in homesAsked(request) {
        guard let version = home.currentVersion() else { continue }
        for entity in entities where entity.model === home.store.model { count += version.rowCount(of: entity.index) }
      }
      count = max(0, count - max(0, request.fetchOffset))
      return request.fetchLimit > 0 ? min(count, request.fetchLimit) : count
    }
    if hasPendingChanges { return try rows(of: request)?.count ?? fetch(request).count }
    // An order changes nothing, but its keys may be an error.
    guard let searches = try columnSearches(request),
      request.sortKeys.isEmpty
        || searches.allSatisfy({ RowSort(request.sortKeys, entities: $0.entities.map(\.plan), $0.home.plan, $0.version) != nil })
    else { return try fetch(request).count }
    var count = 0
    for search in searches {
      for (plan, test) in search.entities {
        count += test?.count(search.version, plan) ?? search.version.rowCount(of: plan.index)
      }
    }
    count = max(0, count - max(0, request.fetchOffset))
    return request.fetchLimit > 0 ? min(count, request.fetchLimit) : count
  }
}
