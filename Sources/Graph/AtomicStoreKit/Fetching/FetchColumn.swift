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
  /// A key path that an entity has, or else an expression: for texts that may be either. The name of the column of a
  /// key path is the names of its properties, joined by dots.
  ///
  /// - Throws: The error about the expression, unless the text looks like a key path.
  package init(keyPathOrFormat text: String, as name: String? = nil, for entity: Entity) throws(PredicateFormatError) {
    let key = FetchExpression.keyPath(of: text, for: entity)
    var other: FetchExpression?
    var failure: PredicateFormatError?
    do throws(PredicateFormatError) { other = try FetchExpression(format: text) } catch { failure = error }
    if case .evaluatedObject? = other, entity.property(named: text) == nil {
      self.init(name ?? text, .evaluatedObject)
      return
    }
    do throws(PredicateFormatError) { try key.check(entity, isStrict: true) } catch {
      if let failure, error.suggestion == nil, !FetchExpression.isKeyPath(text) { throw failure }
      guard let other, other.isCalculated else { throw error }
      try other.check(entity, isStrict: true)
      self.init(name ?? text, other)
      return
    }
    self.init(name ?? key.keys?.joined(separator: ".") ?? text, key)
  }

  /// The column of an expression that rows are sorted by; nil for what may only be the name of another column.
  package init?(ofRowSortKey key: SortKey) {
    guard !FetchExpression.isKeyPath(key.keyPath), let expression = try? FetchExpression(format: key.keyPath),
      expression.isCalculated
    else { return nil }
    self.init(key.keyPath, expression)
  }
}

extension FetchExpression {
  /// What binary data contains, as JSON; other values unchanged.
  package var decoded: FetchExpression { .function("decoded:", [self]) }

  /// The keys of a key path; nil for another expression.
  package var keys: [String]? { if case .keyPath(let keys) = self { keys } else { nil } }

  /// Whether it is more than a key path.
  fileprivate var isCalculated: Bool { keys == nil }

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
