import AtomicStoreSPI

/// The number of steps that one fetch may take, and the steps that are left.
///
/// A predicate of a few hundred bytes can ask for more work than a machine does in a year: nested `SUBQUERY`, or a path that
/// multiplies its values at each key. The budget turns that into an error. A context has one for the outermost fetch that runs;
/// fetches inside it, as of fetched properties, share it.
final class StepBudget {
  /// About ten seconds of processor time.
  static let standardLimit = 250_000_000
  /// A list of values takes memory, not only steps: it may have a twenty-fifth of the limit.
  private static let stepsPerListElement = 25

  let limit: Int
  private(set) var left: Int
  /// What is evaluated, for the error.
  private let predicate: FetchPredicate?

  init(limit: Int = StepBudget.standardLimit, predicate: FetchPredicate? = nil) {
    self.limit = max(1, limit)
    left = self.limit
    self.predicate = predicate
  }

  /// Takes steps where an error cannot be thrown at once.
  ///
  /// - Returns: Whether there were enough. If not, the next ``take(_:)`` throws.
  @inline(__always) func use(_ steps: Int) -> Bool {
    left -= steps
    return left >= 0
  }

  /// - Throws: `.stepLimitExceeded` where none is left.
  @inline(__always) func take(_ steps: Int = 1) throws(ManagedObjectError) {
    guard use(steps) else { throw exceeded("takes more than \(limit) steps") }
  }

  /// - Throws: `.stepLimitExceeded` for a list of more values than a predicate may hold at a time.
  @inline(__always) func checkList(_ count: Int) throws(ManagedObjectError) {
    guard count > 1000, count > limit / Self.stepsPerListElement else { return }
    throw exceeded("makes a list of more than \(limit / Self.stepsPerListElement) values, a \(Self.stepsPerListElement)th of its \(limit) steps")
  }

  private func exceeded(_ what: String) -> ManagedObjectError {
    var subject = "the fetch"
    if let predicate {
      let text = predicate.predicateFormat
      subject = "the fetch with the predicate '\(text.count > 400 ? text.prefix(400) + "…" : text)'"
    }
    return ManagedObjectError(.stepLimitExceeded, "\(subject) \(what); the step limit of the request (stepLimit) can be raised")
  }
}

extension ManagedObjectContext {
  /// Runs a fetch under its budget, or under that of the fetch inside which it runs.
  func withStepBudget<Object: ManagedObject, Result>(
    of request: FetchRequest<Object>, _ body: () throws -> Result
  ) rethrows -> Result {
    guard stepBudget == nil else { return try body() }
    stepBudget = StepBudget(limit: request.stepLimit, predicate: request.predicate)
    defer { stepBudget = nil }
    return try body()
  }
}
