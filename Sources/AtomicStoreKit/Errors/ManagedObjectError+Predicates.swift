import StorePredicates

extension PredicateEvaluationError {
  /// What an object could not give, for the predicate that asked for it.
  init(_ error: ManagedObjectError) { self.init(.subjectFailed, error.message, underlying: error) }
}

extension ManagedObjectError {
  /// A predicate's error as fetches report it.
  init(_ error: PredicateEvaluationError) {
    switch error.kind {
    case .subjectFailed:
      self =
        error.underlying as? ManagedObjectError
        ?? ManagedObjectError(.invalidFetch, error.message, underlying: error.underlying)
    case .invalid:
      self.init(
        .invalidFetch, error.message, entityName: error.entityName, key: error.key, underlying: error.underlying)
    case .stepLimitExceeded: self.init(.stepLimitExceeded, error.message)
    }
  }

  /// Runs an evaluation, and reports its error as fetches do.
  static func reporting<Result>(_ evaluate: () throws(PredicateEvaluationError) -> Result) throws(ManagedObjectError)
    -> Result
  {
    do throws(PredicateEvaluationError) { return try evaluate() } catch { throw ManagedObjectError(error) }
  }
}

extension StepBudget {
  /// Takes steps, for an evaluation that reports errors as fetches do.
  func spend(_ steps: Int = 1) throws(ManagedObjectError) {
    do throws(PredicateEvaluationError) { try take(steps) } catch { throw ManagedObjectError(error) }
  }

  /// As ``checkList(_:)``, for an evaluation that reports errors as fetches do.
  func checkLength(_ count: Int) throws(ManagedObjectError) {
    do throws(PredicateEvaluationError) { try checkList(count) } catch { throw ManagedObjectError(error) }
  }
}
