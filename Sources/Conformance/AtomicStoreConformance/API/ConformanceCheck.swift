import AtomicStoreSPI
import FoundationEssentials

/// One rule that a store format must keep, and how to find out whether it does. A value: it can be listed, filtered,
/// shown and run.
public struct ConformanceCheck: Sendable, Identifiable, CustomStringConvertible {
  /// How much hangs on it.
  package enum Level: String, Sendable, Codable, CaseIterable {
    /// A store that fails it loses data, or breaks what callers rely on.
    case must
    /// A good store keeps it.
    case should
    /// A number for the report; it fails only where it is out of all proportion.
    case measured
  }
  /// What a store may claim. ``allCases`` does not have ``inProcess``, whose checks are some of ``core``.
  package enum Profile: String, Sendable, Codable, CaseIterable {
    /// What the life cycle asks for: values, relationships, references, metadata.
    case core
    /// What a save that is cut short leaves behind.
    case durable
    /// What other stores, other readers and conversions make of it.
    case interop
    /// Hostile files.
    case hostile
    /// Many objects.
    case scale
    /// Stores that are read and written in parts. The other profiles are about stores that are loaded and saved whole.
    case incremental
    /// The checks of ``core``, for a type whose stores are in the memory of a process only. Those that look at files do
    /// not apply.
    case inProcess = "in-process"

    package static let allCases: [Profile] = [.core, .durable, .interop, .hostile, .scale, .incremental]
    /// All profiles of which a report may have checks.
    static let reported = allCases + [.inProcess]
  }

  let definition: CheckDefinition
  /// The store type that it is about.
  package var storeType: String { subject.type.storeType }
  let subject: ConformanceSubject

  /// Short and stable, such as `VAL-07`.
  public var id: String { definition.id }
  /// Whether a failure is a loss, a flaw, or only a number.
  package var level: Level { definition.level }
  /// Which claim the check belongs to.
  package var profile: Profile { subject.profile(of: definition) }
  /// The rule, in one sentence.
  package var title: String { definition.title }
  /// Where the rule comes from: document and section.
  package var source: String { definition.source }
  /// What is done to find out.
  package var procedure: String { definition.procedure }
  public var description: String { "\(id): \(title)" }
}
