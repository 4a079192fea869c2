public import AtomicStoreSPI

/// A row of a fetch: values in the order of the columns. It may go anywhere.
public struct FetchedRow: Sendable, Equatable {
  public enum Value: Sendable, Hashable {
    case value(StoredValue)
    case object(ManagedObjectID)
    case list([Value])

    public var isNull: Bool { self == .value(.null) }
    /// The value as `value(forKey:)` gives it; an object as its ID.
    public var any: Any? {
      switch self {
      case .value(let value): value.anyValue
      case .object(let id): id
      case .list(let list): list.map { $0.any as Any }
      }
    }
  }
  public let columns: [String]
  public let values: [Value]

  /// The value of a column; nil for null and for a column that is not there.
  public subscript(column: String) -> Any? {
    columns.firstIndex { $0.utf8.elementsEqual(column.utf8) }.flatMap { values[$0].any }
  }
}
