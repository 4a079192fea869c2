import AtomicStoreSPI
import TestSupport
import Testing

@testable import AtomicStoreConformance
@testable import FaultyDesigns

/// The harness finds mistakes in formats that it does not know, and finds none where there is none.
@Suite("Formats of other designs", .enabled(if: Harness.canRunChecks, Harness.sanitizerReason)) struct DesignFaultTests
{
  static let subjects = FaultyDesign.all.map { design in
    var subject = ConformanceSubject(design.type)
    subject.designFaults = design.faults.map { DesignFault(name: $0.name, text: $0.text, foundBy: $0.foundBy) }
    subject.makeDesignFault = FaultyDesign.make
    return subject
  }

  /// One of each kind, of each design; `atomicstore conform --selftest` tries all. Worker processes come by here.
  static let some: [Mistake] = {
    for subject in subjects { _ = Conformance.checks(for: subject) }
    return [
      .nanPayloadLost, .dateFractionLostBefore2001, .untypedWholeDoubleBecomesInteger, .metadataKeysComposed,
      .metadataLongKeyCut, .modelUserInfoLost, .referenceBOMStripped, .orderBeyond255Lost, .changesLocale,
      .ledgerPropertyNamesCanonical, .ledgerOwnDefaultOmitted, .ledgerNoDepthLimit, .ledgerVersionIgnored,
      .ledgerSecondReferenceSkipped, .pagedTrustsLengths, .binderMakesRoomForCounts, .packedInflatesWithoutLimit,
      .packedVersionIgnored, .packedSecondKeyTaken, .packedOrdinalTakenForFirst, .packedRestIgnored,
      .packedSameReferenceIsNext,
    ]
  }()

  @Test(
    "a mistake is found by each check that names it, and by none of them without the mistake",
    arguments: some.share(of: "mistakes", name: \.rawValue))
  func found(_ mistake: Mistake) {
    let outcome = ConformanceSelfTest.run(designs: Self.subjects, faults: [mistake.rawValue])
    #expect(outcome.findings.map(\.fault).map { $0.hasSuffix(".\(mistake.rawValue)") } == [true])
    #expect(outcome.isSuccess, "\(outcome.findings)")
  }

  @Test("no two checks, and no two faults, have the same name")
  func unique() {
    let checks = Checks.all.map(\.id)
    #expect(Set(checks).count == checks.count)
    let faults = Faults.all.map(\.name)
    #expect(Set(faults).count == faults.count)
  }

  @Test("every mistake describes itself, and names checks that are there", arguments: Mistake.allCases)
  func described(_ mistake: Mistake) {
    #expect(mistake.text.count > 10 && mistake.text != "is not described")
    #expect(!mistake.foundBy.isEmpty && Set(mistake.foundBy).isSubset(of: Set(Checks.all.map(\.id))))
  }
}
