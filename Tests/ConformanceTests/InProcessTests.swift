import AtomicStoreSPI
import Testing

@testable import AtomicStoreConformance

/// The checks of stores in memory.
private enum InMemoryChecks {
  static let all = Conformance.checks(for: InMemoryStore.self)
  /// A worker process comes by here, as the suite's trait, before any test is run; and stays.
  static let isReady = Harness.canRunChecks && !all.isEmpty
}

@Suite("The profile in-process", .enabled(if: InMemoryChecks.isReady, Harness.sanitizerReason))
struct InProcessTests {
  @Test("stores in memory pass the checks of core that need no file, and the others are reported by ID, with a reason")
  func conforms() throws {
    let core = Conformance.catalogue.filter { $0.profile == .core }.map(\.id)
    #expect(InMemoryChecks.all.map(\.id) == core)
    #expect(Conformance.checks(for: InMemoryStore.self).allSatisfy { $0.profile == .inProcess })
    let results = ConformanceRun(InMemoryChecks.all, width: 2).results()
    let passed = Set(results.filter { $0.outcome == .passed }.map(\.id))
    #expect(passed == Checks.needNoFile)
    for result in results where result.outcome != .passed {
      #expect(result.outcome == .notApplicable, "\(result.id): \(result.explanation?.actual ?? "")")
      #expect(result.reason?.isEmpty == false, "\(result.id)")
    }
    let report = ConformanceReport(storeType: "InMemory", checks: InMemoryChecks.all, results: results)
    #expect(report.claim(.inProcess) == .full && report.claim(.core) == .none)
    let record = try ConformanceRecord(json: report.json(), name: "r.json")
    #expect(record.claim(.inProcess) == .full && ConformanceBadge(record).level == .full)
  }

  /// Mistakes with values, relationships, references and changes, and the check that is there for each.
  private static let mistakes = [
    "intAsUnsigned": "VAL-01", "dateWholeSeconds": "VAL-13", "nilEqualsEmpty": "VAL-17", "normalizesNewlines": "VAL-20",
    "toOneNilKept": "REL-01", "manyToManyOneSide": "REL-04", "orderedSortedByReference": "REL-07",
    "refFromTimestampMillis": "REF-01", "doubleRegistration": "CHG-04", "updateIgnoresNil": "CHG-06",
  ]

  @Test("mistakes that are planted in stores in memory are found, each by the check that is there for it")
  func findsMistakes() {
    let outcome = ConformanceSelfTest.run(
      in: [ConformanceSubject(InMemoryStore.self)], faults: Self.mistakes.keys.sorted())
    #expect(Set(outcome.findings.map(\.fault)) == Set(Self.mistakes.keys))
    for finding in outcome.findings {
      #expect(finding.caughtBy == [Self.mistakes[finding.fault]])
      #expect(finding.isSound, "\(finding)")
    }
    #expect(outcome.isSuccess)
  }

  @Test("a mistake with files cannot be planted in stores in memory, and is not taken for one that was found")
  func mistakesWithFiles() throws {
    let fault = try #require(Faults.all.first { !$0.hooks.worksInMemory && $0.incremental == nil })
    let outcome = ConformanceSelfTest.run(in: [ConformanceSubject(InMemoryStore.self)], faults: [fault.name])
    #expect(outcome.findings.isEmpty && outcome.unknownFaults == [fault.name] && !outcome.isSuccess)
  }

  @Test("a type of which no check applies claims nothing")
  func nothingApplies() {
    let results = InMemoryChecks.all.map { ConformanceResult(id: $0.id, outcome: .notApplicable) }
    let report = ConformanceReport(storeType: "InMemory", checks: InMemoryChecks.all, results: results)
    #expect(report.claim(.inProcess) == .none)
    #expect(ConformanceBadge(ConformanceRecord(report)).level == .none)
  }
}
