import AtomicStoreSPI
import StoreCoordination

/// What a context reads again from incremental stores before it saves or merges.
extension ManagedObjectContext {
  /// Has objects read the stores that are open now, after a Save As that failed.
  func readPresentStores() { for cache in caches { _ = cache.currentVersion() } }

  /// Has rows that another context saved read again, except those that objects have looked at: these are merged.
  func forgetRows(of ids: [ManagedObjectID]) {
    for id in ids {
      guard let identifier = id.storeIdentifier, let reference = id.reference,
        let cache = caches.first(where: { $0.identifier == identifier && $0.isIncremental }),
        let entity = cache.store.model.entity(named: id.entityName)
      else { continue }
      let root = entity.root.index
      if let object = cache.object(root: root, reference), object.flags.contains(.realized) { continue }
      cache.heldWindow?.forget(reference, root: root)
    }
  }

  /// Reads changed objects again from incremental stores, and returns the error of a store that cannot be read.
  func renewWindows(for objects: [ManagedObject]) {
    for cache in caches where cache.isIncremental {
      let concerned = objects.filter { $0.cache === cache }
      guard !concerned.isEmpty else { continue }
      do throws(PersistentStoreError) { try cache.renew(concerned) } catch { couldNotRead(error) }
    }
  }

  /// The objects of an incremental store on which the save of this context is based: what it changes or deletes, and
  /// what it makes other objects lead to.
  func concernedObjects(in cache: StoreCache) -> (changed: [ManagedObject], ends: [ManagedObject]) {
    let changed = (updated.elements + deleted.elements).filter {
      $0.cache === cache && $0.hasPersistentChangedValues && !$0.flags.contains(.inserted)
    }
    let known = ObjectList(changed)
    var ends = ObjectList()
    for object in inserted.elements + updated.elements where object.cache === cache {
      guard let edits = object.edits else { continue }
      for p in object.plan.relationships where edits[p] != nil && object.plan.properties[p].slot >= 0 {
        for other in addedEnds(of: object, p)
        where !other.flags.contains(.inserted) && !known.contains(other) && !ends.contains(other) {
          ends.append(other)
        }
      }
    }
    return (changed, ends.elements)
  }

  /// Reads the objects again on which the save of this context is based, and returns those that it changes.
  func renewConcernedObjects(in cache: StoreCache) throws(PersistentStoreError) -> [ManagedObject] {
    let changed = concernedObjects(in: cache).changed
    (cache.renewed, cache.hasStoredEnds) = (ObjectList(), false)
    _ = try renewOthers(in: cache)
    // A row that was read again may lead to others.
    _ = try renewOthers(in: cache)
    return changed
  }

  /// Reads the objects again that became concerned only when others were read again, or by resolving conflicts.
  ///
  /// - Returns: Whether one has changed.
  func renewOthers(in cache: StoreCache) throws(PersistentStoreError) -> Bool {
    guard cache.isIncremental else { return false }
    let before = cache.currentVersion()
    let (changed, ends) = concernedObjects(in: cache)
    let stored = storedEnds(of: changed, in: cache)
    if !stored.isEmpty { cache.hasStoredEnds = true }
    let late = (changed + ends + stored).filter { !cache.renewed.contains($0) }
    for object in late { cache.renewed.append(object) }
    try cache.renew(late)
    return cache.currentVersion() !== before
  }

  /// The objects that changed or deleted to-ones lead to in the store, and those that changed to-manys have lost: the
  /// other ends. What was read of them before the two were joined has not followed by itself.
  private func storedEnds(of objects: [ManagedObject], in cache: StoreCache) -> [ManagedObject] {
    guard let window = cache.currentVersion() else { return [] }
    var ends = ObjectList()
    for object in objects {
      guard let reference = object.reference,
        let node = window.knownHandle(for: reference, root: object.plan.root), window.isFilled(node)
      else { continue }
      for p in object.plan.relationships {
        let property = object.plan.properties[p]
        guard property.slot >= 0, property.inverse >= 0 else { continue }
        if property.isToMany {
          for end in removedEnds(of: object, p) { ends.append(end) }
        } else if object.flags.contains(.deleted) || object.edits?[p] != nil,
          let end = window.toOne(slot: property.slot, of: node)
        {
          ends.append(self.object(at: end, in: window, of: cache))
        }
      }
    }
    return ends.elements
  }

  /// What an incremental store receives beyond the changes of objects: members of unordered to-manys, and the row
  /// versions that everything is based on.
  func completeChanges(_ changes: inout StoreChanges, for cache: StoreCache, _ version: NodeVersion?) {
    guard cache.isIncremental, let version else { return }
    func named(_ object: ManagedObject) -> ObjectReference? {
      object.reference.map { ObjectReference(entityName: object.plan.name, reference: $0) }
    }
    for object in updated where object.cache === cache {
      guard let edits = object.edits, let owner = named(object) else { continue }
      for p in object.plan.relationships {
        guard case .changes(let change)? = edits[p], object.plan.properties[p].slot >= 0 else { continue }
        func stays(_ other: ManagedObject) -> Bool { other.context === self && !other.flags.contains(.deleted) }
        changes.members.append(
          StoreSave.MemberChange(
            owner: owner, slot: object.plan.properties[p].slot,
            added: change.added.elements.filter(stays).compactMap(named),
            removed: change.removed.sorted { $0.key < $1.key }.compactMap { named($0.value) }))
      }
    }
    let (changed, ends) = concernedObjects(in: cache)
    for object in changed {
      guard let reference = named(object),
        let node = version.knownHandle(for: reference.reference, root: object.plan.root), version.isFilled(node)
      else { continue }
      changes.expected.append((reference, version.rowVersion(of: node)))
    }
    for object in ends { if let reference = named(object) { changes.expected.append((reference, nil)) } }
    changes.contextName = name
    changes.author = transactionAuthor
  }

  /// Reads the rows that have the same unique values as new and changed objects, as the store has them now. Returns
  /// their nodes in the cache's present window; nil for a store that is not incremental.
  func readRows(
    sharing constraint: [Int], of objects: [ManagedObject], _ holder: EntityPlan, in cache: StoreCache
  ) throws(ManagedObjectError) -> [NodeHandle]? {
    guard cache.isIncremental, let connection = cache.connection else { return nil }
    let entities = holder.entity.hierarchy.filter { !$0.isAbstract }.map(\.index)
    let conditions = objects.compactMap { condition(of: $0, constraint, holder) }
    var rows: [StoreRow] = []
    do throws(PersistentStoreError) {
      for part in stride(from: 0, to: conditions.count, by: 200) {
        let fetch = StoreFetch(
          entity: holder.index, entities: entities,
          predicate: .or(Array(conditions[part..<min(part + 200, conditions.count)])))
        rows += try connection.use { store throws(PersistentStoreError) in try store.fetch(fetch) }.rows
      }
      // Objects that were read before and have changed since are read again with their conflicts.
      if let window = cache.currentVersion() {
        let stale = rows.compactMap { row -> ManagedObject? in
          let root = cache.plan.entities[row.entity].root
          guard let node = window.knownHandle(for: row.reference, root: root), window.isFilled(node),
            window.rowVersion(of: node) != row.version
          else { return nil }
          return cache.object(root: root, row.reference)
        }
        try cache.renew(stale)
      }
    } catch {
      throw ManagedObjectError(.persistentStoreOperation, "the store could not be asked", underlying: error)
    }
    return cache.take(rows)
  }

  /// The condition that an object's unique values fulfil; nil if one is null, or leads to an object that is not saved.
  private func condition(of object: ManagedObject, _ constraint: [Int], _ holder: EntityPlan) -> FetchPredicate? {
    var parts: [FetchPredicate] = []
    for p in constraint {
      let right: FetchExpression
      if holder.properties[p].kind == .toOne {
        guard let other = object.toOneObject(p), !other.flags.contains(.inserted) else { return nil }
        right = .objectID(other.objectID)
      } else {
        let value = object.storedValue(p)
        guard !value.isNull else { return nil }
        right = .constant(value)
      }
      parts.append(.hasUnique(right, in: holder.properties[p].name))
    }
    return .and(parts)
  }
}
