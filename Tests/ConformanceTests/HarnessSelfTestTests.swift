import AtomicStoreSPI
import Testing

@testable import AtomicStoreConformance

extension Harness {
  private static func own(_ id: String, catches: [String]) -> CheckDefinition {
    CheckDefinition(
      id, "A small graph is kept", from: "the harness's own tests", by: "it is saved and read", catches: catches
    ) { check in
      try check.expectKept(Graph.values(.string, [.string("a"), .string("b")]), "two texts")
    }
  }

  static let selfTestChecks: [CheckDefinition] = [
    own("OWN-01", catches: ["ownWrong"]), own("OWN-02", catches: ["ownHarmless"]), own("OWN-03", catches: ["ownTrap"]),
    own("OWN-04", catches: []), own("OWN-05", catches: ["ownUnheardOf"]), own("OWN-06", catches: ["ownWreck"]),
    CheckDefinition("OWN-07", "Nothing is looked at", from: "the harness's own tests", by: "nothing", catches: []) {
      _ in
    },
  ]

  static let selfTestFaults: [Fault] = [
    Fault("ownWrong", "writes one text for another") { hooks in
      hooks.savedValue = { value, _ in value == .string("a") ? .string("c") : value }
    },
    Fault("ownHarmless", "does nothing wrong"),
    Fault("ownTrap", "traps where it should be wrong") { $0.beforeSave = { _, _ in trap() } },
    Fault("ownWreck", "is wrong everywhere") { hooks in
      hooks.saved = { (snapshot) throws(PersistentStoreError) in
        throw PersistentStoreError(.inputOutput, "nothing works")
      }
    },
  ]
}

@Suite("The self-test of the harness", .enabled(if: Harness.isReady)) struct HarnessSelfTestTests {
  private static func run(_ checks: [CheckDefinition], _ faults: [Fault]) -> ConformanceSelfTest {
    ConformanceSelfTest.run(in: [Harness.subject], checks, faults)
  }

  /// All of them at once, and a few checks that have nothing to do with any.
  static let all = run(
    Harness.selfTestChecks.filter { $0.id != "OWN-07" }
      + Checks.all.filter { ["REG-02", "MET-03", "LOD-01"].contains($0.id) },
    Harness.selfTestFaults)

  private func finding(_ fault: String) throws -> ConformanceSelfTest.Finding {
    try #require(Self.all.findings.first { $0.fault == fault })
  }

  @Test("a fault that its check finds is caught, and nothing else is reported")
  func caught() throws {
    let outcome = Self.run(
      Harness.selfTestChecks.filter { $0.id == "OWN-01" }, Harness.selfTestFaults.filter { $0.name == "ownWrong" })
    let finding = try #require(outcome.findings.first)
    #expect(finding.caughtBy == ["OWN-01"] && finding.missedBy.isEmpty && finding.brokenIn.isEmpty && finding.isSound)
    #expect(outcome.caught == 1 && outcome.deadChecks.isEmpty && outcome.unknownFaults.isEmpty && outcome.isSuccess)
  }

  @Test("a fault that no check catches survives, and its check is dead")
  func survivor() throws {
    let finding = try finding("ownHarmless")
    #expect(finding.missedBy == ["OWN-02"] && finding.caughtBy.isEmpty && finding.brokenIn.isEmpty && !finding.isSound)
    #expect(Self.all.deadChecks.contains("OWN-02") && !Self.all.isSuccess)
  }

  @Test("a check that no fault can fail is dead, and one that a fault fails is not")
  func deadCheck() throws {
    #expect(Self.all.deadChecks == ["OWN-02", "OWN-03", "OWN-04", "OWN-05", "REG-02", "MET-03", "LOD-01"])
    let found = try finding("ownWrong")
    #expect(found.isSound && found.unrelated.isEmpty && found.tried == 3)
    #expect(Self.all.caught == 1)
  }

  @Test("a crash does not count as a catch")
  func crash() throws {
    let finding = try finding("ownTrap")
    #expect(finding.brokenIn == ["OWN-03"] && finding.caughtBy.isEmpty && !finding.isSound)
    #expect(Self.all.deadChecks.contains("OWN-03"))
  }

  @Test("a store that fails most unrelated checks has more than one fault")
  func wreck() throws {
    let finding = try finding("ownWreck")
    #expect(finding.caughtBy == ["OWN-06"] && finding.tried == 3 && finding.unrelated.count >= 2 && !finding.isSound)
  }

  @Test("a fault that a check names and that cannot be planted is reported, as is a requested one that does not exist")
  func unknown() {
    #expect(Self.all.unknownFaults.filter { $0.hasPrefix("own") } == ["ownUnheardOf"])
    let asked = ConformanceSelfTest.run(in: [Harness.subject], [], Harness.selfTestFaults, faults: ["noSuchFault"])
    #expect(asked.findings.isEmpty && asked.unknownFaults == ["noSuchFault"] && !asked.isSuccess)
  }

  @Test("checks alone are tested with the faults that they name, and with no others")
  func some() {
    let asked = ConformanceSelfTest.run(in: [Harness.subject], checks: ["VAL-07"])
    let named = Checks.all.first { $0.id == "VAL-07" }?.catches ?? []
    #expect(Set(asked.findings.map(\.fault)) == Set(named) && !named.isEmpty)
    #expect(asked.findings.allSatisfy { $0.caughtBy == ["VAL-07"] && $0.tried == 0 } && asked.isSuccess)
  }

  @Test("a check that expects nothing fails")
  func nothingLookedAt() throws {
    let result = try Harness.check("OWN-07").outcome()
    #expect(result.outcome == .failed && result.explanation?.actual == "the check looked at nothing")
  }

  @Test("an unknown fault blocks the check")
  func blocked() throws {
    let result = try Harness.check("OWN-01", fault: "noSuchFault").outcome()
    #expect(result.outcome == .blocked)
    let checks = [try Harness.check("OWN-01")]
    let report = ConformanceReport(storeType: "Calm", checks: checks, results: [result], catalogue: checks)
    #expect(!report.isSuccess && report.claim(.core) == .partial(["OWN-01"]))
  }
}
