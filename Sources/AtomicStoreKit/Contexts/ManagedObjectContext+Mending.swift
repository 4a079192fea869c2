import AtomicStoreSPI

/// Relationships after a merge policy was applied: its decision about one object must hold at the other ends as well.
extension ManagedObjectContext {
  /// Makes both ends agree for the objects that were in conflict. Between a to-one and a to-many, the to-one decides;
  /// otherwise the object that the policy decided about.
  func mendInverses(_ resolved: [(object: ManagedObject, conflict: MergeConflict)]) {
    let decided = resolved.filter {
      $0.object.context === self && !$0.object.flags.contains(.deleted) && $0.object.isReachable
    }
    let objects = ObjectList(decided.lazy.map(\.object))
    // Changes made here to other objects may lead to destinations that are no longer valid.
    for other in inserted.elements + updated.elements where !objects.contains(other) {
      guard let edits = other.edits else { continue }
      for q in other.plan.relationships where edits[q] != nil && other.plan.properties[q].inverse >= 0 {
        for object in ends(other, q) where objects.contains(object) {
          mend(object, other.plan.properties[q].inverse, q, other)
        }
      }
    }
    for (object, conflict) in decided {
      let isWhole = conflict.isDeletedHere || conflict.persistedSnapshot == nil
      let keys = Set((conflict.keysChangedHere + conflict.keysChangedInStore).map { ScalarString($0) })
      for p in object.plan.relationships where isWhole || keys.contains(ScalarString(object.plan.properties[p].name)) {
        let q = object.plan.properties[p].inverse
        guard q >= 0 else { continue }
        for other in ends(object, p) + storedEnds(object, p) { mend(object, p, q, other) }
      }
    }
  }

  /// Restores the other ends of an object that undo brought back after a save.
  ///
  /// Its deletion recorded what the delete rules changed. Other changes by the save, such as the other end of a
  /// relationship with the rule No Action, were not recorded. A to-one that leads to another object by now is not
  /// changed.
  func joinOtherEnds(of object: ManagedObject) {
    guard object.context === self, object.flags.contains(.inserted), !object.flags.contains(.deleted) else { return }
    for p in object.plan.relationships {
      let q = object.plan.properties[p].inverse
      guard q >= 0 else { continue }
      // Refreshed: an end that the save cut outside the context still shows the earlier version.
      for other in ends(object, p) where !other.flags.contains(.deleted) && isThere(other) {
        // An end that was cut outside the context may still show here, although the next save would not write it as a
        // change.
        if isEnd(other, q, object), !other.flags.isDisjoint(with: [.inserted, .updated]) { continue }
        if !other.plan.properties[q].isToMany, let present = other.toOneObject(q), present !== object,
          present.context === self, !present.flags.contains(.deleted), present.isReachable
        {
          separate(object, p, other)
        } else {
          join(other, q, object)
        }
      }
    }
  }

  /// The destinations of a relationship, as the object reads it.
  func ends(_ object: ManagedObject, _ p: Int) -> [ManagedObject] {
    object.plan.properties[p].isToMany ? object.toManyObjects(p) : object.toOneObject(p).map { [$0] } ?? []
  }

  /// The destinations of a changed relationship in the store.
  private func storedEnds(_ object: ManagedObject, _ p: Int) -> [ManagedObject] {
    let slot = object.plan.properties[p].slot
    guard object.layered(p) != nil, let base = object.base, let cache = object.cache, slot >= 0,
      base === cache.currentVersion()
    else { return [] }
    if !object.plan.properties[p].isToMany {
      return base.toOne(slot: slot, of: object.node).map { [self.object(at: $0, in: base, of: cache)] } ?? []
    }
    return base.withToMany(slot: slot, of: object.node) { handles in
      handles.map { self.object(at: NodeHandle(rawBits: $0), in: base, of: cache) }
    }
  }

  private func mend(_ object: ManagedObject, _ p: Int, _ q: Int, _ other: ManagedObject) {
    if other.flags.contains(.deleted) { return }
    guard isThere(other) else { return separate(object, p, other) }
    let leads = isEnd(object, p, other)
    let leadsBack = isEnd(other, q, object)
    guard leads != leadsBack else { return }
    if object.plan.properties[p].isToMany, !other.plan.properties[q].isToMany {
      if leadsBack { join(object, p, other) } else { separate(object, p, other) }
    } else if leads {
      if !other.plan.properties[q].isToMany, let previous = other.toOneObject(q),
        previous.plan.shares(p, with: object.plan),
        isThere(previous)
      {
        separate(previous, p, other)
      }
      join(other, q, object)
    } else {
      separate(other, q, object)
    }
  }

  /// Whether the object is still in its store. It reads the store's current version afterwards.
  private func isThere(_ object: ManagedObject) -> Bool {
    guard object.context === self else { return false }
    if object.flags.contains(.inserted) { return true }
    return object.flags.contains(.realized) ? rebase(object) : object.isReachable
  }

  /// Whether a relationship of the object leads to the other one.
  func isEnd(_ object: ManagedObject, _ p: Int, _ other: ManagedObject) -> Bool {
    object.plan.properties[p].isToMany ? object.toManyContains(p, other) : object.toOneObject(p) === other
  }

  private func join(_ object: ManagedObject, _ p: Int, _ other: ManagedObject) {
    if object.plan.properties[p].isToMany { object.applyAdd(p, other, at: nil) } else { object.applyToOne(p, other) }
    noteChange(of: object)
  }

  private func separate(_ object: ManagedObject, _ p: Int, _ other: ManagedObject) {
    guard isEnd(object, p, other) else { return }
    if object.plan.properties[p].isToMany { object.applyRemove(p, other) } else { object.applyToOne(p, nil) }
    noteChange(of: object)
  }
}
