import AtomicStoreSPI
import StoreCoordination

/// Taking over what other contexts and processes saved.
extension ManagedObjectContext {
  /// Applies what another context of the same stores saved: changed objects are refreshed, keeping this context's
  /// changes; new ones are registered; deleted ones are deleted here, so that relationships to them are updated. None
  /// of this can be undone.
  public func mergeChanges(fromDidSave changes: ObjectIDChanges) {
    advanceQueryGeneration()
    var changes = changes.isComplete ? changes : completed(changes)
    changes.updated += clearedIDs(by: changes)
    for id in changes.inserted {
      let object = object(with: id)
      if object.context === self, !object.flags.contains(.deleted) { notice.inserted.append(object) }
    }
    // Rows of a database that were read before would make deleted objects look like restored ones.
    if caches.contains(where: \.isIncremental) {
      forgetRows(of: changes.inserted + changes.updated + changes.deleted)
      // A database clears what leads to deleted rows, which no save reports.
      renewWindows(
        for: (changes.updated + changes.deleted).compactMap { registeredObject(for: $0) } + deleted.elements
          + (changes.deleted.isEmpty ? [] : updated.elements))
    }
    let returned = returnedObjects(among: changes.deleted)
    // Objects deleted here may have further destinations now, which must be released.
    let behind = deleted.filter { $0.base !== $0.cache?.currentVersion() }
    mergeNewer(
      into: ObjectList(
        changes.updated.compactMap { registeredObject(for: $0) } + cutOff(by: changes.deleted) + behind + returned
      ).elements)
    // Results may contain from now on what this context has not read so far.
    if options.hasLiveResults {
      notice.refreshed += changes.updated.filter { registeredObject(for: $0) == nil }.map { object(with: $0) }
    }
    let stays = ObjectList(returned)
    let left = parent == nil || changes.deleted.isEmpty ? [:] : objectsLeftByParent()
    propagateDeletes()
    undoManager?.disableUndoRegistration()
    for id in changes.deleted {
      guard let object = registeredObject(for: id) ?? left[id], !object.flags.contains(.deleted),
        !stays.contains(object)
      else { continue }
      if object.isFault, !object.isReachable {
        notice.deleted.append(object)
        dismiss(object, .notInStore)
      } else {
        delete(object)
      }
    }
    propagateDeletes()
    undoManager?.enableUndoRegistration()
    processPendingChanges()
  }

  /// The objects of a child context whose objects in the parent have left that, which no longer finds them.
  private func objectsLeftByParent() -> [ManagedObjectID: ManagedObject] {
    var found: [ManagedObjectID: ManagedObject] = [:]
    for object in byParent.values.map({ $0.takeUnretainedValue() })
    where object.extras?.parentObject?.context == nil { found[object.objectID] = object }
    return found
  }

  /// Objects without changes here that lead to deleted ones by relationships without an inverse, which a database
  /// clears without a word of the context that saved.
  private func clearedIDs(by changes: ObjectIDChanges) -> [ManagedObjectID] {
    guard !changes.deleted.isEmpty else { return [] }
    let known = Set(changes.inserted + changes.updated + changes.deleted)
    return caches.filter(\.isIncremental).flatMap { cache -> [ManagedObjectID] in
      let gone = changes.deleted.compactMap { id in
        id.storeIdentifier == cache.identifier
          ? id.reference.map { ObjectReference(entityName: id.entityName, reference: $0) } : nil
      }
      return (cache.heldWindow?.rowsLeading(to: gone) ?? []).map { cache.store.objectID(for: $0) }.filter { id in
        !known.contains(id) && !(registeredObject(for: id)?.hasChanges ?? false)
      }
    }
  }

  /// Lists all objects of databases that this context has: those that are gone as deleted, the others as updated.
  private func completed(_ changes: ObjectIDChanges) -> ObjectIDChanges {
    var changes = changes
    let known = Set(changes.inserted + changes.updated + changes.deleted)
    for cache in caches where cache.isIncremental {
      let objects = cache.registeredObjects.filter {
        $0.context === self && !$0.flags.contains(.inserted) && $0.reference != nil && !known.contains($0.objectID)
      }
      for (root, list) in Dictionary(grouping: objects, by: { $0.plan.root }) {
        do throws(PersistentStoreError) {
          let there = Set(try cache.rows(list.compactMap(\.reference), root: root).map(\.reference))
          for object in list {
            if let reference = object.reference, there.contains(reference) {
              changes.updated.append(object.objectID)
            } else {
              changes.deleted.append(object.objectID)
            }
          }
        } catch {
          couldNotRead(error)
        }
      }
    }
    return changes
  }

  /// Objects that one save deleted and a later one restored before this context merged the first: the store contains
  /// them. If the store contains one only because another process deleted it, the file is read again first.
  private func returnedObjects(among deletedIDs: [ManagedObjectID]) -> [ManagedObject] {
    guard parent == nil else { return [] }
    var readAgain: Set<ObjectIdentifier> = []
    return deletedIDs.compactMap { id in
      guard let object = registeredObject(for: id), let cache = object.cache, let version = cache.currentVersion(),
        node(of: object, in: version) != nil
      else { return nil }
      // If the file cannot be read now, the present version stays, and the next save reports the error.
      if readAgain.insert(ObjectIdentifier(cache)).inserted {
        try? persistentStoreCoordinator.reloadIfChanged(cache.store)
      }
      guard let version = cache.currentVersion(), node(of: object, in: version) != nil else { return nil }
      return object
    }
  }

  /// Objects with changes here whose relationships to the deleted objects the store itself cut, because they have no
  /// inverse: no save reports them as updated.
  private func cutOff(by deletedIDs: [ManagedObjectID]) -> [ManagedObject] {
    guard !deletedIDs.isEmpty else { return [] }
    let gone = Set(deletedIDs)
    return (updated.elements + deleted.elements).filter { object in
      guard let conflict = difference(of: object), let after = conflict.persistedSnapshot, let cache = object.cache
      else {
        return false
      }
      func isGone(_ reference: ObjectReference) -> Bool { gone.contains(cache.store.objectID(for: reference)) }
      return conflict.keysChangedInStore.allSatisfy { name in
        switch (conflict.cachedSnapshot[name], after[name]) {
        case (.toOne(let old), .null): isGone(old)
        case (.toMany(let old), .toMany(let new)): old.filter { !isGone($0) } == new
        default: false
        }
      }
    }
  }

  /// As ``mergeChanges(fromDidSave:)``, for several contexts.
  public static func mergeChanges(fromDidSave changes: ObjectIDChanges, into contexts: [ManagedObjectContext]) {
    for context in contexts { context.mergeChanges(fromDidSave: changes) }
  }
}
