public import FoundationEssentials

/// A point in the history of a store.
public struct HistoryToken: Sendable, Hashable, Comparable, CustomStringConvertible {
  /// The number of the transaction; greater means later.
  public var number: Int64
  /// Creates a token.
  public init(_ number: Int64) { self.number = number }
  public static func < (one: HistoryToken, other: HistoryToken) -> Bool { one.number < other.number }
  public var description: String { String(number) }
}

/// One save in the history of a store.
public struct HistoryTransaction: Sendable {
  /// What happened to an object.
  public enum Kind: String, Sendable, CaseIterable {
    case insert, update, delete
  }
  /// The change of one object.
  public struct Change: Sendable {
    /// The object; for a deleted one its last reference.
    public var object: ObjectReference
    /// What happened to it.
    public var kind: Kind
    /// The names of the properties that were changed, in slot order; empty for inserted and deleted objects. They
    /// include the relationships that lost a destination because it was deleted.
    public var properties: [String]
    /// The values that a deleted object had, by property, as far as the store keeps them; nil if it keeps none.
    public var tombstone: [String: StoredValue]?
    /// Creates a change.
    public init(
      object: ObjectReference, kind: Kind, properties: [String], tombstone: [String: StoredValue]? = nil
    ) {
      self.object = object
      self.kind = kind
      self.properties = properties
      self.tombstone = tombstone
    }
  }
  /// The token of the state after it.
  public var token: HistoryToken
  /// When it was saved.
  public var date: Date
  /// Who saved; nil if no one said.
  public var author: String?
  /// The name of the context that saved.
  public var contextName: String?
  /// The identifier of the application bundle that saved.
  public var bundleID: String?
  /// The name of the process that saved.
  public var processID: String?
  /// The changes, by object.
  public var changes: [Change]

  /// Creates a transaction.
  public init(
    token: HistoryToken, date: Date, author: String?, contextName: String?, bundleID: String? = nil,
    processID: String? = nil, changes: [Change]
  ) {
    self.token = token
    self.date = date
    self.author = author
    self.contextName = contextName
    self.bundleID = bundleID
    self.processID = processID
    self.changes = changes
  }
}

/// A table of a store's file that holds nothing of the objects: what the application, the system or another program
/// keeps beside them.
public struct SystemTable: Sendable {
  /// One row: the columns that have a value.
  public typealias Row = [(column: String, value: StoredValue)]
  /// Its name in the file.
  public var name: String
  /// The names of all columns.
  public var columns: [String]
  /// The rows, as they are stored.
  public var rows: [Row]
  /// Creates a table.
  public init(name: String, columns: [String], rows: [Row]) {
    self.name = name
    self.columns = columns
    self.rows = rows
  }
}
