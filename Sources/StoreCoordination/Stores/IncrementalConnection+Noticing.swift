import AtomicStoreSPI
import Synchronization

extension IncrementalConnection {
  /// Looks at the history from here on. Has no effect if it does so already, or if the store cannot be asked now: then
  /// the next look begins.
  func beginNoticing() {
    _ = try? beginToNotice()
  }

  private func beginToNotice() throws(PersistentStoreError) {
    guard history.withLock({ !$0.isNoticing }) else { return }
    let token = try use { store throws(PersistentStoreError) in try store.currentHistoryToken() }
    history.withLock { history in
      guard !history.isNoticing else { return }
      history.isNoticing = true
      history.token = token
    }
  }

  /// Notes a save of this connection, so that it is not taken for another process's. To be called before another
  /// caller gets the store.
  func noteSave(_ save: StoreSave, model: ManagedObjectModel, in store: inout any IncrementalStore) {
    guard history.withLock({ $0.isNoticing }) else { return }
    var objects = Set(save.deleted)
    for object in save.inserted + save.updated {
      guard let reference = object.reference else { continue }
      objects.insert(ObjectReference(entityName: model.entity(at: object.entity).name, reference: reference))
    }
    for change in save.members { objects.insert(change.owner) }
    // What changes no object is not reported, so it need not be told from others' saves.
    guard !objects.isEmpty else { return }
    let token = try? store.currentHistoryToken()
    let own = NoticedHistory.OwnSave(token: token ?? nil, objects: objects, deleted: Set(save.deleted))
    history.withLock { history in
      // Whoever never looks at the history does not collect saves without end.
      if history.ownSaves.count >= 1000 { history.ownSaves.removeFirst(500) }
      history.ownSaves.append(own)
    }
  }

  /// Returns the transactions of others since the last call, oldest first, and whether all of them are known.
  ///
  /// - Throws: `.unavailable` if the store was replaced as a whole.
  func newTransactions() throws(PersistentStoreError) -> (transactions: [HistoryTransaction], areAll: Bool) {
    let result = looking.withLock { _ -> Result<([HistoryTransaction], Bool), PersistentStoreError> in
      do throws(PersistentStoreError) { return .success(try lookForTransactions()) } catch { return .failure(error) }
    }
    return try result.get()
  }

  private func lookForTransactions() throws(PersistentStoreError) -> ([HistoryTransaction], Bool) {
    try checkFile()
    try beginToNotice()
    let last = history.withLock { $0.token }
    let (transactions, areAll) = try use { store throws(PersistentStoreError) -> ([HistoryTransaction], Bool) in
      guard let now = try store.currentHistoryToken(), last.map({ $0 < now }) ?? true else { return ([], true) }
      // Asked after they were read: they may be deleted in between.
      let found = try store.changes(since: last)
      return (found, try last.map { last throws(PersistentStoreError) in try store.hasHistory(since: last) } ?? true)
    }
    guard let newest = transactions.last?.token else { return ([], areAll) }
    let others = history.withLock { history in
      history.token = max(history.token ?? newest, newest)
      return transactions.filter { transaction in
        let objects = Set(transaction.changes.map(\.object))
        guard !objects.isEmpty else { return false }
        guard let own = history.ownSaves.firstIndex(where: { $0.isSame(transaction, objects) }) else { return true }
        history.ownSaves.remove(at: own)
        return false
      }
    }
    return (others, areAll)
  }
}
