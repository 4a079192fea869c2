import AtomicStoreSPI
import FoundationEssentials
import StoreCoordination

/// A save: prepare, check, stage, write, publish. If any step fails, files, nodes and context are as before.
extension ManagedObjectContext {
  /// Saves all changes to every store they concern, or to the parent context. Without changes, files are not modified.
  ///
  /// The steps: delete rules; ``ManagedObject/willSave()``, derived values and validation, repeated for objects that
  /// keep changing (at most ``maximumSavePasses`` times); conflicts by ``mergePolicy``; uniqueness constraints. Then,
  /// for each store: references and nodes for new objects, updates, removals, and the file, staged beside the old one.
  /// Then all files are moved into place. Nodes and objects change only after all of them are.
  ///
  /// ```swift
  /// do {
  ///   try context.save()
  /// } catch where error.code == .managedObjectMerge {
  ///   context.rollback()
  /// }
  /// ```
  ///
  /// - Throws: ``ManagedObjectError``. All changes are then still pending, and the save can be repeated.
  public func save() throws(ManagedObjectError) {
    checkThread()
    guard calloutDepth == 0, !isProcessing, !isSaving else {
      throw ManagedObjectError(
        .persistentStoreOperation,
        "save() was called inside a hook or an observer; use perform(_:) to save afterwards")
    }
    processPendingChanges()
    // One has the code that the assignment would have thrown.
    if refusedAssignments.count == 1, var refused = refusedAssignments.first {
      refused.message += "; nothing is saved until the change is discarded"
      throw refused
    }
    if !refusedAssignments.isEmpty {
      throw ManagedObjectError(
        .validationMultipleErrors, "\(refusedAssignments.count) assignments were refused since the last save",
        detailedErrors: refusedAssignments)
    }
    guard hasChanges else { return postEmptySave() }
    saveSession = SaveSession(failuresBefore: readFailureCount)
    defer {
      for list in [inserted, updated, deleted] { for object in list { object.flags.remove(.prepared) } }
      // The objects that only the session held end when the context no longer has it.
      withExtendedLifetime(saveSession) { saveSession = nil }
      runDeferredBlocks()
    }
    post(.willSave(pendingChanges()))
    try prepare()
    do throws(ManagedObjectError) {
      if parent == nil { return try withoutQueryGeneration(saveToStores) }
      // Pass nothing on before it is certain that everything can be passed on.
      try settleWithParent()
      try saveToParent()
    } catch {
      if let restorePoint = saveSession?.restorePoint { restore(restorePoint) }
      throw error
    }
  }

  // MARK: Preparing

  /// Runs hooks, derivations and validation until nothing changes any more.
  func prepare() throws(ManagedObjectError) {
    for _ in 0..<max(1, maximumSavePasses) {
      processPendingChanges()
      let batch = unprepared()
      if batch.isEmpty { return }
      for object in batch {
        object.flags.insert(.prepared)
        if type(of: object) != ManagedObject.self { callout { object.willSave() } }
      }
      processPendingChanges()
      saveSession?.aggregates.beginPass()
      holdDerivationInputs(of: batch)
      var errors: [ManagedObjectError] = []
      for object in batch where object.hasChanges && object.context === self {
        do throws(ManagedObjectError) {
          if !object.flags.contains(.deleted) { try computeDerived(object) }
          try validate(object)
        } catch {
          errors.append(error)
        }
      }
      do throws(ManagedObjectError) { try computeDerived(from: batch) } catch { errors.append(error) }
      if !errors.isEmpty { throw ManagedObjectError.combining(errors) }
    }
    let left = unprepared()
    if left.isEmpty { return }
    let names = left.prefix(5).map { "\($0.rowName)" }
    throw ManagedObjectError(
      .endlessChanges,
      "these objects are still changing after \(maximumSavePasses) passes of preparing the save: "
        + names.joined(separator: ", ") + (left.count > 5 ? " and \(left.count - 5) more" : ""),
      objectID: left[0].objectID, entityName: left[0].plan.name)
  }

  private func unprepared() -> [ManagedObject] {
    var batch: [ManagedObject] = []
    for object in inserted where !object.flags.contains(.prepared) { batch.append(object) }
    for object in updated where !object.flags.contains(.prepared) { batch.append(object) }
    for object in deleted where !object.flags.contains(.prepared) { batch.append(object) }
    return batch
  }

  private func validate(_ object: ManagedObject) throws(ManagedObjectError) {
    calloutDepth += 1
    defer { calloutDepth -= 1 }
    do {
      if object.flags.contains(.deleted) {
        // An object that the store no longer has is removed, even if a rule forbids its deletion here.
        if isMissing(object) { return }
        try object.validateForDelete()
      } else if object.flags.contains(.inserted) {
        guard !object.entity.isAbstract else {
          throw object.objectError(.managedObjectValidation, "\(object.plan.name) is abstract and cannot have objects")
        }
        try object.validateForInsert()
      } else {
        try object.validateForUpdate()
      }
    } catch {
      throw object.wrapped(error, key: nil)
    }
  }

  // MARK: To stores

  func saveToStores() throws(ManagedObjectError) {
    guard let saveSession else { return }
    let turns = persistentStoreCoordinator.turns
    defer {
      // Objects that are no longer used are to be released.
      for cache in caches { (cache.renewed, cache.moved) = (ObjectList(), []) }
      if saveSession.holdsTurn {
        saveSession.holdsTurn = false
        turns.release()
      }
    }
    // Another process may write a file between the check for conflicts and the replacement of the files, repeatedly.
    let repetitions = RepeatedSave.repetitions
    var (mayTry, mustReconcile, lastTokens) = (true, false, [HistoryToken?]())
    while mayTry {
      if !saveSession.holdsTurn { turns.pass() }
      let versions = try presentVersions()
      noteStaleObjects(versions)
      // What loses an object may have been read, or read again, since it was changed.
      try settle(versions, mustReconcile || versions.contains(where: \.cache.hasStoredEnds))
      // Hooks may have changed objects of another store meanwhile.
      if try touchedCaches().contains(where: { cache in !versions.contains { $0.cache === cache } }) { continue }
      guard let bases = try derivationBases(versions) else {
        mayTry = repetitions.take()
        continue
      }
      let fresh = inserted.elements.filter { $0.reference == nil }
      try checkReferences()
      do throws(ManagedObjectError) {
        try giveReferences(fresh)
        let work = try zip(versions, bases).map { entry, base throws(ManagedObjectError) in
          (entry.cache.store, try changes(for: entry.cache, base))
        }
        if let saved = try write(work, versions.map(\.version)) {
          return publish(zip(versions, saved).map { ($0.0.cache, $0.0.version, $0.1) })
        }
        // Another save came first. Within this process that cannot happen twice; an incremental store may have been
        // changed by others.
        for object in fresh { object.reference = nil }
        if versions.contains(where: \.cache.isIncremental) {
          mayTry = repetitions.take()
          lastTokens = try overtakenTokens(versions, last: lastTokens)
        }
        if !saveSession.holdsTurn { saveSession.holdsTurn = turns.take(self) }
      } catch {
        let code = (error.underlying as? PersistentStoreError)?.code
        // If it was saved after all, in part or as a whole, the same references make sure that it is not saved twice.
        if code != .notRolledBack { for object in fresh { object.reference = nil } }
        switch code {
        case .changedOnDisk: mayTry = repetitions.take()
        // Only one end was changed, by a primitive value or an undo: update the other end now.
        case .inverseMismatch where !mustReconcile: mustReconcile = true
        default: throw error
        }
      }
    }
    throw ManagedObjectError(
      .persistentStoreSave,
      "nothing was saved: gave up after 100 attempts, because other processes keep changing the stores")
  }

  /// The last transactions of databases in which a save was overtaken. The next attempt compares everything.
  ///
  /// - Throws: A conflict if there was no save since the last attempt, so that the next one would be refused as well.
  private func overtakenTokens(
    _ versions: [(cache: StoreCache, version: NodeVersion)], last: [HistoryToken?]
  ) throws(ManagedObjectError) -> [HistoryToken?] {
    var tokens: [HistoryToken?] = []
    for (cache, _) in versions {
      guard let connection = cache.connection else { continue }
      cache.noteChangedRows()
      tokens.append(try? connection.use { store throws(PersistentStoreError) in try store.currentHistoryToken() })
    }
    guard tokens == last, tokens.contains(where: { $0 != nil }) else { return tokens }
    let concerned = versions.filter(\.cache.isIncremental).flatMap { entry in
      let (changed, ends) = concernedObjects(in: entry.cache)
      return changed + ends
    }
    throw ManagedObjectError(
      .managedObjectMerge,
      "the store does not have these objects as the context has read them: refresh them, and save again: "
        + concerned.prefix(5).map(\.rowName).joined(separator: ", ") + (concerned.count > 5 ? "…" : ""),
      objectID: concerned.first?.objectID, entityName: concerned.first?.plan.name)
  }

  /// What the derived values depend on, for each store; nil if another program has changed some of it, or of what loses
  /// an object, meanwhile.
  private func derivationBases(
    _ versions: [(cache: StoreCache, version: NodeVersion)]
  ) throws(ManagedObjectError) -> [DerivationBase]? {
    var bases: [DerivationBase] = []
    for (cache, version) in versions {
      // What was looked up while conflicts were resolved, such as objects with the same unique values, may be newer.
      if cache.isIncremental, cache.currentVersion() !== version { return nil }
      do throws(PersistentStoreError) {
        guard try !renewOthers(in: cache), let base = try derivationBase(in: cache) else { return nil }
        bases.append(base)
      } catch {
        throw ManagedObjectError(.persistentStoreSave, "the save failed, nothing was changed", underlying: error)
      }
    }
    return bases
  }

  /// How often reading rows of incremental stores has failed.
  private var readFailureCount: Int { caches.reduce(0) { $0 + $1.failureCount } }

  /// What could not be read during a save was taken for null: by a derived value, a rule, or a comparison.
  private func checkReadable() throws(ManagedObjectError) {
    let count = readFailureCount - (saveSession?.failuresBefore ?? 0)
    guard count > 0 else { return }
    // They are reported here, so the next save is not refused because of them.
    refusedAssignments.removeLast(min(count, refusedAssignments.count))
    throw ManagedObjectError(
      .persistentStoreSave, "the save failed, nothing was changed: values could not be read from their store",
      underlying: caches.compactMap(\.failure).last)
  }

  private func write(
    _ work: [(store: PersistentStore, changes: StoreChanges)], _ versions: [NodeVersion]
  ) throws(ManagedObjectError) -> [NodeVersion]? {
    try checkReadable()
    do throws(PersistentStoreError) { return try persistentStoreCoordinator.save(work, expecting: versions) } catch {
      let what =
        error.code == .notRolledBack
        ? "the save failed and could not be rolled back" : "the save failed, nothing was changed"
      throw ManagedObjectError(.persistentStoreSave, what, underlying: error)
    }
  }

  /// Returns what the affected stores hold now. A file that another process replaced is read first.
  private func presentVersions() throws(ManagedObjectError) -> [(cache: StoreCache, version: NodeVersion)] {
    var versions: [(cache: StoreCache, version: NodeVersion)] = []
    for cache in try touchedCaches() {
      do throws(PersistentStoreError) {
        guard cache.currentVersion() != nil else {
          throw PersistentStoreError(.storeNotAdded, "the store is not open", at: StoreLocation(file: cache.store.path))
        }
        try persistentStoreCoordinator.reloadIfChanged(cache.store)
        if cache.isIncremental {
          cache.requestsBeforeSave = cache.currentVersion()?.requestCount ?? 0
          let changed = try renewConcernedObjects(in: cache)
          // An object that was deleted meanwhile may come back, without others that were deleted with it.
          if let version = cache.currentVersion() {
            let lost = changed.filter { !$0.flags.contains(.deleted) && node(of: $0, in: version) == nil }
            try cache.renew(lost.flatMap { relatedObjects(of: $0) })
          }
        }
      } catch {
        throw ManagedObjectError(.persistentStoreSave, "the save failed, nothing was changed", underlying: error)
      }
      guard let version = cache.currentVersion() else { continue }
      versions.append((cache, version))
    }
    return versions
  }

  /// The objects at the other ends of an object's stored relationships, as the object reads them.
  private func relatedObjects(of object: ManagedObject) -> [ManagedObject] {
    object.plan.relationships.filter { object.plan.properties[$0].slot >= 0 }.flatMap { object.ends($0) }.filter {
      $0.context === self && !$0.flags.contains(.inserted)
    }
  }

  /// Adapts the changes to what the stores hold now: resolves conflicts, makes both ends of relationships agree, and
  /// runs hooks, validation and uniqueness constraints for what that changed, until nothing changes any more.
  private func settle(
    _ versions: [(cache: StoreCache, version: NodeVersion)], _ mustReconcile: Bool
  ) throws(ManagedObjectError) {
    for pass in 0... {
      let isMixed = versions.contains { $0.cache.isMixed }
      let decided = try resolveConflicts(versions)
      var hasChanged = decided.hasChanged
      if isMixed || mustReconcile {
        for (cache, version) in versions where reconcileRelationships(in: cache, version, decided) { hasChanged = true }
      }
      if isMixed, try computeDerivedAgain(versions) { hasChanged = true }
      if pass > 0, !hasChanged { return }
      guard pass < max(1, maximumSavePasses) else { break }
      // What the resolution changed or deleted is prepared and validated as well.
      try prepare()
      try makeUnique(versions)
      if !isMixed, !mustReconcile { return }
    }
    throw ManagedObjectError(
      .endlessChanges,
      "after \(maximumSavePasses) passes, hooks are still changing objects that were also changed in their stores")
  }

  /// Resolves the conflicts with what the parent has deleted, and prepares what that changed.
  private func settleWithParent() throws(ManagedObjectError) {
    for _ in 0..<max(1, maximumSavePasses) {
      guard try resolveConflicts([]).hasChanged else { return }
      try prepare()
    }
    throw ManagedObjectError(
      .endlessChanges,
      "after \(maximumSavePasses) passes, hooks are still changing objects that were deleted in the parent context")
  }

  /// The stores that the save affects.
  private func touchedCaches() throws(ManagedObjectError) -> [StoreCache] {
    var touched: [StoreCache] = []
    for object in inserted {
      let cache = try assignedCache(object)
      if !touched.contains(where: { $0 === cache }) { touched.append(cache) }
    }
    for list in [updated, deleted] {
      for object in list where object.hasPersistentChangedValues {
        guard let cache = object.cache else { continue }
        if !touched.contains(where: { $0 === cache }) { touched.append(cache) }
      }
    }
    return touched
  }

  /// Checks that no relationship of a new or changed object leads to an object of another store.
  private func checkReferences() throws(ManagedObjectError) {
    for list in [inserted, updated] {
      for object in list {
        guard let edits = object.edits, let cache = object.cache else { continue }
        for p in object.plan.relationships where edits[p] != nil && !object.plan.properties[p].isTransient {
          let others: [ManagedObject]
          switch edits[p] {
          case .object(let other?): others = [other]
          case .changes(let changes): others = changes.added.elements
          case .ordered(let list): others = list.elements
          default: continue
          }
          for other in others where other.cache != nil && other.cache !== cache {
            throw object.objectError(
              .managedObjectExternalRelationship,
              "\(object.plan.name).\(object.plan.properties[p].name) leads from \(cache.store.path) to \(other.cache?.store.path ?? "")",
              key: object.plan.properties[p].name)
          }
        }
      }
    }
  }

  /// The changes to pass to one store.
  private func changes(
    for cache: StoreCache, _ base: DerivationBase
  ) throws(ManagedObjectError) -> StoreChanges {
    var changes = StoreChanges()
    changes.inserted.reserveCapacity(inserted.count)
    for object in inserted where object.cache === cache {
      changes.inserted.append(object.fullSnapshot())
    }
    for object in updated where object.cache === cache && object.hasPersistentChangedValues {
      changes.updated.append(object.editSnapshot(withMembers: !cache.isIncremental))
    }
    let version = cache.currentVersion()
    for object in deleted where object.cache === cache {
      // An object that the store no longer has needs no removal.
      guard let reference = object.reference, version?.handle(for: reference, root: object.plan.root) != nil else {
        continue
      }
      changes.deleted.append(ObjectReference(entityName: object.plan.name, reference: reference))
    }
    completeChanges(&changes, for: cache, version)
    complete(&changes, for: cache, base)
    noteAggregates(in: &changes, for: cache)
    return changes
  }
}
