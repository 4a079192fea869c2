/// Why a predicate or an expression could not be evaluated.
package struct PredicateEvaluationError: Error {
  package enum Kind: Sendable {
    /// It asks for what its subject does not have, or for what cannot be carried out.
    case invalid
    /// It takes more steps than it may: see ``StepBudget``.
    case stepLimitExceeded
    /// Its subject could not give a value: ``PredicateEvaluationError/underlying`` says why.
    case subjectFailed
  }
  package let kind: Kind
  package let message: String
  package let entityName: String?
  /// The key that it is about.
  package let key: String?
  package let underlying: (any Error)?

  package init(
    _ kind: Kind, _ message: String, entityName: String? = nil, key: String? = nil, underlying: (any Error)? = nil
  ) {
    self.kind = kind
    self.message = message
    self.entityName = entityName
    self.key = key
    self.underlying = underlying
  }
}
