import StorePredicates

extension ManagedObjectContext {
  /// Runs a fetch with its step budget, or with that of the enclosing fetch.
  func withStepBudget<Object: ManagedObject, Result>(
    of request: FetchRequest<Object>, _ body: () throws -> Result
  ) rethrows -> Result {
    guard stepBudget == nil else { return try body() }
    return try withStepBudget(StepBudget(limit: request.stepLimit, predicate: request.predicate), body)
  }

  /// Runs a part of a fetch with the budget of all its parts, or with that of the enclosing fetch.
  func withStepBudget<Result>(_ budget: StepBudget, _ body: () throws -> Result) rethrows -> Result {
    guard stepBudget == nil else { return try body() }
    stepBudget = budget
    defer { stepBudget = nil }
    return try body()
  }
}
