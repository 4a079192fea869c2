import AtomicStoreSPI
import TestSupport
import Testing

@testable import AtomicStoreConformance
@testable import FaultyDesigns

@Suite("Behind a checksum", .enabled(if: Harness.canRunChecks, Harness.sanitizerReason)) struct PayloadTests {
  private static let ids: Set<String> = ["HOS-16", "HOS-17", "HOS-18", "HOS-19", "HOS-20"]
  /// Files with a digest, of whose author nothing is known.
  static let sealed = Conformance.checks(for: OddStore<Sealed>.self).filter { ids.contains($0.id) }
  /// Files that show their content.
  static let plain = Conformance.checks(for: CraftedXMLStore.self).filter {
    ids.contains($0.id) && !["HOS-19", "HOS-20"].contains($0.id)
  }

  @Test("what a checksum hides is not tested without its author, and the level says so", arguments: sealed)
  func hidden(_ check: ConformanceCheck) throws {
    let result = check.outcome()
    #expect(result.outcome == .gap, "\(result)")
    #expect(result.reason?.contains("ChecksummedStore.recomputeChecksum") == true)
    let report = ConformanceReport(
      storeType: "Sealed", checks: [check], results: [result], catalogue: [check])
    #expect(report.isSuccess && report.claim(.hostile) == .untested([check.id]))
    #expect(report.summary.contains("hostile: payload not tested: \(check.id)\n"))
    #expect(ConformanceMatrix([ConformanceRecord(report)]).text.contains("payload not tested"))
    #expect(ConformanceBadge(ConformanceRecord(report)).level == .partial)
  }

  @Test("a file without a checksum hides nothing", arguments: plain)
  func shown(_ check: ConformanceCheck) {
    let result = check.outcome()
    #expect(result.outcome == .notApplicable, "\(result)")
    #expect(result.reason?.hasPrefix("no checksum hides the payload") == true)
  }

  /// Files in which the harness does not find references.
  static let opaque = Conformance.checks(for: OddStore<Sealed>.self).filter { $0.id == "LOD-06" }
  /// Files in which one of the first bytes is the version.
  static let versioned = Conformance.checks(for: TabbedStore.self).filter { $0.id == "SCH-13" }

  @Test("what the harness cannot make is not tested without its author, and the levels say so", arguments: opaque)
  func unknown(_ check: ConformanceCheck) throws {
    let result = check.outcome()
    #expect(result.outcome == .gap, "\(result)")
    let report = ConformanceReport(storeType: "Opaque", checks: [check], results: [result], catalogue: [check])
    #expect(report.isSuccess && report.claim(.hostile) == .untested(["LOD-06"]))
    #expect(report.claim(.hostile).word == "payload not tested")
    let version = try #require(Self.versioned.first)
    var untested = result
    untested.id = version.id
    let other = ConformanceReport(storeType: "Opaque", checks: [version], results: [untested], catalogue: [version])
    #expect(other.isSuccess && other.claim(.core).word == "newer version not tested")
  }

  @Test("a version that no word names is found by its effect", arguments: versioned)
  func version(_ check: ConformanceCheck) { #expect(check.outcome().outcome == .passed) }

  @Test("a format that conforms to the protocol gives its functions to the checks; others give none")
  func functions() {
    let subject = ConformanceSubject(PackedStore.self)
    #expect(subject.payload != nil && subject.recomputeChecksum != nil && subject.newerVersion != nil)
    #expect(subject.duplicate != nil && subject.crafted != nil)
    #expect(ConformanceSubject(CalmStore.self).recomputeChecksum == nil)
    let content = [UInt8](repeating: 7, count: 1_000) + [1, 2, 3]
    let files = PackedStore.recomputeChecksum(of: ["": content]) ?? [:]
    #expect((files[""] ?? content).count < 100 && PackedStore.payload(of: files) == ["": content])
  }
}

@Suite("Growth") struct TimeGrowthTests {
  private static func exponent(_ sizes: [Int], _ time: (Double) -> Double) -> Double {
    var growth = TimeGrowth(sizes)
    growth.add(sizes.map { time(Double($0)) })
    return growth.exponent
  }

  @Test(
    "the exponent is that of the size, whatever a run does besides",
    arguments: [[60, 120, 240, 480], [1_000, 3_000, 10_000], [1_000, 10_000, 100_000]])
  func exponents(_ sizes: [Int]) {
    #expect(abs(Self.exponent(sizes) { 3 + $0 } - 1) < 0.01)
    #expect(abs(Self.exponent(sizes) { 3 + $0 * $0 } - 2) < 0.05)
    // A square that takes as long as all the rest of the largest.
    let most = Double(sizes.last ?? 1)
    #expect(Self.exponent(sizes) { 0.1 * most + $0 + $0 * $0 / most } > 1.25)
  }

  @Test("of several measurements the least counts")
  func least() {
    var growth = TimeGrowth([1, 2, 4])
    growth.add([1, 2, 9])
    growth.add([5, 2, 4])
    #expect(growth.least == [1, 2, 4] && growth.exponent == 1 && growth.isMeasurable)
    growth.add([0, 0, 0.01])
    #expect(!growth.isMeasurable)
  }
}
