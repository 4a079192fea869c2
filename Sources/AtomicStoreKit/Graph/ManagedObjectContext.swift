public import AtomicStoreSPI
import FoundationEssentials
public import StoreCoordination
import StorePredicates

/// A scratch pad of objects over a coordinator's stores, or over a parent context: it fetches, keeps track of changes,
/// and saves them whole or not at all.
///
/// For each object in a store a context has at most one `ManagedObject`. It keeps an object alive only while that has
/// changes. It is a plain class: use it where it was made; pass IDs and notices elsewhere.
public final class ManagedObjectContext {
  /// The coordinator whose stores it works on: fixed for its life. For a child context, the topmost parent's.
  public let persistentStoreCoordinator: PersistentStoreCoordinator
  /// The context whose objects it works on; nil for one that works on stores.
  public let parent: ManagedObjectContext?
  /// For messages.
  public var name: String?
  /// Records changes for undo and redo; nil, the default, records none. One manager serves one context.
  public var undoManager: UndoHistory? {
    didSet {
      oldValue?.detach()
      undoManager?.attach(self)
    }
  }
  /// What a save does with objects that were changed in the store since they were fetched.
  public var mergePolicy: MergePolicy = .error
  /// Whether objects without changes are kept alive too.
  public var retainsRegisteredObjects = false {
    didSet {
      retained = [:]
      if retainsRegisteredObjects { for object in registeredObjects { retained[ObjectIdentifier(object)] = object } }
    }
  }
  /// Whether delete rules are applied when pending changes are processed, or at once at each delete.
  public var propagatesDeletesAtEndOfEvent = true
  /// Whether a to-many relationship that is not optional, and has no minimum count, may be empty in an object that is
  /// saved. By default it may not: "not optional" means that there must be an object. Set it for code and models that
  /// take the opposite for granted, as many written for Core Data do. Child contexts begin with their parent's setting.
  public var allowsEmptyNonOptionalToMany = false
  /// How often objects may change again while they are prepared for a save before that fails.
  public var maximumSavePasses = 100

  var homes: [StoreHome] = []
  var inserted = ChangeList()
  var updated = ChangeList()
  var deleted = ChangeList()
  /// Deleted objects whose delete rules have yet to be applied.
  var unpropagated: [ManagedObject] = []
  var notice = PendingNotice()
  /// Temporary IDs that somebody asked for, so that they go on being understood.
  private var temporaries: [UUID: WeakObject] = [:]
  private var temporariesLimit = 1024
  package var knownTemporaryIDCount: Int { temporaries.count }
  /// In a child context: its objects by those of the parent.
  var byParent: [ObjectIdentifier: Unmanaged<ManagedObject>] = [:]
  var retained: [ObjectIdentifier: ManagedObject] = [:]
  var entitiesByClass: [ObjectIdentifier: Entity] = [:]
  let classes: [ScalarString: ManagedObject.Type]
  /// What the program registered with the coordinator, now and later.
  let transformers: AttributeTransformers
  let customFunctions: CustomFunctions
  /// Above 0 while a hook or observer runs.
  var calloutDepth = 0 {
    didSet {
      if holdsTurn, (oldValue == 0) != (calloutDepth == 0) {
        persistentStoreCoordinator.turns.suspend(calloutDepth > 0)
      }
    }
  }
  /// Whether other saves wait for the one that runs here: see ``SaveTurns``.
  var holdsTurn = false
  var isProcessing = false
  var isPropagating = false
  var isSaving = false
  /// The moment of the save that runs, for derived attributes, and the objects that have been given it.
  var savingDate = Date()
  var derivedNow = ObjectList()
  /// What a merge policy is about to change, for a save that fails after all.
  var restorePoint: RestorePoint?
  var deferredBlocks = DeferredBlocks()
  /// How many fetched properties are being fetched within each other.
  var fetchedPropertyDepth = 0
  /// The table of the values that fetches ask objects with changes for.
  var pendingValues: (any PendingValueTable)?
  /// How many objects fetches looked at one by one, for tests of what a fetch costs.
  package var objectsAskedByFetches = 0
  /// The steps left to the outermost fetch that runs.
  var stepBudget: StepBudget?
  var observers: [(id: Int, body: (ContextEvent) -> Void)] = []
  var nextObserver = 0
  var streams: [(isSaves: Bool, continuation: AsyncStream<ObjectIDChanges>.Continuation)] = []
  /// By the entity's plan, since stores may have models of their own: the only store that takes its new objects.
  var soleHomes: [ObjectIdentifier: StoreHome?] = [:]
  var soleHomesGeneration = -1
  /// What property access met and could not throw, the latest hundred.
  public internal(set) var accessErrors: [ManagedObjectError] = []
  var refusedAssignments: [ManagedObjectError] = []

  /// A context over a coordinator's stores. Classes are those registered with the coordinator so far.
  public init(_ coordinator: PersistentStoreCoordinator) {
    persistentStoreCoordinator = coordinator
    parent = nil
    let registrations = coordinator.registrations
    classes = registrations.classes
    transformers = registrations.transformers
    customFunctions = registrations.functions
  }

  /// A context over another one: it sees that one's unsaved changes, and saves into it.
  public init(parent: ManagedObjectContext) {
    persistentStoreCoordinator = parent.persistentStoreCoordinator
    self.parent = parent
    classes = parent.classes
    transformers = parent.transformers
    customFunctions = parent.customFunctions
    allowsEmptyNonOptionalToMany = parent.allowsEmptyNonOptionalToMany
  }

  deinit {
    undoManager?.detach()
    for stream in streams { stream.continuation.finish() }
    for object in everyObject { object.abandon(.contextGone) }
  }

  /// The model of its objects: the coordinator's, or else that of the first store.
  public var managedObjectModel: ManagedObjectModel? {
    persistentStoreCoordinator.managedObjectModel ?? persistentStoreCoordinator.persistentStores.first?.model
  }

  // MARK: What it holds

  /// All objects it knows, those without changes included, in a stable order.
  public var registeredObjects: [ManagedObject] {
    let known = homes.flatMap(\.registeredObjects) + byParentObjects
    return known + inserted.elements.filter { !$0.flags.contains(.registered) && $0.extras?.parentObject == nil }
  }
  private var byParentObjects: [ManagedObject] {
    byParent.isEmpty ? [] : byParent.values.map { $0.takeUnretainedValue() }.sorted(by: ManagedObject.precedes)
  }
  private var everyObject: [ManagedObject] {
    var seen: Set<ObjectIdentifier> = []
    return (registeredObjects + deleted.elements + unpropagated).filter { seen.insert(ObjectIdentifier($0)).inserted }
  }

  /// The objects that the next save adds to a store.
  public var insertedObjects: Set<ManagedObject> { Set(inserted) }
  /// The objects whose changes the next save writes. New and deleted objects are not among them.
  public var updatedObjects: Set<ManagedObject> { Set(updated) }
  /// The objects that the next save removes from their stores.
  public var deletedObjects: Set<ManagedObject> { Set(deleted) }
  /// Whether a save would do anything, or deletions have yet to be propagated along relationships.
  public var hasChanges: Bool { !inserted.isEmpty || !updated.isEmpty || !deleted.isEmpty || !unpropagated.isEmpty }

  /// The registered object of that ID, or nil. Never asks a store.
  public func registeredObject(for id: ManagedObjectID) -> ManagedObject? {
    switch id.form {
    case .temporary(let name):
      if let object = temporaries[name]?.object { return object }
      return parent.flatMap { $0.registeredObject(for: id) }.flatMap {
        byParent[ObjectIdentifier($0)]?.takeUnretainedValue()
      }
    case .permanent(let store, let reference):
      if let parent {
        return parent.registeredObject(for: id).flatMap { byParent[ObjectIdentifier($0)]?.takeUnretainedValue() }
      }
      guard let home = home(identifier: store), let entity = home.store.model.entity(named: id.entityName) else {
        return nil
      }
      return home.object(root: entity.root.index, reference)
    }
  }

  /// The object of that ID: the registered one, or a fault. Never nil for a permanent ID and never asks a store;
  /// whether there is such an object shows when the fault is fired. A temporary ID that this context does not know
  /// gives an object that says it was never saved.
  public func object(with id: ManagedObjectID) -> ManagedObject {
    if let object = registeredObject(for: id) { return object }
    if let parent { return child(of: parent.object(with: id)) }
    if case .permanent(let store, let reference) = id.form, let home = home(identifier: store),
      let entity = home.store.model.entity(named: id.entityName)
    {
      // The ID may name a super-entity; the store knows better.
      var plan = home.plan.entities[entity.index]
      if let version = home.currentVersion(), let node = version.handle(for: reference, root: plan.root) {
        plan = home.plan.entities[node.entity]
      }
      let object = make(plan)
      object.reference = reference
      adopt(object, home)
      return object
    }
    let model = managedObjectModel
    let entity = model?.entity(named: id.entityName) ?? model?.entities.first
    guard let entity else { return orphan(id) }
    let object = make(ModelPlan.plan(of: entity.model).entities[entity.index])
    markUnknown(object, id)
    return object
  }

  /// A stand-in for an object of a model that nobody knows.
  private func orphan(_ id: ManagedObjectID) -> ManagedObject {
    let object = ManagedObject.standIn()
    markUnknown(object, id)
    return object
  }

  private func markUnknown(_ object: ManagedObject, _ id: ManagedObjectID) {
    let extras = object.needExtras()
    extras.lastID = id
    // An open store that has no such entity has no such object either.
    if let store = id.storeIdentifier {
      extras.gone = persistentStoreCoordinator.persistentStore(identifier: store) == nil ? .storeRemoved : .notInStore
    } else {
      extras.gone = .neverSaved
    }
    object.reference = id.reference
  }

  /// The object of that ID, its values fetched.
  ///
  /// - Throws: an error with the reason where there is no such object.
  public func existingObject(with id: ManagedObjectID) throws(ManagedObjectError) -> ManagedObject {
    let object = object(with: id)
    try object.realize()
    if object.flags.contains(.deleted) { throw object.unavailable(.deletedHere) }
    return object
  }

  // MARK: Homes and making objects

  func home(identifier: UUID) -> StoreHome? {
    // The model tells stores apart that are one by their identity, of which the first was removed.
    if let store = persistentStoreCoordinator.persistentStore(identifier: identifier) { return home(of: store) }
    return homes.last { $0.identifier == identifier }
  }

  func home(of store: PersistentStore) -> StoreHome {
    if let home = homes.first(where: { $0.identifier == store.identifier && $0.store.model === store.model }) {
      return home
    }
    let home = StoreHome(store, persistentStoreCoordinator)
    homes.append(home)
    return home
  }

  /// An object that is nobody's yet, of the class registered for its entity.
  func make(_ plan: EntityPlan) -> ManagedObject {
    guard !classes.isEmpty, let type = classes[ScalarString(plan.name)] else {
      return ManagedObject(entity: plan.entity, insertInto: nil)
    }
    return type.init(entity: plan.entity, insertInto: nil)
  }

  /// Takes an object that is in a store into the context.
  func adopt(_ object: ManagedObject, _ home: StoreHome) {
    // What its class's initializer set is for new objects.
    if object.flags.contains(.realized) { object.forgetInitialValues() }
    object.context = self
    object.home = home
    home.register(object)
    if retainsRegisteredObjects { retained[ObjectIdentifier(object)] = object }
  }

  /// The object of a node, made as a fault where there is none yet.
  func object(at node: NodeHandle, in version: NodeVersion, of home: StoreHome) -> ManagedObject {
    let plan = home.plan.entities[node.entity]
    let reference = version.reference(of: node)
    if let object = home.object(root: plan.root, reference) { return object }
    let object = make(plan)
    object.reference = reference
    object.base = version
    object.node = node
    adopt(object, home)
    return object
  }

  /// Called when an object ends.
  func forget(_ object: ManagedObject) {
    object.home?.unregister(object)
    if let parentObject = object.extras?.parentObject { byParent[ObjectIdentifier(parentObject)] = nil }
    if let name = object.extras?.temporaryName { temporaries[name] = nil }
  }

  /// Keeps a temporary ID understood while its object lives. Those of objects that left the context before they ended
  /// are swept out now and then.
  func remember(_ object: ManagedObject, as name: UUID) {
    if temporaries.count >= temporariesLimit {
      temporaries = temporaries.filter { $0.value.object != nil }
      temporariesLimit = max(1024, temporaries.count * 2)
    }
    temporaries[name] = WeakObject(object: object)
  }

  func forgetTemporaries() { temporaries = [:] }

  // MARK: Faults

  /// Fetches a fault's values.
  func fire(_ object: ManagedObject) throws(ManagedObjectError) {
    if let reason = object.extras?.gone { throw object.unavailable(reason) }
    if let parentObject = object.extras?.parentObject {
      try fireFromParent(object, parentObject)
    } else {
      guard let home = object.home, let reference = object.reference else { throw object.unavailable(.neverSaved) }
      guard let version = home.currentVersion() else { throw object.unavailable(.storeRemoved) }
      if object.base !== version {
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

  /// Runs a hook in which setting values is no change.
  func awake(_ object: ManagedObject, _ hook: (ManagedObject) -> Void) {
    // The generic class has hooks that do nothing.
    if type(of: object) == ManagedObject.self { return }
    object.flags.insert(.awakening)
    calloutDepth += 1
    hook(object)
    calloutDepth -= 1
    object.flags.remove(.awakening)
  }

  func callout(_ body: () throws -> Void) rethrows {
    calloutDepth += 1
    defer {
      calloutDepth -= 1
      runDeferredBlocks()
    }
    try body()
  }

  // MARK: Errors of property access

  func record(_ error: ManagedObjectError) {
    if accessErrors.count >= 100 { accessErrors.removeFirst() }
    accessErrors.append(error)
  }

  /// Forgets the errors that property access met, refused assignments included: the next save no longer fails for them.
  public func discardAccessErrors() {
    accessErrors = []
    refusedAssignments = []
  }

  // MARK: Deferred work

  /// Runs a block: at once, or, from inside a hook, an observer or a save, when that has ended. The way to save in
  /// answer to a change notice. From ``ManagedObject/awakeFromFetch()`` it waits for pending changes to be processed:
  /// whoever fired the fault may be in the middle of something.
  public func perform(_ block: @escaping () -> Void) {
    guard calloutDepth == 0, !isProcessing, !isSaving else {
      deferredBlocks.append(block)
      return
    }
    block()
  }

  /// Runs a block and gives its result.
  public func performAndWait<Result>(_ block: () throws -> Result) rethrows -> Result { try block() }

  func runDeferredBlocks() {
    while calloutDepth == 0, !isProcessing, !isSaving, let block = deferredBlocks.popFirst() { block() }
  }
}
