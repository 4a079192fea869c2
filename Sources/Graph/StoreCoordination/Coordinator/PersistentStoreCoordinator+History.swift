public import AtomicStoreSPI

extension PersistentStore {
  /// Whether the store keeps a history of saves: it is an incremental store.
  public var hasHistory: Bool { connection != nil }
}

extension PersistentStoreCoordinator {
  /// Returns the token of the last save of an incremental store, by any process; nil if there is none.
  ///
  /// - Throws: `.notSupported` for an atomic store, whose saves are not recorded; `.storeNotAdded`; the errors of the
  ///   connection.
  public func currentHistoryToken(of store: PersistentStore) throws(PersistentStoreError) -> HistoryToken? {
    try historyConnection(store).use { store throws(PersistentStoreError) in try store.currentHistoryToken() }
  }

  /// Returns what was saved to an incremental store after a token, by any process, oldest first.
  ///
  /// - Parameters:
  ///   - token: The token of the last transaction that the caller knows; nil for everything that the store still has.
  ///   - store: A store of this coordinator.
  /// - Throws: As ``currentHistoryToken(of:)``; `.notFound` if transactions after the token were deleted.
  public func changes(
    since token: HistoryToken?, in store: PersistentStore
  ) throws(PersistentStoreError) -> [HistoryTransaction] {
    try historyConnection(store).use { store throws(PersistentStoreError) in
      let found = try store.changes(since: token)
      guard try token.map({ token throws(PersistentStoreError) in try store.hasHistory(since: token) }) ?? true else {
        throw PersistentStoreError(
          .notFound,
          "transactions after the token were deleted: read the objects again, and continue with the present token")
      }
      return found
    }
  }

  /// Returns the saves that the store at a path records, oldest first: everything that an incremental store still has,
  /// and the persistent history of Core Data's SQLite stores. Empty for other stores. The store is not changed.
  ///
  /// - Parameter model: Names the properties; nil for the model that the store carries.
  /// - Throws: The errors of opening the store; `.malformed` for a damaged history, which the option
  ///   `damaged=skip-object` reads as far as possible.
  public static func historyOfPersistentStore(
    type: String? = nil, at path: String, options: StoreOptions = [:], model: ManagedObjectModel? = nil,
    registry: StoreRegistry
  ) throws(PersistentStoreError) -> [HistoryTransaction] {
    if try registry.incrementalType(type, at: path) != nil {
      let coordinator = PersistentStoreCoordinator(managedObjectModel: model, registry: registry)
      let store = try coordinator.addPersistentStore(type: type, at: path, options: options, isReadOnly: true)
      let found = try coordinator.changes(since: nil, in: store)
      try coordinator.remove(store)
      return found
    }
    return try besideObjects(type, path, options, model, registry) {
      format, source, model throws(PersistentStoreError)
      in
      try format.history(in: source, model: model)
    }
  }

  /// Returns the tables of the store's file that hold nothing of its objects.
  package static func systemTablesOfPersistentStore(
    type: String? = nil, at path: String, options: StoreOptions = [:], model: ManagedObjectModel? = nil,
    registry: StoreRegistry
  ) throws(PersistentStoreError) -> [SystemTable] {
    guard try registry.incrementalType(type, at: path) == nil else { return [] }
    return try besideObjects(type, path, options, model, registry) {
      format, source, model throws(PersistentStoreError)
      in
      try format.systemTables(in: source, model: model)
    }
  }

  private static func besideObjects<Result>(
    _ type: String?, _ path: String, _ options: StoreOptions, _ model: ManagedObjectModel?, _ registry: StoreRegistry,
    _ body: (inout any AtomicStore, StoreSource, ManagedObjectModel?) throws(PersistentStoreError) -> [Result]
  ) throws(PersistentStoreError) -> [Result] {
    let opening = StoreOpening(
      registry: registry, type: type, path: path, configurationName: nil, options: options, isReadOnly: true,
      model: model)
    let (found, notes) = try opening.beside(body)
    if let handler = registry.noteHandler {
      for note in notes where note.isWarning || note.isLoss { handler(note, StoreAddress.withoutPassword(path)) }
    }
    return found
  }

  /// Deletes the transactions of an incremental store before a token. The last one is kept in any case.
  ///
  /// - Throws: As ``currentHistoryToken(of:)``; `.readOnly`.
  public func deleteHistory(
    before token: HistoryToken, in store: PersistentStore
  ) throws(PersistentStoreError) {
    guard !store.isReadOnly else { throw .readOnly(store.path) }
    try historyConnection(store).use { store throws(PersistentStoreError) in try store.deleteHistory(before: token) }
  }

  private func historyConnection(_ store: PersistentStore) throws(PersistentStoreError) -> IncrementalConnection {
    try check(store)
    guard let connection = store.connection else {
      throw PersistentStoreError(
        .notSupported, "the kit does not record the saves of \(store.type) stores", at: StoreLocation(file: store.path))
    }
    return connection
  }
}
