import AtomicStoreKit
import Foundation
import Testing

/// The strings of public code, sorted by the grammar before any of our code has seen them.
///
/// The rules, which stand in the article *The predicate language* too:
/// - *Another dialect*: what only Realm has: `@allKeys`, `@allValues`, `@size`, `@type`, `@links`, `SORT(`,
///   `DISTINCT(`, `LIMIT(`, `geoWithin`, `GEOWITHIN`, collections with `[ALL]` or `[ANY]`.
/// - *No predicate*: a quote, parenthesis, brace or bracket without its partner; Swift's `\(…)` left in; an Objective-C
///   message; no comparison, no `TRUEPREDICATE`, `FALSEPREDICATE` or a lone `%@`; a text that begins or ends with an
///   operator; words of SQL that the language does not have (`IS NULL`, `NOT NULL`, `ISEQUAL`, `CONATINS`…); two values
///   side by side.
/// - Everything else is *valid*.
enum PredicateCorpus {
  enum Kind: String, CaseIterable { case valid, noPredicate, otherDialect }

  static let path = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .appendingPathComponent("shared/corpus/predicates_public.txt").path
  static var isThere: Bool { FileManager.default.fileExists(atPath: path) }

  static func strings() throws -> [String] {
    try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").map {
      try JSONDecoder().decode(String.self, from: Data($0.utf8))
    }
  }

  static func kind(_ text: String) -> Kind {
    let bare = withoutTexts(text)
    guard let bare else { return .noPredicate }
    let upper = " " + bare.uppercased() + " "
    for mark in [
      "@ALLKEYS", "@ALLVALUES", "@SIZE", "@TYPE", "@LINKS", "SORT(", "SORT (", "DISTINCT(", "LIMIT(", "GEOWITHIN",
      "[ALL]", "[ANY]",
    ]
    where upper.contains(mark) { return .otherDialect }
    if text.contains("\\(") { return .noPredicate }
    if !isBalanced(bare) { return .noPredicate }
    if bare.range(of: #"[a-zA-Z]+ [a-zA-Z]+:[%$a-zA-Z]"#, options: .regularExpression) != nil { return .noPredicate }
    let comparison =
      #"[=<>]|!=|\b(IN|BETWEEN|CONTAINS|BEGINSWITH|ENDSWITH|LIKE|MATCHES)\b|TRUEPREDICATE|FALSEPREDICATE"#
    let trimmed = upper.trimmingCharacters(in: .whitespaces)
    if upper.range(of: comparison, options: .regularExpression) == nil, trimmed != "%@" { return .noPredicate }
    if trimmed.range(
      of:
        #"^(AND|OR|&&|\|\||==|=|<|>|IN)\b|(AND|OR|NOT|&&|\|\||==|=|!=|<|>|<=|>=|IN|CONTAINS|LIKE|BEGINSWITH|ENDSWITH|MATCHES|BETWEEN)$"#,
      options: .regularExpression) != nil
    {
      return .noPredicate
    }
    if upper.range(of: #"\bIS\b|\bNOT NULL\b|\bISEQUAL\b"#, options: .regularExpression) != nil { return .noPredicate }
    // Two values with nothing between them: `a b == 1`.
    let value = #"(%[@dKifulx]+|\$?[A-Za-z_#][A-Za-z0-9_.@]*|[0-9.]+|'')"#
    let words =
      #"(AND|OR|NOT|IN|BETWEEN|CONTAINS|BEGINSWITH|ENDSWITH|LIKE|MATCHES|ANY|SOME|ALL|NONE|UNION|INTERSECT|MINUS)(\[[A-Z]*\])?"#
    let tokens = tokens(of: upper)
    for (one, two) in zip(tokens, tokens.dropFirst()) {
      func isValue(_ token: String) -> Bool {
        token.range(of: "^\(value)$", options: .regularExpression) != nil
          && token.range(of: "^\(words)$", options: .regularExpression) == nil
      }
      if isValue(one), isValue(two) { return .noPredicate }
    }
    return .valid
  }

  /// The text with quoted parts emptied; nil where a quote is not closed.
  private static func withoutTexts(_ text: String) -> String? {
    var result = ""
    var quote: Character?
    var isEscaped = false
    for character in text {
      if let open = quote {
        if isEscaped {
          isEscaped = false
        } else if character == "\\" {
          isEscaped = true
        } else if character == open {
          quote = nil
          result += "''"
        }
      } else if character == "'" || character == "\"" {
        quote = character
      } else {
        result.append(character)
      }
    }
    return quote == nil ? result : nil
  }

  private static func isBalanced(_ text: String) -> Bool {
    var open: [Character] = []
    for character in text {
      switch character {
      case "(", "[", "{": open.append(character)
      case ")": if open.popLast() != "(" { return false }
      case "]": if open.popLast() != "[" { return false }
      case "}": if open.popLast() != "{" { return false }
      default: break
      }
    }
    return open.isEmpty
  }

  private static func tokens(of text: String) -> [String] {
    var tokens: [String] = []
    var word = ""
    for character in text {
      if character.isLetter || character.isNumber || "_.@$#%'".contains(character) {
        word.append(character)
      } else {
        if !word.isEmpty { tokens.append(word) }
        word = ""
        if !character.isWhitespace { tokens.append(String(character)) }
      }
    }
    if !word.isEmpty { tokens.append(word) }
    return tokens
  }

  /// Something for each `%` of a text.
  static func arguments(for text: String) -> [Any?] {
    var arguments: [Any?] = []
    var rest = Substring(withoutTexts(text) ?? text)
    while let mark = rest.firstIndex(of: "%") {
      rest = rest[rest.index(after: mark)...]
      while let first = rest.first, "lhqztj.0123456789".contains(first) { rest = rest.dropFirst() }
      guard let conversion = rest.first else { break }
      rest = rest.dropFirst()
      switch conversion {
      case "@":
        let before = (withoutTexts(text) ?? text).prefix(upTo: mark).uppercased()
        // Bounds are given as a list.
        if before.trimmingCharacters(in: .whitespaces).hasSuffix("BETWEEN") {
          arguments.append([1, 2])
        } else {
          arguments.append("text")
        }
      case "K": arguments.append("key.path")
      case "s": arguments.append("text")
      case "%": break
      default: arguments.append(1)
      }
    }
    return arguments
  }
}

@Suite("Predicates of public code", .enabled(if: PredicateCorpus.isThere, "../shared/corpus is not there"))
struct PredicateCorpusTests {
  @Test(
    "at least 97 % of those that are valid parse, print, and parse to the same tree; the others are refused or harmless"
  )
  func corpus() throws {
    var counts: [PredicateCorpus.Kind: (all: Int, parsed: Int)] = [:]
    var refused: [String] = []
    for text in try PredicateCorpus.strings() {
      let kind = PredicateCorpus.kind(text)
      counts[kind, default: (0, 0)].all += 1
      do throws(PredicateFormatError) {
        let predicate = try FetchPredicate(format: text, arguments: PredicateCorpus.arguments(for: text))
        counts[kind, default: (0, 0)].parsed += 1
        do throws(PredicateFormatError) {
          #expect(
            try FetchPredicate(format: predicate.predicateFormat) == predicate, "\(text) → \(predicate.predicateFormat)"
          )
        } catch {
          Issue.record("\(text) prints as \(predicate.predicateFormat), which does not parse: \(error)")
        }
      } catch {
        #expect(error.column >= 1 && error.column <= text.unicodeScalars.count + 1)
        if kind == .valid { refused.append("\(text) – \(error.message) (column \(error.column))") }
      }
    }
    let valid = try #require(counts[.valid])
    let table = PredicateCorpus.Kind.allCases.map { "\($0): \(counts[$0]?.parsed ?? 0) of \(counts[$0]?.all ?? 0)" }
      .joined(separator: ", ")
    print("predicates of public code: \(table)")
    for line in refused { print("  refused: \(line)") }
    #expect(valid.all > 1000)
    #expect(Double(valid.parsed) >= 0.97 * Double(valid.all))
  }
}
