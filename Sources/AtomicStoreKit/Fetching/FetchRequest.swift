public import AtomicStoreSPI
import FoundationEssentials
import StoreCoordination
import StorePredicates

/// What a context is asked for: the objects of an entity, and which of them.
///
/// `Result` is the class that they are given as; use `ManagedObject` for entities without one.
public struct FetchRequest<Result: ManagedObject> {
  /// The entity whose objects are fetched.
  public var entityName: String
  /// Whether objects of sub-entities are among them.
  public var includesSubentities = true
  /// Whether unsaved changes of the context count. Otherwise what the stores hold is fetched, as they hold it.
  public var includesPendingChanges = true
  /// Whether the objects are faults until they are asked for a value. Values cost little to fetch: they stay in the
  /// store's columns.
  public var returnsObjectsAsFaults = true
  /// The most objects given; 0 for all.
  public var fetchLimit = 0
  /// How many of those found are left out at the beginning.
  public var fetchOffset = 0
  /// How many objects ``ManagedObjectContext/fetchBatches(_:)`` gives at a time; 0 for all at once. A plain fetch is
  /// not changed by it: its objects are faults that cost little, and their values are in memory in any case.
  public var fetchBatchSize = 0
  /// The stores that are asked; nil for all.
  public var affectedStores: [PersistentStore]?
  /// Which objects: those that fulfil it; nil for all.
  public var predicate: FetchPredicate?
  /// Which objects of those: a closure that says so of each.
  public var filter: ((Result) throws -> Bool)?
  /// In which order; empty for the order that the stores have.
  public var sortKeys: [SortKey] = []
  /// For ``ManagedObjectContext/fetchRows(_:)``: the columns; empty for all attributes of the entity.
  public var propertiesToFetch: [FetchColumn] = []
  /// For ``ManagedObjectContext/fetchRows(_:)``: key paths whose values make the groups, a row for each; empty for a
  /// row for each object.
  public var propertiesToGroupBy: [String] = []
  /// Which groups: asked of each group as a list, so `sum:(salary) > 100` or `@count > 2`; a key grouped by is its
  /// value.
  public var havingPredicate: FetchPredicate?
  /// For ``ManagedObjectContext/fetchRows(_:)``: whether rows that are equal are given once.
  public var returnsDistinctResults = false
  /// The most steps that the fetch may take on objects: one for each comparison, and for each value that a path, a
  /// `SUBQUERY` or a function looks at; predicates, sort keys and columns together, with the fetches of fetched
  /// properties inside. The standard limit, 50 million, is about ten seconds of processor time; what runs over columns
  /// takes no steps. A list of values may have a fifth of it. A fetch that takes more fails with
  /// ``ManagedObjectError/Code/stepLimitExceeded``.
  public var stepLimit = StepBudget.standardLimit

  /// Creates a request. By default all objects of the entity and its sub-entities are fetched, in the stores' order.
  public init(
    entityName: String, predicate: FetchPredicate? = nil, sortKeys: [SortKey] = [],
    filter: ((Result) throws -> Bool)? = nil
  ) {
    self.entityName = entityName
    self.predicate = predicate
    self.sortKeys = sortKeys
    self.filter = filter
  }

  /// A request as a model has it.
  public init(_ description: FetchRequestDescription, variables: [String: FetchExpression] = [:]) throws {
    self.init(entityName: description.entityName)
    if let text = description.predicateString, !text.isEmpty {
      predicate = try FetchPredicate(format: text).substituting(variables)
    }
    includesSubentities = description.includesSubentities ?? true
    includesPendingChanges = description.includesPendingChanges ?? true
    returnsObjectsAsFaults = description.returnsObjectsAsFaults ?? true
    fetchLimit = max(0, description.fetchLimit ?? 0)
    sortKeys = description.sortOrder.map { SortKey($0.keyPath, isAscending: $0.isAscending) }
  }
}
