import AtomicStoreSPI
import FoundationEssentials
import StoreCoordination

/// How objects come into a context, and what it notes of their changes.
extension ManagedObjectContext {
  /// Forgets which objects were changed, without a change to them.
  func forgetChanges() {
    inserted.removeAll()
    updated.removeAll()
    deleted.removeAll()
    unpropagated = []
  }

  /// Creates an object in no context, of the class registered for its entity or for the nearest of its super-entities.
  func make(_ plan: EntityPlan) -> ManagedObject {
    (registeredClass(of: plan) ?? ManagedObject.self).init(entity: plan.entity, insertInto: nil)
  }

  /// The class registered for an entity, or else for the nearest of its super-entities.
  private func registeredClass(of plan: EntityPlan) -> ManagedObject.Type? {
    guard !classes.isEmpty else { return nil }
    var level: Entity? = plan.entity
    while let entity = level {
      if let type = classes[ScalarString(entity.name)] { return type }
      level = entity.superentity
    }
    return nil
  }

  /// The entity that a class is registered for; nil if there is none.
  func entity(for type: ManagedObject.Type) -> Entity? {
    if let known = entitiesByClass[ObjectIdentifier(type)] { return known }
    guard let found = findEntity(for: type, String(describing: type)) else { return nil }
    entitiesByClass[ObjectIdentifier(type)] = found
    return found
  }

  /// The name of the entity whose objects, with those of its sub-entities, are of a class.
  func entityName(of type: ManagedObject.Type) -> String {
    guard var entity = entity(for: type) else { return String(describing: type) }
    while let above = entity.superentity, classes[ScalarString(above.name)] == type { entity = above }
    return entity.name
  }

  private func findEntity(for type: ManagedObject.Type, _ name: String) -> Entity? {
    if let model = managedObjectModel {
      if let own = classes[ScalarString(name)], own == type, let entity = model.entity(named: name) { return entity }
      for key in classes.keys.sorted() where classes[key] == type {
        if let entity = model.entity(named: key.string) { return entity }
      }
      if let entity = model.entity(named: name) { return entity }
    }
    return nil
  }

  /// Records an object of a class that is not registered for an entity: it can be held but not saved, and the next save
  /// fails with this error.
  func refuseUnregistered(_ object: ManagedObject) {
    let name = String(describing: type(of: object))
    let error = ManagedObjectError(
      .managedObjectValidation,
      "\(name) is not registered for an entity: call "
        + "setManagedObjectClass(\(name).self, forEntityName:) on the coordinator before creating contexts")
    object.refuse(error)
    object.needExtras().gone = .neverSaved
    refusedAssignments.append(error)
  }

  // MARK: Inserting

  /// Inserts an object that is not in a context. One that is in a context already is not changed.
  public func insert(_ object: ManagedObject) { insert(object, awakens: true) }

  /// - Parameter awakens: False for an object that a child context has already awakened.
  func insert(_ object: ManagedObject, awakens: Bool) {
    checkThread()
    guard object.context == nil, object.extras?.gone == nil else { return }
    object.context = self
    event.recordInsertion(of: object)
    knowTemporaryID(of: object)
    // An object whose values were set while it was in no context already has its defaults.
    if !object.flags.contains(.realized) {
      for (p, value) in object.plan.defaults { object.setEdit(p, .stored(value)) }
    }
    object.flags.insert([.inserted, .realized])
    object.cache = parent == nil ? soleCache(for: object.plan) : nil
    inserted.append(object)
    undoManager?.log(.inserted(object))
    noteInserted(object)
    guard awakens, type(of: object) != ManagedObject.self else { return }
    callout { object.awakeFromInsert() }
  }

  // MARK: Which store

  /// The only open store that accepts new objects of the entity; nil if there is none or more than one.
  func soleCache(for plan: EntityPlan) -> StoreCache? {
    let generation = persistentStoreCoordinator.generation
    if generation != soleCachesGeneration {
      soleCaches = [:]
      soleCachesGeneration = generation
    }
    if let known = soleCaches[ObjectIdentifier(plan)] { return known }
    let stores = candidates(for: plan)
    let cache: StoreCache? = stores.count == 1 ? cache(of: stores[0]) : nil
    soleCaches[ObjectIdentifier(plan)] = .some(cache)
    return cache
  }

  func candidates(for plan: EntityPlan) -> [PersistentStore] {
    persistentStoreCoordinator.persistentStores.filter { !$0.isReadOnly && $0.takes(plan.entity) }
  }

  /// The store that an object is in or will be in, if known.
  func cacheForCheck(_ object: ManagedObject) -> StoreCache? {
    if let cache = object.cache { return cache }
    if let parentObject = object.extras?.parentObject { return parent?.cacheForCheck(parentObject) }
    return parent?.topmost.soleCache(for: object.plan) ?? soleCache(for: object.plan)
  }

  var topmost: ManagedObjectContext { parent?.topmost ?? self }

  /// The store of a new object.
  func assignedCache(_ object: ManagedObject) throws(ManagedObjectError) -> StoreCache {
    if let cache = object.cache {
      if cache.currentVersion() != nil { return cache }
      guard !object.flags.contains(.permanent) else {
        throw object.objectError(
          .storeAssignment, "\(object.rowName) has an ID in \(cache.store.path), which was closed")
      }
    }
    if let cache = soleCache(for: object.plan), cache.currentVersion() != nil {
      object.cache = cache
      return cache
    }
    let stores = candidates(for: object.plan)
    guard !stores.isEmpty else {
      var error = noStore(for: object.plan.name)
      error.objectID = object.objectID
      throw error
    }
    throw object.objectError(
      .storeAssignment,
      "several stores accept \(object.plan.name), choose one with assign(_:to:): "
        + stores.map { "\($0.path) (\($0.configurationName ?? "all entities"))" }.joined(separator: ", "))
  }

  /// The error for new objects of an entity that no open store can save: each is read-only, or has no such objects.
  func noStore(for name: String) -> ManagedObjectError {
    let readOnly = persistentStoreCoordinator.persistentStores.first { store in
      store.model.entity(named: name).map { store.takes($0) } ?? false
    }
    if let readOnly {
      return ManagedObjectError(
        .persistentStoreSave, "\(name) cannot be inserted", entityName: name,
        underlying: PersistentStoreError.readOnly(readOnly.path))
    }
    let names = managedObjectModel?.entities.map(\.name) ?? []
    return ManagedObjectError(
      .storeAssignment, "no open store accepts \(name)\(Suggestion.text(for: name, among: names))", entityName: name)
  }

  // MARK: Objects of a parent

  /// The object that represents an object of the parent.
  func child(of parentObject: ManagedObject) -> ManagedObject {
    if let known = byParent[ObjectIdentifier(parentObject)] { return known.takeUnretainedValue() }
    let object = make(parentObject.plan)
    if object.flags.contains(.realized) { object.forgetInitialValues() }
    object.context = self
    object.reference = parentObject.reference
    object.needExtras().parentObject = parentObject
    byParent[ObjectIdentifier(parentObject)] = .passUnretained(object)
    if retainsRegisteredObjects { retained[ObjectIdentifier(object)] = object }
    return object
  }

  /// Has an object leave the context, which forgets it.
  func dismiss(_ object: ManagedObject, _ reason: ManagedObjectError.UnavailableReason) {
    if let parentObject = object.extras?.parentObject { byParent[ObjectIdentifier(parentObject)] = nil }
    object.abandon(reason)
  }

  /// Fetches a fault's values from the parent's object, unsaved changes included.
  func fireFromParent(_ object: ManagedObject, _ parentObject: ManagedObject) throws(ManagedObjectError) {
    do throws(ManagedObjectError) { try parentObject.realize() } catch {
      object.needExtras().gone = error.reason ?? .notInStore
      throw object.unavailable(error.reason ?? .notInStore)
    }
    if parentObject.flags.contains(.deleted) { throw object.unavailable(.deletedHere) }
    takeValues(object, parentObject)
    object.flags.insert(.realized)
  }

  /// Takes the values of the parent's object as the base of this object's changes. Transient values are each context's
  /// own: a save passes them to the parent, and nothing passes them down.
  ///
  /// - Parameter isSaved: Whether the parent has got them from this object, so that observers need not be told.
  func takeValues(_ object: ManagedObject, _ parentObject: ManagedObject, isSaved: Bool = false) {
    object.base = nil
    object.cache = parentObject.cache
    object.reference = parentObject.reference
    var values = ContiguousArray<PropertyValue?>(repeating: nil, count: object.plan.properties.count)
    for p in object.plan.properties.indices {
      values[p] = object.plan.properties[p].isTransient ? object.overlay?[p] : value(p, of: parentObject)
    }
    if !isSaved, object.flags.contains(.observed) {
      for p in values.indices where object.edits?[p] == nil && !PropertyValue.isSame(object.overlay?[p], values[p]) {
        object.willChangeObserved(p)
      }
    }
    object.overlay = values.contains { $0 != nil } ? values : nil
  }

  /// A property of a parent's object, with objects of this context; nil for null and for an empty list.
  private func value(_ p: Int, of parentObject: ManagedObject) -> PropertyValue? {
    switch parentObject.plan.properties[p].kind {
    case .attribute:
      let value = parentObject.storedValue(p)
      return value.isIdentical(to: parentObject.plan.properties[p].unsetValue) ? nil : .stored(value)
    case .toOne: return parentObject.toOneObject(p).map { .object(child(of: $0)) }
    case .toMany:
      let others = parentObject.toManyObjects(p)
      guard !others.isEmpty else { return nil }
      let changes = ToManyChanges()
      for other in others { changes.add(child(of: other), base: nil) }
      return .changes(changes)
    case .orderedToMany:
      let others = parentObject.toManyObjects(p)
      return others.isEmpty ? nil : .ordered(OrderedObjectList(others.map { child(of: $0) }))
    case .composite, .fetched: return nil
    }
  }

  /// In a child context: the new object that was given the permanent ID here.
  func newObject(withPermanentID id: ManagedObjectID) -> ManagedObject? {
    guard let object = options.newWithPermanentIDs[id]?.object, object.context === self else { return nil }
    return object
  }

  // MARK: Noting changes

  func noteChange(of object: ManagedObject) {
    object.flags.remove(.prepared)
    let hasEdits = object.edits.map { $0.contains { $0 != nil } } ?? false
    if object.flags.isDisjoint(with: .changed), hasEdits {
      object.flags.insert(.updated)
      updated.append(object)
    } else if object.flags.contains(.updated), !hasEdits {
      // All values were set back: there is nothing to save.
      object.edits = nil
      object.flags.remove(.updated)
      updated.remove(object)
    }
    noteTouched(object)
  }

  /// Has the next notification report an object as changed.
  func noteTouched(_ object: ManagedObject) {
    guard !object.flags.contains(.noticed) else { return }
    object.flags.insert(.noticed)
    notice.touched.append(object)
  }

  func noteInserted(_ object: ManagedObject) {
    object.flags.remove(.prepared)
    notice.inserted.append(object)
  }

  func forgetPendingValues() {
    // The table may be the last to hold objects; they end after the change.
    withExtendedLifetime(fetchState.pendingValues) { fetchState.pendingValues = nil }
    inserted.endJournal()
    updated.endJournal()
  }

  // MARK: Work that waits until the context is not in the middle of something

  func runDeferredBlocks() {
    while calloutDepth == 0, !isProcessing, !isSaving, let block = deferredBlocks.popFirst() { block() }
  }

  func callout(_ body: () throws -> Void) rethrows {
    calloutDepth += 1
    defer {
      calloutDepth -= 1
      runDeferredBlocks()
    }
    try body()
  }
}

extension ManagedObjectContext: Hashable {
  /// Contexts are equal if they are identical.
  public static func == (one: ManagedObjectContext, other: ManagedObjectContext) -> Bool { one === other }
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
