import AtomicStoreSPI

/// What a store receives of an object.
extension ManagedObject {
  /// All stored values of a new object; of relationships only some, by their slots.
  final func fullSnapshot(where isIncluded: (Int) -> Bool = { _ in true }) -> ManagedObjectSnapshot {
    var snapshot = attributeSnapshot()
    for p in plan.relationships where plan.properties[p].slot >= 0 && isIncluded(plan.properties[p].slot) {
      if let value = relationshipValue(p) { snapshot.values[plan.properties[p].slot] = value }
    }
    return snapshot
  }

  /// The changed stored values.
  ///
  /// - Parameter withMembers: Whether unordered to-manys are included, as a whole.
  final func editSnapshot(withMembers: Bool = true) -> ManagedObjectSnapshot {
    var snapshot = ManagedObjectSnapshot(entity: plan.index, reference: reference)
    guard let edits else { return snapshot }
    for p in edits.indices where edits[p] != nil && plan.properties[p].slot >= 0 {
      let slot = plan.properties[p].slot
      if !withMembers, plan.properties[p].kind == .toMany { continue }
      if plan.properties[p].isRelationship {
        snapshot.values[slot] = relationshipValue(p) ?? (plan.properties[p].kind == .toOne ? .null : .toMany([]))
      } else {
        snapshot.values[slot] = storedValue(p)
      }
    }
    return snapshot
  }

  /// The value of a relationship as references; nil for none. Objects that are being deleted or were removed are left
  /// out: a store must not reference objects that it does not hold.
  private final func relationshipValue(_ p: Int) -> StoredValue? {
    func reference(_ object: ManagedObject) -> ObjectReference? {
      guard let reference = object.reference, object.context != nil, !object.flags.contains(.deleted) else {
        return nil
      }
      return ObjectReference(entityName: object.plan.name, reference: reference)
    }
    if plan.properties[p].kind == .toOne { return toOneObject(p).flatMap(reference).map { .toOne($0) } }
    let references = toManyObjects(p).compactMap(reference)
    return references.isEmpty ? nil : .toMany(references)
  }

  /// After a save, edits are no longer changes; transient values stay in memory.
  final func keepTransients() {
    guard let edits else { return }
    for p in edits.indices {
      guard let edit = edits[p] else { continue }
      // Observers already know what was saved.
      if plan.properties[p].slot < 0 {
        setOverlay(p, edit)
      } else {
        if overlay != nil { overlay?[p] = nil }
        if held != nil { holdSaved(p, edit) }
      }
    }
    self.edits = nil
    if let overlay, !overlay.contains(where: { $0 != nil }) { self.overlay = nil }
  }
}
