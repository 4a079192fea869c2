import AtomicStoreSPI
import StoreCoordination

/// Letting go of values and changes: faults, rollback, reset, and other contexts' saves.
extension ManagedObjectContext {
  /// Reads the object's values from its store again.
  ///
  /// - Parameters:
  ///   - object: An object of this context. One that was inserted or deleted here keeps its state.
  ///   - mergeChanges: Whether its changes are kept and applied to the new values. Otherwise they are dropped,
  ///     transient values included, and the object turns into a fault; its changes to relationships are undone at both
  ///     ends.
  public func refresh(_ object: ManagedObject, mergeChanges: Bool) {
    guard object.context === self, !object.flags.contains(.inserted) else { return }
    if mergeChanges { return mergeNewer(into: [object]) }
    takeBackRelationships(of: object)
    turnIntoFault(object)
    notice.refreshed.append(object)
  }

  /// Lays the objects' changes over the newer values of their stores. Where a relationship was changed on both sides
  /// the change made here holds, at both ends.
  private func mergeNewer(into objects: [ManagedObject]) {
    var found: [(object: ManagedObject, conflict: MergeConflict)] = []
    var deletedBefore: [(object: ManagedObject, changedInStore: [Int])] = []
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
        // It let go of its values after its deletion.
        deletedBefore.append((object, []))
      }
      object.extras?.fetched = [:]
      object.extras?.accessError = nil
      notice.refreshed.append(object)
    }
    if found.isEmpty, deletedBefore.isEmpty { return }
    // First what was deleted since the last event: what was changed here before the deletion lets go of it.
    propagateDeletes()
    for (object, conflict) in found where object.flags.contains(.deleted) {
      deletedBefore.append((object, Self.relationships(of: object, changedInStore: conflict)))
    }
    undoManager?.disableUndoRegistration()
    for (object, changedInStore) in deletedBefore {
      // Its delete rules also apply to what it leads to now, in the store.
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

  /// Refreshes a fetched property alone: it is fetched anew when it is next asked for.
  public func refresh(_ object: ManagedObject, fetchedPropertyNamed key: String) {
    guard let p = object.plan.property(named: key) else { return }
    object.extras?.fetched[p] = nil
  }

  /// Refreshes every object, changes kept; those without changes turn into faults.
  public func refreshAllObjects() {
    let objects = registeredObjects
    for object in objects where !object.hasChanges { refresh(object, mergeChanges: false) }
    mergeNewer(into: objects.filter { $0.hasChanges })
  }

  /// Turns an object into a fault. Its changes are dropped.
  func turnIntoFault(_ object: ManagedObject) {
    // Its own hook may ask for the same.
    guard !object.flags.contains(.faulting) else { return }
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

  /// Takes back an object's changes to relationships at both ends. What other objects changed towards it goes as well.
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
          // Whoever took the place meanwhile is released.
          if let taker = other.toOneObject(q), taker.plan.shares(p, with: object.plan) { taker.unlink(p, other) }
          other.applyToOne(q, object)
          noteChange(of: other)
        }
      }
    }
  }

  /// Lays an object's changes over the present version of its store. False where the store no longer has it.
  @discardableResult
  func rebase(_ object: ManagedObject) -> Bool {
    if let parentObject = object.extras?.parentObject {
      refreshFromParent(object, parentObject)
      forgetTransformed(of: object)
      return true
    }
    guard let version = object.home?.currentVersion(), object.reference != nil else { return false }
    return rebase(object, to: version)
  }

  /// As ``rebase(_:)``, over that version.
  @discardableResult
  func rebase(_ object: ManagedObject, to version: NodeVersion) -> Bool {
    if object.base === version { return true }
    guard let node = node(of: object, in: version) else { return false }
    move(object, to: version, node)
    forgetTransformed(of: object)
    return true
  }

  /// What transformers made of the older version's bytes. Values that were set here stay.
  private func forgetTransformed(of object: ManagedObject) {
    guard let extras = object.extras, !extras.transformed.isEmpty else { return }
    extras.transformed = extras.transformed.filter { object.edits?[$0.key] != nil }
  }

  /// Makes an object read another version, its changes translated.
  func move(_ object: ManagedObject, to version: NodeVersion, _ node: NodeHandle) {
    let old = object.base
    let oldNode = object.node
    object.base = version
    object.node = node
    guard old !== version, object.edits != nil || object.overlay != nil else { return }
    for p in object.plan.relationships {
      let slot = object.plan.properties[p].slot
      if let edits = object.edits, case .changes(let changes)? = edits[p] { rebase(changes, of: object, slot) }
      if let old, let home = object.home, slot >= 0, let edits = object.edits, case .ordered(let list)? = edits[p] {
        func objects(_ version: NodeVersion, _ node: NodeHandle) -> [ManagedObject] {
          version.withToMany(slot: slot, of: node) { handles in
            handles.map { self.object(at: NodeHandle(rawBits: $0), in: version, of: home) }
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

  /// Drops all changes: new objects are gone, changed ones are as the store has them, deleted ones are back. The undo
  /// history is emptied, refused assignments are forgotten.
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
      if object.flags.contains(.permanent) { object.home?.unregister(object) }
      if let parentObject = object.extras?.parentObject { byParent[ObjectIdentifier(parentObject)] = nil }
      object.abandon(.neverSaved)
    }
    refusedAssignments = []
    notice.refreshed += changed + back
    notice.invalidated += taken
    processPendingChanges()
  }

  /// Forgets all objects and changes. Objects that somebody still holds say that their context was reset.
  public func reset() {
    undoManager?.removeAllActions()
    let objects = registeredObjects + deleted.elements + unpropagated
    inserted.removeAll()
    updated.removeAll()
    deleted.removeAll()
    unpropagated = []
    _ = notice.take()
    retained = [:]
    byParent = [:]
    for object in objects where object.context === self { object.abandon(.contextReset) }
    forgetTemporaries()
    homes = []
    soleHomes = [:]
    soleHomesGeneration = -1
    discardAccessErrors()
    notice.isAllInvalidated = true
    processPendingChanges()
  }

  /// Takes over what another context on the same stores saved: changed objects are refreshed, changes of this context
  /// kept; new ones are known; deleted ones are deleted here, so that what leads to them is mended. Undo takes back
  /// none of it.
  public func mergeChanges(fromDidSave changes: ObjectIDChanges) {
    for id in changes.inserted {
      let object = object(with: id)
      if object.context === self, !object.flags.contains(.deleted) { notice.inserted.append(object) }
    }
    let returned = returnedObjects(among: changes.deleted)
    // What is deleted here leads to more now, perhaps, that must let go of it.
    let behind = deleted.filter { $0.base !== $0.home?.currentVersion() }
    mergeNewer(
      into: ObjectList(
        changes.updated.compactMap { registeredObject(for: $0) } + cutOff(by: changes.deleted) + behind + returned
      ).elements)
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

  /// Objects that a save deleted and a later one brought back, before this context heard of the first: the store has
  /// them. Where the store still has one because another process deleted it, the file is read again first.
  private func returnedObjects(among deletedIDs: [ManagedObjectID]) -> [ManagedObject] {
    guard parent == nil else { return [] }
    var readAgain: Set<ObjectIdentifier> = []
    return deletedIDs.compactMap { id in
      guard let object = registeredObject(for: id), let home = object.home, let version = home.currentVersion(),
        node(of: object, in: version) != nil
      else { return nil }
      // A file that cannot be read now leaves the present version, and the next save says what is wrong with it.
      if readAgain.insert(ObjectIdentifier(home)).inserted {
        try? persistentStoreCoordinator.reloadIfChanged(home.store)
      }
      guard let version = home.currentVersion(), node(of: object, in: version) != nil else { return nil }
      return object
    }
  }

  /// Objects with changes here, in which the store itself cut relationships to the deleted ones, for want of an
  /// inverse: no save names them as updated.
  private func cutOff(by deletedIDs: [ManagedObjectID]) -> [ManagedObject] {
    guard !deletedIDs.isEmpty else { return [] }
    let gone = Set(deletedIDs)
    return (updated.elements + deleted.elements).filter { object in
      guard let conflict = difference(of: object), let after = conflict.persistedSnapshot, let home = object.home else {
        return false
      }
      func isGone(_ reference: ObjectReference) -> Bool { gone.contains(home.store.objectID(for: reference)) }
      return conflict.keysChangedInStore.allSatisfy { name in
        switch (conflict.cachedSnapshot[name], after[name]) {
        case (.toOne(let old), .null): isGone(old)
        case (.toMany(let old), .toMany(let new)): old.filter { !isGone($0) } == new
        default: false
        }
      }
    }
  }

  /// As ``mergeChanges(fromDidSave:)``, into several contexts.
  public static func mergeChanges(fromDidSave changes: ObjectIDChanges, into contexts: [ManagedObjectContext]) {
    for context in contexts { context.mergeChanges(fromDidSave: changes) }
  }
}
