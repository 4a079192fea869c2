/// A function of the language.
struct PredicateFunction: Sendable {
  /// The selector's name.
  let name: String
  let minimum: Int
  let maximum: Int

  var shortName: String { String(name.prefix { $0 != ":" }) }
  var argumentText: String {
    let count = minimum == maximum ? "\(minimum)" : "\(minimum) or more"
    return "\(count) \(maximum == 1 ? "argument" : "arguments")"
  }

  init(_ name: String, _ minimum: Int, _ maximum: Int? = nil) {
    self.name = name
    self.minimum = minimum
    self.maximum = maximum ?? minimum
  }

  static let all: [PredicateFunction] = [
    .init("sum:", 1, 1000), .init("count:", 1, 1000), .init("average:", 1, 1000), .init("min:", 1, 1000),
    .init("max:", 1, 1000), .init("median:", 1, 1000), .init("mode:", 1, 1000), .init("stddev:", 1, 1000),
    .init("add:to:", 2), .init("from:subtract:", 2), .init("multiply:by:", 2), .init("divide:by:", 2),
    .init("modulus:by:", 2), .init("raise:toPower:", 2), .init("sqrt:", 1), .init("log:", 1), .init("ln:", 1),
    .init("exp:", 1), .init("floor:", 1), .init("ceiling:", 1), .init("abs:", 1), .init("trunc:", 1),
    .init("random", 0),
    .init("random:", 1), .init("randomn:", 1), .init("now", 0), .init("uppercase:", 1), .init("lowercase:", 1),
    .init("canonical:", 1), .init("length:", 1), .init("bitwiseAnd:with:", 2), .init("bitwiseOr:with:", 2),
    .init("bitwiseXor:with:", 2), .init("leftshift:by:", 2), .init("rightshift:by:", 2), .init("onesComplement:", 1),
    .init("noindex:", 1), .init("distanceToLocation:fromLocation:", 2), .init("castObject:toType:", 2),
    .init("objectFrom:withIndex:", 2), .init("first:", 1), .init("last:", 1),
  ]

  /// What other languages call functions, for suggestions.
  static let otherNames = [
    "avg": "average:", "mean": "average:", "upper": "uppercase:", "lower": "lowercase:", "len": "length:",
    "ceil": "ceiling:", "pow": "raise:toPower:", "mod": "modulus:by:", "total": "sum:",
  ]

  private static let byName: [String: PredicateFunction] = {
    var table: [String: PredicateFunction] = [:]
    for function in all where table[function.name.lowercased()] == nil { table[function.name.lowercased()] = function }
    for function in all where table[function.shortName.lowercased()] == nil {
      table[function.shortName.lowercased()] = function
    }
    return table
  }()

  /// Finds a function by its selector, or by the first part of it alone; case-insensitive.
  static func named(_ name: String) -> PredicateFunction? { byName[name.lowercased()] }

  static func named(_ name: String, argumentCount: Int) -> PredicateFunction? {
    if let function = named(name), argumentCount >= function.minimum, argumentCount <= function.maximum {
      return function
    }
    if let function = named(name + ":"), argumentCount >= function.minimum, argumentCount <= function.maximum {
      return function
    }
    return nil
  }
}
