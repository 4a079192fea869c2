/// What a store is asked for where rows are to be grouped: see ``IncrementalStore/groups(_:)``.
public struct StoreGrouping: Sendable {
  /// The rows that are grouped, by entities and predicate. It has no order, no limit and no offset.
  public var rows: StoreFetch
  /// The key paths whose values form the groups; empty for one group of all rows.
  public var keys: [[String]]
  /// What is computed of each group.
  public var aggregates: [Aggregate]

  /// A value that is computed of the rows of a group. Null is skipped, as are rows where the path ends at null.
  public struct Aggregate: Sendable, Hashable {
    /// What is computed.
    public var function: Function
    /// The key path whose values it is computed of.
    public var path: [String]
    /// Creates an aggregate.
    package init(_ function: Function, of path: [String]) {
      self.function = function
      self.path = path
    }
  }
  /// What can be computed of the values of a path.
  public enum Function: String, Sendable, Hashable {
    /// How many there are.
    case count
    /// The exact sum of integers, or of truth values as 1 and 0.
    case sum
    /// The least and the greatest one, in the order of the language of predicates.
    case minimum, maximum
  }

  /// Creates a request for groups.
  package init(_ rows: StoreFetch, keys: [[String]], aggregates: [Aggregate]) {
    self.rows = rows
    self.keys = keys
    self.aggregates = aggregates
  }
}

/// Rows that have the same keys, or some of them: a store may return several groups with equal keys, and the kit puts
/// them together.
public struct StoreGroup: Sendable {
  /// The first object of the group, in the order of entity number and reference.
  public var first: (entity: Int, reference: ReferenceObject)
  /// The values of the keys: attributes, and objects as `.toOne`.
  public var keys: [StoredValue]
  /// The number of rows.
  public var count: Int
  /// One result for each aggregate.
  public var results: [Result]

  /// The result of an aggregate.
  public enum Result: Sendable, Hashable {
    /// Of ``StoreGrouping/Function/count`` and ``StoreGrouping/Function/sum``.
    case whole(Int128)
    /// Of ``StoreGrouping/Function/minimum`` and ``StoreGrouping/Function/maximum``: null if there are no values.
    case value(StoredValue)
  }

  /// Creates a group.
  public init(
    first: (entity: Int, reference: ReferenceObject), keys: [StoredValue], count: Int, results: [Result]
  ) {
    self.first = first
    self.keys = keys
    self.count = count
    self.results = results
  }
}
