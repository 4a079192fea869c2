import AtomicStoreSPI
import StorePredicates

/// Comparisons of calculated numbers, and of two attributes.
extension RowTestCompiler {
  /// Returns nil for comparisons of anything but numbers, and for calculations that can fail.
  func numbers(_ comparison: FetchPredicate.Comparison, _ entity: EntityPlan) -> RowTest? {
    guard comparison.modifier == .direct, let one = expression(comparison.left, entity, depth: 0) else { return nil }
    func test(_ order: RowOrder, _ other: RowCalculation) -> RowTest {
      let kind = RowCalculation.kind(of: [one, other])
      return .numbers(one.settled(as: kind), order, other.settled(as: kind))
    }
    if let order = RowTest.Order(comparison.comparator) {
      return expression(comparison.right, entity, depth: 0).map { test(order, $0) }
    }
    guard case .aggregate(let list) = comparison.right else { return nil }
    var others: [RowCalculation] = []
    for element in list {
      guard case .constant = element, let other = expression(element, entity, depth: 0) else { return nil }
      others.append(other)
    }
    switch comparison.comparator {
    case .between where others.count == 2:
      return .and([test(.greaterOrEqual, others[0]), test(.lessOrEqual, others[1])])
    case .isIn: return .or(others.map { test(.equal, $0) })
    default: return nil
    }
  }

  /// A calculation whose values are those of ``PredicateEvaluator``; nil for anything else, and for calculations that
  /// can fail.
  ///
  /// - Parameter type: The type of the attribute that the values are for.
  func calculation(_ expression: FetchExpression, for type: AttributeType, _ entity: EntityPlan) -> RowExpression? {
    guard case .function = expression else { return nil }
    makeRoom()
    return self.expression(expression, entity, depth: 0)?.settled(as: OpenNumber.Kind(type))
  }

  private func expression(_ expression: FetchExpression, _ entity: EntityPlan, depth: Int) -> RowCalculation? {
    guard depth < Self.keysPerPath else { return nil }
    switch expression {
    case .constant(let value):
      return RowNumber(value).map { number in
        let isOpen =
          switch value {
          case .double, .decimal: true
          default: false
          }
        return RowCalculation(expression: .constant(number), isOpen: isOpen)
      }
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
      return RowCalculation(function, of: parts)
    default: return nil
    }
  }

  /// A path through to-ones to a numeric attribute, or to a string whose length is meant.
  private func path(_ path: ArraySlice<String>, _ entity: EntityPlan, depth: Int, isLength: Bool = false)
    -> RowCalculation?
  {
    guard depth < Self.keysPerPath, let key = path.first else { return nil }
    // A part of a composite is a single property.
    if let p = entity.property(named: path.joined(separator: ".")) {
      return attribute(entity.properties[p], isLength: isLength)
    }
    guard let p = entity.property(named: key), entity.properties[p].slot >= 0 else { return nil }
    let property = entity.properties[p]
    if property.kind == .attribute(.string), path.count == 2, path.last == "length", !isLength {
      return RowCalculation(expression: .length(slot: property.slot))
    }
    guard property.kind == .toOne else { return nil }
    var others: [Int: RowExpression] = [:]
    var kind: OpenNumber.Kind?
    for destination in plan.entities[property.destination].entity.hierarchy where !destination.isAbstract {
      let other = self.path(path.dropFirst(), plan.entities[destination.index], depth: depth + 1, isLength: isLength)
      guard let other, takeRoom() else { return nil }
      // A number that is a decimal or a double by the entity is computed of objects.
      guard others.isEmpty || other.kind == kind else { return nil }
      kind = other.kind
      others[destination.index] = other.expression
    }
    return RowCalculation(expression: .through(slot: property.slot, others), kind: kind)
  }

  private func attribute(_ property: PropertyPlan, isLength: Bool) -> RowCalculation? {
    guard property.slot >= 0, case .attribute(let type) = property.kind else { return nil }
    switch type {
    case .integer16, .integer32, .integer64, .boolean:
      return isLength ? nil : RowCalculation(expression: .attribute(slot: property.slot))
    case .float, .double, .decimal:
      return isLength
        ? nil : RowCalculation(expression: .attribute(slot: property.slot), kind: type == .decimal ? .decimal : .double)
    case .string: return isLength ? RowCalculation(expression: .length(slot: property.slot)) : nil
    default: return nil
    }
  }
}

/// A calculation as it is written, and what determines how it is computed: as ``OpenNumber`` does for objects, but from
/// the types of the attributes.
private struct RowCalculation {
  let expression: RowExpression
  /// Nil for integers and open numbers.
  var kind: OpenNumber.Kind?
  /// Whether the numbers beside it determine its kind.
  var isOpen = false

  init(expression: RowExpression, kind: OpenNumber.Kind? = nil, isOpen: Bool = false) {
    self.expression = expression
    self.kind = kind
    self.isOpen = isOpen
  }

  init(_ function: RowExpression.Function, of parts: [RowCalculation]) {
    let found = parts.compactMap(\.kind)
    let shared: OpenNumber.Kind? = found.contains(.double) ? .double : found.first
    let arguments = shared == nil ? parts.map(\.expression) : parts.map { $0.settled(as: shared) }
    expression = .function(function, arguments[0], arguments.count > 1 ? arguments[1] : nil)
    kind = shared != nil && function == .squareRoot ? .double : shared
    isOpen = shared == nil
  }

  static func kind(of numbers: [RowCalculation]) -> OpenNumber.Kind? {
    if numbers.contains(where: { $0.kind == .double }) { return .double }
    return numbers.contains { $0.kind == .decimal || $0.isOpen && $0.expression.hasDecimal } ? .decimal : nil
  }

  func settled(as kind: OpenNumber.Kind?) -> RowExpression {
    guard isOpen, let kind = kind ?? (expression.hasDecimal ? .decimal : nil) else { return expression }
    return expression.settled(as: kind)
  }
}

extension RowExpression {
  /// Whether it has a decimal as a constant.
  fileprivate var hasDecimal: Bool {
    switch self {
    case .constant(.decimal): true
    case .constant, .attribute, .length, .through: false
    case .function(_, let one, let other): one.hasDecimal || other?.hasDecimal ?? false
    }
  }

  fileprivate func settled(as kind: OpenNumber.Kind) -> RowExpression {
    switch self {
    case .constant(let number): .constant(RowNumber(number.value.number(as: kind)) ?? number)
    // An integer becomes a decimal, so that quotients are exact.
    case .attribute, .length, .through:
      kind == .decimal ? .function(.add, self, .constant(.decimal(DecimalNumber(0)))) : self
    case .function(let function, let one, let other):
      .function(function, one.settled(as: kind), other?.settled(as: kind))
    }
  }
}
