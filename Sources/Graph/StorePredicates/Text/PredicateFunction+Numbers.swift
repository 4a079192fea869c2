import AtomicStoreSPI
import FoundationEssentials

/// Calculations with numbers, and of one number from many.
extension PredicateFunction {
  static let statistics: [PredicateFunction] =
    ["sum:", "average:", "median:", "mode:", "stddev:"].map {
      PredicateFunction(
        $0, 1...many, [.countable], .number, style: .whole, aggregateCount: 1, ofCollection)
    } + [
      PredicateFunction(
        "count:", 1...many, [.any], .number, style: .whole, aggregateCount: 1, count),
      PredicateFunction(
        "min:", 1...many, [.any], style: .whole, aggregateCount: 1, result: elementOfFirst, extreme),
      PredicateFunction(
        "max:", 1...many, [.any], style: .whole, aggregateCount: 1, result: elementOfFirst, extreme),
      PredicateFunction(
        "percentile:", 2...2, [.countable, .number], .number, style: .whole, aggregateCount: 2, percentile),
    ]

  static let arithmetic: [PredicateFunction] =
    ["add:to:", "from:subtract:"].map { calculation($0, 2, .operand) }
    + [
      "multiply:by:", "divide:by:", "modulus:by:", "raise:toPower:", "bitwiseAnd:with:", "bitwiseOr:with:",
      "bitwiseXor:with:", "leftshift:by:", "rightshift:by:",
    ].map { calculation($0, 2, .operand) }
    + ["sqrt:", "log:", "ln:", "exp:", "floor:", "ceiling:", "abs:", "trunc:", "onesComplement:"].map {
      calculation($0, 1, .operand)
    }
    // What parses as in Core Data, and has no result.
    + [calculation("random", 0, .operand)] + ["random:", "randomn:"].map { calculation($0, 1, .operand) }
    + [
      PredicateFunction(
        "distanceToLocation:fromLocation:", 2...2, [.any], .number, style: .whole, calculate),
      PredicateFunction("round:", 1...2, [.number], .number, round),
      PredicateFunction("round:digits:", 2...2, [.number], .number, round),
    ]

  private static func calculation(_ name: String, _ count: Int, _ parameter: Parameter) -> PredicateFunction {
    PredicateFunction(
      name, count...count, [parameter], style: .whole, result: { resultOfCalculation(name, $0) }, calculate)
  }

  /// Dates make a date or a number, texts a text.
  private static func resultOfCalculation(_ name: String, _ kinds: [PredicateKind]) -> PredicateKind {
    if kinds.contains(where: { $0.element.group == .date }) { return .unknown }
    return name == "add:to:" && joinsTexts(kinds) ? .text : .number
  }

  /// Whether `+` joins texts: both are, as far as is known.
  static func joinsTexts(_ kinds: [PredicateKind]) -> Bool {
    let groups = kinds.map(\.group)
    return groups.contains(.text) && groups.allSatisfy { $0 == .text || $0 == .unknown }
  }

  private static let elementOfFirst: @Sendable ([PredicateKind]) -> PredicateKind = { $0.first?.element ?? .unknown }

  // MARK: One of many

  private static func elements(_ call: FunctionCall) -> [PredicateValue] {
    call.arguments.count == 1 ? call.arguments[0].elements : call.arguments.flatMap(\.elements)
  }

  private static func count(_ call: FunctionCall) throws(PredicateEvaluationError) -> PredicateValue {
    let count = call.arguments.count == 1 ? call.arguments[0].elements.count : call.arguments.count
    return .value(.integer(Int64(count)))
  }

  private static func extreme(_ call: FunctionCall) throws(PredicateEvaluationError) -> PredicateValue {
    let values = try values(elements(call), call)
    guard var best = values.first else { return .null }
    for value in values.dropFirst() {
      guard let order = ValueOrder.order(value, best, []) ?? NumberOrder.orderOfNotANumber(value, best) else {
        throw call.failure("\(call.name) cannot compare \(value.kindDescription) with \(best.kindDescription)")
      }
      if call.name == "min:" ? order < 0 : order > 0 { best = value }
    }
    return .value(best)
  }

  /// The values that are not null.
  private static func values(
    _ elements: [PredicateValue], _ call: FunctionCall
  ) throws(PredicateEvaluationError) -> [StoredValue] {
    var values: [StoredValue] = []
    for element in elements {
      guard case .value(let value) = element else { throw call.failure("\(call.name) requires numbers, not objects") }
      if !value.isNull { values.append(value) }
    }
    return values
  }

  private static func numbers(
    _ elements: [PredicateValue], _ call: FunctionCall
  ) throws(PredicateEvaluationError) -> [NumberOrder.Number] {
    try values(elements, call).map { value throws(PredicateEvaluationError) in
      guard let number = NumberOrder.Number(value) else {
        throw call.failure("\(call.name) requires numbers, not \(value.kindDescription)")
      }
      return number
    }
  }

  private static func ofCollection(_ call: FunctionCall) throws(PredicateEvaluationError) -> PredicateValue {
    .value(Arithmetic.aggregate(call.name, try numbers(elements(call), call)) ?? .null)
  }

  private static func percentile(_ call: FunctionCall) throws(PredicateEvaluationError) -> PredicateValue {
    if call.arguments[1].isNull { return .null }
    let fraction = try call.number(1)
    guard fraction.asDouble >= 0, fraction.asDouble <= 1 else {
      throw call.failure("percentile: requires a fraction from 0 to 1, such as 0.9, not \(fraction.asDouble)")
    }
    let numbers = try numbers(call.arguments[0].elements, call)
    return .value(Arithmetic.percentile(fraction.asDouble, of: numbers) ?? .null)
  }

  // MARK: Calculations

  private static func calculate(_ call: FunctionCall) throws(PredicateEvaluationError) -> PredicateValue {
    let name = call.name
    var values: [StoredValue] = []
    for argument in PredicateValue.settled(call.arguments) {
      guard case .value(let value) = argument else {
        throw call.failure("\(name) requires numbers, not objects or lists")
      }
      if value.isNull { return .null }
      values.append(value)
    }
    if values.count == 2, let result = Arithmetic.dates(name, values[0], values[1]) { return .value(result) }
    if name == "add:to:", case .string(let one) = values[0], case .string(let other) = values[1] {
      try call.take(bytes: one.utf8.count + other.utf8.count)
      return .value(.string(one + other))
    }
    for value in values where NumberOrder.Number(value) == nil {
      throw call.failure("\(name) requires numbers, not \(value.kindDescription)")
    }
    guard let result = Arithmetic.calculate(name, values) else {
      throw call.failure("\(name) has no result for \(values.map(\.displayText).joined(separator: " and "))")
    }
    return .result(result, of: name, call.arguments)
  }

  private static func round(_ call: FunctionCall) throws(PredicateEvaluationError) -> PredicateValue {
    let digits = call.arguments.count > 1 ? try call.integer(1) : 0
    guard digits.magnitude <= 38 else {
      throw call.failure("\(call.name) rounds to at most 38 digits, not \(digits)")
    }
    return .value(Arithmetic.rounded(try call.number(0), digits: digits))
  }
}
