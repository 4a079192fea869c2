public import AtomicStoreSPI
import FoundationEssentials
public import StoreCoordination
import StorePredicates

/// A working set of objects from a coordinator's stores, or from a parent context: it fetches objects, tracks changes,
/// and saves all of them or none.
///
/// ```swift
/// let context = ManagedObjectContext(coordinator)
/// let book = try context.insertNewObject(forEntityName: "Book")
/// try book.setValue("Emma", forKey: "title")
/// try context.save()   // all or nothing
/// ```
///
/// A context has at most one `ManagedObject` for each object of a store. It keeps an object alive only while the object
/// has changes; objects also hold the objects that were read through their relationships, until the context ends, is
/// reset, or refreshes them. It is a plain class without synchronization: use it where it was created, and pass IDs and
/// ``ObjectIDChanges`` to other threads.
public final class ManagedObjectContext {
  /// The coordinator of its stores; it never changes. For a child context, that of the topmost parent.
  public let persistentStoreCoordinator: PersistentStoreCoordinator
  /// The parent context; nil for a context that works on stores directly.
  public let parent: ManagedObjectContext?
  /// A name for messages.
  public var name: String?
  /// Records changes for undo and redo; nil, the default, records none. An undo history serves one context.
  public var undoManager: UndoHistory? {
    didSet {
      oldValue?.detach()
      undoManager?.attach(self)
    }
  }
  /// How a save treats objects that were changed in the store since they were fetched.
  public var mergePolicy: MergePolicy = .error
  /// Whether objects without changes are kept alive, too.
  public var retainsRegisteredObjects = false {
    didSet {
      retained = [:]
      if retainsRegisteredObjects { for object in registeredObjects { retained[ObjectIdentifier(object)] = object } }
    }
  }
  /// Whether delete rules are applied when pending changes are processed, or immediately at each delete.
  public var propagatesDeletesAtEndOfEvent = true
  /// The option of the coordinator, `PersistentStoreCoordinator.allowsEmptyNonOptionalToMany`: to
  /// set it here is to set it for all contexts of the coordinator.
  public var allowsEmptyNonOptionalToMany: Bool {
    get { persistentStoreCoordinator.allowsEmptyNonOptionalToMany }
    set { persistentStoreCoordinator.allowsEmptyNonOptionalToMany = newValue }
  }
  /// How many times objects may change again while a save is prepared, before the save fails.
  public var maximumSavePasses = 100

  var caches: [StoreCache] = []
  var inserted = ChangeList()
  var updated = ChangeList()
  var deleted = ChangeList()
  /// Deleted objects whose delete rules have yet to be applied.
  var unpropagated: [ManagedObject] = []
  var notice = PendingNotice()
  var temporaryIDs = TemporaryIDs<ManagedObject>()
  /// In a child context: its objects by their objects in the parent.
  var byParent: [ObjectIdentifier: Unmanaged<ManagedObject>] = [:]
  var retained: [ObjectIdentifier: ManagedObject] = [:]
  var entitiesByClass: [ObjectIdentifier: Entity] = [:]
  let classes: [ScalarString: ManagedObject.Type]
  /// The transformers registered with the coordinator, including later registrations.
  let transformers: AttributeTransformers
  let customFunctions: CustomFunctions
  /// Greater than 0 while a hook or observer runs.
  var calloutDepth = 0 {
    didSet {
      if let saveSession, saveSession.holdsTurn, (oldValue == 0) != (calloutDepth == 0) {
        persistentStoreCoordinator.turns.suspend(calloutDepth > 0)
      }
    }
  }
  /// The save that is under way.
  var saveSession: SaveSession?
  var isSaving: Bool { saveSession != nil }
  var isProcessing = false
  var isPropagating = false
  var deferredBlocks = DeferredBlocks()
  var fetchState = FetchState<ManagedObject>()
  var observers = ObserverList<ContextEvent>()
  /// The only store that accepts new objects, by the entity's plan, since stores may have their own models.
  var soleCaches: [ObjectIdentifier: StoreCache?] = [:]
  var soleCachesGeneration = -1
  /// The latest hundred errors of property access that could not throw them.
  public internal(set) var accessErrors: [ManagedObjectError] = []
  var refusedAssignments: [ManagedObjectError] = []

  /// What changed objects were like before the current event.
  var event = EventRecords()
  /// Finds out whether reads are observed; nil if no one observes.
  var accessProbe: AccessProbe? {
    didSet { probeReference = accessProbe.map { .passUnretained($0) } }
  }
  /// The same, for reads of properties, which must not retain it. It is not replaced during a read.
  private(set) var probeReference: Unmanaged<AccessProbe>?
  /// Rarely used settings: see ``ContextOptions``.
  var options = ContextOptions()

  /// Creates a context for a coordinator's stores. It uses the classes registered with the coordinator so far.
  ///
  /// ```swift
  /// let context = ManagedObjectContext(coordinator)
  /// ```
  public convenience init(_ coordinator: PersistentStoreCoordinator) {
    self.init(coordinator, classes: coordinator.registrations.classes)
  }

  /// Creates a child context: it sees the parent's unsaved changes, and saves to the parent.
  public convenience init(parent: ManagedObjectContext) {
    self.init(parent.persistentStoreCoordinator, parent: parent, classes: parent.classes)
  }

  /// - Parameter classes: The classes of its objects, by entity name.
  init(
    _ coordinator: PersistentStoreCoordinator, parent: ManagedObjectContext? = nil,
    classes: [ScalarString: ManagedObject.Type]
  ) {
    persistentStoreCoordinator = coordinator
    self.parent = parent
    self.classes = classes
    transformers = coordinator.registrations.transformers
    customFunctions = coordinator.registrations.functions
    isObservable = true
  }

  deinit {
    event.end()
    undoManager?.detach()
    observers.finish()
    for object in everyObject { object.abandon(.contextGone) }
  }

  /// The model of its objects: the coordinator's, or else that of the first store.
  public var managedObjectModel: ManagedObjectModel? {
    persistentStoreCoordinator.managedObjectModel ?? persistentStoreCoordinator.persistentStores.first?.model
  }

  // MARK: What it holds

  /// All objects in the context, those without changes included, in a stable order.
  public var registeredObjects: [ManagedObject] {
    let known = caches.flatMap(\.registeredObjects) + byParentObjects
    return known + inserted.elements.filter { !$0.flags.contains(.registered) && $0.extras?.parentObject == nil }
  }
  private var byParentObjects: [ManagedObject] {
    byParent.isEmpty ? [] : byParent.values.map { $0.takeUnretainedValue() }.sorted(by: ManagedObject.precedes)
  }
  private var everyObject: [ManagedObject] {
    var seen: Set<ObjectIdentifier> = []
    return (registeredObjects + deleted.elements + unpropagated).filter { seen.insert(ObjectIdentifier($0)).inserted }
  }

  /// The objects that the next save adds to stores.
  public var insertedObjects: Set<ManagedObject> { Set(inserted) }
  /// The objects whose changes the next save writes, without new and deleted objects.
  public var updatedObjects: Set<ManagedObject> { Set(updated) }
  /// The objects that the next save removes from their stores.
  public var deletedObjects: Set<ManagedObject> { Set(deleted) }
  /// Whether a save would do anything, or deletions have yet to be propagated along relationships.
  ///
  /// ```swift
  /// if context.hasChanges { try context.save() }
  /// ```
  public var hasChanges: Bool { !inserted.isEmpty || !updated.isEmpty || !deleted.isEmpty || !unpropagated.isEmpty }

  /// Returns the registered object with that ID, or nil. Never accesses a store.
  public func registeredObject(for id: ManagedObjectID) -> ManagedObject? {
    switch id.form {
    case .temporary(let name):
      if let object = temporaryIDs[name] { return object }
      return parent.flatMap { $0.registeredObject(for: id) }.flatMap {
        byParent[ObjectIdentifier($0)]?.takeUnretainedValue()
      }
    case .permanent(let store, let reference):
      if let parent {
        if let new = newObject(withPermanentID: id) { return new }
        return parent.registeredObject(for: id).flatMap { byParent[ObjectIdentifier($0)]?.takeUnretainedValue() }
      }
      guard let cache = cache(identifier: store), let entity = cache.store.model.entity(named: id.entityName) else {
        let present = persistentStoreCoordinator.currentID(of: id)
        return present == id ? nil : registeredObject(for: present)
      }
      return cache.object(root: entity.root.index, reference)
    }
  }

  /// Returns the object with that ID: the registered one, or a fault. Never accesses a store. For a permanent ID,
  /// whether the object exists is known when the fault fires. A temporary ID that this context does not know returns an
  /// object which reports that it was never saved.
  public func object(with id: ManagedObjectID) -> ManagedObject {
    if let object = registeredObject(for: id) { return object }
    if let parent { return child(of: parent.object(with: id)) }
    let id = persistentStoreCoordinator.currentID(of: id)
    if case .permanent(let store, let reference) = id.form, let cache = cache(identifier: store),
      let entity = cache.store.model.entity(named: id.entityName)
    {
      // The ID may name a super-entity; the store knows the actual entity.
      var plan = cache.plan.entities[entity.index]
      let version = cache.currentVersion().flatMap { $0.isWindow && entity.subentities.isEmpty ? nil : $0 }
      if let node = version?.handle(for: reference, root: plan.root) { plan = cache.plan.entities[node.entity] }
      let object = make(plan)
      object.reference = reference
      adopt(object, cache)
      return object
    }
    let model = managedObjectModel
    let entity = model?.entity(named: id.entityName) ?? model?.entities.first
    guard let entity else { return orphan(id) }
    let object = make(ModelPlan.plan(of: entity.model).entities[entity.index])
    markUnknown(object, id)
    return object
  }

  /// A stand-in for an object of an unknown model.
  private func orphan(_ id: ManagedObjectID) -> ManagedObject {
    let object = ManagedObject.standIn()
    markUnknown(object, id)
    return object
  }

  private func markUnknown(_ object: ManagedObject, _ id: ManagedObjectID) {
    let extras = object.needExtras()
    extras.lastID = id
    // An open store without this entity cannot contain the object either.
    if let store = id.storeIdentifier {
      extras.gone = persistentStoreCoordinator.persistentStore(identifier: store) == nil ? .storeRemoved : .notInStore
    } else {
      extras.gone = .neverSaved
    }
    object.reference = id.reference
  }

  /// Returns the object with that ID, with its values fetched.
  ///
  /// ```swift
  /// let same = try context.existingObject(with: object.objectID)
  /// ```
  ///
  /// - Throws: An error with the reason, if the object does not exist.
  public func existingObject(with id: ManagedObjectID) throws(ManagedObjectError) -> ManagedObject {
    let object = object(with: id)
    try object.realize()
    if object.flags.contains(.deleted) { throw object.unavailable(.deletedHere) }
    return object
  }

  // MARK: Store caches and making objects

  func cache(identifier: UUID) -> StoreCache? {
    // The model distinguishes two stores with the same identity, one added after the other was removed.
    if let store = persistentStoreCoordinator.persistentStore(identifier: identifier) { return cache(of: store) }
    return caches.last { $0.identifier == identifier }
  }

  func cache(of store: PersistentStore) -> StoreCache {
    let identifier = store.identifier
    if let cache = caches.first(where: { $0.identifier == identifier && $0.store.model === store.model }) {
      return cache
    }
    // A store that was never saved may have become the one that another process saved.
    if let cache = caches.first(where: { $0.store === store }) {
      _ = cache.presentVersion()
      return cache
    }
    let cache = StoreCache(store, persistentStoreCoordinator, owner: self)
    if !cache.isIncremental { cache.pinned = options.generation?.version(of: store.identifier) }
    caches.append(cache)
    return cache
  }

  /// Registers an object that is in a store with the context.
  func adopt(_ object: ManagedObject, _ cache: StoreCache) {
    // Values set by the class's initializer are meant for new objects.
    if object.flags.contains(.realized) { object.forgetInitialValues() }
    object.context = self
    object.cache = cache
    cache.register(object)
    if retainsRegisteredObjects { retained[ObjectIdentifier(object)] = object }
  }

  /// The object of a node, created as a fault if there is none yet.
  func object(at node: NodeHandle, in version: NodeVersion, of cache: StoreCache) -> ManagedObject {
    let plan = cache.plan.entities[node.entity]
    let reference = version.reference(of: node)
    if let object = cache.object(root: plan.root, reference) { return object }
    let object = make(plan)
    object.reference = reference
    object.base = version
    object.node = node
    adopt(object, cache)
    return object
  }

  /// Called when an object is deinitialized.
  func forget(_ object: ManagedObject) {
    if let cache = object.cache, cache.isIncremental { cache.forgetRow(of: object) }
    object.cache?.unregister(object)
    if let parentObject = object.extras?.parentObject { byParent[ObjectIdentifier(parentObject)] = nil }
    if let name = object.extras?.temporaryName { temporaryIDs.forget(name) }
  }

  /// Keeps a temporary ID valid that was requested while the object was in no context.
  func knowTemporaryID(of object: ManagedObject) {
    if let name = object.extras?.temporaryName { temporaryIDs.remember(object, as: name) }
  }

  // MARK: Faults

  /// Fetches a fault's values.
  func fire(_ object: ManagedObject) throws(ManagedObjectError) {
    if let reason = object.extras?.gone { throw object.unavailable(reason) }
    checkThread()
    if let parentObject = object.extras?.parentObject {
      try fireFromParent(object, parentObject)
    } else {
      guard let cache = object.cache, let reference = object.reference else { throw object.unavailable(.neverSaved) }
      guard let version = cache.currentVersion() else { throw object.unavailable(.storeRemoved) }
      if version.isWindow {
        try fire(object, in: cache, version)
      } else if object.base !== version {
        guard let node = version.handle(for: reference, root: object.plan.root), node.entity == object.plan.index else {
          object.base = nil
          throw object.unavailable(.notInStore)
        }
        object.base = version
        object.node = node
      }
      object.flags.insert(.realized)
    }
    awake(object) { $0.awakeFromFetch() }
  }

  /// Runs a hook in which setting values is not a change.
  func awake(_ object: ManagedObject, _ hook: (ManagedObject) -> Void) {
    // The hooks of the generic class do nothing.
    if type(of: object) == ManagedObject.self { return }
    object.flags.insert(.awakening)
    calloutDepth += 1
    hook(object)
    calloutDepth -= 1
    object.flags.remove(.awakening)
  }

  // MARK: Errors of property access

  func record(_ error: ManagedObjectError) {
    if accessErrors.count >= 100 { accessErrors.removeFirst() }
    accessErrors.append(error)
  }

  /// Discards the errors of property access, refused assignments included: the next save no longer fails because of
  /// them.
  public func discardAccessErrors() {
    accessErrors = []
    refusedAssignments = []
  }
}
