/// The maximum number of steps of one fetch, check, import or save, and the steps that are left.
///
/// Each expression, key of a path, comparison, and element of a list is a step, also within `SUBQUERY`. A test over a
/// column takes a step for several rows, and ten steps of a regular expression are one.
/// A predicate of a few hundred bytes can demand years of computation: by nested `SUBQUERY`, a path that multiplies its
/// values at each key, or a regular expression. The budget turns that into an error. A context has a budget for the
/// outermost fetch; nested fetches, such as those of fetched properties, share it. The patterns of a model's rules
/// share the budget of a check, of a save, or of one reading of an import's tables.
package final class StepBudget {
  /// About ten seconds of processor time.
  package static let standardLimit = 50_000_000
  /// A list of values needs memory, not only steps: it may have at most a fifth of the limit.
  private static let stepsPerListElement = 5

  package let limit: Int
  package private(set) var left: Int
  private var ranOutOfMemory = false
  /// The text of the evaluated predicate, for the error.
  private let text: (() -> String)?

  package init(limit: Int = StepBudget.standardLimit, text: (() -> String)? = nil) {
    self.limit = max(1, limit)
    left = self.limit
    self.text = text
  }

  /// Uses steps where an error cannot be thrown immediately.
  ///
  /// - Returns: Whether there were enough. If not, the next ``take(_:)`` throws.
  package func use(_ steps: Int) -> Bool {
    left -= steps
    return left >= 0
  }

  /// Whether something that cannot throw needed more steps or memory than it may have. What it found is wrong then.
  package var isUndecided: Bool { left < 0 || ranOutOfMemory }

  /// - Throws: `.stepLimitExceeded` if no steps are left.
  package func take(_ steps: Int = 1) throws(PredicateEvaluationError) {
    guard use(steps) else { throw exceeded() }
  }

  func exceeded() -> PredicateEvaluationError { exceeded("needs more than \(limit) steps") }

  /// Uses the steps of a search, which takes at most as long as both texts have bytes, multiplied.
  ///
  /// - Throws: `.stepLimitExceeded` if no steps are left.
  func take(searching part: String, in text: String) throws(PredicateEvaluationError) {
    try take(stepsOfSearch(for: part.utf8.count, in: text.utf8.count))
  }

  /// The steps of a search for so many bytes in so many; none for short texts.
  package func stepsOfSearch(for part: Int, in bytes: Int) -> Int {
    let (product, overflow) = bytes.multipliedReportingOverflow(by: part)
    return overflow ? limit : bytes / 64 + part / 64 + product / 1024
  }

  /// Runs what is done in another way if it fails: the steps that it took are given back then, unless there were too
  /// few.
  ///
  /// - Returns: nil if it failed.
  package func attempt<Result>(_ body: () throws -> Result?) -> Result? {
    let before = left
    if let result = try? body() { return result }
    giveBack(to: before)
    return nil
  }

  /// As ``attempt(_:)``, for a way whose errors count.
  package func tryFirst<Result>(_ body: () throws -> Result?) rethrows -> Result? {
    let before = left
    if let result = try body() { return result }
    giveBack(to: before)
    return nil
  }

  /// Gives back the steps that were taken since there were so many, unless there were too few.
  package func giveBack(to before: Int) { if !isUndecided { left = before } }

  // MARK: Regular expressions

  /// Those of a match are a tenth as long as others.
  private static let matchStepsPerStep = 10

  /// Whether the whole of a text, which is UTF-8, matches. The steps that reading the text a few times takes are free:
  /// their number is bounded by what was loaded.
  ///
  /// - Parameter limit: The most steps of a match; nil for what the budget has left.
  package func match(
    _ expression: RegularExpression, _ text: UnsafeBufferPointer<UInt8>, limit: Int? = nil
  ) -> RegularExpression.Outcome {
    guard left > 0 else {
      left = -1
      return .tooManySteps
    }
    let free = 64 + 16 * text.count
    let (most, overflow) = left.multipliedReportingOverflow(by: Self.matchStepsPerStep)
    var steps = 0
    let outcome = expression.match(
      text, stepLimit: min(limit ?? .max, overflow ? .max - free : most + free), steps: &steps)
    left -= max(0, steps - free) / Self.matchStepsPerStep
    return outcome
  }

  /// As above, for a test that cannot throw: see ``isUndecided``.
  package func holds(_ expression: RegularExpression, _ text: UnsafeBufferPointer<UInt8>) -> Bool {
    switch match(expression, text) {
    case .matching: return true
    case .different: return false
    case .tooManySteps: left = min(left, -1)
    case .tooMuchMemory: ranOutOfMemory = true
    }
    return false
  }

  // MARK: Lists

  /// - Throws: `.stepLimitExceeded` for a list of more values than a predicate may hold at a time.
  package func checkList(_ count: Int) throws(PredicateEvaluationError) {
    guard count > 1000, count > limit / Self.stepsPerListElement else { return }
    throw exceeded(
      "creates a list of more than \(limit / Self.stepsPerListElement) values, a \(Self.stepsPerListElement)th of its \(limit) steps"
    )
  }

  private func exceeded(_ what: String) -> PredicateEvaluationError {
    var subject = "the fetch"
    if let text = text?() {
      subject = "the fetch with the predicate '\(text.count > 400 ? text.prefix(400) + "…" : text)'"
    }
    return PredicateEvaluationError(
      .stepLimitExceeded, "\(subject) \(what); if necessary, raise the step limit of the request (stepLimit)")
  }
}
