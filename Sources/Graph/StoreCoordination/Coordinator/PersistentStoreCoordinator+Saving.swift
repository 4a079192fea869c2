public import AtomicStoreSPI
import Synchronization

extension PersistentStoreCoordinator {
  /// Requests a reference from the store for an object that will be inserted. The reference is used up even if the
  /// object is never inserted.
  public func newReference(
    for object: ManagedObjectSnapshot, in store: PersistentStore
  ) throws(PersistentStoreError) -> ReferenceObject {
    try check(store)
    if store.connection != nil {
      guard let reference = try store.newReferences(count: 1, { _ in object }).first else {
        throw PersistentStoreError(.internalInconsistency, "the store returned no reference")
      }
      return reference
    }
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
    guard try save(work, expecting: nil) != nil else {
      throw PersistentStoreError(
        .changedOnDisk,
        "nothing was saved: an object that the changes are based on is gone, or another one has a value that must be unique"
      )
    }
  }

  /// As ``save(_:)``, if the stores still hold the versions that the changes are based on.
  ///
  /// - Returns: What the stores hold now, or nil if another save of this process came first.
  package func save(
    _ work: [(store: PersistentStore, changes: StoreChanges)], expecting versions: [NodeVersion]?
  ) throws(PersistentStoreError) -> [NodeVersion]? {
    let start = isLogging ? Self.clock : 0
    do throws(PersistentStoreError) {
      let saved = try saveInTurn(work, expecting: versions)
      if isLogging { logSave(work, isDone: saved != nil, start) }
      return saved
    } catch {
      log(
        .error, "save failed",
        ["paths": work.map(\.store.path).joined(separator: ", "), "error": "\(error)"])
      throw error
    }
  }

  private func logSave(_ work: [(store: PersistentStore, changes: StoreChanges)], isDone: Bool, _ start: Double) {
    func count(_ path: KeyPath<StoreChanges, Int>) -> String { "\(work.reduce(0) { $0 + $1.changes[keyPath: path] })" }
    log(
      .debug, isDone ? "saved" : "save overtaken",
      [
        "paths": work.map(\.store.path).joined(separator: ", "), "inserted": count(\.inserted.count),
        "updated": count(\.updatedCount), "deleted": count(\.deleted.count), "seconds": Self.seconds(since: start),
      ])
  }

  private func saveInTurn(
    _ work: [(store: PersistentStore, changes: StoreChanges)], expecting versions: [NodeVersion]?
  ) throws(PersistentStoreError) -> [NodeVersion]? {
    // One save at a time: no other save may publish between copying a store's nodes and publishing the result.
    let result = saving.withLock { _ -> Result<[NodeVersion]?, PersistentStoreError> in
      do throws(PersistentStoreError) {
        if let versions {
          for (entry, version) in zip(work, versions)
          where entry.store.connection == nil && entry.store.version !== version {
            return .success(nil)
          }
        }
        guard let saved = try saveAlone(work) else { return .success(nil) }
        var now: [NodeVersion] = []
        for (place, entry) in work.enumerated() {
          guard let versions, let rows = saved[ObjectIdentifier(entry.store)] else {
            now.append(entry.store.version)
            continue
          }
          now.append(versions[place].applying(entry.changes.asStoreSave, versions: rows))
        }
        return .success(now)
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }

  /// Reloads a store if its file is no longer the one that was last read or written. Fetched objects keep their values;
  /// conflicts are detected when they are saved.
  package func reloadIfChanged(_ store: PersistentStore) throws(PersistentStoreError) {
    if store.connection != nil { return }
    guard let change = try reload(store, findsChanges: noticesRemoteChanges) else { return }
    // Not from here: code of the program would wait for those who wait for this save.
    let watcher = state.withLock { state in
      state.unreported.append(change)
      return state.watcher
    }
    watcher?.poke()
  }

  /// - Returns: The row versions of what was saved to incremental stores; nil if another process came first there.
  private func saveAlone(
    _ work: [(store: PersistentStore, changes: StoreChanges)]
  ) throws(PersistentStoreError) -> [ObjectIdentifier: [(object: ObjectReference, version: Int64)]]? {
    var saved: [ObjectIdentifier: [(object: ObjectReference, version: Int64)]]? = [:]
    var pending: [(store: PersistentStore, save: PendingSave)] = []
    var isEdited = false
    let unit = Publication()
    do throws(PersistentStoreError) {
      for (store, changes) in work {
        try check(store)
        guard !store.isReadOnly else { throw .readOnly(store.path) }
        if store.connection != nil { continue }
        if let save = try PendingSave.prepare(store, changes) { pending.append((store, save)) }
      }
      if pending.count > 1 { SaveSet.mark(&pending) }
      for entry in pending {
        try entry.save.write()
        if verifiesSaves { try entry.save.verify(entry.store) } else { try entry.save.refuseUnreadable(entry.store) }
      }
      if rehearsesSaves {
        for entry in pending {
          try entry.save.rehearseEdit()
          entry.save.undo()
          entry.save.publish(to: entry.store)
        }
        return saved
      }
      let shared = pending.compactMap { entry in entry.save.holdOrder.map { (order: $0, save: entry.save) } }
      for entry in shared.sorted(by: { $0.order < $1.order }) { try entry.save.hold() }
      // Files that are staged can be renamed; a transaction that failed cannot be repeated. So databases come first.
      saved = try saveIncremental(work)
      guard saved != nil else {
        for entry in pending { entry.save.undo() }
        return nil
      }
      for entry in pending where try entry.save.edit(entry.store) { isEdited = true }
      for entry in pending { entry.save.add(to: unit) }
      try unit.publish()
    } catch {
      for entry in pending { entry.save.undo() }
      guard error.code != .notRolledBack, isEdited || saved?.values.contains(where: { !$0.isEmpty }) ?? false else {
        throw error
      }
      // What such stores hold now is read again before the next save.
      if isEdited { for entry in pending { entry.store.state.withLock { $0.isStale = true } } }
      // A transaction that has ended cannot be rolled back.
      throw PersistentStoreError(
        .notRolledBack, "the changes to a database are saved already, those to files are not: \(error.message)",
        at: error.location, underlying: error.underlying ?? error)
    }
    for entry in pending { entry.save.noteIdentity(in: unit) }
    unit.conclude()
    for entry in pending {
      entry.save.publish(to: entry.store)
      for note in entry.save.notes { registry.noteHandler?(note, entry.store.path) }
    }
    return saved
  }
}
