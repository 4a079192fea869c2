import AtomicStoreSPI
import FoundationEssentials

extension PredicateEvaluator {
  /// Calls a function of the language on expressions.
  func call(
    _ name: String, of arguments: [FetchExpression], isAggregate: Bool
  ) throws(PredicateEvaluationError) -> PredicateValue {
    let isDistinct = name == "min:" || name == "max:"
    guard isAggregate, !groupKeys.isEmpty else {
      return try call(name, try values(of: arguments, isDistinct: isDistinct))
    }
    // An aggregate of a group is one of its objects, of its keys too: the sum of a key counts each object's.
    var objects = self
    objects.groupKeys = []
    return try objects.call(name, try objects.values(of: arguments, isDistinct: isDistinct))
  }

  /// Calls a function of the language on values. Null in a calculation results in null; in a collection it is skipped.
  func call(_ name: String, _ arguments: [PredicateValue]) throws(PredicateEvaluationError) -> PredicateValue {
    for argument in arguments {
      if case .list(let list) = argument { try budget.take(list.count) }
      try refuseComposite(argument)
    }
    switch name {
    case "now": return .value(.date(now))
    case "uppercase:", "lowercase:", "canonical:", "length:": return try text(name, arguments)
    case "count:": return .value(.integer(Int64(arguments.count == 1 ? arguments[0].elements.count : arguments.count)))
    case "sum:", "average:", "min:", "max:", "median:", "mode:", "stddev:": return try collection(name, arguments)
    case "noindex:": return arguments[0]
    case "first:": return arguments[0].elements.first ?? .null
    case "last:": return arguments[0].elements.last ?? .null
    case "objectFrom:withIndex:":
      guard case .value(.integer(let place)) = arguments[1] else { throw failure("an index must be an integer") }
      let list = arguments[0].elements
      return place >= 0 && place < list.count ? list[Int(place)] : .null
    case "castObject:toType:":
      guard case .value(let value) = arguments[0], case .value(.string(let type)) = arguments[1],
        let converted = PredicateCast.converted(value, type)
      else { throw failure("the value cannot be cast") }
      return .value(converted)
    default: return try calculation(name, arguments)
    }
  }

  func cast(
    _ value: PredicateValue, _ type: String, _ inner: FetchExpression
  ) throws(PredicateEvaluationError) -> PredicateValue {
    guard case .value(let stored) = value, let converted = PredicateCast.converted(stored, type) else {
      throw failure("\(inner) cannot be cast to \(type)")
    }
    return .value(converted)
  }

  private func text(_ name: String, _ arguments: [PredicateValue]) throws(PredicateEvaluationError) -> PredicateValue {
    if arguments[0].isNull { return .null }
    if case .list(let list) = arguments[0] {
      return .list(try list.map { element throws(PredicateEvaluationError) in try text(name, [element]) })
    }
    guard case .value(.string(let text)) = arguments[0] else { throw failure("\(name) requires a string") }
    switch name {
    case "uppercase:": return .value(.string(text.uppercased()))
    case "lowercase:": return .value(.string(text.lowercased()))
    case "length:": return .value(.integer(Int64(text.unicodeScalars.count)))
    default: return .value(.string(StringComparison.folded(text, [.caseInsensitive, .diacriticInsensitive])))
    }
  }

  private func collection(_ name: String, _ arguments: [PredicateValue]) throws(PredicateEvaluationError)
    -> PredicateValue
  {
    let elements = arguments.count == 1 ? arguments[0].elements : arguments.flatMap(\.elements)
    var values: [StoredValue] = []
    for element in elements {
      guard case .value(let value) = element else { throw failure("\(name) requires numbers, not objects") }
      if !value.isNull { values.append(value) }
    }
    if name == "min:" || name == "max:" {
      guard var best = values.first else { return .null }
      for value in values.dropFirst() {
        guard let order = Self.order(value, best, []) ?? NumberOrder.orderOfNotANumber(value, best) else {
          throw failure("\(name) cannot compare \(value.kindDescription) with \(best.kindDescription)")
        }
        if name == "min:" ? order < 0 : order > 0 { best = value }
      }
      return .value(best)
    }
    var numbers: [NumberOrder.Number] = []
    for value in values {
      guard let number = NumberOrder.Number(value) else {
        throw failure("\(name) requires numbers, not \(value.kindDescription)")
      }
      numbers.append(number)
    }
    return .value(Arithmetic.aggregate(name, numbers) ?? .null)
  }

  private func calculation(_ name: String, _ arguments: [PredicateValue]) throws(PredicateEvaluationError)
    -> PredicateValue
  {
    var values: [StoredValue] = []
    for argument in arguments {
      guard case .value(let value) = argument else { throw failure("\(name) requires numbers, not objects or lists") }
      if value.isNull { return .null }
      values.append(value)
    }
    if values.count == 2, let result = Arithmetic.dates(name, values[0], values[1]) { return .value(result) }
    for value in values where NumberOrder.Number(value) == nil {
      throw failure("\(name) requires numbers, not \(value.kindDescription)")
    }
    guard let result = Arithmetic.calculate(name, values) else {
      throw failure("\(name) has no result for \(values.map(\.displayText).joined(separator: " and "))")
    }
    return .value(result)
  }
}
