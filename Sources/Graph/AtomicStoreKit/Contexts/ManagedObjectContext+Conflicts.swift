import AtomicStoreSPI
import FoundationEssentials

/// Conflicts: objects that were changed both in the context and in the store. In a child context, objects that were
/// changed in it and deleted in its parent; other changes of a child take the place of its parent's.
extension ManagedObjectContext {
  // MARK: Finding

  /// Returns the conflict of an object if it was modified in its store since it was fetched.
  ///
  /// A conflict is determined by values: attributes, to-ones, and relationships changed here that lead to objects the
  /// store no longer holds. To-many relationships are merged; only for an object deleted here do they count as well,
  /// because its delete rules have yet to be applied to the objects that the store added to them.
  func conflict(of object: ManagedObject, in version: NodeVersion?) -> MergeConflict? {
    if parent != nil { return conflictWithParent(of: object) }
    guard let cache = object.cache, cache.isMixed, let version = version ?? cache.currentVersion() else { return nil }
    let nowhere = object.flags.contains(.deleted) ? [] : relationshipsLeadingNowhere(object, version)
    let changed = changedSlots(of: object, in: version) ?? []
    let isGone = !object.flags.contains(.inserted) && node(of: object, in: version) == nil
    guard
      !nowhere.isEmpty || isGone && !changed.isEmpty
        || changed.contains(where: { !$0.isToMany || object.flags.contains(.deleted) })
    else { return nil }
    return snapshot(of: object, in: version, changed, nowhere: nowhere)
  }

  private func conflictWithParent(of object: ManagedObject) -> MergeConflict? {
    if object.flags.contains(.deleted) { return nil }
    let nowhere = relationshipsLeadingNowhere(object, nil)
    let isGone = isMissing(object)
    guard isGone || !nowhere.isEmpty else { return nil }
    return snapshot(of: object, overParent: isGone ? nil : object.extras?.parentObject, nowhere: nowhere)
  }

  /// Whether the store, or the parent context, no longer has an object that was read from it.
  func isMissing(_ object: ManagedObject, in version: NodeVersion? = nil) -> Bool {
    guard object.context === self, !object.flags.contains(.inserted) else { return false }
    if let parent {
      guard let above = object.extras?.parentObject else { return false }
      return above.flags.contains(.deleted) || above.context !== parent || !above.isReachable
    }
    return (version ?? object.cache?.currentVersion()).map { node(of: object, in: $0) == nil } ?? false
  }

  /// Whether another object of the context is one that its store, or the parent context, no longer holds.
  private func isGone(_ object: ManagedObject, _ version: NodeVersion?) -> Bool {
    !object.flags.contains(.deleted) && isMissing(object, in: version)
  }

  /// Whether a save would write a relationship: to its parent, a child context passes transient ones as well.
  private func isSaved(_ property: PropertyPlan) -> Bool { property.slot >= 0 || parent != nil }

  /// The relationships that were changed here and lead to objects that the store no longer holds.
  private func relationshipsLeadingNowhere(_ object: ManagedObject, _ version: NodeVersion?) -> [Int] {
    guard let edits = object.edits else { return [] }
    return object.plan.relationships.filter { p in
      guard edits[p] != nil, isSaved(object.plan.properties[p]) else { return false }
      return addedEnds(of: object, p).contains { other in
        (parent != nil || other.cache === object.cache) && isGone(other, version)
      }
    }
  }

  /// Returns the conflicts that a save would meet now, judged by what is in memory: see ``mergePolicy``.
  public func conflicts() -> [MergeConflict] {
    for cache in caches { _ = cache.currentVersion() }
    return (inserted.elements + updated.elements + deleted.elements).compactMap { conflict(of: $0, in: nil) }
  }

  // MARK: Resolving

  /// Moves all changed objects to the current versions of their stores and resolves conflicts by the merge policy.
  ///
  /// - Returns: What was decided in favor of the stores.
  func resolveConflicts(_ versions: [(cache: StoreCache, version: NodeVersion)]) throws(ManagedObjectError)
    -> DecidedEnds
  {
    var decided = DecidedEnds()
    guard parent != nil || caches.contains(where: \.isMixed) else { return decided }
    func version(of object: ManagedObject) -> NodeVersion? { storeVersion(of: object, versions) }
    undoDerivedChanges(to: versions)
    noteStaleEnds(versions)
    var found: [DecidedConflict] = []
    var agreeing: [ManagedObject] = []
    for list in [inserted, updated, deleted] {
      for object in list {
        if let conflict = conflict(of: object, in: version(of: object)) {
          found.append(try decision(about: object, conflict))
        } else {
          agreeing.append(object)
        }
      }
    }
    let failing = found.filter { $0.policy == .error }
    if !failing.isEmpty { throw conflictError(failing) }
    decided.hasChanged = !found.isEmpty
    if decided.hasChanged { keepRestorePoint() }
    undoManager?.disableUndoRegistration()
    defer { undoManager?.enableUndoRegistration() }
    for object in agreeing where parent == nil && !object.flags.contains(.inserted) {
      if object.flags.contains(.deleted), !object.flags.contains(.realized) {
        // Its values were released after its deletion: the delete rules apply to its current destinations.
        object.flags.remove([.propagated, .prepared])
        unpropagated.append(object)
        continue
      }
      guard let version = version(of: object), object.base !== version, node(of: object, in: version) != nil else {
        continue
      }
      // Only to-many relationships can have changed in the store, and the changes of both sides are kept.
      let hasMerged = changedSlots(of: object, in: version).map { !$0.isEmpty } ?? false
      if hasMerged { keepRestorePoint() }
      rebase(object, to: version)
      guard hasMerged, object.flags.contains(.updated) else { continue }
      object.dropIdleEdits()
      noteChange(of: object)
      decided.hasChanged = true
    }
    // Restore these first, so that relationships to them have a destination.
    var back: [(object: ManagedObject, changed: Set<Int>)] = []
    for item in found where item.isComingBack { back.append((item.object, comeBack(item.object))) }
    for (object, changed) in back { acceptStored(object, changed, version(of: object)) }
    for item in found
    where item.object.context === self && !back.contains(where: { $0.object === item.object }) {
      resolve(item, version(of: item.object), &decided)
    }
    try finishResolving(found)
    propagateDeletes()
    return decided
  }

  private func conflictError(_ found: [DecidedConflict]) -> ManagedObjectError {
    logConflicts(found, isFailing: true)
    let names = found.prefix(3).map { "\($0.object.plan.name)/\($0.object.reference.map(\.description) ?? "new")" }
    return ManagedObjectError(
      .managedObjectMerge,
      "\(found.count == 1 ? "an object was" : "\(found.count) objects were") changed both here and in the "
        + "\(parent == nil ? "store" : "parent context"): "
        + names.joined(separator: ", ") + (found.count > 3 ? "…" : ""),
      objectID: found[0].conflict.objectID, entityName: found[0].object.plan.name,
      key: found[0].conflict.keysLeadingNowhere.first, conflicts: found.map(\.conflict))
  }

  /// Marks to-one relationships as changed that a change at the other end implies, but that did not follow it because
  /// their object reads an older version which already has that value. Whether the store has another value is a
  /// conflict.
  private func noteStaleEnds(_ versions: [(cache: StoreCache, version: NodeVersion)]) {
    for (cache, version) in versions where cache.isMixed {
      for object in inserted.elements + updated.elements where object.cache === cache {
        guard let edits = object.edits else { continue }
        for p in object.plan.relationships where edits[p] != nil && object.plan.properties[p].slot >= 0 {
          let q = object.plan.properties[p].inverse
          guard q >= 0 else { continue }
          for other in addedEnds(of: object, p) where isStale(other, q, object, version) {
            keepRestorePoint()
            other.setEdit(q, .object(object))
            noteChange(of: other)
          }
        }
      }
    }
  }

  /// Whether an object's older version has a value for a to-one relationship that the current version does not have.
  private func isStale(_ other: ManagedObject, _ q: Int, _ object: ManagedObject, _ version: NodeVersion) -> Bool {
    guard other.context === self, !other.plan.properties[q].isToMany, other.plan.properties[q].slot >= 0,
      other.flags.contains(.realized), other.flags.isDisjoint(with: [.inserted, .deleted]), other.base !== version,
      other.layered(q) == nil, other.toOneObject(q) === object, let node = node(of: other, in: version)
    else { return false }
    return version.toOne(slot: other.plan.properties[q].slot, of: node).map { version.reference(of: $0) }
      != object.reference
  }

  /// Turns an object that was removed from the store into a new one, with its values here and its previous reference.
  ///
  /// - Returns: The properties that were changed here.
  @discardableResult
  func comeBack(_ object: ManagedObject) -> Set<Int> {
    let changed = Set(object.edits.map { edits in edits.indices.filter { edits[$0] != nil } } ?? [])
    object.detachFromBase()
    updated.remove(object)
    // As a new object it is validated as a whole: what it led to may not come back with it.
    object.flags.remove([.updated, .prepared])
    object.flags.insert(object.reference == nil ? .inserted : [.inserted, .permanent])
    inserted.append(object)
    return changed
  }

  /// Removes from a restored object the destinations that it had when it was read and that have been moved or removed
  /// since.
  private func acceptStored(_ object: ManagedObject, _ changed: Set<Int>, _ version: NodeVersion?) {
    for p in object.plan.relationships where isSaved(object.plan.properties[p]) {
      let q = object.plan.properties[p].inverse
      for other in object.ends(p) where other !== object {
        var isTaken = isGone(other, version) || other.context !== self || other.flags.contains(.deleted)
        if !isTaken, !changed.contains(p), q >= 0, !other.plan.properties[q].isToMany, !other.flags.contains(.inserted)
        {
          if case .object(let partner)? = other.edits?[q] {
            isTaken = partner !== object
          } else if parent != nil {
            isTaken = other.extras?.parentObject?.toOneObject(q) != nil
          } else if let version, let node = node(of: other, in: version), other.plan.properties[q].slot >= 0 {
            isTaken = version.toOne(slot: other.plan.properties[q].slot, of: node) != nil
          }
        }
        guard isTaken else { continue }
        if object.plan.properties[p].isToMany { object.applyRemove(p, other) } else { object.applyToOne(p, nil) }
      }
    }
  }

  private func resolve(_ item: DecidedConflict, _ version: NodeVersion?, _ decided: inout DecidedEnds) {
    let (object, conflict, policy) = (item.object, item.conflict, item.policy)
    if object.flags.contains(.deleted) {
      guard let version else { return }
      if item.isHereWinning || isCutOffAlone(object, conflict, version) {
        return deleteAgain(object, conflict, version)
      }
      deleted.remove(object)
      object.flags.remove([.deleted, .propagated])
      turnIntoFault(object)
      if policy == .rollback { decided.objects.insert(ObjectIdentifier(object)) }
      decided.revived.insert(ObjectIdentifier(object))
      notice.refreshed.append(object)
      return
    }
    if conflict.persistedSnapshot == nil, !object.flags.contains(.inserted) {
      updated.remove(object)
      notice.invalidated.append(object)
      dismiss(object, .notInStore)
      return
    }
    if policy == .rollback, !object.flags.contains(.inserted) {
      // The ends of a store's objects are reconciled afterwards.
      if parent != nil { undoRelationships(of: object) }
      turnIntoFault(object)
      decided.objects.insert(ObjectIdentifier(object))
      notice.refreshed.append(object)
      return
    }
    let contested = conflict.keysChangedInStore.compactMap { object.plan.property(named: $0) }
      .filter { !object.plan.properties[$0].isToMany }
    let nowhere = conflict.keysLeadingNowhere.compactMap { object.plan.property(named: $0) }
    var kept: [(p: Int, value: PropertyValue)] = []
    switch policy {
    case .mergeByPropertyStoreTrump:
      for p in contested + nowhere.filter({ !object.plan.properties[$0].isToMany }) {
        if parent != nil { undoRelationships(of: object, only: [p]) }
        object.setEdit(p, nil)
        if object.plan.properties[p].isRelationship { decided.ends.insert(RelationshipEnd(object, p)) }
      }
    case .overwrite:
      // Every value that the store changed is changed back.
      kept = contested.map { p in
        (p, object.plan.properties[p].kind == .toOne ? .object(object.toOneObject(p)) : .stored(object.storedValue(p)))
      }
    case .error, .rollback, .mergeByPropertyObjectTrump: break
    }
    if let version, parent == nil { rebase(object, to: version) }
    for (p, value) in kept { object.setEdit(p, value) }
    for p in object.plan.relationships where object.edits?[p] != nil && isSaved(object.plan.properties[p]) {
      for other in addedEnds(of: object, p) where other.context !== self || isGone(other, version) {
        if object.plan.properties[p].isToMany { object.applyRemove(p, other) } else { object.applyToOne(p, nil) }
      }
    }
    object.dropIdleEdits()
    noteChange(of: object)
    notice.refreshed.append(object)
  }

  /// Whether an object deleted here differs from the store only in relationships to other objects that are deleted here
  /// as well, such as an owner that another context gave it meanwhile.
  private func isCutOffAlone(_ object: ManagedObject, _ conflict: MergeConflict, _ version: NodeVersion) -> Bool {
    guard let cache = object.cache, let node = node(of: object, in: version) else { return false }
    return conflict.keysChangedInStore.allSatisfy { name in
      guard let p = object.plan.property(named: name), object.plan.properties[p].isRelationship else { return false }
      let slot = object.plan.properties[p].slot
      let handles =
        object.plan.properties[p].isToMany
        ? version.withToMany(slot: slot, of: node) { $0.map { NodeHandle(rawBits: $0) } }
        : version.toOne(slot: slot, of: node).map { [$0] } ?? []
      return !handles.isEmpty
        && handles.allSatisfy { self.object(at: $0, in: version, of: cache).flags.contains(.deleted) }
    }
  }

  /// Applies an object's delete rules to its relationships as the store holds them now.
  private func deleteAgain(_ object: ManagedObject, _ conflict: MergeConflict, _ version: NodeVersion) {
    rebase(object, to: version)
    for name in conflict.keysChangedInStore {
      if let p = object.plan.property(named: name), object.plan.properties[p].isRelationship { object.setEdit(p, nil) }
    }
    object.flags.remove([.propagated, .prepared])
    unpropagated.append(object)
  }
}
