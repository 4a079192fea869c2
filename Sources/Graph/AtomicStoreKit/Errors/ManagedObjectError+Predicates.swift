import StorePredicates

extension PredicateEvaluationError {
  /// Wraps the error of an object that a predicate was evaluated on.
  init(_ error: ManagedObjectError) { self.init(.subjectFailed, error.message, underlying: error) }
}

extension ManagedObjectError {
  /// Converts a predicate's error to the error that fetches throw.
  init(_ error: PredicateEvaluationError) {
    switch error.kind {
    case .subjectFailed:
      self =
        error.underlying as? ManagedObjectError
        ?? ManagedObjectError(.invalidFetch, error.message, underlying: error.underlying)
    case .invalid:
      let object = error.objectID.map { id in
        "\(id.entityName)/\(id.reference.map { "\($0)" } ?? "a new object"): "
      }
      self.init(
        .invalidFetch, (object ?? "") + error.message, objectID: error.objectID, entityName: error.entityName,
        key: error.key, underlying: error.underlying)
    case .stepLimitExceeded: self.init(.stepLimitExceeded, error.message)
    }
  }

  /// Runs an evaluation and converts its error to the error that fetches throw.
  static func reporting<Result>(_ evaluate: () throws(PredicateEvaluationError) -> Result) throws(ManagedObjectError)
    -> Result
  {
    do throws(PredicateEvaluationError) { return try evaluate() } catch { throw ManagedObjectError(error) }
  }
}

extension StepBudget {
  /// Counts steps, and throws as fetches do if the limit is exceeded.
  func spend(_ steps: Int = 1) throws(ManagedObjectError) {
    do throws(PredicateEvaluationError) { try take(steps) } catch { throw ManagedObjectError(error) }
  }

  /// As ``checkList(_:)``, but throws as fetches do.
  func checkLength(_ count: Int) throws(ManagedObjectError) {
    do throws(PredicateEvaluationError) { try checkList(count) } catch { throw ManagedObjectError(error) }
  }
}
