import AtomicStoreSPI
import FoundationEssentials
import StoreCoordination

/// A store as one context sees it, with the context's objects of that store.
final class StoreCache {
  /// Replaced when the store, which was never saved, becomes one that another process saved.
  private(set) var identifier: UUID
  /// New objects that were given references before they are saved.
  private var newWithReferences: [WeakObject] = []
  /// Replaced when the store is moved by Save As.
  private(set) var store: PersistentStore
  /// One map for each entity hierarchy, by the number of its root entity.
  private var identities: [IdentityMap<ManagedObject>]
  let plan: ModelPlan
  /// The number of each entity's root entity.
  let roots: [Int]
  /// The last version known to match the values of all objects without changes.
  weak var settledVersion: NodeVersion?
  private let coordinator: PersistentStoreCoordinator
  /// Whether objects of the context may read different versions of the store, because more than one has been used, or
  /// because rows of a database were read again and had changed.
  private(set) var isMixed = false
  /// The version to read while the context is pinned to a query generation.
  var pinned: NodeVersion?
  /// The version that all objects read, unless they are mixed.
  private var serial: UInt64?
  /// For an incremental store: the rows that the context has read.
  private(set) var heldWindow: NodeVersion?
  /// The store that a Save As left, to which one that fails comes back; with the rows that were read of it, and the
  /// number of the first version of the store that it left for.
  private weak var leftStore: PersistentStore?
  private weak var leftWindow: NodeVersion?
  private var firstSerial: UInt64 = 0
  /// The one-to-ones of each entity.
  private(set) lazy var oneToOnes: [[Slot]] = store.model.entities.map { entity in
    entity.slots.filter { slot in
      guard case .toOne = slot.kind, let destination = slot.destination, let inverse = slot.inverseSlot else {
        return false
      }
      return !store.model.entity(at: destination).slots[inverse].isToMany
    }
  }
  /// The last error of reading such a row.
  var failure: PersistentStoreError?
  /// How often reading rows has failed.
  var failureCount = 0
  /// What the present attempt to save has read again.
  var renewed = ObjectList()
  /// The objects that the present save gave newer values.
  var moved: [MovedObject] = []
  /// Whether something loses objects by that save.
  var hasStoredEnds = false
  /// How many requests for rows came before the present attempt to save.
  var requestsBeforeSave = 0
  /// The context, for errors of reading rows.
  private(set) weak var owner: ManagedObjectContext?

  init(_ store: PersistentStore, _ coordinator: PersistentStoreCoordinator, owner: ManagedObjectContext? = nil) {
    self.store = store
    self.owner = owner
    self.coordinator = coordinator
    identifier = store.identifier
    plan = ModelPlan.plan(of: store.model)
    roots = store.model.entities.map(\.root.index)
    identities = (0..<store.model.entityCount).map { _ in IdentityMap() }
  }

  /// The version that the context reads: the store's current one, or the one that the context is pinned to; nil if the
  /// store is no longer open.
  func currentVersion() -> NodeVersion? {
    guard let pinned else { return presentVersion() }
    return store.latest.isOpen ? noted(pinned) : presentVersion()
  }

  /// The store's current version, even if the context is pinned to an older one; nil if the store is no longer open.
  func presentVersion() -> NodeVersion? {
    let (version, isOpen, identity) = store.versionIfOpen
    if isOpen {
      if isIncremental { return noted(openWindow()) }
      takeIdentity(identity, version)
      return noted(version)
    }
    // Moved by Save As, or removed and added again: it is the same store if it has the same identity and model.
    guard let again = coordinator.persistentStore(identifier: identifier), again.model === store.model else {
      return nil
    }
    let isBack = again === leftStore
    (leftStore, leftWindow, heldWindow) = (isBack ? nil : store, heldWindow, isBack ? leftWindow : nil)
    store = again
    let (moved, isMovedOpen, _) = again.versionIfOpen
    guard isMovedOpen else { return nil }
    // Objects keep the values that they have read of the store that was left; whether they still hold is found when
    // they are saved.
    let present = isIncremental ? openWindow() : moved
    if isBack { comeBack(to: present) } else { firstSerial = present.serial }
    return noted(present)
  }

  /// Has objects that read the store which a Save As made read the previous one again: the Save As failed.
  private func comeBack(to version: NodeVersion) {
    visit { object in
      guard let base = object.base, base.serial >= firstSerial, base !== version, base.isWindow || version.isWindow
      else { return }
      if let reference = object.reference, let node = version.handle(for: reference, root: object.plan.root),
        node.entity == object.plan.index
      {
        object.base = version
        object.node = node
      } else {
        object.base = nil
      }
    }
  }

  /// Takes over what another process saved to a store of which this one only had new objects: its identity, and other
  /// references for objects whose own are taken.
  private func takeIdentity(_ present: UUID, _ version: NodeVersion) {
    let isOther = present != identifier
    guard isOther || !newWithReferences.isEmpty && serial != version.serial else { return }
    newWithReferences.removeAll { weak in weak.object.map { !isNew($0) } ?? true }
    let new = ObjectList(newWithReferences.compactMap(\.object)).elements
    let former = new.map(\.objectID)
    identifier = present
    if isOther {
      // Nothing is known of faults by IDs of the former identity.
      for object in registeredObjects where !object.flags.contains(.inserted) {
        object.context?.notice.invalidated.append(object)
        object.abandon(.notInStore)
      }
    }
    let taken = new.filter { object in
      object.reference.map { version.handle(for: $0, root: object.plan.root) != nil } ?? false
    }
    if !taken.isEmpty { replaceReferences(of: taken) }
    for (object, id) in zip(new, former) where object.objectID != id {
      store.noteNewID(object.objectID, insteadOf: id)
      if let known = object.context?.options.newWithPermanentIDs[id] {
        object.context?.options.newWithPermanentIDs[object.objectID] = known
      }
    }
  }

  private func isNew(_ object: ManagedObject) -> Bool {
    object.cache === self && object.flags.contains([.inserted, .permanent]) && object.base == nil
  }

  private func replaceReferences(of objects: [ManagedObject]) {
    let registered = objects.map { $0.flags.contains(.registered) }
    for object in objects { unregister(object) }
    let references = try? store.newReferences(count: objects.count) { objects[$0].attributeSnapshot() }
    for (place, object) in objects.enumerated() {
      object.reference = references?[place]
      // Without one, it gets one when it is saved.
      if references == nil { object.flags.remove(.permanent) } else if registered[place] { register(object) }
    }
  }

  private func openWindow() -> NodeVersion {
    if let heldWindow { return heldWindow }
    let window = NodeVersion(windowFor: store.model, source: self)
    heldWindow = window
    return window
  }

  /// Whether a version is one of the store as it is now, not of one that a Save As has left.
  func isOfPresentStore(_ version: NodeVersion) -> Bool { version.serial >= firstSerial }

  func replaceWindow(by window: NodeVersion) { heldWindow = window }

  private func noted(_ version: NodeVersion) -> NodeVersion {
    if serial == nil { serial = version.serial } else if serial != version.serial { isMixed = true }
    return version
  }

  /// Records that all objects with values read one version again.
  func unify(_ version: NodeVersion) {
    serial = version.serial
    isMixed = false
  }

  /// Records that rows of a database were read again which had changed meanwhile, or were gone: others may be older.
  func noteChangedRows() { isMixed = true }

  func object(root: Int, _ number: Int64) -> ManagedObject? { identities[root][number] }
  func object(root: Int, _ reference: ReferenceObject) -> ManagedObject? {
    switch reference {
    case .integer(let number): identities[root][number]
    case .string(let text): identities[root][text]
    }
  }

  func register(_ object: ManagedObject) {
    guard let reference = object.reference else { return }
    object.flags.insert(.registered)
    identities[object.plan.root].insert(object, reference)
  }

  /// Registers a new object under the reference that it was given. A fault that was created for that reference while no
  /// object had it is replaced: there is one object for each row.
  func registerNew(_ object: ManagedObject) {
    if let reference = object.reference, let other = self.object(root: object.plan.root, reference), other !== object {
      other.context?.notice.invalidated.append(other)
      other.abandon(.notInStore)
    }
    register(object)
  }

  /// Registers a new object under the reference that it was given before it is saved.
  func registerUnsaved(_ object: ManagedObject) {
    if !isIncremental, let reference = object.reference,
      currentVersion()?.handle(for: reference, root: object.plan.root) != nil
    {
      // While its insertion was undone, another process saved an object with it.
      object.reference = nil
      object.flags.remove(.permanent)
      return
    }
    registerNew(object)
    watchReference(of: object)
  }

  /// Gives a new object another reference when another process saves an object with its own.
  func watchReference(of object: ManagedObject) {
    if !isIncremental { newWithReferences.append(WeakObject(object: object)) }
  }

  func unregister(_ object: ManagedObject) {
    guard object.flags.contains(.registered), let reference = object.reference else { return }
    object.flags.remove(.registered)
    identities[object.plan.root].remove(reference)
  }

  /// Calls `body` with each object.
  func visit(_ body: (ManagedObject) -> Void) { for map in identities { map.visit(body) } }

  var registeredObjects: [ManagedObject] { identities.flatMap(\.objects) }

  /// The value of a slot that the store's format supplies on first read.
  func suppliedValue(slot: Int, object: ManagedObject) throws(PersistentStoreError) -> StoredValue {
    guard let version = presentVersion(), let reference = object.reference,
      let node = version.handle(for: reference, root: object.plan.root)
    else { return .null }
    return try store.value(slot: slot, of: node)
  }
}

/// An object that was given newer values, and what it read before.
struct MovedObject {
  let object: ManagedObject
  let base: NodeVersion
  let node: NodeHandle
}

extension ManagedObject {
  /// The attributes of a new object, for a store that derives the reference from them.
  final func attributeSnapshot() -> ManagedObjectSnapshot {
    var values = SlotValues(slotCount: plan.propertyOfSlot.count)
    for p in plan.attributes where plan.properties[p].slot >= 0 {
      let value = storedValue(p)
      if !value.isNull { values[plan.properties[p].slot] = value }
    }
    return ManagedObjectSnapshot(entity: plan.index, reference: reference, values: values)
  }
}
