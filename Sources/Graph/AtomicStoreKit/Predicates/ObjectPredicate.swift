public import AtomicStoreSPI
import FoundationEssentials
import StorePredicates

/// A condition on objects of a class, made of key paths:
///
/// ```swift
/// let request = FetchRequest<Employee>(
///   \.department?.name == "Sales" && \.salary > 5000 && (\Employee.name).contains("a", .caseInsensitive)
///     && (\Employee.projects).any(\.isOpen == true) && \.projects.count < 3,
///   sortedBy: .ascending(\.name))
/// ```
///
/// Comparisons with a value or another key path are operators; all else are functions of key paths. Properties must be
/// ``Managed`` or use ``ManagedObject/subscript(managed:)``; a key path to anything else makes the fetch fail.
///
/// The names in the model are found at once: a key path is read from an object without a store, which records what it
/// is asked for. No key path is kept, so that the condition can be sent anywhere.
public struct ObjectPredicate<Object: ManagedObject>: Hashable, Sendable {
  /// The condition for objects of any class. It prints as text, and can be checked against an entity.
  public var fetchPredicate: FetchPredicate

  /// Uses a condition that was made in another way, such as of text.
  public init(_ predicate: FetchPredicate) { fetchPredicate = predicate }

  public static func && (one: Self, other: Self) -> Self { Self(one.fetchPredicate && other.fetchPredicate) }
  public static func || (one: Self, other: Self) -> Self { Self(one.fetchPredicate || other.fetchPredicate) }
  public static prefix func ! (predicate: Self) -> Self { Self(!predicate.fetchPredicate) }
}

extension KeyPath where Root: ManagedObject {
  package var expression: FetchExpression {
    fetchExpression ?? .keyPath(["a property of \(Root.self) that is not @Managed"])
  }
  /// The key path as text; for another expression, its text, which a fetch refuses.
  package var keyPathText: String {
    if case .keyPath(let keys) = expression { return keys.joined(separator: ".") }
    return "\(expression)"
  }

  fileprivate func compare(
    _ comparator: FetchPredicate.Comparator, _ value: FetchExpression, _ options: FetchPredicate.Options = []
  ) -> ObjectPredicate<Root> {
    ObjectPredicate(.comparison(.init(expression, comparator, value, options: options)))
  }
}

extension OptionalManagedPropertyValue {
  fileprivate static func operand(_ value: Self?) -> FetchExpression {
    if case .expression(let expression)? = PredicateArgument(value) { return expression }
    return .keyPath(["a value of \(Self.self)"])
  }
}

extension KeyPath where Root: ManagedObject, Value: ComparablePropertyValue {
  public static func == (keyPath: KeyPath, value: Value.AtomicStoreOperand?) -> ObjectPredicate<Root> {
    keyPath.compare(.equal, Value.AtomicStoreOperand.operand(value))
  }
  public static func != (keyPath: KeyPath, value: Value.AtomicStoreOperand?) -> ObjectPredicate<Root> {
    keyPath.compare(.notEqual, Value.AtomicStoreOperand.operand(value))
  }
  // Where a program compares key paths themselves, the operator for these is preferred.
  @_disfavoredOverload
  public static func == <Other: ComparablePropertyValue>(
    keyPath: KeyPath, other: KeyPath<Root, Other>
  ) -> ObjectPredicate<Root> where Other.AtomicStoreOperand == Value.AtomicStoreOperand {
    keyPath.compare(.equal, other.expression)
  }
  @_disfavoredOverload
  public static func != <Other: ComparablePropertyValue>(
    keyPath: KeyPath, other: KeyPath<Root, Other>
  ) -> ObjectPredicate<Root> where Other.AtomicStoreOperand == Value.AtomicStoreOperand {
    keyPath.compare(.notEqual, other.expression)
  }

  /// Whether the value is one of a list; of objects, by ID.
  public func isIn(_ values: some Sequence<Value.AtomicStoreOperand>) -> ObjectPredicate<Root> {
    compare(.isIn, .aggregate(values.map { Value.AtomicStoreOperand.operand($0) }))
  }
}

extension KeyPath where Root: ManagedObject, Value: ComparablePropertyValue, Value.AtomicStoreOperand: Comparable {
  public static func < (keyPath: KeyPath, value: Value.AtomicStoreOperand) -> ObjectPredicate<Root> {
    keyPath.compare(.less, Value.AtomicStoreOperand.operand(value))
  }
  public static func <= (keyPath: KeyPath, value: Value.AtomicStoreOperand) -> ObjectPredicate<Root> {
    keyPath.compare(.lessOrEqual, Value.AtomicStoreOperand.operand(value))
  }
  public static func > (keyPath: KeyPath, value: Value.AtomicStoreOperand) -> ObjectPredicate<Root> {
    keyPath.compare(.greater, Value.AtomicStoreOperand.operand(value))
  }
  public static func >= (keyPath: KeyPath, value: Value.AtomicStoreOperand) -> ObjectPredicate<Root> {
    keyPath.compare(.greaterOrEqual, Value.AtomicStoreOperand.operand(value))
  }
  public static func < <Other: ComparablePropertyValue>(
    keyPath: KeyPath, other: KeyPath<Root, Other>
  ) -> ObjectPredicate<Root> where Other.AtomicStoreOperand == Value.AtomicStoreOperand {
    keyPath.compare(.less, other.expression)
  }
  public static func <= <Other: ComparablePropertyValue>(
    keyPath: KeyPath, other: KeyPath<Root, Other>
  ) -> ObjectPredicate<Root> where Other.AtomicStoreOperand == Value.AtomicStoreOperand {
    keyPath.compare(.lessOrEqual, other.expression)
  }
  public static func > <Other: ComparablePropertyValue>(
    keyPath: KeyPath, other: KeyPath<Root, Other>
  ) -> ObjectPredicate<Root> where Other.AtomicStoreOperand == Value.AtomicStoreOperand {
    keyPath.compare(.greater, other.expression)
  }
  public static func >= <Other: ComparablePropertyValue>(
    keyPath: KeyPath, other: KeyPath<Root, Other>
  ) -> ObjectPredicate<Root> where Other.AtomicStoreOperand == Value.AtomicStoreOperand {
    keyPath.compare(.greaterOrEqual, other.expression)
  }

  /// Whether the value is within a range, bounds included.
  public func isBetween(_ range: ClosedRange<Value.AtomicStoreOperand>) -> ObjectPredicate<Root> {
    let bounds = [range.lowerBound, range.upperBound]
    return compare(.between, .aggregate(bounds.map { Value.AtomicStoreOperand.operand($0) }))
  }
  /// Whether the value is within a range, the upper bound excluded.
  public func isBetween(_ range: Range<Value.AtomicStoreOperand>) -> ObjectPredicate<Root> {
    self >= range.lowerBound && self < range.upperBound
  }
}

extension KeyPath where Root: ManagedObject, Value: ComparablePropertyValue, Value.AtomicStoreOperand == String {
  /// Whether the text contains another.
  public func contains(_ text: String, _ options: FetchPredicate.Options = []) -> ObjectPredicate<Root> {
    compare(.contains, .constant(.string(text)), options)
  }
  /// Whether the text begins with another.
  public func begins(with text: String, _ options: FetchPredicate.Options = []) -> ObjectPredicate<Root> {
    compare(.beginsWith, .constant(.string(text)), options)
  }
  /// Whether the text ends with another.
  public func ends(with text: String, _ options: FetchPredicate.Options = []) -> ObjectPredicate<Root> {
    compare(.endsWith, .constant(.string(text)), options)
  }
  /// Whether the text matches a pattern: `?` stands for one character, `*` for any number.
  public func isLike(_ pattern: String, _ options: FetchPredicate.Options = []) -> ObjectPredicate<Root> {
    compare(.like, .constant(.string(pattern)), options)
  }
  /// Whether the whole text matches a regular expression.
  public func matches(_ pattern: String, _ options: FetchPredicate.Options = []) -> ObjectPredicate<Root> {
    compare(.matches, .constant(.string(pattern)), options)
  }
  /// Whether the text equals another, with options such as `.caseInsensitive`; without any, use `==`.
  public func equals(_ text: String, _ options: FetchPredicate.Options) -> ObjectPredicate<Root> {
    compare(.equal, .constant(.string(text)), options)
  }
  /// The number of Unicode scalars of the text, for comparisons.
  public var length: KeyPath<Root, Int> { \Root[computing: .function("length:", [expression])] }
}

extension KeyPath where Root: ManagedObject, Value: ToManyPropertyValue {
  /// Whether at least one of the objects fulfils a condition.
  public func any(_ predicate: ObjectPredicate<Value.AtomicStoreElement>) -> ObjectPredicate<Root> {
    ObjectPredicate(matching(predicate.fetchPredicate))
  }
  /// Whether each of the objects fulfils a condition; true if there are none.
  public func all(_ predicate: ObjectPredicate<Value.AtomicStoreElement>) -> ObjectPredicate<Root> {
    ObjectPredicate(.not(matching(.not(predicate.fetchPredicate))))
  }
  /// Whether none of the objects fulfils a condition; true if there are none.
  public func none(_ predicate: ObjectPredicate<Value.AtomicStoreElement>) -> ObjectPredicate<Root> { !any(predicate) }
  /// Whether an object is among the objects, by ID.
  public func contains(_ object: Value.AtomicStoreElement) -> ObjectPredicate<Root> {
    compare(.contains, .objectID(object.objectID))
  }
  /// The number of objects that fulfil a condition, for comparisons. That of all objects is `count` in a key path:
  /// `\.tasks.count > 3`.
  public func count(where predicate: ObjectPredicate<Value.AtomicStoreElement>) -> KeyPath<Root, Int> {
    \Root[computing: matches(predicate.fetchPredicate)]
  }

  private func matches(_ predicate: FetchPredicate) -> FetchExpression {
    .member(.subquery(expression, variable: "element", predicate.asked(of: "element")), ["@count"])
  }
  private func matching(_ predicate: FetchPredicate) -> FetchPredicate {
    if case .comparison(var comparison) = predicate, case .keyPath(let path) = comparison.left,
      comparison.modifier == .direct, comparison.right.isFixed, case .keyPath(let above) = expression,
      // Null at the end of a path is not an element of the list: only a subquery sees it.
      comparison.comparator != .notEqual, comparison.right != .constant(.null),
      // A list of lists would be one list, whose elements contain nothing.
      comparison.comparator != .contains || !comparison.right.isObject,
      !path.contains(where: FetchExpression.isOperator)
    {
      comparison.left = .keyPath(above + path)
      comparison.modifier = .any
      return .comparison(comparison)
    }
    return .comparison(.init(matches(predicate), .greater, .constant(.integer(0))))
  }
}

extension FetchExpression {
  fileprivate var isObject: Bool { if case .objectID = self { true } else { false } }
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
