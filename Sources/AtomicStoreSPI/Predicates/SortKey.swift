/// A key to sort by: what `NSSortDescriptor` is elsewhere, as a value.
///
/// Null comes first, or last where the order is descending. Texts are ordered by Unicode scalars unless the options say
/// otherwise. Sorting is stable: what is equal keeps the order that it had.
public struct SortKey: Sendable, Hashable {
  /// A key path, such as `department.name` or `employees.@count`.
  public var keyPath: String
  /// Whether the least value comes first.
  public var isAscending: Bool
  /// Whether case and accents count when texts are compared.
  public var options: FetchPredicate.Options
  /// How texts are ordered.
  public var textOrder: TextOrder

  /// How texts are ordered.
  public enum TextOrder: Sendable, Hashable {
    /// By Unicode scalars, as the options say.
    case scalars
    /// As people expect names in a list: letters of either case and with any accent together, digits by the number that
    /// they make (`Item 9` before `Item 10`); texts that differ in nothing else by scalars. The same everywhere: it
    /// does not depend on a language.
    case localizedStandard
  }

  /// Creates a key to sort by: ascending, texts by Unicode scalars, unless the arguments say otherwise.
  public init(
    _ keyPath: String, isAscending: Bool = true, options: FetchPredicate.Options = [], textOrder: TextOrder = .scalars
  ) {
    self.keyPath = keyPath
    self.isAscending = isAscending
    self.options = options
    self.textOrder = textOrder
  }
}
