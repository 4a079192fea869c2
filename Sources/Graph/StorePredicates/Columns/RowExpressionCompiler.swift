package import AtomicStoreSPI

/// Compiles calculations with numbers against the slots of an entity. Returns nil for calculations that can fail, and
/// for anything but numbers.
package struct RowExpressionCompiler {
  /// The expressions that may be created yet: a path through entities with sub-entities doubles them at each key.
  private var left = 500
  /// Compiling is recursive, and a longer path would exceed the stack of a worker thread.
  private static let keysPerPath = 32

  private init() {}

  /// The numbers that are compared if one expression is compared with others: pairs, one for each of them.
  package static func sides(
    _ one: FetchExpression, _ others: [FetchExpression], _ entity: Entity
  ) -> [(RowExpression, RowExpression)]? {
    var compiler = RowExpressionCompiler()
    guard let one = compiler.expression(one, entity, depth: 0) else { return nil }
    var sides: [(RowExpression, RowExpression)] = []
    for other in others {
      guard let other = compiler.expression(other, entity, depth: 0) else { return nil }
      let kind = RowCalculation.kind(of: [one, other])
      sides.append((one.settled(as: kind), other.settled(as: kind)))
    }
    return sides
  }

  /// A calculation whose values are those of ``PredicateEvaluator``.
  ///
  /// - Parameter type: The type of the attribute that the values are for.
  package static func calculation(
    _ expression: FetchExpression, for type: AttributeType, _ entity: Entity
  ) -> RowExpression? {
    guard case .function = expression else { return nil }
    var compiler = RowExpressionCompiler()
    return compiler.expression(expression, entity, depth: 0)?.settled(as: OpenNumber.Kind(type))
  }

  private mutating func expression(
    _ expression: FetchExpression, _ entity: Entity, depth: Int
  ) -> RowCalculation? {
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
      var parts: [RowCalculation] = []
      for argument in arguments {
        guard let part = self.expression(argument, entity, depth: depth + 1) else { return nil }
        parts.append(part)
      }
      return RowCalculation(function, of: parts)
    default: return nil
    }
  }

  /// A path through to-ones to a numeric attribute, or to a string whose length is meant.
  private mutating func path(
    _ path: ArraySlice<String>, _ entity: Entity, depth: Int, isLength: Bool = false
  ) -> RowCalculation? {
    guard depth < Self.keysPerPath, let key = path.first else { return nil }
    // A part of a composite is a single property.
    if let slot = entity.slot(named: path.joined(separator: ".")) {
      return Self.attribute(entity.slots[slot], isLength: isLength)
    }
    guard let slot = entity.slot(named: key).map({ entity.slots[$0] }) else { return nil }
    if slot.attributeType == .string, path.count == 2, path.last == "length", !isLength {
      return RowCalculation(expression: .length(slot: slot.index))
    }
    guard slot.kind == .toOne, let destination = slot.destination else { return nil }
    var others: [Int: RowExpression] = [:]
    var kind: OpenNumber.Kind?
    for entity in entity.model.entity(at: destination).hierarchy where !entity.isAbstract {
      let other = self.path(path.dropFirst(), entity, depth: depth + 1, isLength: isLength)
      left -= 1
      guard let other, left >= 0 else { return nil }
      // A number that is a decimal or a double by the entity is not known before.
      guard others.isEmpty || other.kind == kind else { return nil }
      kind = other.kind
      others[entity.index] = other.expression
    }
    return RowCalculation(expression: .through(slot: slot.index, others), kind: kind)
  }

  private static func attribute(_ slot: Slot, isLength: Bool) -> RowCalculation? {
    switch slot.valueKind {
    case .integer, .boolean:
      isLength ? nil : RowCalculation(expression: .attribute(slot: slot.index))
    case .float, .double, .decimal:
      isLength
        ? nil
        : RowCalculation(
          expression: .attribute(slot: slot.index), kind: slot.valueKind == .decimal ? .decimal : .double)
    case .string: isLength ? RowCalculation(expression: .length(slot: slot.index)) : nil
    default: nil
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
