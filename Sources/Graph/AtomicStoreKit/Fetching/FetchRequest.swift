public import AtomicStoreSPI
public import FoundationEssentials
import StoreCoordination
import StorePredicates
import StorePrimitives

/// Which objects to fetch: those of an entity that match a predicate, in what order and how many.
///
/// ```swift
/// var request = FetchRequest<ManagedObject>(
///   entityName: "Book", predicate: try FetchPredicate(format: "price > 20"), sortKeys: [SortKey("title")])
/// request.fetchLimit = 10
/// let books = try context.fetch(request)
/// ```
///
/// `Result` is the class of the returned objects; use `ManagedObject` for entities without a class.
public struct FetchRequest<Result: ManagedObject> {
  /// The entity whose objects are fetched; empty for the one that `Result` is registered for.
  public var entityName: String
  /// The class whose entity is meant if there is no ``entityName``.
  var objectClass: ManagedObject.Type = Result.self
  /// Whether objects of sub-entities are included.
  public var includesSubentities = true
  /// Whether unsaved changes of the context are taken into account. Otherwise the fetch returns what the stores hold.
  public var includesPendingChanges = true
  /// Whether objects are returned as faults, until a value is read. Values cost little to fetch: they stay in the
  /// store's columns.
  public var returnsObjectsAsFaults = true
  /// The maximum number of objects; 0 for all.
  public var fetchLimit = 0
  /// How many of the matching objects are skipped at the beginning.
  public var fetchOffset = 0
  /// How many objects ``ManagedObjectContext/fetchBatches(_:)`` returns at a time; 0 for all at once. It does not
  /// affect a plain fetch: its objects are faults that cost little, and their values are in memory in any case.
  public var fetchBatchSize = 0
  /// Key paths of relationships whose objects are fetched along with the results, so that reading them fires no faults.
  /// The context holds those objects until its next fetch that prefetches.
  public var relationshipKeyPathsForPrefetching: [String] = []
  /// Whether objects that the context read earlier get the present values of their stores before the fetch, with the
  /// context's changes kept. Otherwise they are evaluated as they were read.
  public var shouldRefreshRefetchedObjects = false
  /// The stores to search; nil for all.
  public var affectedStores: [PersistentStore]?
  /// The condition that objects must fulfil; nil for all objects.
  public var predicate: FetchPredicate?
  /// A closure that decides about each object that fulfils ``predicate``.
  public var filter: ((Result) throws -> Bool)?
  /// The order of the objects; empty for the order of the stores.
  public var sortKeys: [SortKey] = []
  /// For ``ManagedObjectContext/fetchRows(_:)``: the columns; empty for all attributes of the entity.
  public var propertiesToFetch: [FetchColumn] = []
  /// For ``ManagedObjectContext/fetchRows(_:)``: key paths or expressions whose values form the groups, with one row
  /// per group; empty for one row per object.
  public var propertiesToGroupBy: [FetchColumn] = []
  /// The condition that groups must fulfil. It is evaluated on each group as a list, so `sum:(salary) > 100` or
  /// `@count > 2`; what is grouped by has the value of the group, and a variable the value of the column with its
  /// name: `$total > 100`.
  public var havingPredicate: FetchPredicate?
  /// The same with the columns' expressions in place of their names.
  var havingExpressions: FetchPredicate? {
    havingPredicate?.substituting(
      Dictionary(propertiesToFetch.map { ($0.name, $0.expression) }, uniquingKeysWith: { first, _ in first }))
  }
  /// For ``ManagedObjectContext/fetchRows(_:)``: the order of the rows, by the names of columns, such as that of a sum,
  /// by expressions, and by key paths. These must be values, not objects or lists. Rows that are equal by these keys,
  /// and all rows if there are none, are in the order of ``sortKeys``.
  public var rowSortKeys: [SortKey] = []
  /// For ``ManagedObjectContext/fetchRows(_:)``: whether equal rows are returned only once.
  public var returnsDistinctResults = false
  /// The maximum number of steps that the fetch may perform on objects: one for each comparison, and for each value
  /// that a path, a `SUBQUERY` or a function examines; predicates, sort keys and columns together, including the
  /// fetches of fetched properties. The default limit, 50 million, takes about ten seconds of processor time. Fetches
  /// over columns do not count steps. A list of values may contain at most a fifth of the limit. A fetch that exceeds
  /// the limit fails with ``ManagedObjectError/Code/stepLimitExceeded``.
  public var stepLimit = StepBudget.standardLimit

  /// Creates a request. By default it fetches all objects of the entity and its sub-entities, in the stores' order.
  ///
  /// ```swift
  /// let request = FetchRequest(
  ///   entityName: "Employee", predicate: try FetchPredicate(format: "salary > %@", 5000), sortKeys: [SortKey("name")])
  /// ```
  public init(
    entityName: String, predicate: FetchPredicate? = nil, sortKeys: [SortKey] = [],
    filter: ((Result) throws -> Bool)? = nil
  ) {
    self.entityName = entityName
    self.predicate = predicate
    self.sortKeys = sortKeys
    self.filter = filter
  }

  /// Creates a request for objects of the entity that `Result` is registered for.
  ///
  /// ```swift
  /// let request = FetchRequest<Employee>(
  ///   \.department?.name == "Sales" && \.salary > 5000, sortedBy: .ascending(\.name))
  /// ```
  public init(_ predicate: ObjectPredicate<Result>? = nil, sortedBy keys: ObjectSortKey<Result>...) {
    self.init(entityName: "", predicate: predicate?.fetchPredicate, sortKeys: keys.map(\.sortKey))
  }

  /// Creates a request for objects that fulfil a `#Predicate`.
  ///
  /// - Throws: what `FetchPredicate(_:)` throws for a predicate that cannot be converted.
  public init(
    _ predicate: FoundationEssentials.Predicate<Result>, sortedBy keys: ObjectSortKey<Result>...
  ) throws(PredicateConversionError) {
    self.init(entityName: "", predicate: try FetchPredicate(predicate), sortKeys: keys.map(\.sortKey))
  }

  /// Creates a request from its description in a model.
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
