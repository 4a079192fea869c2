import AtomicStoreSPI

/// The store below a planted fault.
struct FaultTarget: Sendable {
  /// The store without the fault.
  var store: any IncrementalStore
  /// The model, from when the kit has set it.
  var model: ManagedObjectModel?
  /// What the store was created with.
  let configuration: StoreConfiguration
  /// What a fault remembers of earlier calls.
  var memory = FaultMemory()

  /// Another connection to the same store.
  func another() throws(PersistentStoreError) -> any IncrementalStore {
    func make<Store: IncrementalStore>(_: Store) throws(PersistentStoreError) -> any IncrementalStore {
      try Store(configuration)
    }
    return try make(store)
  }

  /// The number of a slot; nil if the entity does not have it.
  func slot(_ name: String, of entity: Int) -> Int? { model?.entity(at: entity).slot(named: name) }

  /// All rows of a hierarchy, in order.
  mutating func allRows(below root: Entity) throws(PersistentStoreError) -> [StoreRow] {
    try store.fetch(
      StoreFetch(entity: root.index, entities: root.hierarchy.filter { !$0.isAbstract }.map(\.index))
    ).rows
  }
}

/// What a fault remembers of earlier calls of the same connection.
struct FaultMemory: Sendable {
  var rows: [String: StoreFetchResult] = [:]
  var texts: Set<String> = []
  var pending: StoreSave?
  var isBroken = false
  var count = 0
}

/// What a planted fault does at each call of an incremental store. Nil leaves the call as it is.
struct IncrementalFaultHooks: Sendable {
  typealias Target = FaultTarget
  var recognize: (@Sendable (StoreProbe, Recognition) -> Recognition)?
  var configuration: (@Sendable (inout StoreConfiguration) -> Void)?
  /// The metadata, and the error that reading it ended with.
  var metadata:
    (
      @Sendable (StoreConfiguration, inout StoreMetadata?, PersistentStoreError?) throws(PersistentStoreError) -> Void
    )?
  var create: (@Sendable (inout Target, inout StoreMetadata, ManagedObjectModel) throws(PersistentStoreError) -> Void)?
  /// Called when the store was created.
  var created: (@Sendable (StoreConfiguration) -> Void)?
  /// Changes what the store is asked for.
  var request: (@Sendable (inout StoreFetch) -> Void)?
  /// Changes what the store answers.
  var fetched: (@Sendable (inout Target, StoreFetch, inout StoreFetchResult) throws(PersistentStoreError) -> Void)?
  var counted: (@Sendable (inout Target, StoreFetch, Int?) throws(PersistentStoreError) -> Int?)?
  var answer: (@Sendable (FetchAnswer, StoreFetch) -> FetchAnswer)?
  /// Changes which attributes of which objects the store is to set.
  var update: (@Sendable (inout StoreUpdate) -> Void)?
  /// Changes which objects the store names as updated.
  var updated: (@Sendable (inout [ObjectReference]?) -> Void)?
  /// Changes which objects the store is to delete.
  var deletion: (@Sendable (inout StoreUpdate) -> Void)?
  /// Changes which objects the store names as deleted.
  var deleted: (@Sendable (inout [ObjectReference]) -> Void)?
  /// Changes what the store is asked to group.
  var grouping: (@Sendable (inout StoreGrouping) -> Void)?
  /// Changes the groups that the store returns.
  var groups: (@Sendable (StoreGrouping, inout [StoreGroup]?) -> Void)?
  var rows:
    (
      @Sendable (inout Target, [ReferenceObject], Int, inout [StoreRow]) throws(PersistentStoreError) -> Void
    )?
  /// Changes each row that the store returns.
  var row: (@Sendable (inout StoreRow, ManagedObjectModel) -> Void)?
  /// Called with the slot and the entity.
  var related:
    (
      @Sendable (inout Target, Slot, Entity, inout [[ObjectReference]]) throws(PersistentStoreError) -> Void
    )?
  var newReferences: (@Sendable (inout Target, Int, Int) throws(PersistentStoreError) -> [ReferenceObject])?
  /// What each attribute's value is saved as.
  var savedValue: (@Sendable (StoredValue, AttributeType) -> StoredValue)?
  /// Changes what is saved.
  var saved: (@Sendable (inout Target, inout StoreSave) throws(PersistentStoreError) -> Void)?
  /// Saves in the store's stead.
  var save: (@Sendable (inout Target, StoreSave) throws(PersistentStoreError) -> StoreSaveAnswer)?
  /// Changes what a load returns: the table that the store filled.
  var loaded: (@Sendable (inout NodeTable) throws(PersistentStoreError) -> Void)?
  /// Changes the columns that were read for a request.
  var columnsLoaded: (@Sendable (inout NodeTable) throws(PersistentStoreError) -> Void)?
  /// Loads in the store's stead.
  var load: (@Sendable (inout Target, NodeTableBuilder) throws(PersistentStoreError) -> Void)?
  var mayReplace: (@Sendable (Bool) -> Bool)?
  var ignoresVerification = false
  var ignoresComparison = false
  var keepsReplaced = false
  var ignoresSetMetadata = false
  var history: (@Sendable (inout Target, HistoryToken?, inout [HistoryTransaction]) -> Void)?
  var token: (@Sendable (inout Target, HistoryToken?) -> HistoryToken?)?
  var savedToken: (@Sendable (Target, HistoryToken?) -> HistoryToken?)?
  var deleteHistory: (@Sendable (inout Target, HistoryToken) throws(PersistentStoreError) -> Void)?
  var destroy: (@Sendable (inout Target) throws(PersistentStoreError) -> Void)?

  // Set once, by the process that runs one check, before anything of the store is touched; processes that it starts
  // have their own copy.
  nonisolated(unsafe) static var current = IncrementalFaultHooks()
}
