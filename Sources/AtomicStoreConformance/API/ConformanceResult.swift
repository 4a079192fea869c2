import AtomicStoreSPI
import FoundationEssentials

/// What a run of a check came to.
public struct ConformanceResult: Sendable, Codable {
  public enum Outcome: String, Sendable, Codable, CaseIterable {
    case passed
    case failed
    /// The store declares that it cannot, and says so properly when it is asked.
    case refusalVerified
    /// The store declares that it cannot, and nothing can be asked of it.
    case gap
    case notApplicable
    /// This machine cannot try it.
    case blocked
    case crashed
    case timedOut

    public var isFailure: Bool { self == .failed || self == .crashed || self == .timedOut }
  }
  public var id: String
  public var outcome: Outcome
  /// The trait, the reason, or the environment, where there is one.
  public var reason: String?
  public var explanation: Explanation?
  /// What was seen on the way: one line each.
  public var notes: [String] = []
  /// For sweeps over the calls of a save: what was found after each was cut.
  public var strip: [String] = []
  public var seconds: Double = 0
  public var seed: UInt64 = 0

  /// What a failure says for itself.
  public struct Explanation: Sendable, Codable {
    public var rule: String
    public var source: String
    public var done: [String]
    public var expected: String
    public var actual: String
    public var causes: [String]
    /// The folder with the files as they were.
    public var files: String
    /// What runs just this again.
    public var command: String
  }
}
