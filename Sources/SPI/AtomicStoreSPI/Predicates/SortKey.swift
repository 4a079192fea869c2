/// A key to sort by: the counterpart of `NSSortDescriptor`, as a value.
///
/// ```swift
/// let keys = [SortKey("author.name"), SortKey("price", isAscending: false)]
/// ```
///
/// Null comes first, or last in descending order. Strings are ordered by Unicode scalars unless the options specify
/// otherwise. Sorting is stable: equal elements keep their order.
public struct SortKey: Sendable, Hashable {
  /// A key path, such as `department.name` or `employees.@count`.
  public var keyPath: String
  /// Whether values are in ascending order.
  public var isAscending: Bool
  /// Whether case and accents count when strings are compared.
  public var options: FetchPredicate.Options
  /// How strings are ordered.
  public var textOrder: TextOrder
  /// The program's own order of the values; nil for the natural one. It replaces ``options`` and ``textOrder``.
  public var comparator: SortComparator?

  /// How strings are ordered.
  public enum TextOrder: Sendable, Hashable {
    /// By Unicode scalars, with the options applied.
    case scalars
    /// The expected order of names in a list: letters are equal regardless of case and accents, and digits sort by the
    /// number they form (`Item 9` before `Item 10`); strings that are otherwise equal are ordered by scalars. The order
    /// does not depend on a locale.
    case localizedStandard
  }

  /// Creates a sort key. By default it is ascending, and strings are ordered by Unicode scalars.
  public init(
    _ keyPath: String, isAscending: Bool = true, options: FetchPredicate.Options = [], textOrder: TextOrder = .scalars
  ) {
    self.keyPath = keyPath
    self.isAscending = isAscending
    self.options = options
    self.textOrder = textOrder
  }

  /// Creates a sort key with an order of the program's own: the counterpart of
  /// `NSSortDescriptor(key:ascending:comparator:)`.
  public init(_ keyPath: String, isAscending: Bool = true, comparator: SortComparator) {
    self.init(keyPath, isAscending: isAscending)
    self.comparator = comparator
  }
}

/// An order of values that a program defines. Two comparators are equal if they are the same instance.
///
/// Fetches that use it evaluate objects in memory: neither columns nor databases can be sorted by it.
public final class SortComparator: Sendable, Hashable {
  private let body: @Sendable (StoredValue, StoredValue) -> Int

  /// Creates a comparator.
  ///
  /// - Parameter body: Returns a negative number if the first value comes first, a positive number if the second does,
  ///   and 0 if their order does not matter. It must be consistent, and gets `.null` for missing values.
  public init(_ body: @escaping @Sendable (StoredValue, StoredValue) -> Int) { self.body = body }

  /// Compares two values.
  package func callAsFunction(_ one: StoredValue, _ other: StoredValue) -> Int { body(one, other) }

  public static func == (one: SortComparator, other: SortComparator) -> Bool { one === other }
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
