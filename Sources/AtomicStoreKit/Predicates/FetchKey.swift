public import AtomicStoreSPI
import FoundationEssentials

/// A key path with a value type, for building predicates in Swift rather than in text.
///
/// ```swift
/// enum Keys {
///   static let name = FetchKey<String>("name")
///   static let age = FetchKey<Int>("age")
///   static let friends = FetchKey<[Person]>("friends")
/// }
/// let request = FetchRequest<Person>(
///   entityName: "Person",
///   predicate: Keys.age >= 18 && Keys.name.begins(with: "a", .caseInsensitive) && Keys.friends.any(Keys.age < 10))
/// ```
///
/// The result is a ``/AtomicStoreSPI/FetchPredicate`` like any other: it prints as text, and can be checked against an
/// entity.
public struct FetchKey<Value>: Sendable {
  /// What is read from an object: a key path, or another expression.
  public let expression: FetchExpression

  /// - Parameter keyPath: Keys joined by dots, as in `department.name`.
  public init(_ keyPath: String) {
    expression = .keyPath(keyPath.split(separator: ".", omittingEmptySubsequences: false).map(String.init))
  }
  /// A typed key for any expression, such as a calculation.
  public init(_ expression: FetchExpression) { self.expression = expression }

  /// Returns a key of the object that this key leads to.
  public func then<Next>(_ key: FetchKey<Next>) -> FetchKey<Next> { FetchKey<Next>(key.expression.under(expression)) }

  fileprivate func compare(
    _ comparator: FetchPredicate.Comparator, _ value: FetchExpression, _ options: FetchPredicate.Options = []
  ) -> FetchPredicate {
    .comparison(.init(expression, comparator, value, options: options))
  }

  /// Whether there is no value.
  public var isNil: FetchPredicate { compare(.equal, .constant(.null)) }
  /// Whether there is a value.
  public var isNotNil: FetchPredicate { compare(.notEqual, .constant(.null)) }
}

extension FetchExpression {
  /// The expression, applied to the result of another expression.
  fileprivate func under(_ base: FetchExpression) -> FetchExpression {
    switch (self, base) {
    case (.keyPath(let path), .keyPath(let above)): .keyPath(above + path)
    case (.keyPath(let path), _): .member(base, path)
    case (.evaluatedObject, _): base
    case (.member(let inner, let path), _): .member(inner.under(base), path)
    case (.element(let list, let element), _): .element(list.under(base), element)
    case (.function(let name, let arguments), _): .function(name, arguments.map { $0.under(base) })
    default: self
    }
  }
}

extension FetchKey where Value: AttributeValue {
  public static func == (key: FetchKey, value: Value?) -> FetchPredicate {
    key.compare(.equal, .constant(value?.atomicStoreValue ?? .null))
  }
  public static func != (key: FetchKey, value: Value?) -> FetchPredicate {
    key.compare(.notEqual, .constant(value?.atomicStoreValue ?? .null))
  }
  public static func == (key: FetchKey, other: FetchKey) -> FetchPredicate { key.compare(.equal, other.expression) }
  public static func != (key: FetchKey, other: FetchKey) -> FetchPredicate { key.compare(.notEqual, other.expression) }

  /// Whether the value is one of a list.
  public func isIn(_ values: some Sequence<Value>) -> FetchPredicate {
    compare(.isIn, .aggregate(values.map { .constant($0.atomicStoreValue) }))
  }
}

extension FetchKey where Value: AttributeValue & Comparable {
  public static func < (key: FetchKey, value: Value) -> FetchPredicate {
    key.compare(.less, .constant(value.atomicStoreValue))
  }
  public static func <= (key: FetchKey, value: Value) -> FetchPredicate {
    key.compare(.lessOrEqual, .constant(value.atomicStoreValue))
  }
  public static func > (key: FetchKey, value: Value) -> FetchPredicate {
    key.compare(.greater, .constant(value.atomicStoreValue))
  }
  public static func >= (key: FetchKey, value: Value) -> FetchPredicate {
    key.compare(.greaterOrEqual, .constant(value.atomicStoreValue))
  }
  public static func < (key: FetchKey, other: FetchKey) -> FetchPredicate { key.compare(.less, other.expression) }
  public static func <= (key: FetchKey, other: FetchKey) -> FetchPredicate {
    key.compare(.lessOrEqual, other.expression)
  }
  public static func > (key: FetchKey, other: FetchKey) -> FetchPredicate { key.compare(.greater, other.expression) }
  public static func >= (key: FetchKey, other: FetchKey) -> FetchPredicate {
    key.compare(.greaterOrEqual, other.expression)
  }

  /// Whether the value is within a range, bounds included.
  public func isBetween(_ range: ClosedRange<Value>) -> FetchPredicate {
    compare(
      .between,
      .aggregate([.constant(range.lowerBound.atomicStoreValue), .constant(range.upperBound.atomicStoreValue)]))
  }
  /// Whether the value is within a range, the upper bound excluded.
  public func isBetween(_ range: Range<Value>) -> FetchPredicate { self >= range.lowerBound && self < range.upperBound }
}

extension FetchKey where Value == String {
  /// Whether the text contains another.
  public func contains(_ text: String, _ options: FetchPredicate.Options = []) -> FetchPredicate {
    compare(.contains, .constant(.string(text)), options)
  }
  /// Whether the text begins with another.
  public func begins(with text: String, _ options: FetchPredicate.Options = []) -> FetchPredicate {
    compare(.beginsWith, .constant(.string(text)), options)
  }
  /// Whether the text ends with another.
  public func ends(with text: String, _ options: FetchPredicate.Options = []) -> FetchPredicate {
    compare(.endsWith, .constant(.string(text)), options)
  }
  /// Whether the text matches a pattern: `?` stands for one character, `*` for any number.
  public func isLike(_ pattern: String, _ options: FetchPredicate.Options = []) -> FetchPredicate {
    compare(.like, .constant(.string(pattern)), options)
  }
  /// Whether the whole text matches a regular expression.
  public func matches(_ pattern: String, _ options: FetchPredicate.Options = []) -> FetchPredicate {
    compare(.matches, .constant(.string(pattern)), options)
  }
  /// Whether the text equals another, with options such as `.caseInsensitive`; without any, use `==`.
  public func equals(_ text: String, _ options: FetchPredicate.Options) -> FetchPredicate {
    compare(.equal, .constant(.string(text)), options)
  }
  /// The number of Unicode scalars of the text.
  public var length: FetchKey<Int> { FetchKey<Int>(.function("length:", [expression])) }
}

extension FetchKey where Value == Bool {
  /// Whether the value is true; null is not.
  public var isTrue: FetchPredicate { self == true }
  /// Whether the value is false; null is not.
  public var isFalse: FetchPredicate { self == false }
}

extension FetchKey where Value: ManagedObject {
  public static func == (key: FetchKey, object: Value?) -> FetchPredicate {
    key.compare(.equal, object.map { .objectID($0.objectID) } ?? .constant(.null))
  }
  public static func != (key: FetchKey, object: Value?) -> FetchPredicate {
    key.compare(.notEqual, object.map { .objectID($0.objectID) } ?? .constant(.null))
  }
  /// Whether the object is one of a list, by ID.
  public func isIn(_ objects: some Sequence<Value>) -> FetchPredicate {
    compare(.isIn, .aggregate(objects.map { .objectID($0.objectID) }))
  }
}

extension FetchKey where Value: Collection, Value.Element: ManagedObject {
  /// The number of objects.
  public var count: FetchKey<Int> { FetchKey<Int>(FetchExpression.keyPath(["@count"]).under(expression)) }
  /// Whether there are no objects.
  public var isEmpty: FetchPredicate { count == 0 }

  /// Whether at least one of the objects fulfils a condition.
  public func any(_ predicate: FetchPredicate) -> FetchPredicate { matching(predicate).isPositive }
  /// Whether each of the objects fulfils a condition; true if there are none.
  public func all(_ predicate: FetchPredicate) -> FetchPredicate { .not(matching(.not(predicate)).isPositive) }
  /// Whether none of the objects fulfils a condition; true if there are none.
  public func none(_ predicate: FetchPredicate) -> FetchPredicate { .not(any(predicate)) }
  /// Whether an object is among the objects, by ID.
  public func contains(_ object: Value.Element) -> FetchPredicate { compare(.contains, .objectID(object.objectID)) }

  /// The number of objects that fulfil a condition.
  public func count(where predicate: FetchPredicate) -> FetchKey<Int> {
    FetchKey<Int>(.member(.subquery(expression, variable: "element", predicate.asked(of: "element")), ["@count"]))
  }
  private func matching(_ predicate: FetchPredicate) -> Matching {
    if case .comparison(let comparison) = predicate, case .keyPath(let path) = comparison.left,
      comparison.modifier == .direct,
      comparison.right.isFixed, case .keyPath(let above) = expression
    {
      var all = comparison
      all.left = .keyPath(above + path)
      all.modifier = .any
      // Null at the end of a path is not an element of the list: only a subquery sees it.
      if ![.notEqual].contains(comparison.comparator), comparison.right != .constant(.null) {
        return Matching(isPositive: .comparison(all))
      }
    }
    return Matching(isPositive: count(where: predicate) > 0)
  }
}

private struct Matching { let isPositive: FetchPredicate }

extension FetchExpression {
  fileprivate var isFixed: Bool {
    switch self {
    case .constant, .objectID: true
    case .aggregate(let parts): parts.allSatisfy(\.isFixed)
    default: false
    }
  }
}

extension FetchPredicate {
  /// The predicate with its keys applied to a variable rather than to the object.
  fileprivate func asked(of variable: String) -> FetchPredicate {
    mapParts {
      $0.asked(of: variable)
    } expressions: {
      $0.asked(of: variable)
    }
  }
}

extension FetchExpression {
  fileprivate func asked(of variable: String) -> FetchExpression {
    switch self {
    case .evaluatedObject: return .variable(variable)
    case .keyPath(let path): return .member(.variable(variable), path)
    // A nested subquery's own variable is a different one, even with the same name.
    case .subquery(let list, let inner, let predicate) where inner == variable:
      let other = inner + "x"
      return .subquery(
        list.asked(of: variable), variable: other,
        predicate.substituting([inner: .variable(other)]).asked(of: variable))
    default:
      return mapParts {
        $0.asked(of: variable)
      } expressions: {
        $0.asked(of: variable)
      }
    }
  }
}

extension FetchKey {
  /// Sorts by the values of this key, the smallest first.
  public var ascending: SortKey { SortKey(keyPathText) }
  /// Sorts by the values of this key, the largest first.
  public var descending: SortKey { SortKey(keyPathText, isAscending: false) }

  /// The key path as text; for another expression, its text, which a fetch refuses.
  var keyPathText: String {
    if case .keyPath(let keys) = expression { return keys.joined(separator: ".") }
    return "\(expression)"
  }
}
