import AtomicStoreSPI
import FoundationEssentials
import StorePredicates

/// Expressions that are computed of the values in the columns of rows, without objects.
///
/// The values are those of ``StorePredicates/PredicateEvaluator`` on objects. Whatever is an error here is evaluated on
/// objects, whose error is reported.
struct RowComputation {
  /// The key paths that the expressions read; the object itself, if they read nothing.
  private(set) var leaves: [FetchExpression] = []
  private let expressions: [FetchExpression]
  private let types: [AttributeType?]
  private var evaluator: PredicateEvaluator

  /// Returns nil for expressions that need objects: those with subqueries, operators such as `@count`, aggregates, or
  /// functions of the program.
  ///
  /// - Parameter types: The types of the attributes that the values are for, if they are for attributes.
  init?(
    _ expressions: [FetchExpression], for types: [AttributeType]? = nil, entityName: String, budget: StepBudget?
  ) {
    self.expressions = expressions
    self.types = types ?? Array(repeating: nil, count: expressions.count)
    evaluator = PredicateEvaluator(list: [], now: Date(), entityName: entityName, budget: budget)
    for expression in expressions where !collect(.expression(expression)) { return nil }
    if leaves.isEmpty { leaves = [.evaluatedObject] }
  }

  private mutating func collect(_ tree: FetchTree) -> Bool {
    switch tree {
    case .predicate(.block): return false
    case .predicate: break
    case .expression(let expression):
      switch expression {
      case .evaluatedObject, .keyPath:
        if case .keyPath(let path) = expression, path.contains(where: FetchExpression.isOperator) { return false }
        if !leaves.contains(expression) { leaves.append(expression) }
        return true
      case .constant, .objectID, .aggregate, .conditional, .cast: break
      case .function where !expression.isAggregate: break
      default: return false
      }
    }
    return tree.parts.allSatisfy { collect($0) }
  }

  /// The values of the expressions, from those of ``leaves``.
  mutating func values(of cells: [FetchedRow.Value]) throws(PredicateEvaluationError) -> [PredicateValue] {
    evaluator.groupKeys.removeAll(keepingCapacity: true)
    for (leaf, cell) in zip(leaves, cells) { evaluator.groupKeys.append((leaf, PredicateValue(cell))) }
    var values: [PredicateValue] = []
    values.reserveCapacity(expressions.count)
    for (expression, type) in zip(expressions, types) {
      values.append(try evaluator.value(of: expression, for: type))
    }
    return values
  }
}

extension PredicateValue {
  init(_ value: FetchedRow.Value) {
    switch value {
    case .value(let value): self = .value(value)
    case .object(let id): self = .id(id)
    case .list(let list): self = .list(list.map { PredicateValue($0) })
    }
  }
}
