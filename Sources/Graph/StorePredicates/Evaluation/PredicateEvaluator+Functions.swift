import AtomicStoreSPI
import FoundationEssentials

extension PredicateEvaluator {
  /// Calls a function of the language on expressions.
  func call(
    _ name: String, of arguments: [FetchExpression], isAggregate: Bool
  ) throws(PredicateEvaluationError) -> PredicateValue {
    let isDistinct = name == "min:" || name == "max:"
    guard isAggregate, case .list = subject else {
      return try call(name, try values(of: arguments, isDistinct: isDistinct))
    }
    // An aggregate of a group is one of its objects, of its keys too: the sum of a key counts each object's.
    var objects = self
    objects.groupKeys = []
    var values = try objects.values(of: Array(arguments.dropFirst()))
    let first =
      arguments[0].isComputedOfEachObject
      ? try objects.valueOfEachObject(arguments[0]) : try objects.open(arguments[0], isDistinct: isDistinct)
    values.insert(first, at: 0)
    return try call(name, values)
  }

  /// A calculation for each object of a group.
  private func valueOfEachObject(_ expression: FetchExpression) throws(PredicateEvaluationError) -> PredicateValue {
    var found: [PredicateValue] = []
    var inner = self
    for object in subject.elements {
      inner.subject = object
      found += try inner.value(of: expression).elements
      try budget.checkList(found.count)
    }
    return .list(found)
  }

  /// Calls a function of the language on values. Null in a calculation results in null; in a collection it is skipped.
  func call(_ name: String, _ arguments: [PredicateValue]) throws(PredicateEvaluationError) -> PredicateValue {
    for argument in arguments {
      if case .list(let list) = argument { try budget.take(list.count) }
      try refuseComposite(argument)
    }
    guard let function = PredicateFunction.exactly(name) else { throw failure("'\(name)' is not a function") }
    let arguments = function.takesOpenNumbers ? arguments : PredicateValue.settled(arguments)
    do throws(PredicateEvaluationError) {
      return try function(FunctionCall(name: name, arguments: arguments, now: now, budget: budget))
    } catch {
      guard error.kind == .invalid, error.entityName == nil else { throw error }
      throw failureOfObject(error.message)
    }
  }

  func cast(
    _ value: PredicateValue, _ type: String, _ inner: FetchExpression
  ) throws(PredicateEvaluationError) -> PredicateValue {
    let settled = value.settled(as: PredicateCast.isDecimal(type) ? .decimal : nil)
    guard case .value(let stored) = settled, let converted = PredicateCast.converted(stored, type) else {
      throw failureOfObject("\(inner) cannot be cast to \(type)")
    }
    return .value(converted)
  }

  /// `FUNCTION(value, 'selector:', …)`: a function that the program registered, or one of the language.
  func custom(
    _ target: FetchExpression, _ name: String, _ arguments: [FetchExpression]
  ) throws(PredicateEvaluationError) -> PredicateValue {
    let target = try open(target).settled(as: nil)
    let values = PredicateValue.settled(try values(of: arguments))
    for value in values + [target] { try refuseComposite(value) }
    let functions = anySubject?.customFunctions
    if let function = functions?[name] {
      let result: Any?
      do { result = try function(target.any, values.map { $0.any }) } catch {
        throw failure("the function '\(name)' failed: \(error)")
      }
      guard let made = PredicateValue(any: result) else {
        throw failure(
          "the function '\(name)' returned \(result.map { "a \(type(of: $0))" } ?? "nil"), which cannot be used in a predicate"
        )
      }
      return made
    }
    switch name {
    case "length" where values.isEmpty: return try call("length:", [target])
    case "uppercaseString", "uppercase": return try call("uppercase:", [target])
    case "lowercaseString", "lowercase": return try call("lowercase:", [target])
    case "self": return target
    default:
      let names = functions?.names ?? []
      throw failure("no function '\(name)' is registered\(Suggestion.text(for: name, among: names))")
    }
  }
}
