package import AtomicStoreSPI

/// The maximum number of steps of one fetch, and the steps that are left.
///
/// Each expression, key of a path, comparison, and element of a list is a step, also within `SUBQUERY`.
/// A predicate of a few hundred bytes can demand years of computation: by nested `SUBQUERY`, a path that multiplies its
/// values at each key, or a regular expression. The budget turns that into an error. A context has a budget for the
/// outermost fetch; nested fetches, such as those of fetched properties, share it.
package final class StepBudget {
  /// About ten seconds of processor time.
  package static let standardLimit = 50_000_000
  /// A list of values needs memory, not only steps: it may have at most a fifth of the limit.
  private static let stepsPerListElement = 5

  package let limit: Int
  package private(set) var left: Int
  /// The evaluated predicate, for the error.
  private let predicate: FetchPredicate?

  package init(limit: Int = StepBudget.standardLimit, predicate: FetchPredicate? = nil) {
    self.limit = max(1, limit)
    left = self.limit
    self.predicate = predicate
  }

  /// Uses steps where an error cannot be thrown immediately.
  ///
  /// - Returns: Whether there were enough. If not, the next ``take(_:)`` throws.
  package func use(_ steps: Int) -> Bool {
    left -= steps
    return left >= 0
  }

  /// - Throws: `.stepLimitExceeded` if no steps are left.
  package func take(_ steps: Int = 1) throws(PredicateEvaluationError) {
    guard use(steps) else { throw exceeded("needs more than \(limit) steps") }
  }

  /// Uses the steps of a search in a long text, which takes at most as long as both have bytes, multiplied.
  ///
  /// - Throws: `.stepLimitExceeded` if no steps are left.
  func take(searching part: String, in text: String) throws(PredicateEvaluationError) {
    let bytes = text.utf8.count
    guard bytes >= 64 else { return }
    let (product, overflow) = bytes.multipliedReportingOverflow(by: part.utf8.count)
    try take(overflow ? limit : bytes / 64 + product / 1024)
  }

  /// - Throws: `.stepLimitExceeded` for a list of more values than a predicate may hold at a time.
  package func checkList(_ count: Int) throws(PredicateEvaluationError) {
    guard count > 1000, count > limit / Self.stepsPerListElement else { return }
    throw exceeded(
      "creates a list of more than \(limit / Self.stepsPerListElement) values, a \(Self.stepsPerListElement)th of its \(limit) steps"
    )
  }

  private func exceeded(_ what: String) -> PredicateEvaluationError {
    var subject = "the fetch"
    if let predicate {
      let text = predicate.predicateFormat
      subject = "the fetch with the predicate '\(text.count > 400 ? text.prefix(400) + "…" : text)'"
    }
    return PredicateEvaluationError(
      .stepLimitExceeded, "\(subject) \(what); if necessary, raise the step limit of the request (stepLimit)")
  }
}
