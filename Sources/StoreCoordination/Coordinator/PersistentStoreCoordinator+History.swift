public import AtomicStoreSPI

extension PersistentStore {
  /// Whether the store keeps a history of saves: it is an incremental store.
  public var hasHistory: Bool { connection != nil }
}

extension PersistentStoreCoordinator {
  /// Returns the token of the last save of an incremental store, by any process; nil if there is none.
  ///
  /// - Throws: `.notSupported` for an atomic store, which does not have a history; `.storeNotAdded`; the errors of the
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
        .notSupported, "\(store.type) stores do not have a history", at: StoreLocation(file: store.path))
    }
    return connection
  }
}
