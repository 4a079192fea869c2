public import AtomicStoreSPI
import Foundation
import StorePredicates

/// The value in an object of Foundation: a number would be taken for a fraction.
private func plain(_ value: Any?) -> Any? {
  switch value {
  case is NSNull: nil
  case let number as NSDecimalNumber: number.decimalValue
  case let number as NSNumber where type(of: value ?? number) is NSNumber.Type:
    switch UInt8(bitPattern: number.objCType.pointee) {
    case UInt8(ascii: "B"), UInt8(ascii: "c"): number.boolValue
    case UInt8(ascii: "d"), UInt8(ascii: "f"): number.doubleValue
    case UInt8(ascii: "Q"): number.uint64Value
    default: number.int64Value
    }
  case let list as [Any] where list.contains { $0 is NSObject }: list.map { plain($0) }
  default: value
  }
}

extension FetchPredicate {
  /// How conditions are joined.
  public enum LogicalType: Sendable {
    case and, or, not
  }
  /// Core Data's name of the comparators.
  public typealias Operator = Comparator

  /// Parses a predicate. A mistake in the format is an error of the fetch that uses it: `try FetchPredicate(format:)`
  /// of the kit throws it at once.
  public init<each Argument>(format predicateFormat: String, _ arguments: repeat each Argument) {
    // Any of the arguments is a better fit for a pack than for the kit's initializer, which throws.
    var list: [Any] = []
    repeat list.append(each arguments)
    self.init(format: predicateFormat, argumentArray: list)
  }
  /// As `init(format:_:)`, without arguments.
  public init(format predicateFormat: String) { self.init(format: predicateFormat, argumentArray: nil) }
  /// As `init(format:_:)`, with the arguments in a list.
  public init(format predicateFormat: String, argumentArray arguments: [Any]?) {
    do {
      self = try FetchPredicate(format: predicateFormat, arguments: (arguments ?? []).map { plain($0) })
    } catch {
      let path = FetchExpression.keyPath(["the format '\(predicateFormat)': \(error.message)"])
      self = .comparison(Comparison(path, .equal, .constant(.null)))
    }
  }
  /// Creates a condition that always holds, or never.
  public init(value: Bool) { self = .value(value) }
  /// Creates a condition that a closure decides.
  public init(block: @escaping @Sendable (Any?, [String: Any]?) -> Bool) {
    self.init("closure") { object, variables in block(object, variables) }
  }

  /// Creates a condition of others; of several under `.not`, that not all of them hold.
  public init(type: LogicalType, subpredicates: [FetchPredicate]) {
    switch type {
    case .and: self = .and(subpredicates)
    case .or: self = .or(subpredicates)
    case .not: self = .not(subpredicates.count == 1 ? subpredicates[0] : .and(subpredicates))
    }
  }
  /// Creates a condition that holds if all others do.
  public init(andPredicateWithSubpredicates subpredicates: [FetchPredicate]) { self = .and(subpredicates) }
  /// Creates a condition that holds if one of the others does.
  public init(orPredicateWithSubpredicates subpredicates: [FetchPredicate]) { self = .or(subpredicates) }
  /// Creates a condition that holds if another one does not.
  public init(notPredicateWithSubpredicate predicate: FetchPredicate) { self = .not(predicate) }

  /// Creates a comparison.
  public init(
    leftExpression left: FetchExpression, rightExpression right: FetchExpression, modifier: Modifier,
    type comparator: Comparator, options: Options = []
  ) {
    self = .comparison(Comparison(left, comparator, right, modifier: modifier, options: options))
  }
}

extension FetchPredicate.Comparator {
  /// Core Data's name of `equal`.
  public static var equalTo: Self { .equal }
  /// Core Data's name of `notEqual`.
  public static var notEqualTo: Self { .notEqual }
  /// Core Data's name of `less`.
  public static var lessThan: Self { .less }
  /// Core Data's name of `lessOrEqual`.
  public static var lessThanOrEqualTo: Self { .lessOrEqual }
  /// Core Data's name of `greater`.
  public static var greaterThan: Self { .greater }
  /// Core Data's name of `greaterOrEqual`.
  public static var greaterThanOrEqualTo: Self { .greaterOrEqual }
  /// Core Data's name of `isIn`.
  public static var `in`: Self { .isIn }
}

extension FetchExpression {
  /// Creates an expression for a key path.
  public init(forKeyPath keyPath: String) { self = .keyPath(keyPath.split(separator: ".").map(String.init)) }
  /// Creates an expression for a key path of a class.
  public init<Object: ManagedObject, Value>(forKeyPath keyPath: KeyPath<Object, Value>) { self = keyPath.expression }
  /// Creates a constant. A value of a type that is not supported is an error of the fetch that uses it.
  public init(forConstantValue value: Any?) {
    let value = plain(value)
    if case .expression(let expression)? = PredicateArgument(value) {
      self = expression
    } else {
      self = .keyPath(["a value of \(value.map { "\(type(of: $0))" } ?? "nil")"])
    }
  }
  /// Creates a variable, `$NAME`.
  public init(forVariable name: String) { self = .variable(name) }
  /// Creates a call of a function, by its selector's name.
  public init(forFunction name: String, arguments: [Any]) {
    self = .function(name, arguments.map { $0 as? FetchExpression ?? FetchExpression(forConstantValue: $0) })
  }
  /// Creates a list.
  public init(forAggregate elements: [Any]) {
    self = .aggregate(elements.map { $0 as? FetchExpression ?? FetchExpression(forConstantValue: $0) })
  }
  /// The key path; empty for another expression.
  public var keyPath: String { if case .keyPath(let path) = self { path.joined(separator: ".") } else { "" } }
  /// Returns `SELF`.
  public static func expressionForEvaluatedObject() -> FetchExpression { .evaluatedObject }
}

extension SortKey {
  /// Creates a sort key. Without a key path, it sorts by nothing that an object has, which the fetch refuses.
  public init(key: String?, ascending: Bool) { self.init(key ?? "", isAscending: ascending) }
  /// Creates a sort key for a key path of a class.
  public init<Object: ManagedObject, Value>(keyPath: KeyPath<Object, Value>, ascending: Bool) {
    self.init(keyPath.keyPathText, isAscending: ascending)
  }
  /// The key path.
  public var key: String? { keyPath }
  /// Whether values are in ascending order.
  public var ascending: Bool { isAscending }
  /// The same key in the opposite order.
  public var reversedSortDescriptor: Any {
    var other = self
    other.isAscending.toggle()
    return other
  }
}
