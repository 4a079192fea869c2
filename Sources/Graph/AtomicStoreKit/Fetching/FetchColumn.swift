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
  /// Creates a column for a key path, whose names in the model, joined by dots, are its name.
  public init<Object: ManagedObject, Value: ComparablePropertyValue>(_ keyPath: KeyPath<Object, Value>) {
    self.init(keyPath.keyPathText, keyPath.expression)
  }
  /// Creates a column for an expression in format language, such as `sum:(salary)`. Its name defaults to the text.
  public init(format: String, as name: String? = nil) throws(PredicateFormatError) {
    self.init(name ?? format, try FetchExpression(format: format))
  }
}

extension FetchColumn {
  /// A key path that an entity has, or else an expression: for texts that may be either.
  ///
  /// - Throws: The error about the key path, if the text is not another expression.
  package init(keyPathOrFormat text: String, as name: String? = nil, for entity: Entity) throws(PredicateFormatError) {
    self.init(name ?? text, .keyPath(of: text))
    do throws(PredicateFormatError) { try expression.check(entity, isStrict: true) } catch {
      guard let other = try? FetchExpression(format: text), other.isCalculated else { throw error }
      try other.check(entity, isStrict: true)
      expression = other
    }
  }

  /// The column of an expression that rows are sorted by; nil for what may only be the name of another column.
  package init?(ofRowSortKey key: SortKey) {
    guard let expression = try? FetchExpression(format: key.keyPath), expression.isCalculated else { return nil }
    self.init(key.keyPath, expression)
  }
}

extension FetchExpression {
  /// What binary data contains, as JSON; other values unchanged.
  package var decoded: FetchExpression { .function("decoded:", [self]) }

  /// Whether it is more than a key path.
  fileprivate var isCalculated: Bool { if case .keyPath = self { false } else { true } }

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
