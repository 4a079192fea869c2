package import AtomicStoreSPI

/// The key paths that the expression of a derived attribute reads, from the object that has the attribute: also those
/// in the conditions of `SUBQUERY` and `TERNARY`, and those that begin at a subquery's variable.
package struct DerivationPaths {
  /// The paths, with operators such as `@sum`.
  package private(set) var paths: [[String]] = []
  /// The functions of the program that it calls: what these read is not known.
  package private(set) var customFunctions: [String] = []
  /// By the name of a subquery's variable, the paths that lead to its objects.
  private var variables: [String: [[String]]] = [:]

  /// - Parameter text: The expression; one that cannot be parsed reads nothing.
  package init(_ text: String) {
    if let expression = try? FetchExpression(format: text) { collect(.expression(expression)) }
  }

  package init(_ expression: FetchExpression) { collect(.expression(expression)) }

  private mutating func collect(_ tree: FetchTree) {
    switch tree {
    case .expression(.subquery(let list, let variable, let predicate)):
      collect(.expression(list))
      let outer = variables[variable]
      variables[variable] = ends(of: list)
      collect(.predicate(predicate))
      variables[variable] = outer
      return
    case .expression(let expression):
      if case .custom(_, let name, _) = expression { customFunctions.append(name) }
      for path in ends(of: expression) where !path.isEmpty { add(path) }
    case .predicate: break
    }
    for part in tree.parts { collect(part) }
  }

  /// The paths whose last objects, or values, are the value of an expression.
  private func ends(of expression: FetchExpression) -> [[String]] {
    switch expression {
    case .evaluatedObject: [[]]
    case .keyPath(let path): [path]
    case .variable(let name): variables[name] ?? []
    case .member(let base, let path): ends(of: base).map { $0 + path }
    case .element(let base, _): ends(of: base)
    case .subquery(let list, _, _): ends(of: list)
    case .set(_, let one, let other): ends(of: one) + ends(of: other)
    case .conditional(_, let one, let other): ends(of: one) + ends(of: other)
    case .function(let name, let arguments) where ["first:", "last:", "noindex:"].contains(name):
      arguments.flatMap { ends(of: $0) }
    default: []
    }
  }

  private mutating func add(_ path: [String]) {
    if !paths.contains(path) { paths.append(path) }
  }
}
