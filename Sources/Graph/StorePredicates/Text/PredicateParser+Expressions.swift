import AtomicStoreSPI

/// Parsing values: operators by precedence, paths, words, calls.
extension PredicateParser {
  /// Parses operators of one precedence, from left to right.
  ///
  /// - Parameters:
  ///   - next: Parses an operand: an expression of higher precedence.
  ///   - operation: Joins two values, if the token is one of the operators.
  private mutating func joined(
    _ next: (inout PredicateParser) throws(PredicateFormatError) -> Part,
    by operation: (PredicateParser) -> ((FetchExpression, FetchExpression) -> FetchExpression)?
  ) throws(PredicateFormatError) -> Part {
    let column = token.column
    var part = try next(&self)
    while let join = operation(self) {
      let lower = height
      let operatorColumn = token.column
      advance()
      let left = try asExpression(part, column)
      let rightColumn = token.column
      let right = try next(&self)
      try rise(above: lower, operatorColumn)
      part = .expression(join(left, try asExpression(right, rightColumn)))
    }
    return part
  }

  /// How a function of two values joins them, if the token is one of these symbols.
  private func function(of names: [String: String]) -> ((FetchExpression, FetchExpression) -> FetchExpression)? {
    guard case .symbol(let symbol) = token.kind, let name = names[symbol] else { return nil }
    return { .function(name, [$0, $1]) }
  }

  private static let bitwiseNames = [
    "|": "bitwiseOr:with:", "&": "bitwiseAnd:with:", "^": "bitwiseXor:with:", "<<": "leftshift:by:",
    ">>": "rightshift:by:",
  ]
  private static let additiveNames = ["+": "add:to:", "-": "from:subtract:"]
  private static let multiplicativeNames = ["*": "multiply:by:", "/": "divide:by:"]
  private static let setOperations: [String: FetchExpression.SetOperation] = [
    "UNION": .union, "INTERSECT": .intersect, "MINUS": .minus,
  ]

  /// `|`, `^`, `&`, `<<`, `>>`: lower precedence than sums, all the same precedence.
  mutating func bitwise() throws(PredicateFormatError) -> Part {
    try joined({ parser throws(PredicateFormatError) in try parser.additive() }) { $0.function(of: Self.bitwiseNames) }
  }

  private mutating func additive() throws(PredicateFormatError) -> Part {
    try joined({ parser throws(PredicateFormatError) in try parser.multiplicative() }) { parser in
      if let operation = parser.keyword.flatMap({ Self.setOperations[$0] }) { return { .set(operation, $0, $1) } }
      return parser.function(of: Self.additiveNames)
    }
  }

  private mutating func multiplicative() throws(PredicateFormatError) -> Part {
    try joined({ parser throws(PredicateFormatError) in try parser.power() }) {
      $0.function(of: Self.multiplicativeNames)
    }
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

  /// Parses paths and indexes after a value.
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

  /// Parses what follows a dot: a name, `@count`, or `%K`.
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
      throw error(
        column,
        format.unicodeScalars.allSatisfy(\.properties.isWhitespace)
          ? "the text is empty" : "a value is expected, not the end")
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
      // A comma before the end is common.
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
      throw error(column, "a closure cannot be parsed", "pass it as an argument for %@")
    case "TRUE", "YES": return .expression(.constant(.boolean(true)))
    case "FALSE", "NO": return .expression(.constant(.boolean(false)))
    case "NIL", "NULL": return .expression(.constant(.null))
    case "SELF": return .expression(.evaluatedObject)
    case "SUBQUERY" where isCall: return try subquery()
    case "CAST" where isCall:
      advance()
      let parts = try list(until: ")")
      guard parts.count == 2, case .constant(.string(let type)) = parts[1] else {
        throw error(column, "CAST requires a value and the name of a type")
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
      guard rest.count == 2 else { throw error(column, "TERNARY requires a predicate and two values") }
      return .expression(.conditional(condition, rest[0], rest[1]))
    case "FUNCTION" where isCall:
      advance()
      let parts = try list(until: ")")
      guard parts.count >= 2, case .constant(.string(let name)) = parts[1] else {
        throw error(column, "FUNCTION requires a target, a name in quotes, and arguments")
      }
      return .expression(.custom(parts[0], name, Array(parts.dropFirst(2))))
    case "FETCH" where isCall:
      advance()
      return .expression(.fetch(try list(until: ")")))
    case "AND", "OR", "NOT", "IN", "BETWEEN", "CONTAINS", "BEGINSWITH", "ENDSWITH", "LIKE", "MATCHES", "ANY", "SOME",
      "ALL",
      "NONE":
      if !isSymbol(".") && !startsComparison() || isCall {
        place -= 1
        throw error(column, "a value is expected, not the keyword \(text)", "write #\(text) for a key of that name")
      }
      return keyPath(text, column)
    default: break
    }
    if isCall { return try call(text, column) }
    // A selector with several parts: `add:to:(1, 2)`.
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
        throw error(column, "\(name) requires \(known.argumentText), not \(parts.count)")
      }
      if let known = PredicateFunction.otherNames[name.lowercased().filter { $0 != ":" }] {
        throw error(column, "unknown function '\(name)'", "did you mean '\(known)'?")
      }
      let near = Suggestion.text(for: name, among: PredicateFunction.all.map(\.shortName))
      throw error(column, "unknown function '\(name)'", near.isEmpty ? nil : String(near.dropFirst(2)))
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
}
