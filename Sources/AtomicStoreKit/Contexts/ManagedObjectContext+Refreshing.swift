import AtomicStoreSPI
import StoreCoordination

/// Discarding values and changes: faults, rollback, reset, and saves of other contexts.
extension ManagedObjectContext {
  /// Reads the object's values from its store again.
  ///
  /// - Parameters:
  ///   - object: An object of this context. One that was inserted here keeps its state and its values, which are
  ///     nowhere else; one that was deleted here keeps its state.
  ///   - mergeChanges: Whether its changes are kept and applied to the new values. Otherwise they are discarded,
  ///     transient values included, and the object turns into a fault; its changes to relationships are undone at both
  ///     ends.
  public func refresh(_ object: ManagedObject, mergeChanges: Bool) {
    guard object.context === self, !object.flags.contains(.inserted) else { return }
    if mergeChanges { return mergeNewer(into: [object]) }
    takeBackRelationships(of: object)
    turnIntoFault(object)
    notice.refreshed.append(object)
  }

  /// Applies the objects' changes to the newer values of their stores. If a relationship was changed on both sides, the
  /// change made here is kept, at both ends.
  func mergeNewer(into objects: [ManagedObject]) {
    var found: [(object: ManagedObject, conflict: MergeConflict)] = []
    var deletedBefore: [(object: ManagedObject, changedInStore: [Int])] = []
    renewWindows(for: objects)
    for object in objects where object.context === self && !object.flags.contains(.inserted) {
      let conflict = object.hasChanges ? difference(of: object) : nil
      if object.flags.contains(.realized), rebase(object) {
        if object.flags.contains(.updated) {
          object.dropIdleEdits()
          noteChange(of: object)
          if let conflict { found.append((object, conflict)) }
        } else if object.flags.contains(.deleted), let conflict {
          deletedBefore.append((object, Self.relationships(of: object, changedInStore: conflict)))
        }
      } else if object.flags.contains([.deleted, .propagated]), !object.flags.contains(.realized) {
        // Its values were released after its deletion.
        deletedBefore.append((object, []))
      }
      object.extras?.fetched = [:]
      object.extras?.accessError = nil
      notice.refreshed.append(object)
    }
    if found.isEmpty, deletedBefore.isEmpty { return }
    // First the deletions since the last event: they release what was related to the objects by changes made here.
    propagateDeletes()
    for (object, conflict) in found where object.flags.contains(.deleted) {
      deletedBefore.append((object, Self.relationships(of: object, changedInStore: conflict)))
    }
    undoManager?.disableUndoRegistration()
    for (object, changedInStore) in deletedBefore {
      // Its delete rules also apply to its current destinations in the store.
      for p in changedInStore { object.setEdit(p, nil) }
      object.flags.remove(.propagated)
    }
    unpropagated += deletedBefore.map(\.object)
    propagateDeletes()
    mendInverses(found)
    undoManager?.enableUndoRegistration()
  }

  private static func relationships(of object: ManagedObject, changedInStore conflict: MergeConflict) -> [Int] {
    conflict.keysChangedInStore.compactMap { object.plan.property(named: $0) }.filter {
      object.plan.properties[$0].isRelationship
    }
  }

  /// Refreshes only a fetched property: it is fetched again when it is next read.
  public func refresh(_ object: ManagedObject, fetchedPropertyNamed key: String) {
    guard let p = object.plan.property(named: key) else { return }
    object.willChangeObserved(p)
    object.extras?.fetched[p] = nil
  }

  /// Refreshes every object and keeps its changes; objects without changes turn into faults.
  public func refreshAllObjects() {
    let objects = registeredObjects
    for object in objects where !object.hasChanges { refresh(object, mergeChanges: false) }
    mergeNewer(into: objects.filter { $0.hasChanges })
  }

  /// Turns an object into a fault. Its changes are discarded.
  func turnIntoFault(_ object: ManagedObject) {
    // Its own hook may request the same.
    guard !object.flags.contains(.faulting) else { return }
    // Also of an object whose values were read but not looked at.
    if let cache = object.cache, cache.isIncremental { cache.forgetRow(of: object) }
    guard object.flags.contains(.realized) || object.edits != nil else {
      object.extras?.fetched = [:]
      return
    }
    let hasHooks = type(of: object) != ManagedObject.self
    if hasHooks {
      object.flags.insert(.faulting)
      callout { object.willTurnIntoFault() }
      object.flags.remove(.faulting)
      guard object.context === self else { return }
    }
    object.willChangeAllObserved()
    if object.flags.contains(.updated) { updated.remove(object) }
    object.flags.remove([.updated, .realized])
    object.edits = nil
    object.overlay = nil
    object.base = nil
    object.extras?.fetched = [:]
    object.extras?.transformed = [:]
    object.extras?.accessError = nil
    if hasHooks { callout { object.didTurnIntoFault() } }
  }

  /// Undoes an object's changes to relationships at both ends, including those that other objects made to it.
  private func takeBackRelationships(of object: ManagedObject) {
    guard object.edits != nil else { return }
    undoManager?.disableUndoRegistration()
    defer { undoManager?.enableUndoRegistration() }
    for p in object.plan.relationships {
      guard let edits = object.edits, let edit = edits[p] else { continue }
      let property = object.plan.properties[p]
      let now = property.kind == .toOne ? object.toOneObject(p).map { [$0] } ?? [] : object.toManyObjects(p)
      _ = edit
      object.setEdit(p, nil)
      let before = property.kind == .toOne ? object.toOneObject(p).map { [$0] } ?? [] : object.toManyObjects(p)
      guard property.inverse >= 0 else { continue }
      let was = ObjectList(before)
      let isNow = ObjectList(now)
      for other in now where !was.contains(other) && other !== object { other.unlink(property.inverse, object) }
      for other in before where !isNow.contains(other) && other !== object && other.isReachable && !other.isDeleted {
        let q = property.inverse
        if other.plan.properties[q].isToMany {
          if !other.toManyContains(q, object) {
            other.applyAdd(q, object, at: nil)
            noteChange(of: other)
          }
        } else if other.toOneObject(q) !== object {
          // Release the partner that was set meanwhile.
          if let taker = other.toOneObject(q), taker.plan.shares(p, with: object.plan) { taker.unlink(p, other) }
          other.applyToOne(q, object)
          noteChange(of: other)
        }
      }
    }
  }

  /// Applies an object's changes to the current version of its store. False if the store no longer has it.
  @discardableResult
  func rebase(_ object: ManagedObject) -> Bool {
    if let parentObject = object.extras?.parentObject {
      refreshFromParent(object, parentObject)
      forgetTransformed(of: object)
      return true
    }
    guard let version = object.cache?.currentVersion(), object.reference != nil else { return false }
    return rebase(object, to: version)
  }

  /// As ``rebase(_:)``, onto that version.
  @discardableResult
  func rebase(_ object: ManagedObject, to version: NodeVersion) -> Bool {
    if object.base === version { return true }
    guard let node = node(of: object, in: version) else { return false }
    move(object, to: version, node)
    forgetTransformed(of: object)
    return true
  }

  /// Discards what transformers created from the older version's bytes. Values that were set here are kept.
  private func forgetTransformed(of object: ManagedObject) {
    guard let extras = object.extras, !extras.transformed.isEmpty else { return }
    extras.transformed = extras.transformed.filter { object.edits?[$0.key] != nil }
  }

  /// Makes an object read another version, with its changes translated.
  ///
  /// - Parameter isSaved: Whether the version has what was changed here, so that its values are no news.
  func move(_ object: ManagedObject, to version: NodeVersion, _ node: NodeHandle, isSaved: Bool = false) {
    let old = object.base
    let oldNode = object.node
    if !isSaved { object.willMoveObserved(to: version, node) }
    object.base = version
    object.node = node
    guard old !== version, object.edits != nil || object.overlay != nil else { return }
    for p in object.plan.relationships {
      let slot = object.plan.properties[p].slot
      if let edits = object.edits, case .changes(let changes)? = edits[p] { rebase(changes, of: object, slot) }
      if let old, let cache = object.cache, slot >= 0, let edits = object.edits, case .ordered(let list)? = edits[p] {
        func objects(_ version: NodeVersion, _ node: NodeHandle) -> [ManagedObject] {
          version.withToMany(slot: slot, of: node) { handles in
            handles.map { self.object(at: NodeHandle(rawBits: $0), in: version, of: cache) }
          }
        }
        if old.differs(slot: object.plan.entity.slots[slot], of: oldNode, from: version, node) {
          object.setEdit(p, .ordered(list.merged(over: objects(version, node), from: objects(old, oldNode))))
        }
      }
      if let overlay = object.overlay, case .changes(let changes)? = overlay[p] { rebase(changes, of: object, slot) }
    }
  }

  private func rebase(_ changes: ToManyChanges, of object: ManagedObject, _ slot: Int) {
    changes.rebase { other in
      guard let bits = object.baseBits(of: other), slot >= 0, let base = object.base else { return (nil, false) }
      return (bits, base.withToMany(slot: slot, of: object.node) { changes.holds(bits, in: $0) })
    }
  }

  /// Discards all changes: new objects are removed, changed ones get the store's values, deleted ones are restored.
  /// Empties the undo history and discards refused assignments.
  public func rollback() {
    undoManager?.removeAllActions()
    let taken = inserted.elements + unpropagated.filter { $0.flags.contains([.inserted, .deleted]) }
    let back = deleted.elements
    let changed = updated.elements
    inserted.removeAll()
    updated.removeAll()
    deleted.removeAll()
    unpropagated = []
    _ = notice.take()
    for object in back {
      object.flags.remove([.deleted, .propagated])
      turnIntoFault(object)
    }
    for object in changed {
      object.flags.remove(.updated)
      turnIntoFault(object)
    }
    for object in taken {
      if object.flags.contains(.permanent) { object.cache?.unregister(object) }
      if let parentObject = object.extras?.parentObject { byParent[ObjectIdentifier(parentObject)] = nil }
      object.abandon(.neverSaved)
    }
    refusedAssignments = []
    notice.refreshed += changed + back
    notice.invalidated += taken
    processPendingChanges()
  }

  /// Discards all objects and changes. Objects that are still referenced throw an error which says that their context
  /// was reset.
  public func reset() {
    undoManager?.removeAllActions()
    let objects = registeredObjects + deleted.elements + unpropagated
    inserted.removeAll()
    updated.removeAll()
    deleted.removeAll()
    unpropagated = []
    _ = notice.take()
    retained = [:]
    options.prefetched = []
    options.newWithPermanentIDs = [:]
    byParent = [:]
    for object in objects where object.context === self {
      object.abandon(.contextReset)
      notice.invalidated.append(object)
    }
    forgetTemporaries()
    advanceQueryGeneration()
    caches = []
    soleCaches = [:]
    soleCachesGeneration = -1
    discardAccessErrors()
    notice.isAllInvalidated = true
    processPendingChanges()
  }

  /// Applies what another context of the same stores saved: changed objects are refreshed, keeping this context's
  /// changes; new ones are registered; deleted ones are deleted here, so that relationships to them are updated. None
  /// of this can be undone.
  public func mergeChanges(fromDidSave changes: ObjectIDChanges) {
    advanceQueryGeneration()
    var changes = changes.isComplete ? changes : completed(changes)
    changes.updated += clearedIDs(by: changes)
    for id in changes.inserted {
      let object = object(with: id)
      if object.context === self, !object.flags.contains(.deleted) { notice.inserted.append(object) }
    }
    // Rows of a database that were read before would make deleted objects look like restored ones.
    if caches.contains(where: \.isIncremental) {
      forgetRows(of: changes.inserted + changes.updated + changes.deleted)
      // A database clears what leads to deleted rows, which no save reports.
      renewWindows(
        for: (changes.updated + changes.deleted).compactMap { registeredObject(for: $0) } + deleted.elements
          + (changes.deleted.isEmpty ? [] : updated.elements))
    }
    let returned = returnedObjects(among: changes.deleted)
    // Objects deleted here may have further destinations now, which must be released.
    let behind = deleted.filter { $0.base !== $0.cache?.currentVersion() }
    mergeNewer(
      into: ObjectList(
        changes.updated.compactMap { registeredObject(for: $0) } + cutOff(by: changes.deleted) + behind + returned
      ).elements)
    // Results may contain from now on what this context has not read so far.
    if options.hasLiveResults {
      notice.refreshed += changes.updated.filter { registeredObject(for: $0) == nil }.map { object(with: $0) }
    }
    let stays = ObjectList(returned)
    propagateDeletes()
    undoManager?.disableUndoRegistration()
    for id in changes.deleted {
      guard let object = registeredObject(for: id), !object.flags.contains(.deleted), !stays.contains(object) else {
        continue
      }
      if object.isFault {
        if object.isReachable { delete(object) } else { notice.deleted.append(object) }
      } else {
        delete(object)
      }
    }
    propagateDeletes()
    undoManager?.enableUndoRegistration()
    processPendingChanges()
  }

  /// Objects without changes here that lead to deleted ones by relationships without an inverse, which a database
  /// clears without a word of the context that saved.
  private func clearedIDs(by changes: ObjectIDChanges) -> [ManagedObjectID] {
    guard !changes.deleted.isEmpty else { return [] }
    let known = Set(changes.inserted + changes.updated + changes.deleted)
    return caches.filter(\.isIncremental).flatMap { cache -> [ManagedObjectID] in
      let gone = changes.deleted.compactMap { id in
        id.storeIdentifier == cache.identifier
          ? id.reference.map { ObjectReference(entityName: id.entityName, reference: $0) } : nil
      }
      return (cache.heldWindow?.rowsLeading(to: gone) ?? []).map { cache.store.objectID(for: $0) }.filter { id in
        !known.contains(id) && !(registeredObject(for: id)?.hasChanges ?? false)
      }
    }
  }

  /// Lists all objects of databases that this context has: those that are gone as deleted, the others as updated.
  private func completed(_ changes: ObjectIDChanges) -> ObjectIDChanges {
    var changes = changes
    let known = Set(changes.inserted + changes.updated + changes.deleted)
    for cache in caches where cache.isIncremental {
      let objects = cache.registeredObjects.filter {
        $0.context === self && !$0.flags.contains(.inserted) && $0.reference != nil && !known.contains($0.objectID)
      }
      for (root, list) in Dictionary(grouping: objects, by: { $0.plan.root }) {
        do throws(PersistentStoreError) {
          let there = Set(try cache.rows(list.compactMap(\.reference), root: root).map(\.reference))
          for object in list {
            if let reference = object.reference, there.contains(reference) {
              changes.updated.append(object.objectID)
            } else {
              changes.deleted.append(object.objectID)
            }
          }
        } catch {
          couldNotRead(error)
        }
      }
    }
    return changes
  }

  /// Objects that one save deleted and a later one restored before this context merged the first: the store contains
  /// them. If the store contains one only because another process deleted it, the file is read again first.
  private func returnedObjects(among deletedIDs: [ManagedObjectID]) -> [ManagedObject] {
    guard parent == nil else { return [] }
    var readAgain: Set<ObjectIdentifier> = []
    return deletedIDs.compactMap { id in
      guard let object = registeredObject(for: id), let cache = object.cache, let version = cache.currentVersion(),
        node(of: object, in: version) != nil
      else { return nil }
      // If the file cannot be read now, the present version stays, and the next save reports the error.
      if readAgain.insert(ObjectIdentifier(cache)).inserted {
        try? persistentStoreCoordinator.reloadIfChanged(cache.store)
      }
      guard let version = cache.currentVersion(), node(of: object, in: version) != nil else { return nil }
      return object
    }
  }

  /// Objects with changes here whose relationships to the deleted objects the store itself cut, because they have no
  /// inverse: no save reports them as updated.
  private func cutOff(by deletedIDs: [ManagedObjectID]) -> [ManagedObject] {
    guard !deletedIDs.isEmpty else { return [] }
    let gone = Set(deletedIDs)
    return (updated.elements + deleted.elements).filter { object in
      guard let conflict = difference(of: object), let after = conflict.persistedSnapshot, let cache = object.cache
      else {
        return false
      }
      func isGone(_ reference: ObjectReference) -> Bool { gone.contains(cache.store.objectID(for: reference)) }
      return conflict.keysChangedInStore.allSatisfy { name in
        switch (conflict.cachedSnapshot[name], after[name]) {
        case (.toOne(let old), .null): isGone(old)
        case (.toMany(let old), .toMany(let new)): old.filter { !isGone($0) } == new
        default: false
        }
      }
    }
  }

  /// As ``mergeChanges(fromDidSave:)``, for several contexts.
  public static func mergeChanges(fromDidSave changes: ObjectIDChanges, into contexts: [ManagedObjectContext]) {
    for context in contexts { context.mergeChanges(fromDidSave: changes) }
  }
}
