import AtomicStoreSPI

/// Relationships of objects that undo brought back after a save.
extension ManagedObjectContext {
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
