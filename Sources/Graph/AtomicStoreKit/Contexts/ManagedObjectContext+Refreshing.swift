import AtomicStoreSPI
import StoreCoordination

/// Discarding values and changes: faults, rollback, reset, and saves of other contexts.
extension ManagedObjectContext {
  /// Reads the object's values from its store again.
  ///
  /// Where a relationship has changed in the store, objects at its other end that have no changes are refreshed as
  /// well, so that both ends agree.
  ///
  /// - Parameters:
  ///   - object: An object of this context. One that was inserted here keeps its state and its values, which are
  ///     nowhere else; one that was deleted here keeps its state.
  ///   - mergeChanges: Whether its changes are kept and applied to the new values. Otherwise they are discarded,
  ///     transient values included, and the object turns into a fault; its changes to relationships are undone at both
  ///     ends. In both cases it releases the objects that were read through it.
  public func refresh(_ object: ManagedObject, mergeChanges: Bool) {
    guard object.context === self, !object.flags.contains(.inserted) else { return }
    object.held = nil
    if mergeChanges { return mergeNewer(into: [object]) }
    // First with its changes, so that the changes that are undone are those to what the store has now.
    if object.flags.contains(.realized) { mergeNewer(into: [object]) }
    let (others, deleted) = undoRelationships(of: object)
    discardValues(of: object)
    // The deletions were not made here alone, and are not discarded with the object's changes.
    undoManager?.disableUndoRegistration()
    for (p, other) in deleted { object.unlink(p, other) }
    undoManager?.enableUndoRegistration()
    mergeNewer(into: others.filter { !$0.hasChanges })
  }

  private func discardValues(of object: ManagedObject) {
    turnIntoFault(object)
    noteRefreshed(object)
  }

  /// Applies the objects' changes to the newer values of their stores. If a relationship was changed on both sides, the
  /// change made here is kept, at both ends.
  func mergeNewer(into objects: [ManagedObject]) {
    var moved: [MovedObject] = []
    var changedInStore: [(object: ManagedObject, relationships: [Int])] = []
    var deletedBefore: [(object: ManagedObject, relationships: [Int])] = []
    let objects = parent == nil ? objects : withChangedEnds(objects)
    renewWindows(for: objects)
    for object in objects where object.context === self && !object.flags.contains(.inserted) {
      let conflict = object.hasChanges ? difference(of: object) : nil
      let (base, node) = (object.base, object.node)
      if object.flags.contains(.realized), rebase(object) {
        if object.flags.contains(.updated) {
          object.dropIdleEdits()
          noteChange(of: object)
          if let conflict { changedInStore.append((object, Self.relationships(of: object, changedInStore: conflict))) }
        } else if object.flags.contains(.deleted), let conflict {
          deletedBefore.append((object, Self.relationships(of: object, changedInStore: conflict)))
        }
        if let base, base !== object.base { moved.append(MovedObject(object: object, base: base, node: node)) }
      } else if object.flags.contains([.deleted, .propagated]), !object.flags.contains(.realized) {
        // Its values were released after its deletion.
        deletedBefore.append((object, []))
      }
      object.extras?.fetched = [:]
      object.extras?.accessError = nil
      noteRefreshed(object)
    }
    if moved.isEmpty, deletedBefore.isEmpty { return }
    // First the deletions since the last event: they release what was related to the objects by changes made here.
    propagateDeletes()
    deletedBefore += changedInStore.filter { $0.object.flags.contains(.deleted) }
    undoManager?.disableUndoRegistration()
    for (object, relationships) in deletedBefore {
      // Its delete rules also apply to its current destinations in the store.
      for p in relationships { object.setEdit(p, nil) }
      object.flags.remove(.propagated)
    }
    unpropagated += deletedBefore.map(\.object)
    propagateDeletes()
    undoManager?.enableUndoRegistration()
    agreeEnds(of: moved)
  }

  /// Adds to objects of a child context those that are at the other ends of relationships that the parent has changed
  /// since they were read.
  private func withChangedEnds(_ objects: [ManagedObject]) -> [ManagedObject] {
    var found = ObjectList(objects)
    var next = objects
    while let object = next.popLast() {
      guard object.flags.contains(.realized), let parentObject = object.extras?.parentObject else { continue }
      guard parentObject.isReachable else { continue }
      for p in object.plan.relationships {
        let property = object.plan.properties[p]
        guard property.inverse >= 0, !property.isTransient else { continue }
        let before = overlayEnds(of: object, p)
        let now = ObjectList(parentObject.ends(p).map { child(of: $0) })
        let changed = before.filter { !now.contains($0) } + now.filter { !before.contains($0) }
        for other in changed where other.flags.contains(.realized) && found.append(other) { next.append(other) }
      }
    }
    return found.elements
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

  /// Refreshes every object and keeps its changes; objects without changes turn into faults. None holds the objects
  /// that were read through it any longer, which ends their cycles.
  public func refreshAllObjects() {
    let objects = registeredObjects
    for object in objects {
      if object.hasChanges { object.held = nil } else { discardValues(of: object) }
    }
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
    object.forgetValues()
    object.extras?.fetched = [:]
    object.extras?.transformed = [:]
    object.extras?.accessError = nil
    if hasHooks { callout { object.didTurnIntoFault() } }
  }

  /// Undoes an object's changes to relationships at both ends, including those that other objects made to it.
  ///
  /// - Parameter some: The relationships; nil for all.
  /// - Returns: The objects at the other ends; and the deleted objects that a relationship leads to again, although
  ///   their delete rules have removed them from it.
  @discardableResult
  func undoRelationships(
    of object: ManagedObject, only some: [Int]? = nil
  ) -> (others: [ManagedObject], deleted: [(p: Int, object: ManagedObject)]) {
    guard object.edits != nil else { return ([], []) }
    var others = ObjectList()
    var deleted: [(p: Int, object: ManagedObject)] = []
    undoManager?.disableUndoRegistration()
    defer { undoManager?.enableUndoRegistration() }
    for p in some ?? object.plan.relationships {
      guard let edits = object.edits, edits[p] != nil else { continue }
      let property = object.plan.properties[p]
      let now = object.ends(p)
      object.setEdit(p, nil)
      let before = object.ends(p)
      guard property.inverse >= 0 else { continue }
      let was = ObjectList(before)
      let isNow = ObjectList(now)
      for other in now where !was.contains(other) && other !== object {
        other.unlink(property.inverse, object)
        others.append(other)
      }
      for other in before where !isNow.contains(other) && other !== object {
        let q = property.inverse
        if other.isDeleted, other.flags.contains(.propagated), other.plan.properties[q].deleteRule == .nullify {
          deleted.append((p, other))
        }
        guard other.isReachable, !other.isDeleted else { continue }
        others.append(other)
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
    return (others.elements, deleted)
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

  /// Reads the parent's values again and reapplies this object's changes to them.
  private func refreshFromParent(_ object: ManagedObject, _ parentObject: ManagedObject) {
    guard parentObject.isReachable else { return }
    // Changes to sets are kept as added and removed objects, not as whole sets; lists are merged.
    var lists: [(p: Int, list: OrderedObjectList, before: [ManagedObject])] = []
    var kept: [(p: Int, added: [ManagedObject], removed: [ManagedObject])] = []
    for p in object.plan.relationships {
      if case .ordered(let list)? = object.edits?[p] { lists.append((p, list, overlayMembers(of: object, p).elements)) }
      guard let edits = object.edits, case .changes(let changes)? = edits[p] else { continue }
      let before = overlayMembers(of: object, p)
      kept.append((p, changes.added.filter { !before.contains($0) }, before.filter { !changes.added.contains($0) }))
    }
    takeValues(object, parentObject)
    for (p, list, before) in lists {
      object.putOrdered(p, list.merged(over: overlayMembers(of: object, p).elements, from: before))
    }
    for (p, added, removed) in kept {
      object.setEdit(p, nil)
      for other in removed { object.applyRemove(p, other) }
      for other in added where !object.toManyContains(p, other) { object.applyAdd(p, other, at: nil) }
    }
  }

  /// Discards what transformers created from the older version's bytes. Values that were set here are kept.
  private func forgetTransformed(of object: ManagedObject) {
    guard let extras = object.extras, !extras.transformed.isEmpty else { return }
    extras.transformed = extras.transformed.filter { object.edits?[$0.key] != nil }
  }

  /// Makes an object read another version, with its changes translated.
  ///
  /// - Parameter isSaved: Whether the version has what was changed here, so that observers need not be told.
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
    forgetChanges()
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
      dismiss(object, .neverSaved)
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
    forgetChanges()
    _ = notice.take()
    retained = [:]
    fetchState.prefetched = []
    options.newWithPermanentIDs = [:]
    byParent = [:]
    for object in objects where object.context === self {
      object.abandon(.contextReset)
      notice.invalidated.append(object)
    }
    temporaryIDs = TemporaryIDs()
    advanceQueryGeneration()
    caches = []
    soleCaches = [:]
    soleCachesGeneration = -1
    discardAccessErrors()
    notice.isAllInvalidated = true
    processPendingChanges()
  }
}
