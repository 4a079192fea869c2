import Testing

@testable import StorePredicates

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
      ("(a|b)*?c", "ababc", true),
      ("\\Qa.b\\E", "a.b", true), ("(?<year>\\d+)", "2001", true), ("[]a]+", "]a", true), ("(?x) a b # c", "ab", true),
    ])
  func matches(_ pattern: String, _ text: String, _ expected: Bool) throws {
    #expect(try BoundedRegularExpression(pattern: pattern).wholeMatch(text) == expected)
  }

  @Test(
    "an invalid pattern, or one that needs backtracking, is refused with the column",
    arguments: [
      ("(", 1), ("a)", 2), ("[a", 1), ("*a", 1), ("a{3,2}", 2), ("(?=a)b", 1), ("(?<!a)b", 1), ("(a)\\1", 4),
      ("a++", 3),
      ("\\", 1), ("[z-a]", 5), ("\\p{Nope}", 1), ("(?>a)", 1),
    ])
  func refusals(_ pattern: String, _ column: Int) {
    do throws(RegularExpressionSyntaxError) {
      _ = try BoundedRegularExpression(pattern: pattern)
      Issue.record("\(pattern) was read")
    } catch {
      #expect(error.column == column, "\(error)")
    }
  }

  @Test(
    "patterns that make others run for years take no time",
    arguments: ["(a+)+b", "(a|a)*b", "(a|aa)+b", "(.*a){20}b", "([a-zA-Z]+)*b", "(a*)*b"])
  func catastrophic(_ pattern: String) throws {
    let text = String(repeating: "a", count: 5000) + "c"
    #expect(try !BoundedRegularExpression(pattern: pattern).wholeMatch(text))
  }

  @Test(
    "size and depth are bounded",
    arguments: [
      "(((a{100}){100}){100}){100}", String(repeating: "(", count: 5000) + "a", String(repeating: "[", count: 5000),
    ])
  func bounds(_ pattern: String) {
    #expect(throws: RegularExpressionSyntaxError.self) { try BoundedRegularExpression(pattern: pattern) }
  }
}
