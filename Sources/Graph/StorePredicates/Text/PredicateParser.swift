public import AtomicStoreSPI
import FoundationEssentials

extension FetchExpression {
  /// Parses an expression in the format language: what can be on one side of a comparison.
  public init(format: String, _ arguments: Any?...) throws(PredicateFormatError) {
    var parser = try PredicateParser(format, arguments)
    self = try parser.wholeExpression()
  }
}

/// Parses predicates by recursive descent: operators by precedence, in one pass without backtracking.
struct PredicateParser {
  /// The result of parsing: parentheses may contain either.
  enum Part {
    case predicate(FetchPredicate)
    case expression(FetchExpression)
  }

  let format: String
  let tokens: [PredicateToken]
  let arguments: [Any?]
  var place = 0
  var nextArgument = 0
  var depth = 0

  static let maximumDepth = 200
  /// The height of the tree that was parsed last.
  var height = 0
  /// The columns of the keys and comparisons, in the order in which ``PredicateChecker`` visits them.
  var marks: [Int] = []

  init(_ format: String, _ arguments: [Any?]) throws(PredicateFormatError) {
    self.format = format
    self.arguments = arguments
    tokens = try PredicateLexer.tokens(of: format)
  }

  mutating func predicate() throws(PredicateFormatError) -> FetchPredicate {
    let column = token.column
    let part = try or()
    try finish()
    return try asPredicate(part, column)
  }

  mutating func wholeExpression() throws(PredicateFormatError) -> FetchExpression {
    let column = token.column
    let part = try bitwise()
    try finish()
    return try asExpression(part, column)
  }

  func finish() throws(PredicateFormatError) {
    guard token.kind == .end else { throw unexpected("the end, or AND, or OR") }
    guard nextArgument == arguments.count else {
      throw error(token.column, "\(arguments.count) arguments were passed, \(nextArgument) are used")
    }
  }

  // MARK: Tokens

  var token: PredicateToken { tokens[place] }
  mutating func advance() { if place < tokens.count - 1 { place += 1 } }

  func error(_ column: Int, _ message: String, _ suggestion: String? = nil) -> PredicateFormatError {
    PredicateFormatError(format, column, message, suggestion: suggestion)
  }

  func unexpected(_ wanted: String) -> PredicateFormatError {
    var suggestion: String?
    if case .word(let text, _) = token.kind {
      let words = ["AND", "OR", "IN", "BETWEEN", "CONTAINS", "BEGINSWITH", "ENDSWITH", "LIKE", "MATCHES"]
      if text.uppercased() == "NOT" {
        suggestion = "NOT precedes the whole comparison: NOT (x IN y)"
      } else if text.uppercased() == "IS" {
        suggestion = "use == or !="
      } else {
        let near = Suggestion.text(for: text.uppercased(), among: words)
        if !near.isEmpty { suggestion = String(near.dropFirst(2)) }
      }
    }
    return error(token.column, "\(wanted) is expected, not \(describe(token))", suggestion)
  }

  func describe(_ token: PredicateToken) -> String {
    switch token.kind {
    case .word(let text, _): "'\(text)'"
    case .string(let text): "the string '\(text.prefix(40))'"
    case .number(let text): "the number \(text)"
    case .variable(let name): "'$\(name)'"
    case .keyword(let text): "'\(text)'"
    case .argument(let text): "'%\(text)'"
    case .symbol(let text): "'\(text)'"
    case .end: "the end"
    }
  }

  func isSymbol(_ text: String) -> Bool {
    if case .symbol(let symbol) = token.kind { return symbol == text }
    return false
  }
  mutating func take(_ symbol: String) -> Bool {
    guard isSymbol(symbol) else { return false }
    advance()
    return true
  }
  mutating func expect(_ symbol: String) throws(PredicateFormatError) {
    guard take(symbol) else { throw unexpected("'\(symbol)'") }
  }
  /// The word in upper case, if it may be a keyword.
  var keyword: String? {
    if case .word(let text, isReserved: false) = token.kind { return text.uppercased() }
    return nil
  }

  mutating func deeper<Result>(
    _ body: (inout PredicateParser) throws(PredicateFormatError) -> Result
  ) throws(PredicateFormatError) -> Result {
    depth += 1
    guard depth <= Self.maximumDepth else {
      throw error(token.column, "nested more than \(Self.maximumDepth) levels deep")
    }
    let result = try body(&self)
    depth -= 1
    return result
  }

  /// Counts the level that an operator adds above its operands, at its column.
  mutating func rise(above lower: Int, _ column: Int) throws(PredicateFormatError) {
    height = max(height, lower) + 1
    guard height <= FetchExpression.maximumHeight else {
      throw error(column, "operators and path steps form a tree of more than \(FetchExpression.maximumHeight) levels")
    }
  }

  func asPredicate(_ part: Part, _ column: Int) throws(PredicateFormatError) -> FetchPredicate {
    switch part {
    case .predicate(let predicate): return predicate
    case .expression:
      // In other languages it is the next key to a comparison.
      if let shift = tokens[..<place].last(where: {
        $0.column >= column && [.symbol("<<"), .symbol(">>")].contains($0.kind)
      }) {
        throw error(shift.column, "\(describe(shift)) shifts bits and does not compare", "write < or >")
      }
      throw PredicateFormatError(
        format, token.column, "a comparison such as '== value' is expected, not \(describe(token))",
        suggestion: "a value alone is not a predicate")
    }
  }
  func asExpression(_ part: Part, _ column: Int) throws(PredicateFormatError) -> FetchExpression {
    switch part {
    case .expression(let expression): return expression
    case .predicate: throw error(column, "a value is expected, not a predicate")
    }
  }

  // MARK: Predicates

  mutating func or() throws(PredicateFormatError) -> Part {
    try chain(["OR"], ["||"], next: { parser throws(PredicateFormatError) in try parser.and() }) { .or($0) }
  }

  mutating func and() throws(PredicateFormatError) -> Part {
    try chain(["AND"], ["&&"], next: { parser throws(PredicateFormatError) in try parser.not() }) { .and($0) }
  }

  mutating func chain(
    _ keywords: [String], _ symbols: [String],
    next: (inout PredicateParser) throws(PredicateFormatError) -> Part, _ make: ([FetchPredicate]) -> FetchPredicate
  ) throws(PredicateFormatError) -> Part {
    let column = token.column
    let first = try next(&self)
    func isJoined() -> Bool {
      if let keyword, keywords.contains(keyword) { return true }
      if case .symbol(let text) = token.kind { return symbols.contains(text) }
      return false
    }
    guard isJoined() else { return first }
    var parts = [try asPredicate(first, column)]
    var highest = height
    while isJoined() {
      advance()
      let column = token.column
      let part = try next(&self)
      parts.append(try asPredicate(part, column))
      highest = max(highest, height)
      guard parts.count <= 10_000 else { throw error(column, "more than 10,000 predicates in one chain") }
    }
    try rise(above: highest, column)
    return .predicate(make(parts))
  }

  mutating func not() throws(PredicateFormatError) -> Part {
    if keyword == "NOT" || isSymbol("!") {
      advance()
      let column = token.column
      let part = try deeper { parser throws(PredicateFormatError) in try parser.not() }
      try rise(above: 0, column)
      return .predicate(.not(try asPredicate(part, column)))
    }
    return try comparison()
  }

  mutating func comparison() throws(PredicateFormatError) -> Part {
    var modifier = FetchPredicate.Modifier.direct
    var isNone = false
    if let keyword, ["ANY", "SOME", "ALL", "NONE"].contains(keyword), !isKeyHere() {
      modifier = keyword == "ALL" ? .all : .any
      isNone = keyword == "NONE"
      advance()
    }
    let column = token.column
    let left = try bitwise()
    let leftHeight = height
    // `x NOT IN y`: the grammar has NOT before the comparison, but it is often written here, and is unambiguous.
    var isNegated = false
    if keyword == "NOT", place + 1 < tokens.count, case .word(let next, isReserved: false) = tokens[place + 1].kind,
      ["IN", "CONTAINS", "LIKE", "MATCHES", "BEGINSWITH", "ENDSWITH", "BETWEEN"].contains(next.uppercased())
    {
      // For a to-many it could mean that no object is, or that one is not.
      if modifier != .direct {
        throw error(
          token.column, "NOT after ANY, ALL or NONE is ambiguous", "write NOT before the whole comparison")
      }
      isNegated = true
      advance()
    }
    let comparatorColumn = token.column
    guard let comparator = takeComparator() else {
      if modifier != .direct { throw unexpected("a comparison") }
      return left
    }
    let operand = try asExpression(left, column)
    marks.append(comparatorColumn)
    let options = try takeOptions(comparator)
    let rightColumn = token.column
    let part = try bitwise()
    let right = try asExpression(part, rightColumn)
    if comparator == .between, case .aggregate(let bounds) = right, bounds.count != 2 {
      throw error(rightColumn, "BETWEEN requires two bounds, not \(bounds.count)")
    }
    if comparator == .between, case .constant(let value) = right, !value.isNull {
      throw error(rightColumn, "BETWEEN requires two bounds, such as {1, 10}")
    }
    try rise(above: leftHeight, column)
    let made = FetchPredicate.comparison(
      .init(operand, comparator, right, modifier: modifier, options: options))
    return .predicate(isNone || isNegated ? .not(made) : made)
  }

  /// Whether a word that could be a keyword is used as a key: a comparison or path follows it.
  func isKeyHere() -> Bool {
    guard place + 1 < tokens.count else { return false }
    switch tokens[place + 1].kind {
    case .symbol(let text): return ["==", "=", "!=", "<>", "<", ">", "<=", ">=", "=<", "=>", "."].contains(text)
    case .end: return true
    default: return false
    }
  }

  mutating func takeComparator() -> FetchPredicate.Comparator? {
    let found: FetchPredicate.Comparator?
    switch token.kind {
    case .symbol("=="), .symbol("="): found = .equal
    case .symbol("!="), .symbol("<>"), .symbol("≠"): found = .notEqual
    case .symbol("<"): found = .less
    case .symbol(">"): found = .greater
    case .symbol("<="), .symbol("=<"), .symbol("≤"): found = .lessOrEqual
    case .symbol(">="), .symbol("=>"), .symbol("≥"): found = .greaterOrEqual
    default:
      switch keyword {
      case "BETWEEN": found = .between
      case "IN": found = .isIn
      case "CONTAINS": found = .contains
      case "BEGINSWITH": found = .beginsWith
      case "ENDSWITH": found = .endsWith
      case "LIKE": found = .like
      case "MATCHES": found = .matches
      default: found = nil
      }
    }
    if found != nil { advance() }
    return found
  }

  mutating func takeOptions(
    _ comparator: FetchPredicate.Comparator
  ) throws(PredicateFormatError) -> FetchPredicate.Options {
    guard isSymbol("["), place + 2 < tokens.count, case .word(let letters, _) = tokens[place + 1].kind,
      tokens[place + 2].kind == .symbol("]")
    else { return [] }
    let column = tokens[place + 1].column
    var options: FetchPredicate.Options = []
    for letter in letters.lowercased().unicodeScalars {
      switch letter {
      case "c": options.insert(.caseInsensitive)
      case "d": options.insert(.diacriticInsensitive)
      case "n": options.insert(.normalized)
      case "l": options.insert(.localeSensitive)
      // Width: the strings that we compare other than by scalars have no such difference.
      case "w": break
      default: throw error(column, "the options of a comparison are c, d, n and l, not '\(letter)'")
      }
    }
    advance()
    advance()
    advance()
    return options
  }
}
