package import AtomicStoreSPI

/// Why a predicate or an expression could not be evaluated.
package struct PredicateEvaluationError: Error {
  package enum Kind: Sendable {
    /// It refers to something that its subject does not have, or that cannot be evaluated.
    case invalid
    /// It exceeds the step limit: see ``StepBudget``.
    case stepLimitExceeded
    /// The subject could not provide a value, for the reason in ``PredicateEvaluationError/underlying``.
    case subjectFailed
  }
  package let kind: Kind
  package let message: String
  package let entityName: String?
  /// The object for whose values a function has no result; nil if the error does not depend on the object.
  package let objectID: ManagedObjectID?
  /// The key concerned.
  package let key: String?
  package let underlying: (any Error)?

  package init(
    _ kind: Kind, _ message: String, entityName: String? = nil, objectID: ManagedObjectID? = nil, key: String? = nil,
    underlying: (any Error)? = nil
  ) {
    self.kind = kind
    self.message = message
    self.entityName = entityName
    self.objectID = objectID
    self.key = key
    self.underlying = underlying
  }
}
