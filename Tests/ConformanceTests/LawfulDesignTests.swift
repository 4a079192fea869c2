import AtomicStoreSPI
import TestSupport
import Testing

@testable import AtomicStoreConformance

/// What a format declares is asked of it as declared, and what cannot be tried is not held against it.
@Suite("Lawful and unusual designs conform", .enabled(if: Harness.canRunChecks, Harness.sanitizerReason))
struct LawfulDesignTests {
  /// No model and no metadata; unequal bytes that show nothing; the history of all saves; references that are texts;
  /// one entity; a directory of numbered pieces; metadata without a model.
  static let designs: [any AtomicStore.Type] = [
    TabbedStore.self, OddStore<Sealed>.self, OddStore<Journal>.self, OddStore<Named>.self, OddStore<Single>.self,
    OddStore<Shards>.self, OddStore<Bare>.self,
  ]

  /// Those that have failed such designs, and those that compare lines.
  private static let suspects: Set<String> = [
    "REL-15", "REL-18", "OPT-01", "INI-19", "LOD-06", "SAV-15", "SAV-16", "SAV-17", "SAV-18", "VAL-15", "VAL-16",
    "CNV-02", "CNV-07", "MET-18", "REF-08", "HOS-10", "CHG-15", "REF-19",
    "MET-07", "MET-13", "MET-16", "HOS-19", "PRO-04", "REL-11", "VAL-04", "VAL-12",
  ]

  /// All checks but the longest; of a push the suspects, and a share of the others.
  static let checks = designs.flatMap { type in
    Conformance.checks(for: type, others: BuiltInConformanceTests.all)
      .filter { $0.profile != .scale && $0.definition.timeLimit < 180 }
      .share(of: type.storeType, always: { suspects.contains($0.id) }, name: \.id)
  }

  @Test("no check fails, and none is blocked", arguments: checks)
  func conforms(_ check: ConformanceCheck) {
    let result = check.outcome()
    #expect(
      !result.outcome.isFailure && result.outcome != .blocked,
      "\(check.storeType) \(check.id): \(result.explanation.map { "\($0.expected) / \($0.actual)" } ?? result.reason ?? "")"
    )
  }
}
