import AtomicStoreSPI
import FoundationEssentials

/// Objects that changed on both sides.
extension ManagedObjectContext {
  /// The conflict of an object, if somebody changed it in its store since it was fetched.
  ///
  /// A row that was written again with the same values is no conflict: values are compared, not version numbers.
  func conflict(of object: ManagedObject) -> MergeConflict? {
    guard let home = object.home, let reference = object.reference, let base = object.base,
      !object.flags.contains(.inserted), let version = home.currentVersion(), base !== version
    else { return nil }
    let node = version.handle(for: reference, root: object.plan.root)
    let changed: [Slot]
    if let node, node.entity == object.plan.index {
      changed = object.plan.entity.slots.filter { base.differs(slot: $0, of: object.node, from: version, node) }
      if changed.isEmpty { return nil }
    } else {
      // Deleted on both sides is no conflict.
      if object.flags.contains(.deleted) { return nil }
      changed = object.plan.entity.slots
    }
    func values(_ version: NodeVersion, _ node: NodeHandle) -> [String: StoredValue] {
      var values: [String: StoredValue] = [:]
      for slot in object.plan.entity.slots { values[slot.name] = version.value(slot: slot.index, of: node) }
      return values
    }
    let here = object.edits.map { edits in
      edits.indices.filter { edits[$0] != nil && object.plan.properties[$0].slot >= 0 }.map { object.plan.properties[$0].name }
    }
    var current: [String: StoredValue] = [:]
    if !object.flags.contains(.deleted) {
      let full = object.fullSnapshot()
      for slot in object.plan.entity.slots { current[slot.name] = full.values[slot.index] ?? .null }
    }
    return MergeConflict(
      objectID: object.objectID, objectSnapshot: current, cachedSnapshot: values(base, object.node),
      persistedSnapshot: node.map { values(version, $0) }, keysChangedInStore: changed.map(\.name),
      keysChangedHere: here ?? [], isDeletedHere: object.flags.contains(.deleted))
  }

  /// The conflicts that a save would meet now, by what is in memory: see ``mergePolicy``.
  public func conflicts() -> [MergeConflict] {
    (updated.elements + deleted.elements).compactMap { conflict(of: $0) }
  }

  func resolveConflicts() throws(ManagedObjectError) {
    guard parent == nil else { return }
    var found: [(object: ManagedObject, conflict: MergeConflict)] = []
    for list in [updated, deleted] {
      for object in list {
        if let conflict = conflict(of: object) { found.append((object, conflict)) } else { rebase(object) }
      }
    }
    guard !found.isEmpty else { return }
    if mergePolicy == .error {
      let names = found.prefix(3).map { "\($0.object.plan.name)/\($0.object.reference.map(\.description) ?? "")" }
      throw ManagedObjectError(
        .managedObjectMerge,
        "\(found.count == 1 ? "an object was" : "\(found.count) objects were") changed here and in the store: "
          + names.joined(separator: ", ") + (found.count > 3 ? "…" : ""),
        objectID: found[0].conflict.objectID, entityName: found[0].object.plan.name, conflicts: found.map(\.conflict))
    }
    keepRestorePoint()
    undoManager?.disableUndoRegistration()
    for (object, conflict) in found { resolve(object, conflict) }
    mendInverses(found)
    undoManager?.enableUndoRegistration()
  }

  private func resolve(_ object: ManagedObject, _ conflict: MergeConflict) {
    let hereWins = mergePolicy == .mergeByPropertyObjectTrump || mergePolicy == .overwrite
    if object.flags.contains(.deleted) {
      if hereWins {
        rebase(object)
      } else {
        deleted.remove(object)
        object.flags.remove([.deleted, .propagated])
        turnIntoFault(object)
        notice.refreshed.append(object)
      }
      return
    }
    if conflict.persistedSnapshot == nil {
      if hereWins {
        // It comes back, as it is here, under the reference that it had.
        updated.remove(object)
        object.flags.remove(.updated)
        object.flags.insert([.inserted, .permanent])
        inserted.append(object)
      } else {
        updated.remove(object)
        notice.invalidated.append(object)
        object.abandon(.notInStore)
      }
      return
    }
    switch mergePolicy {
    case .error: break
    case .rollback:
      refresh(object, mergeChanges: false)
    case .mergeByPropertyObjectTrump:
      rebase(object)
    case .mergeByPropertyStoreTrump:
      for name in conflict.keysChangedInStore {
        guard let p = object.plan.property(named: name) else { continue }
        object.setEdit(p, nil)
      }
      rebase(object)
      noteChange(of: object)
    case .overwrite:
      // Everything that the store changed is changed back.
      var kept: [(p: Int, value: PropertyValue)] = []
      for name in conflict.keysChangedInStore {
        guard let p = object.plan.property(named: name) else { continue }
        switch object.plan.properties[p].kind {
        case .toOne: kept.append((p, .object(object.toOneObject(p))))
        case .toMany, .orderedToMany: kept.append((p, .ordered(OrderedObjectList(object.toManyObjects(p)))))
        default: kept.append((p, .stored(object.storedValue(p))))
        }
      }
      rebase(object)
      for (p, value) in kept {
        if case .ordered(let list) = value, object.plan.properties[p].kind == .toMany {
          object.setEdit(p, nil)
          for old in object.toManyObjects(p) where !list.contains(old) { object.applyRemove(p, old) }
          for new in list.elements where !object.toManyContains(p, new) { object.applyAdd(p, new, at: nil) }
        } else {
          object.setEdit(p, value)
        }
      }
    }
    notice.refreshed.append(object)
  }
}
