package import AtomicStoreSPI

/// What a predicate or an expression reads.
extension FetchTree {
  /// Whether its value on an object depends on nothing but stored values: it has neither closures nor functions of the
  /// program, does not name an object by a temporary ID, and no key of it is one of some names.
  package func isOfStoredValues(without names: Set<String>) -> Bool {
    switch self {
    case .predicate(.block), .expression(.custom), .expression(.fetch): return false
    case .expression(.objectID(let id)): return !id.isTemporaryID
    case .expression(.keyPath(let keys)), .expression(.member(_, let keys)):
      guard !keys.contains(where: names.contains) else { return false }
    default: break
    }
    return parts.allSatisfy { $0.isOfStoredValues(without: names) }
  }

  /// Whether it may read other objects than the one that it is evaluated on.
  package var readsOtherObjects: Bool {
    switch self {
    case .expression(.keyPath(let keys)) where keys.count > 1: true
    case .expression(.member), .expression(.subquery), .expression(.element): true
    default: parts.contains { $0.readsOtherObjects }
    }
  }

  /// Whether it consists of key paths, constants, subqueries, and functions of single values: ``NeededColumns`` has all
  /// that it reads.
  package var isOfPlainPaths: Bool { isOfPlainPaths([]) }

  /// - Parameter variables: Those of the subqueries around it.
  private func isOfPlainPaths(_ variables: Set<String>) -> Bool {
    switch self {
    case .predicate: break
    case .expression(let expression):
      switch expression {
      case .evaluatedObject, .keyPath: return true
      case .variable(let name): return variables.contains(name)
      case .member(let base, _): return base.leadsToObjects && FetchTree.expression(base).isOfPlainPaths(variables)
      case .subquery(let source, let variable, let predicate):
        return source.leadsToObjects && FetchTree.expression(source).isOfPlainPaths(variables)
          && FetchTree.predicate(predicate).isOfPlainPaths(variables.union([variable]))
      case .constant, .objectID, .aggregate, .conditional, .cast: break
      case .function where !expression.isAggregate: break
      default: return false
      }
    }
    return parts.allSatisfy { $0.isOfPlainPaths(variables) }
  }

  /// Whether the format has yet to supply values of a property whose name is one of the keys.
  package func readsDeferredValues(_ version: NodeVersion) -> Bool {
    // There are none, or it is a window.
    guard version.cells == nil, !version.isWindow else { return false }
    let keys = self.keys
    return version.model.entities.contains { entity in
      entity.slots.contains { slot in
        version.hasDeferredValues(entity: entity.index, slot: slot.index)
          && slot.name.split(separator: ".", maxSplits: 1).first.map { keys.contains(String($0)) } ?? false
      }
    }
  }

  private var keys: Set<String> {
    let own: [String] =
      switch self {
      case .expression(.keyPath(let keys)), .expression(.member(_, let keys)): keys
      default: []
      }
    return parts.reduce(into: Set(own)) { $0.formUnion($1.keys) }
  }
}

extension FetchExpression {
  /// Whether the model has the entities of its objects.
  fileprivate var leadsToObjects: Bool {
    switch self {
    case .evaluatedObject, .variable, .keyPath, .member, .subquery: true
    default: false
    }
  }
}
