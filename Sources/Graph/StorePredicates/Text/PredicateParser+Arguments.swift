import AtomicStoreSPI

/// Numbers, and the arguments for `%@` and other format specifiers.
extension PredicateParser {
  func number(_ text: String, _ column: Int) throws(PredicateFormatError) -> StoredValue {
    let isNegative = text.hasPrefix("-")
    let digits = isNegative ? String(text.dropFirst()) : text
    for (prefix, radix) in [("0x", 16), ("0X", 16), ("0o", 8), ("0b", 2), ("0B", 2)] where digits.hasPrefix(prefix) {
      guard let value = Int64((isNegative ? "-" : "") + digits.dropFirst(2), radix: radix) else {
        throw error(column, "\(text) is not a 64-bit integer")
      }
      return .integer(value)
    }
    guard let value = Self.number(text) else { throw error(column, "\(text) is not a representable number") }
    return value
  }

  /// A number in decimal digits: an integer, or a double; a decimal if these do not have all its digits.
  static func number(_ text: String) -> StoredValue? {
    if let value = Int64(text) { return .integer(value) }
    let exact = DecimalNumber(text)
    if !text.contains("."), !text.contains("e"), let exact { return .decimal(exact) }
    guard let value = Double(text.hasSuffix(".") ? text + "0" : text), value.isFinite else { return nil }
    if let exact, case let shown = DecimalNumber(value.description), shown != exact { return .decimal(exact) }
    return .double(value)
  }

  mutating func takeArgument() throws(PredicateFormatError) -> Any? {
    guard nextArgument < arguments.count else {
      throw error(
        token.column,
        "\(describe(token)) has no argument: \(arguments.count) \(arguments.count == 1 ? "was" : "were") passed")
    }
    let value = arguments[nextArgument]
    nextArgument += 1
    return value
  }

  mutating func keyPathArgument() throws(PredicateFormatError) -> [String] {
    let column = token.column
    let value = StoredValue.unwrapped(try takeArgument())
    advance()
    guard let text = value as? String, !text.isEmpty else {
      throw error(column, "%K requires a key path as a string, not \(value.map { "\(type(of: $0))" } ?? "nil")")
    }
    let keys = FetchExpression.keys(of: text)
    guard !keys.contains("") else { throw error(column, "the key path '\(text.prefix(40))' has an empty key") }
    for _ in keys { marks.append(column) }
    return keys
  }

  mutating func argument(_ text: String) throws(PredicateFormatError) -> Part {
    let column = token.column
    switch text.last {
    case "K":
      let path = try keyPathArgument()
      // Parsed as it would be in text: SELF is the object, and SELF.name its name.
      guard path[0].uppercased() == "SELF" else { return .expression(.keyPath(path)) }
      marks.removeLast()
      return .expression(path.count == 1 ? .evaluatedObject : .keyPath(Array(path.dropFirst())))
    case "@":
      let value = try takeArgument()
      advance()
      guard let made = PredicateArgument(value) else {
        throw error(
          column, "an argument of type \(value.map { "\(type(of: $0))" } ?? "nil") cannot be used in a predicate")
      }
      switch made {
      case .expression(let expression):
        for _ in 0..<FetchTree.expression(expression).markCount { marks.append(column) }
        return .expression(expression)
      case .predicate(let predicate):
        for _ in 0..<FetchTree.predicate(predicate).markCount { marks.append(column) }
        return .predicate(predicate)
      }
    case "%": throw error(column, "'%%' is a percent sign in strings; there is no operator of that name")
    case "s", "S":
      let value = StoredValue.unwrapped(try takeArgument())
      advance()
      guard let string = value as? String else { throw error(column, "%\(text) requires a string") }
      return .expression(.constant(.string(string)))
    case "c", "C":
      let value = StoredValue.unwrapped(try takeArgument())
      advance()
      if let character = value as? Character { return .expression(.constant(.string(String(character)))) }
      if let text = value as? String, text.count == 1 { return .expression(.constant(.string(text))) }
      if let value, case .integer(let number)? = StoredValue(guessing: value) {
        return .expression(.constant(.integer(number)))
      }
      throw error(column, "%\(text) requires a character or its number")
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
      throw error(column, "%\(text) requires a number, not \(value.map { "\(type(of: $0))" } ?? "nil")")
    }
  }
}
