import AtomicStoreSPI

/// Objects of one entity that are to be merged because they share unique values.
struct RowMerge {
  /// The object that remains, with its ID.
  var survivor: ManagedObject
  /// The object whose attribute values it then has.
  var winner: ManagedObject
  /// The objects that are merged into it.
  var others: [ManagedObject]
  /// The unique properties that they share, for messages.
  var names: String

  /// All of them, by identity.
  var members: Set<ObjectIdentifier> { Set(([survivor] + others).lazy.map { ObjectIdentifier($0) }) }
}

/// A merge that was carried out, for the message of a validation error that follows.
struct MergedRows {
  let survivor: ManagedObjectID
  /// The entity and the reference of each object.
  let rows: [String]
  let names: String

  private var text: String {
    "\(rows.prefix(10).joined(separator: ", "))\(rows.count > 10 ? " and \(rows.count - 10) more" : "") "
      + "were merged, since they have the same \(names)"
  }

  /// Adds to an error the rows that were merged into the object concerned, or all merged rows if the error does not
  /// concern a survivor.
  static func naming(_ merges: [MergedRows], in error: ManagedObjectError) -> ManagedObjectError {
    var error = error
    if !error.detailedErrors.isEmpty {
      error.detailedErrors = error.detailedErrors.map { naming(merges, in: $0) }
      return error
    }
    var named = merges.filter { merge in error.objectID.map { $0 == merge.survivor } ?? false }
    if named.isEmpty { named = merges }
    guard !named.isEmpty else { return error }
    error.message += "; " + named.prefix(5).map(\.text).joined(separator: "; ")
    if named.count > 5 { error.message += "; and \(named.count - 5) more merges" }
    return error
  }
}

/// Merging objects: the survivor takes over the winner's attributes and the relationships of the others. Delete rules
/// are not applied to the others and ``ManagedObject/prepareForDeletion()`` is not called, so none of their
/// destinations is lost.
extension ManagedObjectContext {
  /// Merges objects of one store.
  ///
  /// - Throws: `.managedObjectConstraintMerge` for objects of different entities, which cannot be merged.
  func merge(_ merges: [RowMerge], in cache: StoreCache) throws(ManagedObjectError) -> [MergedRows] {
    for merge in merges {
      guard let other = merge.others.first(where: { $0.plan !== merge.survivor.plan }) else { continue }
      throw other.objectError(
        .managedObjectConstraintMerge,
        "\(other.rowName) and \(merge.survivor.rowName) have the same \(merge.names), which must be unique, and cannot be "
          + "merged, since they are of different entities",
        key: merge.names, rule: "unique")
    }
    let done = merges.map { merge in
      MergedRows(
        survivor: merge.survivor.objectID, rows: ([merge.survivor] + merge.others).map(\.rowName), names: merge.names)
    }
    for merge in merges { try mergeValues(merge) }
    try redirect(merges, in: cache)
    for merge in merges { for object in merge.others { retire(object) } }
    return done
  }

  private func mergeValues(_ merge: RowMerge) throws(ManagedObjectError) {
    let survivor = merge.survivor
    for object in [survivor] + merge.others { try object.realize() }
    if merge.winner !== survivor { try copyAttributes(from: merge.winner, to: survivor) }
    // Read everything before changing anything: the ends of a relationship within the entity change together.
    let members = merge.members
    var single: [(p: Int, object: ManagedObject?)] = []
    var several: [(p: Int, objects: [ManagedObject])] = []
    for p in survivor.plan.relationships {
      if survivor.plan.properties[p].kind == .toOne {
        single.append((p, toOne(p, of: merge, members)))
      } else {
        several.append((p, merge.others.flatMap { destinations(p, of: $0, in: merge, members) }))
      }
    }
    for object in merge.others {
      for p in object.plan.relationships {
        if object.plan.properties[p].kind == .toOne { try object.setToOne(p, nil) } else { try object.setToMany(p, []) }
      }
    }
    for (p, object) in single {
      let isWithin = survivor.toOneObject(p).map { $0 !== survivor && members.contains(ObjectIdentifier($0)) } ?? false
      if object != nil || isWithin { try survivor.setToOne(p, object) }
    }
    for (p, objects) in several {
      for other in merge.others { try survivor.removeObject(p, other) }
      for object in objects { try survivor.addObject(p, object, at: nil) }
    }
  }

  /// Copies the winner's values, null included.
  private func copyAttributes(from winner: ManagedObject, to survivor: ManagedObject) throws(ManagedObjectError) {
    for p in survivor.plan.attributes {
      if survivor.plan.properties[p].slot >= 0 {
        try survivor.setStoredValue(p, winner.storedValue(p))
      } else if survivor.plan.properties[p].attribute?.derivationExpression == nil, winner.layered(p) != nil {
        try survivor.setValue(try winner.value(at: p), at: p)
      }
    }
  }

  /// The winner's destination of a to-one; if that is nil, the survivor's; else the first that one of the others has.
  private func toOne(_ p: Int, of merge: RowMerge, _ members: Set<ObjectIdentifier>) -> ManagedObject? {
    for object in [merge.winner, merge.survivor] + merge.others {
      if let destination = destinations(p, of: object, in: merge, members).first { return destination }
    }
    return nil
  }

  /// The destinations of an object's relationship, as far as they are valid. A relationship to the object itself then
  /// leads to the survivor. A relationship between two merged objects is dropped: having been two objects does not make
  /// the result related to itself.
  private func destinations(
    _ p: Int, of object: ManagedObject, in merge: RowMerge, _ members: Set<ObjectIdentifier>
  ) -> [ManagedObject] {
    var result: [ManagedObject] = []
    for other in object.ends(p) {
      if other === object {
        result.append(merge.survivor)
      } else if !members.contains(ObjectIdentifier(other)), other.context === self, !other.flags.contains(.deleted),
        other.isReachable
      {
        result.append(other)
      }
    }
    return result
  }

  // MARK: Relationships without an inverse

  /// Redirects relationships without an inverse from merged objects to the survivors.
  private func redirect(_ merges: [RowMerge], in cache: StoreCache) throws(ManagedObjectError) {
    var survivors: [ObjectIdentifier: ManagedObject] = [:]
    var merged: Set<UInt64> = []
    var plans: [Int: EntityPlan] = [:]
    let version = cache.currentVersion()
    for merge in merges {
      plans[merge.survivor.plan.index] = merge.survivor.plan
      for object in merge.others {
        survivors[ObjectIdentifier(object)] = merge.survivor
        if !object.flags.contains(.inserted), object.base === version { merged.insert(object.node.rawBits) }
      }
    }
    let ways = cache.plan.entities.map { holder in
      holder.relationships.filter { p in
        let property = holder.properties[p]
        return property.inverse < 0 && plans.values.contains { $0.isKind(of: property.destination) }
      }
    }
    guard ways.contains(where: { !$0.isEmpty }) else { return }
    for holder in inserted.elements + updated.elements where holder.cache === cache && holder.context === self {
      for p in ways[holder.plan.index] { try redirect(p, of: holder, survivors) }
    }
    guard let version, !merged.isEmpty else { return }
    for holder in cache.plan.entities where !ways[holder.index].isEmpty {
      for row in 0..<version.rowCount(of: holder.index) {
        let node = NodeHandle(entity: holder.index, row: row)
        for p in ways[holder.index] where leads(node, p, of: holder, to: merged, in: version) {
          let object = object(at: node, in: version, of: cache)
          guard !object.flags.contains(.deleted) else { continue }
          try object.realize()
          try redirect(p, of: object, survivors)
        }
      }
    }
  }

  private func leads(
    _ node: NodeHandle, _ p: Int, of holder: EntityPlan, to merged: Set<UInt64>, in version: NodeVersion
  ) -> Bool {
    let property = holder.properties[p]
    guard property.slot >= 0 else { return false }
    if property.kind == .toOne {
      return version.toOne(slot: property.slot, of: node).map { merged.contains($0.rawBits) } ?? false
    }
    return version.withToMany(slot: property.slot, of: node) { $0.contains { merged.contains($0) } }
  }

  private func redirect(
    _ p: Int, of holder: ManagedObject, _ survivors: [ObjectIdentifier: ManagedObject]
  ) throws(ManagedObjectError) {
    if holder.plan.properties[p].kind == .toOne {
      guard let now = holder.toOneObject(p), let survivor = survivors[ObjectIdentifier(now)] else { return }
      return try holder.setToOne(p, survivor)
    }
    let now = holder.toManyObjects(p)
    guard now.contains(where: { survivors[ObjectIdentifier($0)] != nil }) else { return }
    try holder.setToMany(p, now.map { survivors[ObjectIdentifier($0)] ?? $0 })
  }

  // MARK: What was merged

  /// Removes an object that was merged into another one from the context; a stored one is removed from its store by the
  /// save.
  private func retire(_ object: ManagedObject) {
    undoManager?.log(.deleted(object))
    guard object.flags.contains(.inserted) else {
      if object.flags.contains(.updated) { updated.remove(object) }
      object.flags.remove(.updated)
      object.flags.insert([.deleted, .propagated, .prepared, .merged])
      deleted.append(object)
      notice.deleted.append(object)
      return
    }
    inserted.remove(object)
    leave(object, .merged)
    notice.deleted.append(object)
  }

  /// Releases an object that is no longer in the context. The undo history may restore it.
  func leave(_ object: ManagedObject, _ reason: ManagedObjectError.UnavailableReason) {
    guard undoManager?.holds(object) ?? false else { return object.abandon(reason) }
    object.cache?.unregister(object)
    object.context = nil
    object.held = nil
    object.flags = []
    object.needExtras().gone = reason
  }
}
