import Foundation
import Testing

@testable import AtomicStoreConformance

@Suite("A failure explains itself", .enabled(if: Harness.isReady)) struct FailureTextTests {
  struct Failing: Sendable, CustomTestStringConvertible {
    var id: String
    var fault: String
    var outcome: ConformanceResult.Outcome
    var testDescription: String { "\(id) \(fault)" }
  }
  static let failing = [
    Failing(id: "VAL-07", fault: "shortDoubleFormat", outcome: .failed),
    Failing(id: "REG-02", fault: "trapsAtSave", outcome: .crashed),
    Failing(id: "REG-02", fault: "trapsInTraits", outcome: .crashed),
    Failing(id: "REG-02", fault: "hangsAtSave", outcome: .timedOut),
    Failing(id: "REG-02", fault: "hangsInTraits", outcome: .timedOut),
    Failing(id: "TRA-01", fault: "deniesOrder", outcome: .failed),
  ]

  @Test(
    "with check, rule, source, expected, actual, causes, files and a command, for every kind of failure",
    arguments: failing)
  func whole(_ failing: Failing) throws {
    let check = try Harness.check(
      failing.id, fault: failing.fault, limit: failing.outcome == .timedOut ? .seconds(1) : nil)
    let result = check.outcome(seed: 77)
    #expect(result.outcome == failing.outcome)
    let text = ConformanceFailure(result: result).description
    #expect(text.hasPrefix("\(check.id) \(failing.outcome.rawValue): \(check.title)\n"), "\(text)")
    #expect(text.contains("\n  rule from   \(check.source)\n"))
    for word in ["expected", "actual", "likely", "files", "again"] {
      #expect(text.range(of: "\n  \(word) +[^ \n]", options: .regularExpression) != nil, "no '\(word)' in: \(text)")
    }
    let story = try #require(result.explanation)
    #expect(story.expected != story.actual)
    #expect(story.causes == check.likelyCauses && !story.causes.isEmpty)
    #expect(story.command.hasSuffix("conform --selftest --fault \(failing.fault)"), "\(story.command)")
  }

  @Test("what a process that crashed wrote to standard error is in the failure, and no more than a page of it")
  func standardError() throws {
    let result = try Harness.check("REG-02", fault: "trapsAtSave").outcome()
    let actual = try #require(result.explanation?.actual)
    #expect(actual.contains("standard error:") && actual.contains("planted"), "\(actual)")
    #expect(actual.utf8.count < 5000)
  }

  @Test("of long values the first scalar that differs is shown, from both sides")
  func firstDifference() {
    let same = String(repeating: "x", count: 5_000)
    let difference = GraphText.Difference("a = ", same + "ONE" + same, "b = ", same + "TWO" + same)
    #expect(difference.expected.hasPrefix("a = …xx") && difference.expected.contains("xONEx"))
    #expect(difference.actual.hasPrefix("b = …xx") && difference.actual.contains("xTWOx"))
    #expect(difference.expected.contains("10003 scalars; the first that differs is 5000"))
    #expect(difference.expected.utf8.count < 200)
    let cut = GraphText.Difference("", same + "y", "", same)
    #expect(cut.expected.contains("xy…") && cut.actual.contains("(5000 scalars"))
    let short = GraphText.Difference("", "a\u{E9}", "", "")
    #expect(short.expected == "a\\u{e9}" && short.actual == "nil")
  }

  @Test("the files of a failure are kept, and those of a pass are not")
  func files() throws {
    let failed = try Harness.check("VAL-07", fault: "shortDoubleFormat").outcome()
    let folder = try #require(failed.explanation?.files)
    #expect(try !FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
    try FileManager.default.removeItem(atPath: folder)
    let passed = try Harness.check("VAL-09").outcome()
    #expect(passed.outcome == .passed && passed.explanation == nil)
    let root = (folder as NSString).deletingLastPathComponent
    let left = (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []
    #expect(!left.contains { $0.hasSuffix("-VAL-09") }, "\(left)")
  }

  @Test("every check has a rule, a source, a procedure and a likely cause")
  func complete() {
    for check in Conformance.catalogue {
      #expect(!check.likelyCauses.isEmpty && !check.likelyCauses.contains(""), "\(check.id)")
    }
  }

  @Test("the command names the check and the seed; running it reproduces the failure")
  func command() throws {
    var subject = Harness.subject
    let inTest = subject.again("VAL-07", seed: 18_446_744_073_709_551_615)
    #expect(
      inTest == "ATOMICSTORE_CONFORMANCE_ONLY=VAL-07 ATOMICSTORE_CONFORMANCE_SEED=18446744073709551615 swift test")
    subject.fault = "shortDoubleFormat"
    #expect(subject.again("VAL-07", seed: 3) == "atomicstore conform --selftest --fault shortDoubleFormat")
    let check = try Harness.check("VAL-35", fault: "swapsTwoAttributes")
    let first = check.outcome(seed: 11)
    let again = check.outcome(seed: first.seed)
    #expect(first.seed == 11 && first.outcome == .failed && again.outcome == .failed)
    // Made smaller, and still the same failure: not another that comes of having nothing left.
    #expect(first.explanation?.expected.contains("objects are left") == true, "\(first.explanation?.expected ?? "")")
    #expect(first.explanation?.expected == again.explanation?.expected)
    #expect(first.explanation?.actual == again.explanation?.actual)
  }

  @Test("a test program runs the one check that was requested; if that does not exist, it runs all")
  func asked() {
    let all = Conformance.catalogue
    #expect(ConformanceFilter.asked(of: all, named: "VAL-07").map(\.id) == ["VAL-07"])
    #expect(ConformanceFilter.asked(of: all, named: "VAL-07,VAL-99,REG-02").map(\.id).sorted() == ["REG-02", "VAL-07"])
    #expect(!ConformanceFilter.wantsMoreThanSmoke { _ in nil })
    #expect(ConformanceFilter.wantsMoreThanSmoke { $0 == "ATOMICSTORE_CONFORMANCE" ? "all" : nil })
    // A check that a failure names need not be a quick one.
    #expect(ConformanceFilter.wantsMoreThanSmoke { $0 == "ATOMICSTORE_CONFORMANCE_ONLY" ? "VAL-99" : nil })
    for name in ["VAL-99", "", nil] { #expect(ConformanceFilter.asked(of: all, named: name).count == all.count) }
  }

  @Test(
    "a type's name is one word for the shell",
    arguments: [("XML", "XML"), ("a b", "'a b'"), ("it's", "'it'\\''s'"), ("", "''"), ("$(x)", "'$(x)'"), ("Ä", "'Ä'")])
  func quoted(_ text: String, _ expected: String) { #expect(ConformanceSubject.quoted(text) == expected) }
}
