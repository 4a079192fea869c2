import AtomicStoreSPI

/// Both ends of relationships as the context reads them, where its objects were read at different times.
extension ManagedObjectContext {
  /// Makes both ends of relationships agree, as the context reads them, after objects were given newer values.
  ///
  /// These are the rules of a save. An object that has no changes reads the current version if the other end of one of
  /// its relationships changed; one that has changes keeps the version that they are based on, so that a conflict is
  /// still found, and its end of the relationship becomes a change.
  ///
  /// - Parameter moved: The objects that were given newer values.
  func agreeEnds(of moved: [MovedObject]) {
    guard parent == nil, !moved.isEmpty else { return }
    undoManager?.disableUndoRegistration()
    defer { undoManager?.enableUndoRegistration() }
    for cache in caches {
      let concerned = moved.filter { $0.object.cache === cache && hasChangedEnds($0) }
      if concerned.isEmpty { continue }
      if cache.isIncremental { renewNeighbors(of: concerned, in: cache) }
      guard let version = cache.currentVersion() else { continue }
      RelationshipReconciliation(self, cache, version, DecidedEnds(), moved: concerned).run()
    }
  }

  /// Makes both ends of what was changed here agree: a change that undo made at one end may have been impossible at the
  /// other, whose object was read at another time.
  func agreeEndsOfChanges() {
    guard parent == nil else { return }
    undoManager?.disableUndoRegistration()
    defer { undoManager?.enableUndoRegistration() }
    for cache in caches where cache.isMixed {
      guard let version = cache.currentVersion() else { continue }
      RelationshipReconciliation(self, cache, version, DecidedEnds(), moved: []).run()
    }
  }

  /// Reads the objects again that are at the other ends of the relationships in which a database has other values for
  /// some objects than they read before, and the objects at the other ends of these.
  private func renewNeighbors(of moved: [MovedObject], in cache: StoreCache) {
    var known = ObjectList(moved.lazy.map(\.object))
    var next = moved
    while !next.isEmpty, let version = cache.currentVersion() {
      var neighbors = ObjectList()
      for item in next {
        guard let node = node(of: item.object, in: version) else { continue }
        for p in item.object.plan.relationships {
          let property = item.object.plan.properties[p]
          guard property.slot >= 0, property.inverse >= 0 else { continue }
          for end in changedEnds(of: item, p, version, node) where end.flags.contains(.realized) {
            if known.append(end) { neighbors.append(end) }
          }
        }
      }
      renewWindows(for: neighbors.elements)
      let now = cache.currentVersion()
      next = neighbors.compactMap { object in
        object.base.flatMap { $0 === now ? nil : MovedObject(object: object, base: $0, node: object.node) }
      }
    }
  }

  /// Whether the store has other objects at the other end of a relationship than the object read before.
  private func hasChangedEnds(_ item: MovedObject) -> Bool {
    let object = item.object
    guard let version = object.cache?.currentVersion(), let node = node(of: object, in: version) else { return false }
    return object.plan.relationships.contains { p in
      let property = object.plan.properties[p]
      return property.slot >= 0 && property.inverse >= 0
        && item.base.differs(slot: object.plan.entity.slots[property.slot], of: item.node, from: version, node)
    }
  }
}
