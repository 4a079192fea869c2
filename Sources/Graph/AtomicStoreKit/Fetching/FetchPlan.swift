import AtomicStoreSPI
import StorePredicates

/// How a request is executed: decided once, before any row or object is examined.
enum FetchPlan {
  /// What a request is executed for: its objects, their IDs, their number, rows of columns, or what a store itself
  /// answers.
  enum Purpose {
    case objects, ids, count, rows, store
  }

  /// All objects of the entities are returned, in the stores' order.
  case all
  /// Tests run over the columns of stores.
  case columns([ColumnSearch])
  /// Tests run over the columns of stores, and objects with unsaved changes are evaluated one by one.
  case columnsAndChanges([ColumnSearch])
  /// The request excludes unsaved changes of this context, so another context without changes executes it.
  case withoutChanges
  /// An incremental store executes the request, as far as it can.
  case store(StoreSearch)
  /// Each object of the entities is evaluated.
  case objects(Reason)

  /// Why columns do not suffice.
  enum Reason {
    case isChildContext
    case hasClosure
    case severalStores
    case severalStoresInOneOrder
    /// A store is not open, or was removed from the coordinator.
    case storeIsClosed
    /// Objects read an older version of the store, or override stored values.
    case objectsDifferFromStore
    case predicate(FetchPredicate, entityName: String)
    case deferredValues(entityName: String)
    case changesBehindRelationship(entityName: String)
    case sortKeys([SortKey])
  }
}

/// A store that a request searches by columns: its entities, each with the test that rows must fulfil; nil for none.
struct ColumnSearch {
  let cache: StoreCache
  let version: NodeVersion
  let entities: [(plan: EntityPlan, test: RowTest?)]
  let budget: StepBudget
  /// What of the tests is not compiled.
  let conditions: RowConditions?
  /// The order of the rows; nil for the order of the store.
  var sort: RowSort?

  /// Whether the rows that the tests found are wrong, because they needed more steps than the fetch may take, or a
  /// condition was an error: objects are evaluated then, which reports that.
  var isUndecided: Bool { budget.isUndecided || conditions?.haveFailed ?? false }
}

/// How a fetch would be executed: see ``ManagedObjectContext/explain(_:)``.
public struct FetchExplanation: Sendable, Hashable, CustomStringConvertible {
  public enum Method: String, Sendable, Hashable {
    /// All objects of the entity are returned without examining any.
    case all
    /// The predicate runs over the stores' columns, which an incremental store fills for the request; only the results
    /// become objects.
    case columns
    /// As ``columns``, and objects with unsaved changes are evaluated one by one.
    case columnsAndChanges = "columns-and-changes"
    /// As the stores hold them, fetched by another context without changes.
    case withoutChanges = "without-changes"
    /// The store finds and sorts the objects.
    case store
    /// The store finds more than what fulfils the condition, and the kit evaluates these.
    case storeAndObjects = "store-and-objects"
    /// Each object of the entity is created and evaluated.
    case objects
  }
  public let method: Method
  /// If objects are evaluated, why columns, or the store, do not suffice; if columns of an incremental store are, what
  /// the store leaves to them.
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
    case .store(let search):
      if let reason = search.everythingBecause {
        self.init(method: .objects, reason: reason)
      } else {
        switch search.answer {
        case .exact where search.hasChanges:
          self.init(method: .storeAndObjects, reason: "objects with unsaved changes are evaluated one by one")
        case .exact: self.init(method: .store)
        case .superset(let reason): self.init(method: .storeAndObjects, reason: reason)
        case .inMemory(let reason): self.init(method: .objects, reason: reason)
        }
      }
    }
  }
}

extension FetchAnswer {
  /// What a store leaves to the kit; nil for nothing.
  var reason: String? {
    switch self {
    case .exact: nil
    case .superset(let reason), .inMemory(let reason): reason
    }
  }
}

extension FetchPlan.Reason {
  /// The reason as part of a sentence.
  var text: String {
    switch self {
    case .isChildContext: "a child context fetches from its parent's objects"
    case .hasClosure: "the request has a closure"
    case .severalStores: "the request asks an incremental store together with others"
    case .severalStoresInOneOrder: "the request sorts objects of several stores"
    case .storeIsClosed: "a store is not open"
    case .objectsDifferFromStore: "objects in memory read an older version of the store"
    case .predicate(let predicate, let name): "'\(predicate)' cannot be evaluated on columns of \(name)"
    case .deferredValues(let name): "the predicate reads values of \(name) that the format supplies later"
    case .changesBehindRelationship(let name):
      "the predicate of \(name) reads objects with unsaved changes through a relationship"
    case .sortKeys(let keys): "rows cannot be sorted by \(keys.map { "'\($0.keyPath)'" }.joined(separator: ", "))"
    }
  }
}
