import Testing

@testable import AtomicStoreConformance

@Suite("The same seed gives the same result", .enabled(if: Harness.isReady)) struct RepeatTests {
  /// Checks that choose at random, checks that do not, one that sweeps, and some on stores that are wrong.
  static func checks() throws -> [ConformanceCheck] {
    try [
      ("REL-03", nil), ("REF-08", nil), ("INI-18", nil), ("REG-09", nil), ("VAL-01", nil), ("SAV-03", nil),
      ("VAL-07", "shortDoubleFormat"), ("VAL-35", "swapsTwoAttributes"), ("TRA-01", "silentOrder"),
    ].map { try Harness.check($0.0, fault: $0.1) }
  }

  /// What must be the same: all but times, process numbers and where the files are.
  struct Told: Equatable {
    var id: String
    var outcome: ConformanceResult.Outcome
    var reason: String?
    var expected: String?
    var actual: String?
    var strip: [String]
    var notes: Int
    init(_ result: ConformanceResult) {
      id = result.id
      outcome = result.outcome
      reason = result.reason
      func withoutFolder(_ text: String?) -> String? { text?.replacing(result.explanation?.files ?? "/", with: "") }
      expected = withoutFolder(result.explanation?.expected)
      actual = withoutFolder(result.explanation?.actual)
      strip = result.strip
      notes = result.notes.count
    }
  }

  static func told(_ checks: [ConformanceCheck], seed: UInt64, width: Int) -> [Told] {
    ConformanceRun(checks, seed: seed, width: width).results().map(Told.init).sorted { $0.id < $1.id }
  }

  @Test("in any order, one at a time and two at a time")
  func same() throws {
    let checks = try Self.checks()
    let first = Self.told(checks, seed: 11, width: 1)
    #expect(first.count == checks.count)
    #expect(
      first.filter { $0.outcome == .failed }.count == 3, "\(first.map { "\($0.id) \($0.outcome) \($0.actual ?? "")" })")
    var random = SeededRandom(5)
    let shuffled = checks.shuffled(using: &random)
    #expect(shuffled.map(\.id) != checks.map(\.id))
    for (one, other) in zip(first, Self.told(shuffled, seed: 11, width: 2)) { #expect(one == other) }
  }

  @Test("results are in the order of the checks, whichever ends first")
  func order() throws {
    let checks = [try Harness.check("SAV-03"), try Harness.check("REG-02"), try Harness.check("VAL-01")]
    #expect(ConformanceRun(checks, width: 3).results().map(\.id) == checks.map(\.id))
  }

  @Test("random numbers depend only on the seed")
  func random() {
    var one = SeededRandom(42)
    var other = SeededRandom(42)
    var third = SeededRandom(43)
    let numbers = (0..<100).map { _ in one.next() }
    #expect(numbers == (0..<100).map { _ in other.next() })
    #expect(numbers != (0..<100).map { _ in third.next() })
    #expect(Set(numbers).count == 100)
  }
}
