/// A node of a predicate's tree: each predicate consists of predicates and expressions, and so does each expression.
public enum FetchTree: Hashable, Sendable {
  /// A predicate.
  case predicate(FetchPredicate)
  /// An expression.
  case expression(FetchExpression)

  /// The nodes directly below this one, in the order in which they are written.
  public var parts: [FetchTree] {
    switch self {
    case .predicate(let predicate): predicate.parts
    case .expression(let expression): expression.parts
    }
  }
}

extension FetchPredicate {
  /// The nodes directly below this one, in the order in which they are written.
  var parts: [FetchTree] {
    switch self {
    case .value, .block: []
    case .comparison(let comparison): [.expression(comparison.left), .expression(comparison.right)]
    case .and(let parts), .or(let parts): parts.map { .predicate($0) }
    case .not(let part): [.predicate(part)]
    }
  }

  /// Returns the predicate with its direct child nodes replaced.
  public func mapParts(
    predicates: (FetchPredicate) -> FetchPredicate, expressions: (FetchExpression) -> FetchExpression
  ) -> FetchPredicate {
    switch self {
    case .value, .block: return self
    case .comparison(var comparison):
      comparison.left = expressions(comparison.left)
      comparison.right = expressions(comparison.right)
      return .comparison(comparison)
    case .and(let parts): return .and(parts.map(predicates))
    case .or(let parts): return .or(parts.map(predicates))
    case .not(let part): return .not(predicates(part))
    }
  }
}

extension FetchExpression {
  /// The nodes directly below this one, in the order in which they are written.
  var parts: [FetchTree] {
    func all(_ list: [FetchExpression]) -> [FetchTree] { list.map { .expression($0) } }
    return switch self {
    case .constant, .objectID, .evaluatedObject, .variable, .keyPath: []
    case .member(let base, _): [.expression(base)]
    case .element(let base, .at(let index)): [.expression(base), .expression(index)]
    case .element(let base, _): [.expression(base)]
    case .function(_, let list), .aggregate(let list), .fetch(let list): all(list)
    case .custom(let target, _, let list): [.expression(target)] + all(list)
    case .subquery(let list, _, let predicate): [.expression(list), .predicate(predicate)]
    case .set(_, let one, let other): [.expression(one), .expression(other)]
    case .cast(let value, _), .assignment(_, let value): [.expression(value)]
    case .conditional(let predicate, let one, let other): [.predicate(predicate), .expression(one), .expression(other)]
    }
  }

  /// Returns the expression with its direct child nodes replaced. Names, such as a subquery's variable, are not
  /// changed.
  public func mapParts(
    predicates: (FetchPredicate) -> FetchPredicate, expressions: (FetchExpression) -> FetchExpression
  ) -> FetchExpression {
    switch self {
    case .constant, .objectID, .evaluatedObject, .variable, .keyPath: self
    case .member(let base, let path): .member(expressions(base), path)
    case .element(let base, .at(let index)): .element(expressions(base), .at(expressions(index)))
    case .element(let base, let element): .element(expressions(base), element)
    case .function(let name, let arguments): .function(name, arguments.map(expressions))
    case .custom(let target, let name, let arguments): .custom(expressions(target), name, arguments.map(expressions))
    case .aggregate(let list): .aggregate(list.map(expressions))
    case .subquery(let list, let variable, let predicate):
      .subquery(expressions(list), variable: variable, predicates(predicate))
    case .set(let operation, let one, let other): .set(operation, expressions(one), expressions(other))
    case .cast(let value, let type): .cast(expressions(value), type)
    case .conditional(let predicate, let one, let other):
      .conditional(predicates(predicate), expressions(one), expressions(other))
    case .fetch(let list): .fetch(list.map(expressions))
    case .assignment(let name, let value): .assignment(name, expressions(value))
    }
  }
}
