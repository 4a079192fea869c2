import StorePredicates

extension ManagedObjectContext {
  /// Runs a fetch with its step budget, or with that of the enclosing fetch.
  func withStepBudget<Object: ManagedObject, Result>(
    of request: FetchRequest<Object>, _ body: () throws -> Result
  ) rethrows -> Result {
    guard stepBudget == nil else { return try body() }
    stepBudget = StepBudget(limit: request.stepLimit, predicate: request.predicate)
    defer { stepBudget = nil }
    return try body()
  }
}
