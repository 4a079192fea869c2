import AtomicStoreSPI
import Synchronization

extension IncrementalConnection {
  /// Looks at the history from here on, without noting what takes requests. Has no effect if the store cannot be asked
  /// now. To be called when the store is opened.
  func noteOpening() { _ = try? beginToNotice() }

  /// Looks at the history from here on. Has no effect if it does so already, or if the store cannot be asked now: then
  /// the next look begins.
  func beginNoticing() {
    history.withLock { $0.ask() }
    _ = try? beginToNotice()
  }

  private func beginToNotice() throws(PersistentStoreError) {
    guard history.withLock({ !$0.isNoticing }) else { return }
    let token = try use { store throws(PersistentStoreError) in try store.currentHistoryToken() }
    history.withLock { $0.begin(after: token) }
  }

  /// Saves the changes of a context, or others, of which aggregates do not know.
  ///
  /// - Parameter base: As ``StoreChanges/aggregates``.
  func save(
    _ save: StoreSave, model: ManagedObjectModel, basedOn base: (state: Int, areUsed: Bool)?
  ) throws(PersistentStoreError) -> StoreSaveAnswer {
    if let base, base.areUsed, aggregates.withLock({ $0.state }) != base.state { return .overtaken }
    let (answer, isNext) = try use { store throws(PersistentStoreError) -> (StoreSaveAnswer, Bool) in
      let before = store.lastSavedToken
      var save = save
      if let base, base.areUsed, save.lastTransaction == nil { save.lastTransaction = before?.number }
      let answer = try store.save(save)
      if case .saved = answer { self.noteSave(save, model: model, in: &store) }
      return (answer, before.map { $0.number &+ 1 } == store.lastSavedToken?.number)
    }
    if case .saved = answer, base == nil || !isNext { aggregates.withLock { $0.forget() } }
    return answer
  }

  /// Notes a save of this connection, so that it is not taken for another process's. To be called before another
  /// caller gets the store.
  func noteSave(_ save: StoreSave, model: ManagedObjectModel, in store: inout any IncrementalStore) {
    noteSave(in: &store) {
      var objects = Set(save.deleted)
      for object in save.inserted + save.updated {
        guard let reference = object.reference else { continue }
        objects.insert(ObjectReference(entityName: model.entity(at: object.entity).name, reference: reference))
      }
      for change in save.members { objects.insert(change.owner) }
      return (objects, Set(save.deleted))
    }
  }

  /// - Parameter changed: All objects that were changed, and those of them that were deleted.
  func noteSave(
    in store: inout any IncrementalStore, _ changed: () -> (all: Set<ObjectReference>, deleted: Set<ObjectReference>)
  ) {
    guard history.withLock({ $0.isNoticing }) else { return }
    if let own = store.lastSavedToken { return history.withLock { $0.note(own) } }
    guard history.withLock({ $0.isAsked }) else { return history.withLock { $0.forget() } }
    let (objects, deleted) = changed()
    // What changes no object is not reported, so it need not be told from others' saves.
    guard !objects.isEmpty else { return }
    let token = try? store.currentHistoryToken()
    let own = NoticedHistory.OwnSave(token: token ?? nil, objects: objects, deleted: deleted)
    history.withLock { $0.note(own) }
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
    history.withLock { $0.ask() }
    try beginToNotice()
    let last = history.withLock { $0.token }
    let (transactions, areAll) = try use { store throws(PersistentStoreError) -> ([HistoryTransaction], Bool) in
      guard let now = try store.currentHistoryToken(), last.map({ $0 < now }) ?? true else { return ([], true) }
      // Asked after they were read: they may be deleted in between.
      let found = try store.changes(since: last)
      return (found, try last.map { last throws(PersistentStoreError) in try store.hasHistory(since: last) } ?? true)
    }
    return (history.withLock { $0.takeOthers(transactions) }, areAll)
  }
}
