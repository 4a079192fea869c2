import StorePredicates
import Testing

@Suite("Trees of predicates") struct PredicateTreeTests {
  static let texts = [
    "TRUEPREDICATE", "NOT (a == 1)", "a == 1 AND (b > 2 OR c IN {1, 2, x})", "ANY list.name LIKE[cd] 'x*'",
    "list[FIRST] == list[i]",
    "FUNCTION(a, 'f', b) == uppercase:(c)", "SUBQUERY(list, $x, $x.a == b).@count > 0",
    "a UNION b == CAST(c, 'NSDate')",
    "TERNARY(a > 1, b, c) == $V", "(a + b * 2).c == nil",
  ]

  /// The names of the key paths below a node, found by way of ``FetchTree/parts``.
  private func keys(_ tree: FetchTree) -> [String] {
    if case .expression(.keyPath(let path)) = tree { return [path.joined(separator: ".")] }
    return tree.parts.flatMap(keys)
  }

  @Test("putting back the same parts gives the same tree", arguments: texts)
  func same(_ text: String) throws {
    func rebuilt(_ expression: FetchExpression) -> FetchExpression {
      expression.mapParts(predicates: rebuilt, expressions: rebuilt)
    }
    func rebuilt(_ predicate: FetchPredicate) -> FetchPredicate {
      predicate.mapParts(predicates: rebuilt, expressions: rebuilt)
    }
    let predicate = try FetchPredicate(format: text)
    #expect(rebuilt(predicate) == predicate)
  }

  @Test("each part that replaces another is found at its position, in the same order", arguments: texts)
  func renamed(_ text: String) throws {
    func renamed(_ expression: FetchExpression) -> FetchExpression {
      if case .keyPath(let path) = expression { return .keyPath(path.map { $0 + "2" }) }
      return expression.mapParts(predicates: renamed, expressions: renamed)
    }
    func renamed(_ predicate: FetchPredicate) -> FetchPredicate {
      predicate.mapParts(predicates: renamed, expressions: renamed)
    }
    let predicate = try FetchPredicate(format: text)
    let before = keys(.predicate(predicate))
    #expect(
      keys(.predicate(renamed(predicate)))
        == before.map { $0.split(separator: ".").map { $0 + "2" }.joined(separator: ".") })
    #expect(text == "TRUEPREDICATE" || !before.isEmpty)
  }

  @Test(
    "a predicate can be analyzed with only the tree, as a store does that fetches part of its objects")
  func pushedDown() throws {
    let predicate = try FetchPredicate(format: "number >= 3 AND number < 10 AND name == 'x'")
    guard case .and(let parts) = predicate else {
      Issue.record("\(predicate) is not a conjunction")
      return
    }
    var bounds: [(FetchPredicate.Comparator, Int64)] = []
    for case .comparison(let comparison) in parts {
      if comparison.left == .keyPath(["number"]), case .constant(.integer(let number)) = comparison.right {
        bounds.append((comparison.comparator, number))
      }
    }
    #expect(bounds.map(\.0) == [.greaterOrEqual, .less] && bounds.map(\.1) == [3, 10])
  }
}
