import AtomicStoreSPI
import FoundationEssentials

extension FetchPredicate {
  /// Reads a predicate in Core Data's format language.
  ///
  /// `%@` takes a value (text, numbers, `Bool`, `Date`, `Data`, `UUID`, `URL`, decimals, objects and their IDs, lists and
  /// ranges of these, nil, an expression or a whole predicate), `%K` a key path as text, `%d`, `%f` and their kin
  /// numbers, `%s` text. Inside quotes they are text.
  ///
  /// - Throws: ``PredicateFormatError`` with the column. Nesting is limited to 200 levels, the tree of operators and
  ///   steps to 300, chains of `AND` and `OR` to 10,000, the length to a million characters.
  public init(format: String, _ arguments: Any?...) throws(PredicateFormatError) {
    try self.init(format: format, arguments: arguments)
  }

  /// As ``init(format:_:)``, with the arguments in a list.
  public init(format: String, arguments: [Any?]) throws(PredicateFormatError) {
    var parser = try PredicateParser(format, arguments)
    self = try parser.predicate()
  }
}

extension FetchExpression {
  /// Reads an expression in the format language: what may stand on one side of a comparison.
  public init(format: String, _ arguments: Any?...) throws(PredicateFormatError) {
    var parser = try PredicateParser(format, arguments)
    self = try parser.wholeExpression()
  }
}

/// Reads predicates from the outside in: operators by their strength, one pass, nothing tried twice.
struct PredicateParser {
  /// What was read: in parentheses either may stand.
  private enum Part {
    case predicate(FetchPredicate)
    case expression(FetchExpression)
  }

  private let format: String
  private let tokens: [PredicateToken]
  private let arguments: [Any?]
  private var place = 0
  private var nextArgument = 0
  private var depth = 0

  static let maximumDepth = 200
  /// Chains of operators that associate to the left make trees as deep as they are long, and those of several chains in
  /// each other add up. Comparing, printing and even freeing a tree takes stack for each level.
  static let maximumHeight = 300
  /// Of the tree that was read last.
  private var height = 0
  /// The columns of the keys and comparisons, in the order in which ``PredicateChecker`` comes by them.
  private(set) var marks: [Int] = []

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

  private func finish() throws(PredicateFormatError) {
    guard token.kind == .end else { throw unexpected("the end, or AND, or OR") }
    guard nextArgument == arguments.count else {
      throw error(token.column, "\(arguments.count) arguments were given, \(nextArgument) are used")
    }
  }

  // MARK: Tokens

  private var token: PredicateToken { tokens[place] }
  private mutating func advance() { if place < tokens.count - 1 { place += 1 } }

  private func error(_ column: Int, _ message: String, _ suggestion: String? = nil) -> PredicateFormatError {
    PredicateFormatError(format, column, message, suggestion: suggestion)
  }

  private func unexpected(_ wanted: String) -> PredicateFormatError {
    var suggestion: String?
    if case .word(let text, _) = token.kind {
      let words = ["AND", "OR", "IN", "BETWEEN", "CONTAINS", "BEGINSWITH", "ENDSWITH", "LIKE", "MATCHES"]
      if text.uppercased() == "NOT" { suggestion = "NOT stands before the whole comparison: NOT (x IN y)" }
      else if text.uppercased() == "IS" { suggestion = "write == or !=" }
      else {
        let near = Suggestion.text(for: text.uppercased(), among: words)
        if !near.isEmpty { suggestion = String(near.dropFirst(2)) }
      }
    }
    return error(token.column, "\(wanted) is expected, not \(describe(token))", suggestion)
  }

  private func describe(_ token: PredicateToken) -> String {
    switch token.kind {
    case .word(let text, _): "'\(text)'"
    case .string(let text): "the text '\(text.prefix(40))'"
    case .number(let text): "the number \(text)"
    case .variable(let name): "'$\(name)'"
    case .keyword(let text): "'\(text)'"
    case .argument(let text): "'%\(text)'"
    case .symbol(let text): "'\(text)'"
    case .end: "the end"
    }
  }

  private func isSymbol(_ text: String) -> Bool {
    if case .symbol(let symbol) = token.kind { return symbol == text }
    return false
  }
  private mutating func take(_ symbol: String) -> Bool {
    guard isSymbol(symbol) else { return false }
    advance()
    return true
  }
  private mutating func expect(_ symbol: String) throws(PredicateFormatError) {
    guard take(symbol) else { throw unexpected("'\(symbol)'") }
  }
  /// The word in capitals, if it is one that may be a keyword.
  private var keyword: String? {
    if case .word(let text, isReserved: false) = token.kind { return text.uppercased() }
    return nil
  }
  private mutating func take(keyword text: String) -> Bool {
    guard keyword == text else { return false }
    advance()
    return true
  }

  private mutating func deeper<Result>(
    _ body: (inout PredicateParser) throws(PredicateFormatError) -> Result
  ) throws(PredicateFormatError) -> Result {
    depth += 1
    guard depth <= Self.maximumDepth else {
      throw error(token.column, "more than \(Self.maximumDepth) levels in each other")
    }
    let result = try body(&self)
    depth -= 1
    return result
  }

  /// Counts the level that an operator adds above what it joins, at its own column.
  private mutating func rise(above lower: Int, _ column: Int) throws(PredicateFormatError) {
    height = max(height, lower) + 1
    guard height <= Self.maximumHeight else {
      throw error(column, "operators and steps make a tree of more than \(Self.maximumHeight) levels")
    }
  }

  private func asPredicate(_ part: Part, _ column: Int) throws(PredicateFormatError) -> FetchPredicate {
    switch part {
    case .predicate(let predicate): return predicate
    case .expression:
      throw PredicateFormatError(
        format, token.column, "a comparison such as '== value' is expected, not \(describe(token))",
        suggestion: "a value alone is no predicate")
    }
  }
  private func asExpression(_ part: Part, _ column: Int) throws(PredicateFormatError) -> FetchExpression {
    switch part {
    case .expression(let expression): return expression
    case .predicate: throw error(column, "a value is expected, not a predicate")
    }
  }

  // MARK: Predicates

  private mutating func or() throws(PredicateFormatError) -> Part {
    try chain(["OR"], ["||"], next: { parser throws(PredicateFormatError) in try parser.and() }) { .or($0) }
  }

  private mutating func and() throws(PredicateFormatError) -> Part {
    try chain(["AND"], ["&&"], next: { parser throws(PredicateFormatError) in try parser.not() }) { .and($0) }
  }

  private mutating func chain(
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

  private mutating func not() throws(PredicateFormatError) -> Part {
    if keyword == "NOT" || isSymbol("!") {
      advance()
      let column = token.column
      let part = try deeper { parser throws(PredicateFormatError) in try parser.not() }
      try rise(above: 0, column)
      return .predicate(.not(try asPredicate(part, column)))
    }
    return try comparison()
  }

  private mutating func comparison() throws(PredicateFormatError) -> Part {
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
    // `x NOT IN y`: the grammar has NOT before the whole, people write it here, and it can mean one thing only.
    var isNegated = false
    if keyword == "NOT", place + 1 < tokens.count, case .word(let next, isReserved: false) = tokens[place + 1].kind,
      ["IN", "CONTAINS", "LIKE", "MATCHES", "BEGINSWITH", "ENDSWITH", "BETWEEN"].contains(next.uppercased())
    {
      // Of a to-many it could mean that none is, or that one is not.
      if modifier != .direct {
        throw error(token.column, "NOT after ANY, ALL or NONE can be read in two ways", "write NOT before the whole comparison")
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
      throw error(rightColumn, "BETWEEN takes two bounds, not \(bounds.count)")
    }
    if comparator == .between, case .constant(let value) = right, !value.isNull {
      throw error(rightColumn, "BETWEEN takes two bounds, such as {1, 10}")
    }
    try rise(above: leftHeight, column)
    let made = FetchPredicate.comparison(
      .init(operand, comparator, right, modifier: modifier, options: options))
    return .predicate(isNone || isNegated ? .not(made) : made)
  }

  /// Whether the word that could be a keyword is used as a key: a comparison or path follows it.
  private func isKeyHere() -> Bool {
    guard place + 1 < tokens.count else { return false }
    switch tokens[place + 1].kind {
    case .symbol(let text): return ["==", "=", "!=", "<>", "<", ">", "<=", ">=", "=<", "=>", "."].contains(text)
    case .end: return true
    default: return false
    }
  }

  private mutating func takeComparator() -> FetchPredicate.Comparator? {
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

  private mutating func takeOptions(
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
      // Width: there is no such difference among the texts we compare but by scalars.
      case "w": break
      default: throw error(column, "the options of a comparison are c, d, n and l, not '\(letter)'")
      }
    }
    advance()
    advance()
    advance()
    return options
  }

  // MARK: Expressions

  /// `|`, `^`, `&`, `<<`, `>>`: weaker than sums, all of one strength, from left to right.
  private mutating func bitwise() throws(PredicateFormatError) -> Part {
    let column = token.column
    var part = try additive()
    while case .symbol(let symbol) = token.kind, let name = Self.bitwiseNames[symbol] {
      let lower = height
      let operatorColumn = token.column
      advance()
      let left = try asExpression(part, column)
      let rightColumn = token.column
      let next = try additive()
      try rise(above: lower, operatorColumn)
      part = .expression(.function(name, [left, try asExpression(next, rightColumn)]))
    }
    return part
  }

  private static let bitwiseNames = [
    "|": "bitwiseOr:with:", "&": "bitwiseAnd:with:", "^": "bitwiseXor:with:", "<<": "leftshift:by:", ">>": "rightshift:by:",
  ]

  private mutating func additive() throws(PredicateFormatError) -> Part {
    let column = token.column
    var part = try multiplicative()
    while true {
      let name: String
      var operation: FetchExpression.SetOperation?
      switch token.kind {
      case .symbol("+"): name = "add:to:"
      case .symbol("-"): name = "from:subtract:"
      default:
        switch keyword {
        case "UNION": operation = .union
        case "INTERSECT": operation = .intersect
        case "MINUS": operation = .minus
        default: return part
        }
        name = ""
      }
      let lower = height
      let operatorColumn = token.column
      advance()
      let left = try asExpression(part, column)
      let rightColumn = token.column
      let next = try multiplicative()
      try rise(above: lower, operatorColumn)
      let right = try asExpression(next, rightColumn)
      part = .expression(operation.map { .set($0, left, right) } ?? .function(name, [left, right]))
    }
  }

  private mutating func multiplicative() throws(PredicateFormatError) -> Part {
    let column = token.column
    var part = try power()
    while isSymbol("*") || isSymbol("/") {
      let name = isSymbol("*") ? "multiply:by:" : "divide:by:"
      let lower = height
      let operatorColumn = token.column
      advance()
      let left = try asExpression(part, column)
      let rightColumn = token.column
      let next = try power()
      try rise(above: lower, operatorColumn)
      part = .expression(.function(name, [left, try asExpression(next, rightColumn)]))
    }
    return part
  }

  private mutating func power() throws(PredicateFormatError) -> Part {
    let column = token.column
    let part = try unary()
    guard isSymbol("**") else { return part }
    let lower = height
    advance()
    let left = try asExpression(part, column)
    let rightColumn = token.column
    let next = try deeper { parser throws(PredicateFormatError) in try parser.power() }
    try rise(above: lower, rightColumn)
    return .expression(.function("raise:toPower:", [left, try asExpression(next, rightColumn)]))
  }

  private mutating func unary() throws(PredicateFormatError) -> Part {
    let column = token.column
    if take("~") {
      let valueColumn = token.column
      let part = try deeper { parser throws(PredicateFormatError) in try parser.unary() }
      try rise(above: 0, column)
      return .expression(.function("onesComplement:", [try asExpression(part, valueColumn)]))
    }
    guard isSymbol("-") else { return try postfix() }
    advance()
    if case .number(let text) = token.kind {
      let value = try number("-" + text, token.column)
      advance()
      height = 1
      return try postfix(.expression(.constant(value)), column)
    }
    let valueColumn = token.column
    let part = try deeper { parser throws(PredicateFormatError) in try parser.unary() }
    let value = try asExpression(part, valueColumn)
    try rise(above: 0, column)
    return .expression(.function("from:subtract:", [.constant(.integer(0)), value]))
  }

  private mutating func postfix() throws(PredicateFormatError) -> Part {
    let column = token.column
    return try postfix(try primary(), column)
  }

  /// Paths and indexes after a value.
  private mutating func postfix(_ first: Part, _ column: Int) throws(PredicateFormatError) -> Part {
    var part = first
    while true {
      let lower = height
      let stepColumn = token.column
      if isSymbol(".") {
        advance()
        let keys = try key()
        part = .expression(Self.path(try asExpression(part, column), keys))
      } else if isSymbol("["), case .expression = part {
        advance()
        let element: FetchExpression.Element
        if keyword == "FIRST" || keyword == "LAST" || keyword == "SIZE", tokens[place + 1].kind == .symbol("]") {
          element = keyword == "FIRST" ? .first : keyword == "LAST" ? .last : .size
          advance()
        } else {
          let indexColumn = token.column
          let index = try deeper { parser throws(PredicateFormatError) in try parser.bitwise() }
          element = .at(try asExpression(index, indexColumn))
        }
        try expect("]")
        part = .expression(.element(try asExpression(part, column), element))
      } else {
        return part
      }
      try rise(above: lower, stepColumn)
    }
  }

  private static func path(_ base: FetchExpression, _ keys: [String]) -> FetchExpression {
    switch base {
    case .keyPath(let path): .keyPath(path + keys)
    case .evaluatedObject: .keyPath(keys)
    case .member(let inner, let path): .member(inner, path + keys)
    default: .member(base, keys)
    }
  }

  /// What may stand after a point: a name, `@count`, or `%K`.
  private mutating func key() throws(PredicateFormatError) -> [String] {
    let keys: [String]
    switch token.kind {
    case .word(let text, _): keys = [text]
    case .keyword(let text): keys = [text]
    case .argument("K"): return try keyPathArgument()
    default: throw unexpected("a key")
    }
    marks.append(token.column)
    advance()
    return keys
  }

  private mutating func primary() throws(PredicateFormatError) -> Part {
    let column = token.column
    height = 1
    switch token.kind {
    case .number(let text):
      let value = try number(text, column)
      advance()
      return .expression(.constant(value))
    case .string(let text):
      advance()
      return .expression(.constant(.string(text)))
    case .variable(let name):
      advance()
      guard take(":=") else { return .expression(.variable(name)) }
      let valueColumn = token.column
      let part = try deeper { parser throws(PredicateFormatError) in try parser.bitwise() }
      try rise(above: 0, column)
      return .expression(.assignment(name, try asExpression(part, valueColumn)))
    case .argument(let text): return try argument(text)
    case .keyword(let text):
      advance()
      return keyPath(text, column)
    case .symbol("("):
      advance()
      let part = try deeper { parser throws(PredicateFormatError) in try parser.or() }
      try expect(")")
      return part
    case .symbol("{"):
      advance()
      return .expression(.aggregate(try list(until: "}")))
    case .word(let text, let isReserved): return try word(text, isReserved: isReserved)
    case .end:
      throw error(column, format.unicodeScalars.allSatisfy(\.properties.isWhitespace) ? "the text is empty" : "a value is expected, not the end")
    default: throw unexpected("a value")
    }
  }

  private mutating func list(until close: String) throws(PredicateFormatError) -> [FetchExpression] {
    let start = token.column
    var parts: [FetchExpression] = []
    var highest = 0
    while !take(close) {
      let column = token.column
      let part = try deeper { parser throws(PredicateFormatError) in try parser.bitwise() }
      parts.append(try asExpression(part, column))
      highest = max(highest, height)
      // A comma before the end is what people write.
      guard take(",") || isSymbol(close) else { throw unexpected("',' or '\(close)'") }
    }
    height = 0
    try rise(above: highest, start)
    return parts
  }

  private mutating func word(_ text: String, isReserved: Bool) throws(PredicateFormatError) -> Part {
    let column = token.column
    advance()
    let isCall = isSymbol("(")
    if isReserved { return isCall ? try call(text, column) : keyPath(text, column) }
    switch text.uppercased() {
    case "TRUEPREDICATE": return .predicate(.value(true))
    case "FALSEPREDICATE": return .predicate(.value(false))
    case "BLOCKPREDICATE" where isCall:
      throw error(column, "a closure cannot be read from text", "give it with %@")
    case "TRUE", "YES": return .expression(.constant(.boolean(true)))
    case "FALSE", "NO": return .expression(.constant(.boolean(false)))
    case "NIL", "NULL": return .expression(.constant(.null))
    case "SELF": return .expression(.evaluatedObject)
    case "SUBQUERY" where isCall: return try subquery()
    case "CAST" where isCall:
      advance()
      let parts = try list(until: ")")
      guard parts.count == 2, case .constant(.string(let type)) = parts[1] else {
        throw error(column, "CAST takes a value and a type's name")
      }
      return .expression(PredicateCast.folded(parts[0], type))
    case "TERNARY" where isCall:
      advance()
      let conditionColumn = token.column
      let part = try deeper { parser throws(PredicateFormatError) in try parser.or() }
      let condition = try asPredicate(part, conditionColumn)
      let lower = height
      try expect(",")
      let rest = try list(until: ")")
      try rise(above: lower, column)
      guard rest.count == 2 else { throw error(column, "TERNARY takes a predicate and two values") }
      return .expression(.conditional(condition, rest[0], rest[1]))
    case "FUNCTION" where isCall:
      advance()
      let parts = try list(until: ")")
      guard parts.count >= 2, case .constant(.string(let name)) = parts[1] else {
        throw error(column, "FUNCTION takes a target, a name in quotes, and arguments")
      }
      return .expression(.custom(parts[0], name, Array(parts.dropFirst(2))))
    case "FETCH" where isCall:
      advance()
      return .expression(.fetch(try list(until: ")")))
    case "AND", "OR", "NOT", "IN", "BETWEEN", "CONTAINS", "BEGINSWITH", "ENDSWITH", "LIKE", "MATCHES", "ANY", "SOME", "ALL",
      "NONE":
      if !isSymbol(".") && !startsComparison() || isCall {
        place -= 1
        throw error(column, "a value is expected, not the keyword \(text)", "write #\(text) for a key of that name")
      }
      return keyPath(text, column)
    default: break
    }
    if isCall { return try call(text, column) }
    // A selector's name in several parts: `add:to:(1, 2)`.
    if isSymbol(":") {
      var name = text
      while take(":") {
        name += ":"
        if case .word(let next, _) = token.kind {
          name += next
          advance()
        }
      }
      guard isSymbol("(") else { throw unexpected("'(' after the function's name '\(name)'") }
      return try call(name, column)
    }
    return keyPath(text, column)
  }

  private mutating func keyPath(_ key: String, _ column: Int) -> Part {
    marks.append(column)
    return .expression(.keyPath([key]))
  }

  private func startsComparison() -> Bool {
    if case .symbol(let text) = token.kind {
      return ["==", "=", "!=", "<>", "<", ">", "<=", ">=", "=<", "=>"].contains(text)
    }
    return false
  }

  private mutating func call(_ name: String, _ column: Int) throws(PredicateFormatError) -> Part {
    advance()
    let parts = try list(until: ")")
    guard let function = PredicateFunction.named(name, argumentCount: parts.count) else {
      if let known = PredicateFunction.named(name) {
        throw error(column, "\(name) takes \(known.argumentText), not \(parts.count)")
      }
      let near = Suggestion.text(for: name, among: PredicateFunction.all.map(\.shortName))
      throw error(column, "there is no function '\(name)'", near.isEmpty ? nil : String(near.dropFirst(2)))
    }
    return .expression(.function(function.name, parts))
  }

  private mutating func subquery() throws(PredicateFormatError) -> Part {
    advance()
    let column = token.column
    let part = try deeper { parser throws(PredicateFormatError) in try parser.bitwise() }
    let list = try asExpression(part, column)
    let lower = height
    try expect(",")
    guard case .variable(let name) = token.kind else { throw unexpected("a variable such as $x") }
    advance()
    try expect(",")
    let conditionColumn = token.column
    let inner = try deeper { parser throws(PredicateFormatError) in try parser.or() }
    let condition = try asPredicate(inner, conditionColumn)
    try rise(above: lower, conditionColumn)
    try expect(")")
    return .expression(.subquery(list, variable: name, condition))
  }

  // MARK: Literals and arguments

  private func number(_ text: String, _ column: Int) throws(PredicateFormatError) -> StoredValue {
    let isNegative = text.hasPrefix("-")
    let digits = isNegative ? String(text.dropFirst()) : text
    for (prefix, radix) in [("0x", 16), ("0X", 16), ("0o", 8), ("0b", 2), ("0B", 2)] where digits.hasPrefix(prefix) {
      guard let value = Int64((isNegative ? "-" : "") + digits.dropFirst(2), radix: radix) else {
        throw error(column, "\(text) is no whole number of 64 bits")
      }
      return .integer(value)
    }
    if let value = Int64(text) { return .integer(value) }
    if !text.contains("."), !text.contains("e"), let value = DecimalNumber(text) { return .decimal(value) }
    guard let value = Double(text.hasSuffix(".") ? text + "0" : text), value.isFinite else {
      throw error(column, "\(text) is no number that fits")
    }
    return .double(value)
  }

  private mutating func takeArgument() throws(PredicateFormatError) -> Any? {
    guard nextArgument < arguments.count else {
      throw error(
        token.column, "\(describe(token)) has no argument: \(arguments.count) \(arguments.count == 1 ? "is" : "are") given")
    }
    let value = arguments[nextArgument]
    nextArgument += 1
    return value
  }

  private mutating func keyPathArgument() throws(PredicateFormatError) -> [String] {
    let column = token.column
    let value = StoredValue.unwrapped(try takeArgument())
    advance()
    guard let text = value as? String, !text.isEmpty else {
      throw error(column, "%K takes a key path as text, not \(value.map { "\(type(of: $0))" } ?? "nil")")
    }
    let keys = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard !keys.contains("") else { throw error(column, "the key path '\(text.prefix(40))' has an empty key") }
    for _ in keys { marks.append(column) }
    return keys
  }

  private mutating func argument(_ text: String) throws(PredicateFormatError) -> Part {
    let column = token.column
    switch text.last {
    case "K":
      let path = try keyPathArgument()
      // As it is read where it is written: SELF is the object, and SELF.name its name.
      guard path[0].uppercased() == "SELF" else { return .expression(.keyPath(path)) }
      marks.removeLast()
      return .expression(path.count == 1 ? .evaluatedObject : .keyPath(Array(path.dropFirst())))
    case "@":
      let value = try takeArgument()
      advance()
      guard let made = PredicateArgument(value) else {
        throw error(column, "an argument of type \(value.map { "\(type(of: $0))" } ?? "nil") can stand in no predicate")
      }
      switch made {
      case .expression(let expression):
        for _ in 0..<PredicateChecker.markCount(expression) { marks.append(column) }
        return .expression(expression)
      case .predicate(let predicate):
        for _ in 0..<PredicateChecker.markCount(predicate) { marks.append(column) }
        return .predicate(predicate)
      }
    case "%": throw error(column, "'%%' stands for a per cent sign in texts; there is no operator of that name")
    case "s", "S":
      let value = StoredValue.unwrapped(try takeArgument())
      advance()
      guard let string = value as? String else { throw error(column, "%\(text) takes a text") }
      return .expression(.constant(.string(string)))
    case "c", "C":
      let value = StoredValue.unwrapped(try takeArgument())
      advance()
      if let character = value as? Character { return .expression(.constant(.string(String(character)))) }
      if let text = value as? String, text.count == 1 { return .expression(.constant(.string(text))) }
      if let value, case .integer(let number)? = StoredValue(guessing: value) { return .expression(.constant(.integer(number))) }
      throw error(column, "%\(text) takes a character or its number")
    default:
      let value = StoredValue.unwrapped(try takeArgument())
      advance()
      if let flag = value as? Bool { return .expression(.constant(.boolean(flag))) }
      if let value, let stored = StoredValue(guessing: value) {
        switch stored {
        case .integer, .double, .float, .decimal: return .expression(.constant(stored))
        default: break
        }
      }
      throw error(column, "%\(text) takes a number, not \(value.map { "\(type(of: $0))" } ?? "nil")")
    }
  }
}
