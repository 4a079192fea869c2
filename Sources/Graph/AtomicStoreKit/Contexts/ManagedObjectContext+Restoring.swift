import AtomicStoreSPI

extension ManagedObjectContext {
  /// Records the state of the context, once per save.
  func keepRestorePoint() {
    guard let saveSession, saveSession.restorePoint == nil else { return }
    var point = RestorePoint()
    (point.inserted, point.updated, point.deleted) = (inserted.elements, updated.elements, deleted.elements)
    var seen: Set<ObjectIdentifier> = []
    for object in registeredObjects + point.deleted where seen.insert(ObjectIdentifier(object)).inserted {
      point.states.append(
        RestorePoint.State(
          object: object, cache: object.cache, base: object.base, node: object.node, flags: object.flags,
          edits: copy(object.edits), overlay: copy(object.overlay), held: object.held, lastID: object.extras?.lastID,
          parentObject: object.extras?.parentObject))
    }
    point.undo = undoManager?.contents
    saveSession.restorePoint = point
  }

  /// Changes to sets are reference types that are changed in place, so they are copied.
  private func copy(_ values: ContiguousArray<PropertyValue?>?) -> ContiguousArray<PropertyValue?>? {
    values.map { values in
      ContiguousArray(
        values.lazy.map { value in
          if case .changes(let changes)? = value { .changes(ToManyChanges(copying: changes)) } else { value }
        })
    }
  }

  func restore(_ point: RestorePoint) {
    let known = Set(point.states.lazy.map { ObjectIdentifier($0.object) })
    for object in inserted.elements + updated.elements + deleted.elements
    where !known.contains(ObjectIdentifier(object)) {
      // It was not registered before, so it had no changes.
      object.flags.subtract([.updated, .deleted, .propagated, .realized])
      object.forgetValues()
    }
    for cache in caches { cache.settledVersion = nil }
    forgetChanges()
    for state in point.states {
      let object = state.object
      let isRegistered = object.flags.contains(.registered)
      object.willChangeAllObserved()
      object.context = self
      object.cache = state.cache
      object.base = state.base
      object.node = state.node
      object.edits = state.edits
      object.overlay = state.overlay
      object.held = state.held
      object.extras?.gone = nil
      object.extras?.lastID = state.lastID
      object.extras?.transformed = [:]
      if let parentObject = state.parentObject {
        object.needExtras().parentObject = parentObject
        byParent[ObjectIdentifier(parentObject)] = .passUnretained(object)
      }
      object.flags = state.flags.union(object.flags.intersection([.noticed, .registered, .observed])).subtracting(
        .prepared)
      if isRegistered, !state.flags.contains(.registered) { object.cache?.unregister(object) }
      if !isRegistered, state.flags.contains(.registered) { object.cache?.register(object) }
    }
    for object in point.inserted { inserted.append(object) }
    for object in point.updated { updated.append(object) }
    for object in point.deleted { deleted.append(object) }
    if let undo = point.undo { undoManager?.contents = undo }
    notice.refreshed += point.updated + point.deleted
  }
}
