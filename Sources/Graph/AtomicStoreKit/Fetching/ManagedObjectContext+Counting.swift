extension ManagedObjectContext {
  /// Returns the number of objects that match the request.
  public func count<Result: ManagedObject>(for request: FetchRequest<Result>) throws -> Int {
    try withStepBudget(of: request) { try countWithinBudget($0) }
  }

  private func countWithinBudget<Result: ManagedObject>(_ request: FetchRequest<Result>) throws -> Int {
    processPendingChanges()
    try check(request)
    let plan = try plan(request, for: .count)
    var count = 0
    switch plan {
    case .all:
      let entities = try entities(of: request)
      for cache in cachesAsked(request) {
        guard let version = cache.currentVersion() else { continue }
        for entity in entities where entity.model === cache.store.model { count += version.rowCount(of: entity.index) }
      }
    case .columns(let searches):
      for search in searches {
        for (plan, test) in search.entities {
          count += test?.count(search.version, plan, search.budget) ?? search.version.rowCount(of: plan.index)
        }
        guard !search.isUndecided else { return try objects(of: request, by: plan).count }
      }
    case .store(let search):
      guard let all = try storeCount(of: search) else { return try rows(of: request, by: plan)?.count ?? 0 }
      count = all
    case .columnsAndChanges: return try rows(of: request, by: plan)?.count ?? objects(of: request, by: plan).count
    case .withoutChanges, .objects: return try objects(of: request, by: plan).count
    }
    count = max(0, count - max(0, request.fetchOffset))
    return request.fetchLimit > 0 ? min(count, request.fetchLimit) : count
  }
}
