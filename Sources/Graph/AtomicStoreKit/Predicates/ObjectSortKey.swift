public import AtomicStoreSPI

/// A key to sort objects of a class by, made of a key path:
///
/// ```swift
/// let request = FetchRequest<Employee>(sortedBy: .ascending(\.department?.name), .descending(\.salary))
/// ```
public struct ObjectSortKey<Object: ManagedObject>: Hashable, Sendable {
  /// The key for objects of any class.
  public var sortKey: SortKey

  /// Sorts by the values of a key path, the smallest first. Options are those of ``/AtomicStoreSPI/SortKey``.
  public static func ascending(
    _ keyPath: KeyPath<Object, some ComparablePropertyValue>, options: FetchPredicate.Options = [],
    textOrder: SortKey.TextOrder = .scalars
  ) -> Self {
    Self(sortKey: SortKey(keyPath.keyPathText, options: options, textOrder: textOrder))
  }

  /// Sorts by the values of a key path, the largest first. Options are those of ``/AtomicStoreSPI/SortKey``.
  public static func descending(
    _ keyPath: KeyPath<Object, some ComparablePropertyValue>, options: FetchPredicate.Options = [],
    textOrder: SortKey.TextOrder = .scalars
  ) -> Self {
    Self(sortKey: SortKey(keyPath.keyPathText, isAscending: false, options: options, textOrder: textOrder))
  }
}
