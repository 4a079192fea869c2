public import AtomicStoreSPI
public import StorePredicates

/// A column of fetched rows: a key path, or a named expression.
public struct FetchColumn: Sendable, Equatable, ExpressibleByStringLiteral {
  /// The name of the column in the rows.
  public var name: String
  /// The expression that computes the column's values.
  public var expression: FetchExpression

  /// Creates a column with a name and an expression.
  public init(_ name: String, _ expression: FetchExpression) {
    self.name = name
    self.expression = expression
  }
  /// Creates a column for a key path, which is also its name.
  public init(stringLiteral keyPath: String) { self.init(keyPath: keyPath) }
  /// Creates a column for a key path such as `department.name`, which is also its name.
  public init(keyPath: String) {
    self.init(keyPath, .keyPath(of: keyPath))
  }
  /// Creates a column for an expression in format language, such as `sum:(salary)`. Its name defaults to the text.
  public init(format: String, as name: String? = nil) throws(PredicateFormatError) {
    self.init(name ?? format, try FetchExpression(format: format))
  }
}

extension FetchExpression {
  /// Whether the expression computes one value from many objects.
  var addsUp: Bool {
    switch self {
    case .function(_, let arguments): isAggregate || arguments.contains { $0.addsUp }
    case .keyPath(let path): path.first.map(FetchExpression.isOperator) ?? false
    case .cast(let inner, _): inner.addsUp
    default: false
    }
  }
}
