package import AtomicStoreSPI

extension PredicateEvaluator {
  /// The value of an expression whose result is assigned to a property: as ``value(of:isDistinct:)``, and `+` joins two
  /// texts. A text joined with null is null.
  package func assignedValue(of expression: FetchExpression) throws(PredicateEvaluationError) -> PredicateValue {
    guard case .function("add:to:", let arguments) = expression, arguments.count == 2 else {
      return try value(of: expression)
    }
    let one = try assignedValue(of: arguments[0])
    let other = try assignedValue(of: arguments[1])
    switch (one, other) {
    case (.value(.string(let first)), .value(.string(let second))): return .value(.string(first + second))
    case (.value(.null), .value(.string)), (.value(.string), .value(.null)): return .null
    case (.value(let first), .value(let second)):
      return try value(of: .function("add:to:", [.constant(first), .constant(second)]))
    default: return try value(of: expression)
    }
  }
}
