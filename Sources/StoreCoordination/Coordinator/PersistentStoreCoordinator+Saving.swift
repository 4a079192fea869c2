public import AtomicStoreSPI
import Synchronization

extension PersistentStoreCoordinator {
  /// Asks the store for the reference of an object that will be inserted. It is used up even if the object never is.
  public func newReference(
    for object: ManagedObjectSnapshot, in store: PersistentStore
  ) throws(PersistentStoreError) -> ReferenceObject {
    try check(store)
    return try store.state.withLock { open throws(PersistentStoreError) in
      try open.format.newReferenceObject(for: object, in: open.nodes, metadata: &open.metadata)
    }
  }

  /// Saves changes to one store: whole, or not at all. Without changes and with unchanged metadata no file is touched,
  /// except that a store that was never saved is written.
  public func save(
    _ store: PersistentStore, changes: StoreChanges = StoreChanges()
  ) throws(PersistentStoreError) {
    try save([(store, changes)])
  }

  /// Saves changes to several stores. On an error all files are the old ones, and all nodes and metadata in memory too;
  /// the same save can be tried again. After a crash between two renames each file is whole.
  ///
  /// - Throws: `.inverseMismatch` where the changes leave two ends of a relationship in disagreement: the object at the
  ///   other end of a relationship with an inverse must be changed with it.
  public func save(_ work: [(store: PersistentStore, changes: StoreChanges)]) throws(PersistentStoreError) {
    turns.pass()
    _ = try save(work, expecting: nil)
  }

  /// As ``save(_:)``, if the stores still hold the versions that the changes were made for.
  ///
  /// - Returns: What the stores hold now, or nil where another save of this process was quicker.
  package func save(
    _ work: [(store: PersistentStore, changes: StoreChanges)], expecting versions: [NodeVersion]?
  ) throws(PersistentStoreError) -> [NodeVersion]? {
    // One save at a time: between the copy of a store's nodes and its publication nobody may publish another.
    let result = saving.withLock { _ -> Result<[NodeVersion]?, PersistentStoreError> in
      do throws(PersistentStoreError) {
        if let versions {
          for (entry, version) in zip(work, versions) where entry.store.version !== version { return .success(nil) }
        }
        try saveAlone(work)
        return .success(work.map(\.store.version))
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }

  /// Reads a store again whose file is no longer the one that was read or written last. Objects that were fetched keep
  /// their values; whether they changed shows when they are saved.
  package func reloadIfChanged(_ store: PersistentStore) throws(PersistentStoreError) {
    let result = saving.withLock { _ -> Result<Void, PersistentStoreError> in
      do throws(PersistentStoreError) { return .success(try store.reloadIfChanged()) } catch { return .failure(error) }
    }
    try result.get()
  }

  private func saveAlone(_ work: [(store: PersistentStore, changes: StoreChanges)]) throws(PersistentStoreError) {
    var pending: [(store: PersistentStore, save: PendingSave)] = []
    do throws(PersistentStoreError) {
      for (store, changes) in work {
        try check(store)
        guard !store.isReadOnly else { throw .readOnly(store.path) }
        if let save = try PendingSave.prepare(store, changes) { pending.append((store, save)) }
      }
      if pending.count > 1 { SaveSet.mark(&pending) }
      for index in pending.indices { try pending[index].save.write() }
      if verifiesSaves { for index in pending.indices { try pending[index].save.verify(pending[index].store) } }
      for index in pending.indices { try pending[index].save.commit() }
    } catch {
      var failures: [String] = error.code == .notRolledBack ? [error.message] : []
      for entry in pending.reversed() {
        if let left = entry.save.undo() { failures.append("\(entry.save.path): \(left.message)") }
      }
      guard failures.isEmpty else {
        throw PersistentStoreError(
          .notRolledBack, failures.joined(separator: "; "), at: error.location, underlying: error.underlying ?? error)
      }
      throw error
    }
    for entry in pending { entry.save.publish(to: entry.store) }
  }
}
