/// A key to sort by: the counterpart of `NSSortDescriptor`, as a value.
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
}
