import CICU
import Synchronization
import Testing

@testable import StorePredicates

/// Whether a pattern matches the whole text, and the steps that this took.
private func match(
  _ pattern: String, _ text: String, _ options: FetchPredicate.Options = [], limit: Int = 100_000_000
) throws -> (outcome: RegularExpression.Outcome, steps: Int) {
  var steps = 0
  let outcome = try RegularExpression(pattern, options).match(text, stepLimit: limit, steps: &steps)
  return (outcome, steps)
}

@Suite("Regular expressions") struct RegularExpressionTests {
  @Test(
    "a pattern matches the whole of a text, or not",
    arguments: [
      ("abc", "abc", true), ("abc", "abcd", false), ("a.c", "abc", true), ("a.c", "a\nc", false),
      ("(?s)a.c", "a\nc", true),
      ("a*", "", true), ("a+", "", false), ("a?b", "b", true), ("a{2,3}", "aa", true), ("a{2,3}", "aaaa", false),
      ("a{2}", "aa", true), ("a{2,}", "aaaaa", true), ("(ab|cd)+", "abcdab", true), ("[a-c]+", "abcabc", true),
      ("[^a-c]+", "xyz", true), ("[^a-c]+", "xaz", false), ("\\d{3}-\\d{4}", "555-1234", true),
      ("\\w+@\\w+\\.com", "ada@x.com", true),
      ("^abc$", "abc", true), ("\\Aabc\\z", "abc", true), ("a\\.b", "a.b", true), ("a\\.b", "axb", false),
      ("[\\w.%+-]+@[A-Za-z0-9.-]+\\.[A-Za-z]{2,6}", "a.b+c@example.org", true), ("(?i)ABC", "abc", true),
      ("a(?i)B(?-i)c", "abc", true), ("(?:a|b)c", "bc", true), ("\\p{Lu}\\p{L}*", "Éva", true),
      ("\\P{L}+", "123", true),
      ("[[:digit:]]+", "42", true), ("[a-z&&[^m]]+", "abc", true), ("[a-z&&[^m]]+", "am", false), ("é", "é", true),
      (".", "👩", true), ("\\u00e9", "é", true), ("\\x41", "A", true), ("\\x{1F600}", "😀", true),
      ("a\\b.*", "a b", true),
      (".*\\bcat\\b.*", "the cat sat", true), (".*\\bcat\\b.*", "concat", false), ("a|b|", "", true),
      ("(a|b)*?c", "ababc", true), ("(?=.*[A-Z])(?=.*\\d).{8,}", "Passw0rds", true),
      ("(?=.*[A-Z])(?=.*\\d).{8,}", "passw0rds", false), ("(?!tmp).*", "tmpfile", false),
      (".*(?<!\\.txt)", "a.txt", false),
      (".*(?<=\\.txt)", "a.txt", true), ("(\\w)\\w*\\1", "abca", true), ("(\\w)\\w*\\1", "abcd", false),
      ("(?<q>['\"]).*\\k<q>", "'a'", true), ("(?<q>['\"]).*\\k<q>", "'a\"", false), ("a++a", "aaa", false),
      ("(?>a|ab)c", "abc", false), ("\\X", "e\u{301}", true), ("a\\Rb", "a\r\nb", true),
      ("\\N{LATIN SMALL LETTER A}", "a", true), ("[\\p{L}--[aeiou]]+", "xyz", true),
      ("[\\p{L}--[aeiou]]+", "xaz", false),
      ("\\p{Script=Greek}+", "αβγ", true), ("(?i)stra\u{DF}e", "STRASSE", true), ("\u{E9}", "e\u{301}", false),
      ("\\Qa.b\\E", "a.b", true), ("(?<year>\\d+)", "2001", true), ("[]a]+", "]a", true), ("(?x) a b # c", "ab", true),
    ])
  func matches(_ pattern: String, _ text: String, _ expected: Bool) throws {
    #expect(try match(pattern, text).outcome == (expected ? .matching : .different))
  }

  @Test("[c] ignores case and [d] accents, in the pattern and in the text")
  func options() throws {
    #expect(try match("M\u{DC}LLER", "m\u{FC}ller").outcome == .different)
    #expect(try match("M\u{DC}LLER", "m\u{FC}ller", .caseInsensitive).outcome == .matching)
    #expect(try match("muller", "m\u{FC}ller", .diacriticInsensitive).outcome == .matching)
    #expect(try match("MULLER", "m\u{FC}ller", .diacriticInsensitive).outcome == .different)
    #expect(try match("m\u{FC}LLER", "Muller", [.caseInsensitive, .diacriticInsensitive]).outcome == .matching)
  }

  @Test("patterns that are canonically equivalent are not taken for each other")
  func equivalents() throws {
    var steps = 0
    for (pattern, expected) in [("\u{E9}", RegularExpression.Outcome.matching), ("e\u{301}", .different)] {
      let expression = try PatternCache.expression(pattern)
      #expect(expression.match("\u{E9}", stepLimit: 1000, steps: &steps) == expected)
    }
  }

  @Test(
    "texts of any length and with any bytes are read completely",
    arguments: [0, 1, 63, 64, 65, 127, 128, 1000, 20_000])
  func lengths(_ length: Int) throws {
    // Surrogate pairs at each place relative to the parts that ICU is given.
    for prefix in ["", "a", "é"] {
      let text = prefix + String(repeating: "😀", count: length)
      #expect(try match("\(prefix)😀{\(length)}", text).outcome == .matching)
      #expect(try match("\(prefix)😀{\(length + 1)}", text).outcome == .different)
      #expect(try match(".*(?<!x)", text).outcome == .matching)
      guard length <= 1000 else { continue }
      let twice = "(.*)\\1\(length % 2 == 0 ? "" : "😀")"
      #expect(try match(twice, String(repeating: "😀", count: length)).outcome == .matching)
    }
    var steps = 0
    let bytes = [UInt8](repeating: 0xFF, count: length) + [0]
    let outcome = try bytes.withUnsafeBufferPointer {
      try RegularExpression("\u{FFFD}{\(length)}\\x00", []).match($0, stepLimit: 1_000_000, steps: &steps)
    }
    #expect(outcome == .matching)
  }

  @Test(
    "an invalid pattern is refused with the line and column",
    arguments: [
      ("(", 1, 1), ("a)", 1, 2), ("[a", 1, 2), ("*a", 1, 1), ("a{3,2}", 1, 6), ("\\2", 1, 2), ("\\", 1, 1),
      ("[z-a]", 1, 4),
      ("\\p{Nope}", 1, 8), ("(?<=a*)b", 1, 7), ("a{99999999999}", 1, 12), ("a\n😀)", 2, 2),
      ("a{x}", 1, 3), ("(?i", 1, 3),
    ])
  func refusals(_ pattern: String, _ line: Int, _ column: Int) {
    do throws(RegularExpressionError) {
      _ = try RegularExpression(pattern, [])
      Issue.record("\(pattern) was read")
    } catch {
      #expect(error.line == line && error.column == column, "\(error)")
      #expect(!error.message.contains("U_"), "\(error)")
      #expect(error.description.hasPrefix(line > 1 ? "line 2, column 2 of" : "column \(column) of"), "\(error)")
    }
  }

  @Test(
    "patterns that run for years end at the limit of steps, each time at the same one",
    arguments: [
      "(a+)+b", "(a|a)*b", "(a|aa)+b", "(.*a){20}b", "([a-zA-Z]+)*b", "(a*)*b", ".*.*(?>.*)b", "(.*)(.*)\\1\\2b",
      ".*.*(?=.*b)", "(?i)(.*)(.*)(.*)\\1b",
    ])
  func catastrophic(_ pattern: String) throws {
    let text = String(repeating: "a", count: 5000) + "c"
    let expression = try RegularExpression(pattern, [])
    var first = 0
    let clock = ContinuousClock()
    let start = clock.now
    #expect(expression.match(text, stepLimit: 1_000_000, steps: &first) == .tooManySteps)
    #expect(start.duration(to: clock.now) < .seconds(20))
    #expect((1_000_000...20_000_000).contains(first), "\(first)")
    // Also by another matcher, and by one that has matched another text.
    var steps = 0
    _ = expression.match("b", stepLimit: 1_000_000, steps: &steps)
    steps = 0
    #expect(expression.match(text, stepLimit: 1_000_000, steps: &steps) == .tooManySteps && steps == first)
    #expect(try match(pattern, text, limit: 1_000_000).steps == first)
  }

  @Test("the text that a match reads counts, however it is read")
  func reading() throws {
    // With a possessive quantifier ICU keeps no place, and reads the rest of the text at each of 2,000.
    let text = String(repeating: "a", count: 2000)
    let (outcome, steps) = try match(".*(?>a*)b", text)
    #expect(outcome == .different && steps > 2000 * 1000 / 64)
    #expect(try match("a*", text).steps < 16 * 2000)
  }

  @Test(
    "what a match of a short text does counts, also what it does without a look at the text",
    arguments: [
      ("(a|aa)*b", String(repeating: "a", count: 16), 5000), ("(?:|){12}b", "", 4000), ("(?:\\b|a*|){8}b", "", 4000),
      ("((((|){3}){3}){3})b", "a", 4000), ("(?:a?a?a?a?){20}b", "aaaaaaaa", 1000),
      ("(?:" + String(repeating: "b|", count: 1000) + "b)", "a", 1000), ("(?:(?:a*|b*)(?:c*|d*)){6}x", "", 4000),
      ("(?x) (?: | # |)\n ){12} b", "", 4000), ("(?=a|)(?!b|)(?:a|){9}x", "a", 500),
    ])
  func shortTexts(_ pattern: String, _ text: String, _ least: Int) throws {
    let (outcome, steps) = try match(pattern, text)
    #expect(outcome != .matching && steps >= least, "\(steps)")
  }

  @Test(
    "patterns that read a text once or twice take steps in proportion to it",
    arguments: [
      "\\d{3}-\\d{4}", "[\\w.%+-]+@[A-Za-z0-9.-]+\\.[A-Za-z]{2,6}", "(?i).*foo.*", "(?:(?:25[0-5]|\\d{1,2})\\.){3}\\d+",
      "\\p{Lu}[^|*+?\\]()]{2,}", "\\Q(*+|\\E\\x{41}+", "(?<year>\\d+)-(?#no |* group)(?:0[1-9]|1[012])",
      "(?=.*[A-Z])(?=.*\\d).{8,}",
      "(Mon|Tue|Wed|Thu|Fri|Sat|Sun).*",
    ])
  func simplePatterns(_ pattern: String) throws {
    for text in ["", "ada.lovelace@example.com", "10.0.0.1", "Sunday the 1st, or another", "2001-02"] {
      let steps = try match(pattern, text).steps
      #expect(steps <= 64 + 16 * text.utf8.count, "\(text): \(steps)")
    }
  }

  @Test("a matcher is kept for the next match only if it did not become large")
  func largeMatchers() throws {
    let expression = try RegularExpression("(a|b)*", [])
    var steps = 0
    let start = String(repeating: "a", count: 50_000)
    #expect(expression.match(start, stepLimit: 10_000_000, steps: &steps) == .matching)
    #expect(expression.idle.withLock(\.count) == 0)
    #expect(expression.match("ab", stepLimit: 10_000_000, steps: &steps) == .matching)
    #expect(expression.idle.withLock(\.count) == 1)
  }

  @Test("without ICU the error names what to install, and the pattern is not called wrong")
  func withoutICU() {
    let error = "libicui18n.so was not found".withCString {
      RegularExpressionError(cicu_problem(name: $0, isWithoutICU: true, line: 0, column: 0))
    }
    for text in [error.sentence(about: "a+"), ValidationRule.unknown("a+", error)] {
      #expect(text.contains("install") && text.contains("ICU") && !text.contains("not a regular"), "\(text)")
    }
  }

  @Test("groups are kept with each place, so a pattern with many of them has fewer steps")
  func manyGroups() throws {
    let text = String(repeating: "a", count: 60)
    let pattern = "(?:a|a)*b"
    let groups = String(repeating: "()", count: 5000)
    let clock = ContinuousClock()
    let start = clock.now
    #expect(try match(groups + pattern, text, limit: 10_000_000).outcome == .tooManySteps)
    #expect(start.duration(to: clock.now) < .seconds(20))
  }

  @Test("memory is bounded: a place to come back to for each of a million letters, in 5,000 groups, is too much")
  func memory() throws {
    let text = String(repeating: "a", count: 1_000_000)
    #expect(try match("(a|b)*", text).outcome == .matching)
    #expect(try match(String(repeating: "()", count: 5000) + "(a|b)*", text).outcome == .tooMuchMemory)
  }

  @Test(
    "size and depth are bounded",
    arguments: [
      String(repeating: "a", count: 20_001), String(repeating: "(", count: 5000) + "a",
      String(repeating: "[", count: 5000), "a{2147483648}",
    ])
  func bounds(_ pattern: String) {
    #expect(throws: RegularExpressionError.self) { try RegularExpression(pattern, []) }
  }

  @Test("one expression is used by many threads at a time")
  func threads() async throws {
    let expression = try RegularExpression("(\\w+) (\\d+)\\.txt", [])
    let wrong = await withTaskGroup(of: Int.self) { group in
      for task in 0..<8 {
        group.addTask {
          (0..<2000).count { number in
            var steps = 0
            let text = number % 2 == 0 ? "file \(number).txt" : "file \(task).\(number)"
            let expected = number % 2 == 0 ? RegularExpression.Outcome.matching : .different
            return expression.match(text, stepLimit: 1000, steps: &steps) != expected
          }
        }
      }
      return await group.reduce(0, +)
    }
    #expect(wrong == 0)
  }
}
