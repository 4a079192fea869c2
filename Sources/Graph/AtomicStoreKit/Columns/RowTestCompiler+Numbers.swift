import AtomicStoreSPI
import StorePredicates

/// Comparisons of calculated numbers, and of two attributes.
extension RowTestCompiler {
  /// Returns nil for comparisons of anything but numbers, and for calculations that can fail.
  func numbers(_ comparison: FetchPredicate.Comparison, _ entity: EntityPlan) -> RowTest? {
    guard comparison.modifier == .direct, let one = expression(comparison.left, entity, depth: 0) else { return nil }
    if let order = RowTest.Order(comparison.comparator) {
      return expression(comparison.right, entity, depth: 0).map { .numbers(one, order, $0) }
    }
    guard case .aggregate(let list) = comparison.right else { return nil }
    var others: [RowExpression] = []
    for element in list {
      guard case .constant = element, let other = expression(element, entity, depth: 0) else { return nil }
      others.append(other)
    }
    switch comparison.comparator {
    case .between where others.count == 2:
      return .and([.numbers(one, .greaterOrEqual, others[0]), .numbers(one, .lessOrEqual, others[1])])
    case .isIn: return .or(others.map { .numbers(one, .equal, $0) })
    default: return nil
    }
  }

  /// A calculation whose values are those of ``PredicateEvaluator``; nil for anything else, and for calculations that
  /// can fail.
  func calculation(_ expression: FetchExpression, _ entity: EntityPlan) -> RowExpression? {
    guard case .function = expression else { return nil }
    makeRoom()
    return self.expression(expression, entity, depth: 0)
  }

  private func expression(_ expression: FetchExpression, _ entity: EntityPlan, depth: Int) -> RowExpression? {
    guard depth < Self.keysPerPath else { return nil }
    switch expression {
    case .constant(let value): return RowNumber(value).map { .constant($0) }
    case .keyPath(let path): return self.path(path[...], entity, depth: depth)
    case .function("length:", let arguments):
      guard arguments.count == 1, case .keyPath(let path) = arguments[0] else { return nil }
      return self.path(path[...], entity, depth: depth, isLength: true)
    case .function(let name, let arguments):
      guard let function = RowExpression.Function(rawValue: name), arguments.count == function.argumentCount else {
        return nil
      }
      if function == .modulus {
        guard case .constant(let divisor) = arguments[1], let order = NumberOrder.order(divisor, .integer(0)),
          order != 0
        else { return nil }
      }
      let parts = arguments.compactMap { self.expression($0, entity, depth: depth + 1) }
      guard parts.count == arguments.count else { return nil }
      return .function(function, parts[0], parts.count > 1 ? parts[1] : nil)
    default: return nil
    }
  }

  /// A path through to-ones to a numeric attribute, or to a string whose length is meant.
  private func path(_ path: ArraySlice<String>, _ entity: EntityPlan, depth: Int, isLength: Bool = false)
    -> RowExpression?
  {
    guard depth < Self.keysPerPath, let key = path.first else { return nil }
    // A part of a composite is a single property.
    if let p = entity.property(named: path.joined(separator: ".")) {
      return attribute(entity.properties[p], isLength: isLength)
    }
    guard let p = entity.property(named: key), entity.properties[p].slot >= 0 else { return nil }
    let property = entity.properties[p]
    if property.kind == .attribute(.string), path.count == 2, path.last == "length", !isLength {
      return .length(slot: property.slot)
    }
    guard property.kind == .toOne else { return nil }
    var others: [Int: RowExpression] = [:]
    for destination in plan.entities[property.destination].entity.hierarchy where !destination.isAbstract {
      let other = self.path(path.dropFirst(), plan.entities[destination.index], depth: depth + 1, isLength: isLength)
      guard let other, takeRoom() else { return nil }
      others[destination.index] = other
    }
    return .through(slot: property.slot, others)
  }

  private func attribute(_ property: PropertyPlan, isLength: Bool) -> RowExpression? {
    guard property.slot >= 0, case .attribute(let type) = property.kind else { return nil }
    switch type {
    case .integer16, .integer32, .integer64, .float, .double, .decimal, .boolean:
      return isLength ? nil : .attribute(slot: property.slot)
    case .string: return isLength ? .length(slot: property.slot) : nil
    default: return nil
    }
  }
}
