import AtomicStoreSPI
import Synchronization
import TestSupport
import Testing

@testable import StorePredicates

@Suite("Patterns that are matched without ICU") struct PlainPatternTests {
  private static let atoms = ["a", "b", ".", "[ab]", "[^a]", "[a-c]", "[0-9_]", "\\.", "-", "[^ ,@/]", "é", "#"]
  private static let quantifiers = ["", "", "", "*", "+", "?", "*?", "+?", "??"]
  private static let parts = [
    "a", "b", "c", "-", ".", "7", "_", " ", "#", "\n", "\r", "\u{B}", "\u{C}", "\u{85}", "\u{2028}", "\u{2029}", "é",
    "中",
    "😀", "\u{0}", "\u{84}", "\u{202A}",
  ]

  private static func matches(_ expression: RegularExpression, _ text: String) -> RegularExpression.Outcome {
    var steps = 0
    return expression.match(text, stepLimit: 1_000_000, steps: &steps)
  }

  @Test("have the same outcome as with ICU", arguments: (0..<200).share(of: "patterns without ICU"))
  func random(_ seed: Int) throws {
    var generator = SeededGenerator(seed: UInt64(seed))
    func text(of list: [String], _ count: Int) -> String {
      (0..<count).compactMap { _ in list.randomElement(using: &generator) }.joined()
    }
    var plainCount = 0
    for _ in 0..<40 {
      var pattern = Bool.random(using: &generator) ? "" : "^"
      for _ in 0..<Int.random(in: 0..<6, using: &generator) {
        pattern += text(of: Self.atoms, 1) + text(of: Self.quantifiers, 1)
      }
      if Bool.random(using: &generator) { pattern += "$" }
      guard PlainPattern(pattern) != nil else { continue }
      plainCount += 1
      let one = try RegularExpression(pattern, [])
      // A group is for ICU.
      let other = try RegularExpression("(?:\(pattern))", [])
      #expect(PlainPattern("(?:\(pattern))") == nil)
      for length in 0..<12 {
        let text = text(of: Bool.random(using: &generator) ? ["a", "b", "-"] : Self.parts, length)
        #expect(
          Self.matches(one, text) == Self.matches(other, text), "\(pattern) with \(Array(text.unicodeScalars))")
      }
    }
    #expect(plainCount > 0)
  }

  @Test(
    "are those without groups, choices, counts and names of classes",
    arguments: [
      ("a+b", true), (".*r[a-e]+m.*7", true), ("^x$", true), ("", true), ("a|b", false), ("(a)", false),
      ("a{2}", false),
      ("a++", false), ("a**", false), ("\\d", false), ("[[a]b]", false), ("[a&&b]", false), ("[b-a]", false),
      ("[]", false), ("[a", false), ("a$b", false), ("a^", false), ("*a", false), ("é", false), ("\\", false),
      ("[a-]", false), (String(repeating: "a", count: 62), true), (String(repeating: "a", count: 63), false),
    ])
  func recognized(_ pattern: String, _ isPlain: Bool) { #expect((PlainPattern(pattern) != nil) == isPlain) }

  @Test("need no matcher of ICU, which is loaded for others only") func withoutICU() throws {
    for (pattern, count) in [("a.*b", 0), ("(a.*b)", 1)] {
      let expression = try RegularExpression(pattern, [])
      #expect(Self.matches(expression, "a-b") == .matching)
      #expect(Self.matches(expression, "a-c") == .different)
      #expect(expression.idle.withLock(\.count) == count)
    }
  }

  @Test("read a long text once, however many ways there are") func linear() throws {
    let expression = try RegularExpression("a?a?a?a?a?a?a?a?a?a?.*.*.*.*.*.*b", [])
    var steps = 0
    #expect(expression.match(String(repeating: "a", count: 100_000), stepLimit: 10_000, steps: &steps) == .different)
  }
}
