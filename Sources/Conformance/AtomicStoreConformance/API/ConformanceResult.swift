import AtomicStoreSPI
import FoundationEssentials

/// The outcome of running a check.
package struct ConformanceResult: Sendable, Codable {
  /// What came of running a check.
  package enum Outcome: String, Sendable, Codable, CaseIterable {
    /// The store keeps the rule.
    case passed
    /// The store breaks the rule; ``ConformanceResult/explanation`` says how.
    case failed
    /// The format declares this unsupported, and correctly throws an error.
    case refusalVerified
    /// It cannot be tried: a checksum hides the payload, and the author gives no way past it.
    case gap
    /// The rule is about something that the format does not have.
    case notApplicable
    /// This machine cannot try it.
    case blocked
    /// The process that ran the check ended before it was done.
    case crashed
    /// The check took longer than its limit, and was stopped.
    case timedOut

    /// Whether the check speaks against the format: it failed, crashed or took too long.
    package var isFailure: Bool { self == .failed || self == .crashed || self == .timedOut }
  }
  /// The ID of the check, such as `VAL-07`.
  package var id: String
  /// What came of it.
  package var outcome: Outcome
  /// The trait, the reason, or the environment, where there is one.
  package var reason: String?
  /// Details of the failure; nil for everything else.
  package var explanation: Explanation?
  /// What was seen on the way: one line each.
  package var notes: [String] = []
  /// For sweeps over the calls of a save: what was found after each was cut.
  package var strip: [String] = []
  /// How long the check took, in seconds of wall time.
  package var seconds: Double = 0
  /// The seed of its random choices: the same seed makes the same choices.
  package var seed: UInt64 = 0

  /// What a failure says for itself.
  package struct Explanation: Sendable, Codable {
    /// The rule that is broken, in one sentence.
    var rule: String
    /// Where the rule comes from: document and section.
    var source: String
    /// What was done, step by step.
    var done: [String]
    /// What should have come of it.
    package var expected: String
    /// What did come of it.
    package var actual: String
    /// What is wrong most often where this check fails.
    package var causes: [String]
    /// The folder with the files as they were.
    package var files: String
    /// What runs just this again.
    package var command: String
  }
}
