import AtomicStoreSPI

/// References for new objects: at a save, or before one.
extension ManagedObjectContext {
  /// Gives new objects their permanent IDs without writing anything. Temporary IDs remain valid.
  ///
  /// In a child context, this also works for objects that it has not saved to its parent: only the child knows their
  /// IDs until it saves, and the parent's objects get the same ones then.
  public func obtainPermanentIDs(for objects: [ManagedObject]) throws(ManagedObjectError) {
    let mine = objects.filter { $0.context === self }
    if let parent {
      let above = mine.compactMap { $0.extras?.parentObject }
      if !above.isEmpty { try parent.obtainPermanentIDs(for: above) }
    }
    let new = mine.filter {
      $0.flags.contains(.inserted) && !$0.flags.contains(.permanent) && !$0.flags.contains(.deleted)
        && $0.extras?.parentObject == nil
    }
    // All or none: determine all stores first.
    for object in new { _ = try topmost.assignedCache(object) }
    try topmost.giveReferences(new)
    for object in new {
      guard let cache = object.cache, let taken = object.reference, topmost.isTaken(taken, object, cache) else {
        continue
      }
      for other in new { other.reference = nil }
      throw ManagedObjectError(
        .persistentStoreOperation,
        "the store returned the reference \(taken) for a new \(object.plan.name), but another object has it",
        entityName: object.plan.name)
    }
    for object in new { registerPermanentID(of: object) }
  }

  /// Makes a new object's reference its ID, by which the context finds it from now on. The cache belongs to the topmost
  /// context: it holds no object of a child, since it would not learn when that object ends.
  func registerPermanentID(of object: ManagedObject) {
    object.flags.insert(.permanent)
    guard let cache = object.cache, let reference = object.reference else { return }
    if parent == nil {
      cache.registerUnsaved(object)
    } else if topmost.isTaken(reference, object, cache) {
      // While its insertion was undone, another process saved an object with it.
      object.reference = nil
      object.flags.remove(.permanent)
    } else {
      options.newWithPermanentIDs[object.objectID] = WeakObject(object: object)
      cache.watchReference(of: object)
    }
  }

  /// Passes on the permanent ID that a child context gave to a new object.
  ///
  /// - Parameter made: The object that was inserted here for it.
  func takePermanentID(of object: ManagedObject, for made: ManagedObject) {
    guard object.flags.contains(.permanent), let reference = object.reference, let cache = made.cache else { return }
    object.context?.options.newWithPermanentIDs[object.objectID] = nil
    object.flags.remove(.permanent)
    // Another process may have saved an object with it since.
    guard !topmost.isTaken(reference, made, cache) else { return }
    made.reference = reference
    registerPermanentID(of: made)
  }

  /// Whether a row, or an object with changes, has the reference. A fault that has no row does not count.
  func isTaken(_ reference: ReferenceObject, _ object: ManagedObject, _ cache: StoreCache) -> Bool {
    if !cache.isIncremental, cache.currentVersion()?.handle(for: reference, root: object.plan.root) != nil {
      return true
    }
    guard let other = cache.object(root: object.plan.root, reference), other !== object else { return false }
    return other.hasChanges
  }

  /// Asks the stores for the references of new objects.
  func giveReferences(_ objects: [ManagedObject]) throws(ManagedObjectError) {
    var groups: [(cache: StoreCache, objects: [ManagedObject])] = []
    for object in objects where object.reference == nil {
      let cache = try assignedCache(object)
      if let index = groups.firstIndex(where: { $0.cache === cache }) {
        groups[index].objects.append(object)
      } else {
        groups.append((cache, [object]))
      }
    }
    for (cache, objects) in groups {
      do throws(PersistentStoreError) {
        let references = try cache.store.newReferences(count: objects.count) { objects[$0].attributeSnapshot() }
        for (object, reference) in zip(objects, references) { object.reference = reference }
      } catch {
        throw ManagedObjectError(
          .persistentStoreSave, "the store returned no reference for a new object", underlying: error)
      }
    }
  }
}
