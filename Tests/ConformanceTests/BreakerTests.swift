@testable import AtomicStoreConformance
import Foundation
import Testing

@Suite("Stores that break the harness", .enabled(if: Harness.isReady)) struct BreakerTests {
  struct Breaker: Sendable, CustomTestStringConvertible {
    var fault: String
    var outcome: ConformanceResult.Outcome
    /// What the story must tell.
    var words: String
    var testDescription: String { fault }
  }

  static let breakers: [Breaker] = [
    Breaker(fault: "trapsAtSave", outcome: .crashed, words: "a Swift trap"),
    Breaker(fault: "trapsAtLoad", outcome: .crashed, words: "a Swift trap"),
    Breaker(fault: "trapsInTraits", outcome: .crashed, words: "ended by signal"),
    Breaker(fault: "hangsAtSave", outcome: .timedOut, words: "stopped after 1 s"),
    Breaker(fault: "hangsInTraits", outcome: .timedOut, words: "stopped after 2 seconds"),
    Breaker(fault: "exitsAtSave", outcome: .crashed, words: "ended by itself, with 0"),
    Breaker(fault: "exitsInTraits", outcome: .crashed, words: "ended by itself"),
    Breaker(fault: "killsParent", outcome: .crashed, words: "signal 9"),
    Breaker(fault: "killsGroup", outcome: .crashed, words: "signal 9"),
    Breaker(fault: "closesStandardOutput", outcome: .failed, words: "closed standard output"),
    Breaker(fault: "floodsOutput", outcome: .failed, words: "more than 60000 bytes to standard output"),
  ]

  @Test("what breaks is told as what it is, on its own check, and the next check is run", arguments: breakers)
  func pinned(_ breaker: Breaker) throws {
    let id = breaker.outcome == .failed ? "PRO-01" : "REG-02"
    let limit = breaker.outcome == .timedOut ? 1 : nil
    let checks = [try Harness.check(id, fault: breaker.fault, seconds: limit), try Harness.check("REG-02")]
    let results = ConformanceRun(checks, width: 1).results()
    #expect(results.map(\.id) == [id, "REG-02"])
    #expect(results.map(\.outcome) == [breaker.outcome, .passed])
    let story = try #require(results.first?.explanation)
    #expect(story.actual.contains(breaker.words), "\(story.actual)")
    #expect(ConformanceReport(storeType: "Calm", checks: checks, results: results).isSuccess == false)
  }

  @Test("what a store writes to standard output harms no other check, and is noted there")
  func noted() throws {
    let result = try Harness.check("REG-02", fault: "floodsOutput").outcome()
    #expect(result.outcome == .passed)
    #expect(result.notes.contains { $0.contains("more than 60000 bytes to standard output") }, "\(result.notes)")
  }

  @Test("a limit holds for checks that come by the front door too")
  func limited() throws {
    let check = try Harness.check("REG-02", fault: "hangsAtSave").limited(toSeconds: 1)
    let start = ContinuousClock.now
    #expect(check.outcome().outcome == .timedOut)
    #expect(ContinuousClock.now - start < .seconds(15))
  }
}
