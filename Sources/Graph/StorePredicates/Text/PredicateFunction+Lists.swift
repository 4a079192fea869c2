import AtomicStoreSPI
import FoundationEssentials

/// Functions of lists, and of values of any type.
extension PredicateFunction {
  static let lists: [PredicateFunction] =
    ["first:", "last:"].map {
      PredicateFunction($0, 1...1, [.any], style: .whole, readsList: true, result: elementOfFirst, end)
    } + [
      PredicateFunction(
        "objectFrom:withIndex:", 2...2, [.any], style: .whole, readsList: true, result: elementOfFirst, element),
      PredicateFunction("noindex:", 1...1, [.any], style: .whole, readsList: true, result: elementOfFirst, same),
      PredicateFunction("castObject:toType:", 2...2, [.any], .unknown, style: .whole, cast),
      PredicateFunction("coalesce:", 1...many, [.any], style: .whole, result: common, coalesce),
    ]

  private static let elementOfFirst: @Sendable ([PredicateKind]) -> PredicateKind = { $0.first?.element ?? .unknown }

  /// The type that all arguments have, as far as is known.
  private static let common: @Sendable ([PredicateKind]) -> PredicateKind = { kinds in
    let known = kinds.filter { if case .null = $0 { false } else { true } }
    guard let first = known.first, known.allSatisfy({ $0.group == first.group }) else { return .unknown }
    return first
  }

  private static func end(_ call: FunctionCall) throws(PredicateEvaluationError) -> PredicateValue {
    let elements = call.arguments[0].elements
    return (call.name == "first:" ? elements.first : elements.last) ?? .null
  }

  private static func element(_ call: FunctionCall) throws(PredicateEvaluationError) -> PredicateValue {
    guard case .value(.integer(let place)) = call.arguments[1] else {
      throw call.failure("an index must be an integer")
    }
    let list = call.arguments[0].elements
    return place >= 0 && place < list.count ? list[Int(place)] : .null
  }

  private static func same(_ call: FunctionCall) throws(PredicateEvaluationError) -> PredicateValue {
    call.arguments[0]
  }

  private static func cast(_ call: FunctionCall) throws(PredicateEvaluationError) -> PredicateValue {
    guard case .value(let value) = call.arguments[0], case .value(.string(let type)) = call.arguments[1],
      let converted = PredicateCast.converted(value, type)
    else { throw call.failure("the value cannot be cast") }
    return .value(converted)
  }

  private static func coalesce(_ call: FunctionCall) throws(PredicateEvaluationError) -> PredicateValue {
    call.arguments.first { !$0.isNull } ?? .null
  }
}
