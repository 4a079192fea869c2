/// The expression of a derived attribute, as far as a model can be checked without evaluating it: whether it can be
/// parsed. `DerivationPaths` has the key paths that it reads.
///
/// The evaluator checks functions and their arguments. Everything that it can parse is parsed here; inside the brackets
/// of `SUBQUERY`, `TERNARY` and similar calls, which contain predicates, only brackets are matched.
package struct DerivationExpression {
  /// What is wrong with it; nil if it can be parsed.
  package private(set) var problem: String?

  /// An opening bracket, and whether it may contain commas.
  private struct Bracket {
    let closing: Unicode.Scalar
    let hasList: Bool
  }

  private let scalars: [Unicode.Scalar]
  private var position = 0
  private var brackets: [Bracket] = []
  private static let longest = 100_000

  package init(_ text: String) {
    scalars = Array(text.unicodeScalars)
    guard scalars.count <= Self.longest else {
      problem = "the expression has \(scalars.count) characters; the limit is \(Self.longest)"
      return
    }
    problem = read()
  }

  // MARK: Reading

  private mutating func read() -> String? {
    var needsValue = true
    while true {
      skipSpace()
      guard let scalar = peek() else {
        if let bracket = brackets.last { return "'\(bracket.closing)' is missing" }
        return needsValue ? "it ends where a value is expected" : nil
      }
      if let bracket = brackets.last, scalar == bracket.closing {
        // A call or a list may be empty.
        if needsValue, !(bracket.hasList && previous() == Self.opening(of: scalar)) {
          return "a value is expected before '\(scalar)'"
        }
        brackets.removeLast()
        position += 1
        needsValue = false
      } else if needsValue {
        if let problem = value(&needsValue) { return problem }
      } else if let problem = `operator`(&needsValue) {
        return problem
      }
    }
  }

  /// Parses a value, or a prefix of one.
  private mutating func value(_ needsValue: inout Bool) -> String? {
    guard let scalar = peek() else { return nil }
    switch scalar {
    case "-", "+", "!", "~": position += 1
    case "(", "{":
      brackets.append(Bracket(closing: scalar == "(" ? ")" : "}", hasList: scalar == "{"))
      position += 1
    case "'", "\"":
      needsValue = false
      return string(scalar)
    case "$":
      position += 1
      _ = path()
      needsValue = false
    default:
      if isDigit(scalar) || scalar == "." && isDigit(peek(1)) {
        number()
        needsValue = false
      } else if Self.isWordStart(scalar) || scalar == "@" || scalar == "#" {
        return name(&needsValue)
      } else {
        return "'\(scalar)' cannot begin a value"
      }
    }
    return nil
  }

  /// Parses a key path, a constant, or a call up to its opening bracket.
  private mutating func name(_ needsValue: inout Bool) -> String? {
    let keys = path()
    guard !keys.contains("") else { return "a path has an empty key" }
    skipSpace()
    guard peek() == "(" else {
      needsValue = false
      return nil
    }
    position += 1
    brackets.append(Bracket(closing: ")", hasList: true))
    if keys.count == 1, Self.holdsPredicates.contains(keys[0].uppercased()) {
      if let problem = skipArguments() { return problem }
      needsValue = false
    }
    return nil
  }

  private mutating func `operator`(_ needsValue: inout Bool) -> String? {
    guard let scalar = peek() else { return nil }
    switch scalar {
    case ",":
      guard brackets.last?.hasList == true else { return "',' is outside the brackets of a call or a list" }
      position += 1
      needsValue = true
    case "+", "-", "*", "/", "|", "&", "^", "<", ">", "=", "!", "≤", "≥", "≠", ":":
      while let next = peek(), ["*", "<", ">", "=", "|", "&", ":"].contains(next) || next == scalar {
        position += 1
        if next == scalar, ["+", "-", "/"].contains(next) { break }
      }
      needsValue = true
    case "[":
      brackets.append(Bracket(closing: "]", hasList: false))
      position += 1
      needsValue = true
    case "." where Self.isWordStart(peek(1) ?? " ") || peek(1) == "@" || peek(1) == "#":
      position += 1
      _ = path()
    default:
      let start = position
      guard Self.isWordStart(scalar) else { return "'\(scalar)' is not expected after a value" }
      let word = word()
      guard Self.wordOperators.contains(word.uppercased()) else {
        position = start
        return "'\(word)' is not expected after a value"
      }
      needsValue = true
    }
    return nil
  }

  /// Calls whose arguments are predicates, or special words.
  private static let holdsPredicates: Set<String> = [
    "SUBQUERY", "TERNARY", "CAST", "FUNCTION", "FETCH", "BLOCKPREDICATE",
  ]
  private static let wordOperators: Set<String> = ["UNION", "INTERSECT", "MINUS"]

  private static func opening(of closing: Unicode.Scalar) -> Unicode.Scalar {
    switch closing {
    case ")": "("
    case "}": "{"
    default: "["
    }
  }

  /// Skips to the bracket that closes the call.
  private mutating func skipArguments() -> String? {
    let depth = brackets.count
    while let scalar = peek() {
      switch scalar {
      case "'", "\"":
        if let problem = string(scalar) { return problem }
        continue
      case "(": brackets.append(Bracket(closing: ")", hasList: true))
      case "[": brackets.append(Bracket(closing: "]", hasList: true))
      case "{": brackets.append(Bracket(closing: "}", hasList: true))
      case ")", "]", "}":
        guard brackets.last?.closing == scalar else { return "'\(scalar)' has no matching opening bracket" }
        // The last one is left to the caller.
        if brackets.count == depth { return nil }
        brackets.removeLast()
      default: break
      }
      position += 1
    }
    return nil
  }

  // MARK: Pieces

  private func peek(_ offset: Int = 0) -> Unicode.Scalar? {
    position + offset < scalars.count ? scalars[position + offset] : nil
  }

  /// The last scalar before this position that is not white space.
  private func previous() -> Unicode.Scalar? { scalars[..<position].last { !$0.properties.isWhitespace } }

  private mutating func skipSpace() { while let scalar = peek(), scalar.properties.isWhitespace { position += 1 } }

  private static func isWordStart(_ scalar: Unicode.Scalar) -> Bool {
    scalar == "_" || scalar.properties.isAlphabetic || scalar.properties.isEmojiPresentation
  }
  private func isWordPart(_ scalar: Unicode.Scalar) -> Bool {
    Self.isWordStart(scalar) || scalar.properties.numericType != nil
      || scalar.properties.generalCategory == .nonspacingMark
      || scalar.properties.generalCategory == .spacingMark
  }
  private func isDigit(_ scalar: Unicode.Scalar?) -> Bool { scalar.map { $0 >= "0" && $0 <= "9" } ?? false }

  private mutating func word() -> String {
    var text = String.UnicodeScalarView()
    // The name of a selector contains colons: `add:to:`.
    while let scalar = peek(), isWordPart(scalar) || scalar == ":" && peek(1) != "=" {
      text.append(scalar)
      position += 1
    }
    return String(text)
  }

  private mutating func path() -> [String] {
    var keys: [String] = []
    repeat {
      if !keys.isEmpty { position += 1 }
      skipSpace()
      if peek() == "#" {
        position += 1
        if let quote = peek(), quote == "'" || quote == "\"" {
          let start = position + 1
          if string(quote) == nil {
            var text = String.UnicodeScalarView()
            text.append(contentsOf: scalars[start..<max(start, position - 1)])
            keys.append(String(text))
          } else {
            keys.append("")
          }
          continue
        }
      }
      let isOperator = peek() == "@"
      if isOperator { position += 1 }
      let key = word()
      keys.append(key.isEmpty ? "" : isOperator ? "@" + key : key)
      skipSpace()
    } while peek() == "."
    return keys
  }

  private mutating func number() {
    while let scalar = peek(),
      isWordPart(scalar) || scalar == "." && (isDigit(peek(1)) || isDigit(scalars[position - 1]))
        || (scalar == "+" || scalar == "-") && (scalars[position - 1] == "e" || scalars[position - 1] == "E")
          && isDigit(peek(1))
    {
      position += 1
    }
  }

  /// Skips a string in quotes.
  private mutating func string(_ quote: Unicode.Scalar) -> String? {
    position += 1
    while let scalar = peek() {
      position += scalar == "\\" ? 2 : 1
      if scalar == quote { return nil }
    }
    return "a string is not closed"
  }
}
