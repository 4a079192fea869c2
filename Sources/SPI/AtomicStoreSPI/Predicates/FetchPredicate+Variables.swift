extension FetchPredicate {
  /// Returns the predicate with variables replaced. Variables that the table does not contain remain.
  ///
  /// Variables that a `SUBQUERY` declares are local to it and remain, too.
  public func substituting(_ variables: [String: FetchExpression]) -> FetchPredicate {
    mapParts {
      $0.substituting(variables)
    } expressions: {
      $0.substituting(variables)
    }
  }

  /// The names of the remaining variables, without those that subqueries declare, in order of appearance.
  package var variables: [String] {
    var names: [String] = []
    FetchTree.predicate(self).visitVariables(bound: []) { name in if !names.contains(name) { names.append(name) } }
    return names
  }
}

extension FetchExpression {
  /// Returns the expression with variables replaced, as ``FetchPredicate/substituting(_:)`` does.
  func substituting(_ variables: [String: FetchExpression]) -> FetchExpression {
    switch self {
    case .variable(let name): return variables[name] ?? self
    case .subquery(let list, let variable, let predicate):
      var inner = variables
      inner[variable] = nil
      return .subquery(list.substituting(variables), variable: variable, predicate.substituting(inner))
    default:
      return mapParts {
        $0.substituting(variables)
      } expressions: {
        $0.substituting(variables)
      }
    }
  }
}

extension FetchTree {
  /// Calls `found` with the name of each free variable.
  fileprivate func visitVariables(bound: Set<String>, _ found: (String) -> Void) {
    switch self {
    case .expression(.variable(let name)): if !bound.contains(name) { found(name) }
    case .expression(.subquery(let list, let variable, let predicate)):
      FetchTree.expression(list).visitVariables(bound: bound, found)
      FetchTree.predicate(predicate).visitVariables(bound: bound.union([variable]), found)
    default: for part in parts { part.visitVariables(bound: bound, found) }
    }
  }
}
