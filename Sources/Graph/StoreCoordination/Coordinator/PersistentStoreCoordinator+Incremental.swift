import AtomicStoreSPI
import Synchronization

extension PersistentStoreCoordinator {
  /// Whether incremental stores that are added from now on are read whole, as a program does that looks at everything
  /// anyway. They are read-only.
  package var readsIncrementalStoresWhole: Bool {
    get { state.withLock { $0.readsIncrementalStoresWhole } }
    set { state.withLock { $0.readsIncrementalStoresWhole = newValue } }
  }

  /// The objects of another store, with which those of stores that are added from now on are compared: large columns
  /// that are the same are shared while they are read, and take no further memory.
  package var similarNodes: NodeTable? {
    get { state.withLock { $0.similarNodes } }
    set { state.withLock { $0.similarNodes = newValue } }
  }

  /// What the caller reads of stores that are added from now on read-only; nil for everything.
  ///
  /// If it names properties, the model of such a store has only these. Formats that cannot leave properties out read
  /// all; so do stores with a model of their coordinator's. If it names objects, damage elsewhere is left out and
  /// reported, as with `damaged=skip-object`, unless an option says what happens to damage.
  package var readNeeds: ReadChoice? {
    get { state.withLock { $0.readNeeds } }
    set { state.withLock { $0.readNeeds = newValue } }
  }

  /// Saves the part of the work that concerns incremental stores, each in one transaction.
  ///
  /// - Returns: The versions of the saved rows for each, or nil if one was overtaken.
  func saveIncremental(
    _ work: [(store: PersistentStore, changes: StoreChanges)]
  ) throws(PersistentStoreError) -> [ObjectIdentifier: [(object: ObjectReference, version: Int64)]]? {
    var saved: [ObjectIdentifier: [(object: ObjectReference, version: Int64)]] = [:]
    for (store, changes) in work {
      guard let connection = store.connection else { continue }
      let isFirst = !saved.values.contains { !$0.isEmpty }
      do throws(PersistentStoreError) {
        try connection.checkFile()
        var save = changes.asStoreSave
        try giveReferences(&save, store)
        let metadata = store.hasUnsavedMetadata ? store.metadata : nil
        save.metadataEntries = metadata?.entries
        if changes.isEmpty, metadata == nil {
          saved[ObjectIdentifier(store)] = []
          continue
        }
        switch try connection.save(save, model: store.model, basedOn: changes.aggregates) {
        case .saved(let versions):
          saved[ObjectIdentifier(store)] = versions
        case .overtaken where isFirst: return nil
        case .overtaken:
          throw PersistentStoreError(
            .retry, "another process changed the same objects", at: StoreLocation(file: store.path))
        }
        if let metadata {
          // What was set meanwhile is still to be saved.
          store.state.withLock { if $0.metadata.entries == metadata.entries { $0.metadataChanged = false } }
        }
      } catch {
        guard isFirst else {
          throw PersistentStoreError(
            .notRolledBack,
            "the changes to another store are saved already, those to this one are not: \(error.message)",
            at: StoreLocation(file: store.path), underlying: error)
        }
        throw error
      }
    }
    return saved
  }

  /// Sets attributes of many objects of an incremental store, in one transaction.
  ///
  /// - Returns: The changed objects; nil if the store cannot do that, and has done nothing.
  package func update(
    _ store: PersistentStore, _ change: StoreUpdate
  ) throws(PersistentStoreError) -> [ObjectReference]? {
    let changed = try changeRows(of: store) { store throws(PersistentStoreError) in
      try store.update(change).map { (deleted: [], updated: $0) }
    }
    return changed?.updated
  }

  /// Deletes many objects of an incremental store, in one transaction.
  ///
  /// - Returns: The deleted objects, and those that changed as a consequence; nil if the store cannot do that, and has
  ///   done nothing.
  package func delete(
    _ store: PersistentStore, _ change: StoreUpdate
  ) throws(PersistentStoreError) -> (deleted: [ObjectReference], updated: [ObjectReference])? {
    try changeRows(of: store) { store throws(PersistentStoreError) in try store.delete(change) }
  }

  private typealias ChangedObjects = (deleted: [ObjectReference], updated: [ObjectReference])

  private func changeRows(
    of store: PersistentStore,
    _ body: @Sendable (inout any IncrementalStore) throws(PersistentStoreError) -> ChangedObjects?
  ) throws(PersistentStoreError) -> ChangedObjects? {
    guard let connection = store.connection, !store.hasUnsavedMetadata, !store.isReadOnly else { return nil }
    turns.pass()
    try check(store)
    let result = saving.withLock { _ -> Result<ChangedObjects?, PersistentStoreError> in
      do throws(PersistentStoreError) {
        try connection.checkFile()
        return .success(
          try connection.use { store throws(PersistentStoreError) in
            let changed = try body(&store)
            if let changed, !changed.deleted.isEmpty || !changed.updated.isEmpty {
              connection.noteSave(in: &store) { (Set(changed.deleted + changed.updated), Set(changed.deleted)) }
              connection.aggregates.withLock { $0.forget() }
            }
            return changed
          })
      } catch {
        return .failure(error)
      }
    }
    if case .failure(let error) = result {
      log(.error, "save failed", ["paths": store.path, "error": "\(error)"])
    }
    let changed = try result.get()
    if let changed {
      log(
        .debug, "saved",
        ["paths": store.path, "updated": "\(changed.updated.count)", "deleted": "\(changed.deleted.count)"])
    }
    return changed
  }

  /// Gives references to new objects that have none: those that a program saves without a context.
  private func giveReferences(_ save: inout StoreSave, _ store: PersistentStore) throws(PersistentStoreError) {
    let places = save.inserted.indices.filter { save.inserted[$0].reference == nil }
    guard !places.isEmpty else { return }
    let objects = save.inserted
    let references = try store.newReferences(count: places.count) { objects[places[$0]] }
    for (place, reference) in zip(places, references) { save.inserted[place].reference = reference }
  }
}
