package import AtomicStoreSPI

extension FetchExpression {
  /// Whether the expression is a function that computes one value of the elements of a list.
  package var isAggregate: Bool {
    if case .function(let name, let arguments) = self {
      PredicateFunction.exactly(name)?.aggregateCount == arguments.count
    } else {
      false
    }
  }

  /// Whether an aggregate of a group computes the expression for each object: a calculation of the object's values.
  /// A path collects values by itself, and a function of a list is computed of the list of all objects.
  var isComputedOfEachObject: Bool {
    switch self {
    case .function(let name, let arguments):
      PredicateFunction.exactly(name)?.readsList == false && !arguments.contains { $0.readsGroup }
    case .conditional(_, let one, let other): !one.readsGroup && !other.readsGroup
    case .cast(let inner, _): inner.isComputedOfEachObject
    default: false
    }
  }

  /// Whether a part of the expression is of the whole group.
  private var readsGroup: Bool {
    switch self {
    case .function(let name, let arguments):
      PredicateFunction.exactly(name)?.readsList != false || arguments.contains { $0.readsGroup }
    case .keyPath(let path): path.first.map(FetchExpression.isOperator) ?? false
    case .evaluatedObject, .subquery, .set, .element, .custom, .fetch, .assignment: true
    case .conditional(_, let one, let other): one.readsGroup || other.readsGroup
    case .cast(let inner, _), .member(let inner, _): inner.readsGroup
    case .constant, .objectID, .variable, .aggregate: false
    }
  }
}
