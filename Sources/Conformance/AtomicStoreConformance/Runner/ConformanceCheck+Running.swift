extension ConformanceCheck {
  /// Runs the check in its own process.
  ///
  /// What does not apply to the store, by its traits, is not a failure; nor is what this machine cannot try.
  ///
  /// - Throws: An error whose text says what was expected, what was found, and how to run the check again.
  public func run() throws {
    let result = outcome(seed: ConformanceFilter.askedSeed ?? 1)
    if result.outcome.isFailure { throw ConformanceFailure(result: result) }
  }

  /// Runs the check and says how it went.
  ///
  /// - Parameter seed: What random choices are made by; the same seed makes the same ones.
  package func outcome(seed: UInt64 = 1) -> ConformanceResult {
    WorkerPool.shared(for: subject).run(definition, subject, seed: seed)
  }

  /// The same check of the same store under other circumstances.
  package func limited(to limit: Duration) -> ConformanceCheck {
    var subject = subject
    subject.timeLimit = limit
    return ConformanceCheck(definition: definition, subject: subject)
  }
}
