import AtomicStoreSPI

/// How a request is carried out: decided once, before any row or object is looked at.
enum FetchPlan {
  /// What a request is made for.
  enum Purpose {
    case objects, ids, count
  }

  /// All objects of the entities are taken, in the order in which the stores have them.
  case all
  /// Tests run over the columns of stores.
  case columns([ColumnSearch])
  /// Tests run over the columns of stores, and objects with unsaved changes are evaluated one by one.
  case columnsAndChanges([ColumnSearch])
  /// A context without changes is asked, since the request leaves those of this one out.
  case withoutChanges
  /// Each object of the entities is evaluated.
  case objects(Reason)

  /// Why columns do not suffice.
  enum Reason {
    case isChildContext
    case hasClosure
    case severalStoresInOneOrder
    /// No store is open, or one was removed from the coordinator.
    case storeIsClosed
    /// Objects read an older version of the store, or have values over the stored ones.
    case objectsDifferFromStore
    case predicate(FetchPredicate, entityName: String)
    case deferredValues(entityName: String)
    case changesBehindRelationship(entityName: String)
    case sortKeys([SortKey])
  }
}

/// A store that a request is asked of by columns: its entities with what each row must fulfil, nil for nothing.
struct ColumnSearch {
  let home: StoreHome
  let version: NodeVersion
  let entities: [(plan: EntityPlan, test: RowTest?)]
  /// The order of the rows; nil for that of the store.
  var sort: RowSort?
}

/// How a fetch would be carried out: see ``ManagedObjectContext/explain(_:)``.
public struct FetchExplanation: Sendable, Hashable, CustomStringConvertible {
  public enum Method: String, Sendable, Hashable {
    /// All objects of the entity are given; none is looked at.
    case all
    /// The predicate runs over the stores' columns; objects are made of what is found.
    case columns
    /// The same, and objects with unsaved changes are evaluated one by one.
    case columnsAndChanges = "columns-and-changes"
    /// As the stores hold them, found by a context without changes.
    case withoutChanges = "without-changes"
    /// Each object of the entity is made and evaluated.
    case objects
  }
  public let method: Method
  /// Why columns do not suffice, where each object is evaluated.
  public let reason: String?

  init(method: Method, reason: String? = nil) {
    self.method = method
    self.reason = reason
  }

  public var description: String { method.rawValue + (reason.map { ": \($0)" } ?? "") }
}

extension FetchExplanation {
  init(_ plan: FetchPlan) {
    switch plan {
    case .all: self.init(method: .all)
    case .columns: self.init(method: .columns)
    case .columnsAndChanges: self.init(method: .columnsAndChanges)
    case .withoutChanges: self.init(method: .withoutChanges)
    case .objects(let reason): self.init(method: .objects, reason: reason.text)
    }
  }
}

extension FetchPlan.Reason {
  /// The reason as part of a sentence.
  var text: String {
    switch self {
    case .isChildContext: "a child context fetches from its parent's objects"
    case .hasClosure: "the request has a closure"
    case .severalStoresInOneOrder: "objects of several stores are to be in one order"
    case .storeIsClosed: "a store is not open"
    case .objectsDifferFromStore: "objects in memory read an older version of the store"
    case .predicate(let predicate, let name): "no columns of \(name) answer '\(predicate)'"
    case .deferredValues(let name): "the predicate reads values of \(name) that the format supplies later"
    case .changesBehindRelationship(let name):
      "the predicate of \(name) looks at objects with unsaved changes through a relationship"
    case .sortKeys(let keys): "no columns have the order by \(keys.map { "'\($0.keyPath)'" }.joined(separator: ", "))"
    }
  }
}
