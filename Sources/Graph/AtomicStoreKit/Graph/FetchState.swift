import AtomicStoreSPI
import FoundationEssentials
import StorePredicates

/// What a context knows of its fetches, between them and during one.
struct FetchState<Object> {
  /// How deep fetches of fetched properties are nested.
  var fetchedPropertyDepth = 0
  /// The entities of the last request: a program that fetches in a loop asks for the same ones.
  var entitiesAskedLast: (name: String, includesSubentities: Bool, model: ManagedObjectModel, found: [Entity])?
  var pendingValues: (any PendingValueTable<Object>)?
  /// The remaining steps of the outermost fetch.
  var stepBudget: StepBudget?
  /// What the outermost fetch has read of an incremental store, and of which columns.
  var storeColumns: (needed: NeededColumns, version: NodeVersion, store: UUID)?
  /// Whether a condition that the outermost fetch has leaves many rows of an incremental store, which counted them.
  var storeShare: (predicate: FetchPredicate, entities: [Int], store: UUID, isLarge: Bool)?
  /// The objects that the last fetch with prefetching read besides its results.
  var prefetched: [Object] = []
}

/// A table of the values of objects with changes, which a context keeps for its fetches.
protocol PendingValueTable<Object>: AnyObject {
  associatedtype Object
  /// Called when a value is set in an object whose values are in the table (``ManagedObject/Flags/indexed``).
  func noteChange(of object: Object)
}
