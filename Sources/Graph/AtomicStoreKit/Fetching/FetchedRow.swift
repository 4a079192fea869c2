public import AtomicStoreSPI

/// A row of a fetch: values in the order of the columns. It may leave the context.
public struct FetchedRow: Sendable, Equatable {
  /// A value in a row.
  public enum Value: Sendable, Hashable {
    /// An attribute's value, or the result of an expression; null if there is none.
    case value(StoredValue)
    /// An object, by its ID.
    case object(ManagedObjectID)
    /// The values of a path through a to-many relationship.
    case list([Value])

    /// Whether there is no value. An empty list is not null.
    public var isNull: Bool { self == .value(.null) }
    /// The value as `value(forKey:)` returns it; an object as its ID.
    public var any: Any? {
      switch self {
      case .value(let value): value.anyValue
      case .object(let id): id
      case .list(let list): list.map { $0.any as Any }
      }
    }
  }
  /// The names of the columns.
  public let columns: [String]
  /// The values, one for each column.
  public let values: [Value]

  /// The value of a column; nil for null and for an unknown column.
  public subscript(column: String) -> Any? {
    columns.firstIndex { $0.utf8.elementsEqual(column.utf8) }.flatMap { values[$0].any }
  }
}
