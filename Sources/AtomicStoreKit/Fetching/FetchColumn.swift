public import AtomicStoreSPI
public import StorePredicates

/// A column of fetched rows: a key path, or an expression under a name.
public struct FetchColumn: Sendable, Equatable, ExpressibleByStringLiteral {
  /// The name of the column in the rows.
  public var name: String
  /// What the column's values are computed from.
  public var expression: FetchExpression

  /// Creates a column with a name of its own.
  public init(_ name: String, _ expression: FetchExpression) {
    self.name = name
    self.expression = expression
  }
  /// A key path, under its own name.
  public init(stringLiteral keyPath: String) { self.init(keyPath: keyPath) }
  /// Creates a column for a key path such as `department.name`, under that path as its name.
  public init(keyPath: String) {
    self.init(keyPath, .keyPath(of: keyPath))
  }
  /// An expression of the format language, such as `sum:(salary)`, under a name of its own or its text.
  public init(format: String, as name: String? = nil) throws(PredicateFormatError) {
    self.init(name ?? format, try FetchExpression(format: format))
  }
}

extension FetchExpression {
  /// Whether the expression makes one value of many objects.
  var addsUp: Bool {
    switch self {
    case .function(let name, let arguments):
      ["sum:", "count:", "average:", "min:", "max:", "median:", "mode:", "stddev:"].contains(name)
        && arguments.count == 1
        || !arguments.isEmpty && arguments.contains { $0.addsUp }
    case .keyPath(let path): path.first?.hasPrefix("@") ?? false
    case .cast(let inner, _): inner.addsUp
    default: false
    }
  }
}
