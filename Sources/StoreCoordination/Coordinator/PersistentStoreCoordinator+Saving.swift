public import AtomicStoreSPI
import Synchronization

extension PersistentStoreCoordinator {
  /// Requests a reference from the store for an object that will be inserted. The reference is used up even if the
  /// object is never inserted.
  public func newReference(
    for object: ManagedObjectSnapshot, in store: PersistentStore
  ) throws(PersistentStoreError) -> ReferenceObject {
    try check(store)
    return try store.state.withLock { open throws(PersistentStoreError) in
      try open.format.newReferenceObject(for: object, in: open.nodes, metadata: &open.metadata)
    }
  }

  /// Saves changes to one store, completely or not at all. Without changes and with unchanged metadata, files are not
  /// modified, except that a store that was never saved is written.
  public func save(
    _ store: PersistentStore, changes: StoreChanges = StoreChanges()
  ) throws(PersistentStoreError) {
    try save([(store, changes)])
  }

  /// Saves changes to several stores. On an error, all files are the old ones, and so are all nodes and metadata in
  /// memory; the same save can be repeated. After a crash between two renames, each file is complete.
  ///
  /// - Throws: `.inverseMismatch` if the two ends of a relationship disagree after the changes: the object at the other
  ///   end of a relationship with an inverse must be changed as well.
  public func save(_ work: [(store: PersistentStore, changes: StoreChanges)]) throws(PersistentStoreError) {
    turns.pass()
    _ = try save(work, expecting: nil)
  }

  /// As ``save(_:)``, if the stores still hold the versions that the changes are based on.
  ///
  /// - Returns: What the stores hold now, or nil if another save of this process came first.
  package func save(
    _ work: [(store: PersistentStore, changes: StoreChanges)], expecting versions: [NodeVersion]?
  ) throws(PersistentStoreError) -> [NodeVersion]? {
    // One save at a time: no other save may publish between copying a store's nodes and publishing the result.
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

  /// Reloads a store if its file is no longer the one that was last read or written. Fetched objects keep their values;
  /// conflicts are detected when they are saved.
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
