import AtomicStoreSPI
public import FoundationEssentials
import StorePredicates

extension FetchPredicate {
  /// Converts a `#Predicate` to a fetch predicate.
  ///
  /// ```swift
  /// let grown = #Predicate<Person> { $0.age >= 18 && $0.department?.name == "Toys" }
  /// let request = FetchRequest<Person>(entityName: "Person", predicate: try FetchPredicate(grown))
  /// ```
  ///
  /// Properties must be ``Managed`` or use ``ManagedObject/subscript(managed:)``. Collections (`contains(where:)`,
  /// `allSatisfy`, `filter`, `count`, `isEmpty`), optional chains, ranges, arithmetic, `min()` and `max()`, `??`, the
  /// conditional operator, and string comparisons are converted; casts, regular expressions and dictionaries are
  /// refused.
  ///
  /// - Throws: ``PredicateConversionError``, which names what cannot be converted.
  public init<Object: ManagedObject>(_ predicate: FoundationEssentials.Predicate<Object>)
    throws(PredicateConversionError)
  {
    var converter = PredicateConverter()
    converter.variables[predicate.variable.key] = .evaluatedObject
    self = try converter.predicate(predicate.expression)
  }
}

extension ObjectPredicate {
  /// Converts a `#Predicate`, as ``/AtomicStoreSPI/FetchPredicate``'s initializer does.
  public init(_ predicate: FoundationEssentials.Predicate<Object>) throws(PredicateConversionError) {
    self.init(try FetchPredicate(predicate))
  }
}

/// The error if a `#Predicate` cannot be converted to a fetch predicate.
public struct PredicateConversionError: Error, Sendable, CustomStringConvertible {
  /// What cannot be converted.
  public let message: String
  public var description: String { message }
}

/// Traverses the nodes of a `#Predicate`.
struct PredicateConverter {
  enum Part {
    case predicate(FetchPredicate)
    case expression(FetchExpression)
    /// Two bounds, and whether the upper bound is included.
    case range(FetchExpression, FetchExpression, isClosed: Bool)
  }
  var variables: [PredicateExpressions.VariableID: FetchExpression] = [:]
  private var lastName = 0

  mutating func part(_ node: Any) throws(PredicateConversionError) -> PredicateConverter.Part {
    guard let node = node as? any ConvertiblePredicateNode else {
      let name = "\(type(of: node))".prefix { $0 != "<" }
      throw PredicateConversionError(message: "#Predicate's \(name) has no counterpart in a fetch predicate")
    }
    return try node.part(&self)
  }

  mutating func predicate(_ node: Any) throws(PredicateConversionError) -> FetchPredicate {
    switch try part(node) {
    case .predicate(let predicate): return predicate
    // A Boolean value by itself.
    case .expression(let expression): return .comparison(.init(expression, .equal, .constant(.boolean(true))))
    case .range: throw PredicateConversionError(message: "a range is not a condition")
    }
  }

  mutating func expression(_ node: Any) throws(PredicateConversionError) -> FetchExpression {
    switch try part(node) {
    case .expression(let expression): return expression
    case .predicate(let predicate):
      return .conditional(predicate, .constant(.boolean(true)), .constant(.boolean(false)))
    case .range: throw PredicateConversionError(message: "a range can only be used in contains")
    }
  }

  mutating func newVariable() -> String {
    lastName += 1
    return "element\(lastName)"
  }

  static func member(_ base: FetchExpression, _ key: String) -> FetchExpression {
    switch base {
    case .evaluatedObject: .keyPath([key])
    case .keyPath(let path): .keyPath(path + [key])
    case .member(let inner, let path): .member(inner, path + [key])
    default: .member(base, [key])
    }
  }
}

protocol ConvertiblePredicateNode {
  func part(_ converter: inout PredicateConverter) throws(PredicateConversionError) -> PredicateConverter.Part
}

extension PredicateExpressions.Variable: ConvertiblePredicateNode {
  func part(_ converter: inout PredicateConverter) throws(PredicateConversionError) -> PredicateConverter.Part {
    guard let expression = converter.variables[key] else {
      throw PredicateConversionError(message: "the predicate uses a variable that it does not declare")
    }
    return .expression(expression)
  }
}

extension PredicateExpressions.Value: ConvertiblePredicateNode {
  func part(_: inout PredicateConverter) throws(PredicateConversionError) -> PredicateConverter.Part {
    guard let argument = PredicateArgument(value) else {
      throw PredicateConversionError(message: "a value of type \(Output.self) cannot be used in a fetch predicate")
    }
    switch argument {
    case .predicate(let predicate): return .predicate(predicate)
    case .expression(.aggregate(let bounds)) where bounds.count == 2 && "\(Output.self)".contains("Range<"):
      return .range(bounds[0], bounds[1], isClosed: true)
    case .expression(let expression): return .expression(expression)
    }
  }
}

extension PredicateExpressions.NilLiteral: ConvertiblePredicateNode {
  func part(_: inout PredicateConverter) throws(PredicateConversionError) -> PredicateConverter.Part {
    .expression(.constant(.null))
  }
}

extension PredicateExpressions.KeyPath: ConvertiblePredicateNode {
  func part(_ converter: inout PredicateConverter) throws(PredicateConversionError) -> PredicateConverter.Part {
    let base = try converter.expression(root)
    switch kind {
    case .collectionCount?:
      if Root.Output.self == String.self { return .expression(.function("length:", [base])) }
      return .expression(PredicateConverter.member(base, "@count"))
    case .collectionIsEmpty?:
      let count =
        Root.Output.self == String.self
        ? FetchExpression.function("length:", [base]) : PredicateConverter.member(base, "@count")
      return .predicate(.comparison(.init(count, .equal, .constant(.integer(0)))))
    case .collectionFirst?: return .expression(.element(base, .first))
    case .bidirectionalCollectionLast?: return .expression(.element(base, .last))
    default: break
    }
    guard case .keyPath(let names)? = keyPath.fetchExpression else {
      throw PredicateConversionError(
        message:
          "the predicate uses a property of \(Root.Output.self) that is not @Managed, so its name in the model is unknown"
      )
    }
    return .expression(names.reduce(base, PredicateConverter.member))
  }
}

extension PredicateConverter {
  fileprivate mutating func comparison(
    _ left: Any, _ comparator: FetchPredicate.Comparator, _ right: Any, options: FetchPredicate.Options = []
  ) throws(PredicateConversionError) -> PredicateConverter.Part {
    let one = try expression(left)
    return .predicate(.comparison(.init(one, comparator, try expression(right), options: options)))
  }
  fileprivate mutating func function(_ name: String, _ nodes: [Any]) throws(PredicateConversionError)
    -> PredicateConverter.Part
  {
    var arguments: [FetchExpression] = []
    for node in nodes { arguments.append(try expression(node)) }
    return .expression(.function(name, arguments))
  }
  fileprivate mutating func subquery(
    _ sequence: Any, _ variable: PredicateExpressions.VariableID, _ test: Any, isNegated: Bool = false
  ) throws(PredicateConversionError) -> FetchExpression {
    let source = try expression(sequence)
    let name = newVariable()
    variables[variable] = .variable(name)
    let inner = try predicate(test)
    return .subquery(source, variable: name, isNegated ? .not(inner) : inner)
  }
}

extension PredicateExpressions.Equal: ConvertiblePredicateNode {
  func part(_ converter: inout PredicateConverter) throws(PredicateConversionError) -> PredicateConverter.Part {
    try converter.comparison(lhs, .equal, rhs)
  }
}
extension PredicateExpressions.NotEqual: ConvertiblePredicateNode {
  func part(_ converter: inout PredicateConverter) throws(PredicateConversionError) -> PredicateConverter.Part {
    try converter.comparison(lhs, .notEqual, rhs)
  }
}
extension PredicateExpressions.Comparison: ConvertiblePredicateNode {
  func part(_ converter: inout PredicateConverter) throws(PredicateConversionError) -> PredicateConverter.Part {
    let comparator: FetchPredicate.Comparator
    switch op {
    case .lessThan: comparator = .less
    case .lessThanOrEqual: comparator = .lessOrEqual
    case .greaterThan: comparator = .greater
    case .greaterThanOrEqual: comparator = .greaterOrEqual
    @unknown default: throw PredicateConversionError(message: "the predicate contains an unknown comparison")
    }
    return try converter.comparison(lhs, comparator, rhs)
  }
}
extension PredicateExpressions.Conjunction: ConvertiblePredicateNode {
  func part(_ converter: inout PredicateConverter) throws(PredicateConversionError) -> PredicateConverter.Part {
    let one = try converter.predicate(lhs)
    return .predicate(.and([one, try converter.predicate(rhs)]))
  }
}
extension PredicateExpressions.Disjunction: ConvertiblePredicateNode {
  func part(_ converter: inout PredicateConverter) throws(PredicateConversionError) -> PredicateConverter.Part {
    let one = try converter.predicate(lhs)
    return .predicate(.or([one, try converter.predicate(rhs)]))
  }
}
extension PredicateExpressions.Negation: ConvertiblePredicateNode {
  func part(_ converter: inout PredicateConverter) throws(PredicateConversionError) -> PredicateConverter.Part {
    .predicate(.not(try converter.predicate(wrapped)))
  }
}
extension PredicateExpressions.Arithmetic: ConvertiblePredicateNode {
  func part(_ converter: inout PredicateConverter) throws(PredicateConversionError) -> PredicateConverter.Part {
    switch op {
    case .add: return try converter.function("add:to:", [lhs, rhs])
    case .subtract: return try converter.function("from:subtract:", [lhs, rhs])
    case .multiply: return try converter.function("multiply:by:", [lhs, rhs])
    @unknown default: throw PredicateConversionError(message: "the predicate contains an unknown calculation")
    }
  }
}
extension PredicateExpressions.UnaryMinus: ConvertiblePredicateNode {
  func part(_ converter: inout PredicateConverter) throws(PredicateConversionError) -> PredicateConverter.Part {
    let value = try converter.expression(wrapped)
    switch value {
    case .constant(.integer(let number)) where number != .min: return .expression(.constant(.integer(-number)))
    case .constant(.double(let number)): return .expression(.constant(.double(-number)))
    default: return .expression(.function("from:subtract:", [.constant(.integer(0)), value]))
    }
  }
}
extension PredicateExpressions.FloatDivision: ConvertiblePredicateNode {
  func part(_ converter: inout PredicateConverter) throws(PredicateConversionError) -> PredicateConverter.Part {
    try converter.function("divide:by:", [lhs, rhs])
  }
}
extension PredicateExpressions.IntDivision: ConvertiblePredicateNode {
  func part(_ converter: inout PredicateConverter) throws(PredicateConversionError) -> PredicateConverter.Part {
    let one = try converter.expression(lhs)
    return .expression(.function("trunc:", [.function("divide:by:", [one, try converter.expression(rhs)])]))
  }
}
extension PredicateExpressions.IntRemainder: ConvertiblePredicateNode {
  func part(_ converter: inout PredicateConverter) throws(PredicateConversionError) -> PredicateConverter.Part {
    try converter.function("modulus:by:", [lhs, rhs])
  }
}
extension PredicateExpressions.Conditional: ConvertiblePredicateNode {
  func part(_ converter: inout PredicateConverter) throws(PredicateConversionError) -> PredicateConverter.Part {
    let condition = try converter.predicate(test)
    let one = try converter.expression(trueBranch)
    return .expression(.conditional(condition, one, try converter.expression(falseBranch)))
  }
}
extension PredicateExpressions.NilCoalesce: ConvertiblePredicateNode {
  func part(_ converter: inout PredicateConverter) throws(PredicateConversionError) -> PredicateConverter.Part {
    let one = try converter.expression(lhs)
    let other = try converter.expression(rhs)
    return .expression(.conditional(.comparison(.init(one, .notEqual, .constant(.null))), one, other))
  }
}
extension PredicateExpressions.OptionalFlatMap: ConvertiblePredicateNode {
  func part(_ converter: inout PredicateConverter) throws(PredicateConversionError) -> PredicateConverter.Part {
    // A path through nil is nil, so the inner part may be applied to the value itself.
    converter.variables[variable.key] = try converter.expression(wrapped)
    return try converter.part(transform)
  }
}
extension PredicateExpressions.ForcedUnwrap: ConvertiblePredicateNode {
  func part(_ converter: inout PredicateConverter) throws(PredicateConversionError) -> PredicateConverter.Part {
    try converter.part(inner)
  }
}
extension PredicateExpressions.SequenceContains: ConvertiblePredicateNode {
  func part(_ converter: inout PredicateConverter) throws(PredicateConversionError) -> PredicateConverter.Part {
    let list = try converter.part(sequence)
    let value = try converter.expression(element)
    switch list {
    case .range(let low, let high, let isClosed): return PredicateConverter.within(value, low, high, isClosed)
    case .expression(let list): return .predicate(.comparison(.init(value, .isIn, list)))
    case .predicate: throw PredicateConversionError(message: "contains is applied to a condition")
    }
  }
}
extension PredicateConverter {
  fileprivate static func within(
    _ value: FetchExpression, _ low: FetchExpression, _ high: FetchExpression, _ isClosed: Bool
  ) -> PredicateConverter.Part {
    if isClosed { return .predicate(.comparison(.init(value, .between, .aggregate([low, high])))) }
    return .predicate(
      .and([.comparison(.init(value, .greaterOrEqual, low)), .comparison(.init(value, .less, high))]))
  }
}
extension PredicateExpressions.Range: ConvertiblePredicateNode {
  func part(_ converter: inout PredicateConverter) throws(PredicateConversionError) -> PredicateConverter.Part {
    let low = try converter.expression(lower)
    return .range(low, try converter.expression(upper), isClosed: false)
  }
}
extension PredicateExpressions.ClosedRange: ConvertiblePredicateNode {
  func part(_ converter: inout PredicateConverter) throws(PredicateConversionError) -> PredicateConverter.Part {
    let low = try converter.expression(lower)
    return .range(low, try converter.expression(upper), isClosed: true)
  }
}
extension PredicateExpressions.RangeExpressionContains: ConvertiblePredicateNode {
  func part(_ converter: inout PredicateConverter) throws(PredicateConversionError) -> PredicateConverter.Part {
    guard case .range(let low, let high, let isClosed) = try converter.part(range) else {
      throw PredicateConversionError(
        message: "the predicate contains a range without a bound on one side: compare with < or >= instead")
    }
    return PredicateConverter.within(try converter.expression(element), low, high, isClosed)
  }
}
extension PredicateExpressions.SequenceContainsWhere: ConvertiblePredicateNode {
  func part(_ converter: inout PredicateConverter) throws(PredicateConversionError) -> PredicateConverter.Part {
    let found = try converter.subquery(sequence, variable.key, test)
    return .predicate(.comparison(.init(.member(found, ["@count"]), .greater, .constant(.integer(0)))))
  }
}
extension PredicateExpressions.SequenceAllSatisfy: ConvertiblePredicateNode {
  func part(_ converter: inout PredicateConverter) throws(PredicateConversionError) -> PredicateConverter.Part {
    let others = try converter.subquery(sequence, variable.key, test, isNegated: true)
    return .predicate(.comparison(.init(.member(others, ["@count"]), .equal, .constant(.integer(0)))))
  }
}
extension PredicateExpressions.Filter: ConvertiblePredicateNode {
  func part(_ converter: inout PredicateConverter) throws(PredicateConversionError) -> PredicateConverter.Part {
    .expression(try converter.subquery(sequence, variable.key, filter))
  }
}
extension PredicateExpressions.SequenceStartsWith: ConvertiblePredicateNode {
  func part(_ converter: inout PredicateConverter) throws(PredicateConversionError) -> PredicateConverter.Part {
    guard Base.Output.self == String.self else {
      throw PredicateConversionError(message: "starts(with:) is supported for strings only")
    }
    return try converter.comparison(base, .beginsWith, prefix)
  }
}
extension PredicateExpressions.CollectionContainsCollection: ConvertiblePredicateNode {
  func part(_ converter: inout PredicateConverter) throws(PredicateConversionError) -> PredicateConverter.Part {
    guard Base.Output.self == String.self else {
      throw PredicateConversionError(message: "contains with a collection is supported for strings only")
    }
    return try converter.comparison(base, .contains, other)
  }
}
extension PredicateExpressions.CollectionIndexSubscript: ConvertiblePredicateNode {
  func part(_ converter: inout PredicateConverter) throws(PredicateConversionError) -> PredicateConverter.Part {
    let list = try converter.expression(wrapped)
    return .expression(.element(list, .at(try converter.expression(index))))
  }
}
extension PredicateExpressions.SequenceMinimum: ConvertiblePredicateNode {
  func part(_ converter: inout PredicateConverter) throws(PredicateConversionError) -> PredicateConverter.Part {
    try converter.function("min:", [elements])
  }
}
extension PredicateExpressions.SequenceMaximum: ConvertiblePredicateNode {
  func part(_ converter: inout PredicateConverter) throws(PredicateConversionError) -> PredicateConverter.Part {
    try converter.function("max:", [elements])
  }
}
