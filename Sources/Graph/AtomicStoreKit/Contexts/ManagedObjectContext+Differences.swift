import AtomicStoreSPI

/// What merge policies decided in favor of the store. Changes elsewhere in the context must not change it again.
struct DecidedEnds {
  /// Objects whose changes were dropped.
  var objects: Set<ObjectIdentifier> = []
  /// Objects whose deletion was dropped.
  var revived: Set<ObjectIdentifier> = []
  /// Single to-one relationships.
  var ends: Set<RelationshipEnd> = []
  var hasChanged = false

  func contains(_ object: ManagedObject, _ p: Int) -> Bool {
    objects.contains(ObjectIdentifier(object)) || !ends.isEmpty && ends.contains(RelationshipEnd(object, p))
  }
}

/// A relationship of an object, by property number.
struct RelationshipEnd: Hashable {
  private let object: ObjectIdentifier
  private let property: Int
  init(_ object: ManagedObject, _ property: Int) {
    self.object = ObjectIdentifier(object)
    self.property = property
  }
}

/// What relationships lead to, and how objects differ from what their stores hold now.
extension ManagedObjectContext {
  /// Whether a relationship of the object leads to the other one.
  func isEnd(_ object: ManagedObject, _ p: Int, _ other: ManagedObject) -> Bool {
    object.plan.properties[p].isToMany ? object.toManyContains(p, other) : object.toOneObject(p) === other
  }

  /// The destinations that a changed relationship has, and did not have in the version that the object reads.
  func addedEnds(of object: ManagedObject, _ p: Int) -> [ManagedObject] {
    // The lists of a child context are whole ones.
    let before = object.isOverParent ? overlayEnds(of: object, p) : ObjectList()
    switch object.edits?[p] {
    case .object(let other?): return [other]
    case .changes(let changes): return changes.added.filter { !before.contains($0) }
    case .ordered(let list) where object.isOverParent: return list.elements.filter { !before.contains($0) }
    case .ordered(let list):
      guard let base = object.base, !object.flags.contains(.inserted) else { return list.elements }
      let held = base.withToMany(slot: object.plan.properties[p].slot, of: object.node) { Set($0) }
      return list.elements.filter { other in !(object.baseBits(of: other).map { held.contains($0) } ?? false) }
    default: return []
    }
  }

  /// The members that the parent had when this context read a to-many.
  func overlayMembers(of object: ManagedObject, _ p: Int) -> ObjectList {
    switch object.overlay?[p] {
    case .changes(let under)?: under.added
    case .ordered(let under)?: ObjectList(under.elements)
    default: ObjectList()
    }
  }

  /// The objects at the other end of a relationship when this context read it from the parent.
  func overlayEnds(of object: ManagedObject, _ p: Int) -> ObjectList {
    if case .object(let other?)? = object.overlay?[p] { return ObjectList([other]) }
    return overlayMembers(of: object, p)
  }

  /// The destinations that a changed to-many has lost since the version that its object reads.
  func removedEnds(of object: ManagedObject, _ p: Int) -> [ManagedObject] {
    switch object.edits?[p] {
    case .changes(let changes): return changes.removed.sorted { $0.key < $1.key }.map(\.value)
    case .ordered(let list):
      guard let base = object.base, let cache = object.cache, !object.flags.contains(.inserted) else { return [] }
      return base.withToMany(slot: object.plan.properties[p].slot, of: object.node) { handles in
        handles.map { self.object(at: NodeHandle(rawBits: $0), in: base, of: cache) }.filter { !list.contains($0) }
      }
    default: return []
    }
  }

  /// The objects at the other ends of a relationship in one of two versions.
  func changedEnds(
    of item: MovedObject, _ p: Int, _ version: NodeVersion, _ node: NodeHandle
  ) -> [ManagedObject] {
    let slot = item.object.plan.properties[p].slot
    guard let cache = item.object.cache,
      item.base.differs(slot: item.object.plan.entity.slots[slot], of: item.node, from: version, node)
    else { return [] }
    let before = ObjectList(storedEnds(item.object.plan, p, item.node, item.base, cache))
    let now = ObjectList(storedEnds(item.object.plan, p, node, version, cache))
    return before.filter { !now.contains($0) } + now.filter { !before.contains($0) }
  }

  /// The objects at the other ends of a relationship in a version of the store.
  func storedEnds(
    _ plan: EntityPlan, _ p: Int, _ node: NodeHandle, _ version: NodeVersion, _ cache: StoreCache
  ) -> [ManagedObject] {
    let slot = plan.properties[p].slot
    guard plan.properties[p].isToMany else {
      return version.toOne(slot: slot, of: node).map { [object(at: $0, in: version, of: cache)] } ?? []
    }
    return version.withToMany(slot: slot, of: node) { handles in
      handles.map { object(at: NodeHandle(rawBits: $0), in: version, of: cache) }
    }
  }

  /// The node of an object in a version of its store; nil if the version does not have the object.
  func node(of object: ManagedObject, in version: NodeVersion) -> NodeHandle? {
    if object.base === version { return version.isGone(object.node) ? nil : object.node }
    guard let reference = object.reference, let node = version.handle(for: reference, root: object.plan.root),
      node.entity == object.plan.index
    else { return nil }
    return node
  }

  /// The version of an object's store that a save is based on.
  func storeVersion(
    of object: ManagedObject, _ versions: [(cache: StoreCache, version: NodeVersion)]
  ) -> NodeVersion? {
    versions.first { $0.cache === object.cache }?.version ?? object.cache?.currentVersion()
  }

  /// Returns every difference between an object and what its store holds now; nil if there is none.
  ///
  /// A row that was rewritten with the same values does not differ: values are compared, not version numbers.
  func difference(of object: ManagedObject) -> MergeConflict? {
    guard let version = object.cache?.currentVersion(), let changed = changedSlots(of: object, in: version),
      !changed.isEmpty
    else { return nil }
    return snapshot(of: object, in: version, changed, nowhere: [])
  }

  /// The slots in which a version differs from the one that the object's changes are based on; all slots if the object
  /// was removed. Nil if there can be no conflict. Derived attributes are left out: they are computed again.
  func changedSlots(of object: ManagedObject, in version: NodeVersion) -> [Slot]? {
    guard let base = object.base, !object.flags.contains(.inserted), object.reference != nil,
      // A window keeps the values of an object that its store no longer has.
      base !== version || version.isGone(object.node)
    else { return nil }
    guard let node = node(of: object, in: version) else {
      // Deleted on both sides: not a conflict.
      return object.flags.contains(.deleted) ? nil : object.plan.entity.slots
    }
    return object.plan.entity.slots.filter { slot in
      slot.attribute?.derivationExpression == nil && base.differs(slot: slot, of: object.node, from: version, node)
    }
  }

  func snapshot(
    of object: ManagedObject, in version: NodeVersion, _ changed: [Slot], nowhere: [Int]
  ) -> MergeConflict {
    // A to-many of a database may be long, and is not read for this.
    let slots = object.plan.entity.slots.filter { slot in
      !slot.isToMany || object.base?.isKnown(slot: slot.index, of: object.node) ?? true
    }
    func values(_ version: NodeVersion, _ node: NodeHandle) -> [String: StoredValue] {
      var values: [String: StoredValue] = [:]
      for slot in slots { values[slot.name] = version.value(slot: slot.index, of: node) }
      return values
    }
    let isInserted = object.flags.contains(.inserted)
    return MergeConflict(
      objectID: object.objectID,
      objectSnapshot: object.flags.contains(.deleted) ? [:] : storedValues(of: object, slots),
      cachedSnapshot: isInserted ? [:] : object.base.map { values($0, object.node) } ?? [:],
      persistedSnapshot: isInserted ? nil : node(of: object, in: version).map { values(version, $0) },
      keysChangedInStore: changed.map(\.name), keysChangedHere: keysChangedHere(of: object),
      isDeletedHere: object.flags.contains(.deleted),
      keysLeadingNowhere: nowhere.map { object.plan.properties[$0].name })
  }

  /// The conflict of an object of a child context.
  ///
  /// - Parameter above: The object of the parent; nil if the parent no longer has it.
  func snapshot(of object: ManagedObject, overParent above: ManagedObject?, nowhere: [Int]) -> MergeConflict {
    let slots = object.plan.entity.slots
    let here = storedValues(of: object, slots)
    // What the changes are based on is what the object reads without them.
    let edits = object.edits
    object.edits = nil
    let before = edits == nil || object.flags.contains(.inserted) ? [:] : storedValues(of: object, slots)
    object.edits = edits
    let isGone = above == nil && !object.flags.contains(.inserted)
    return MergeConflict(
      objectID: object.objectID, objectSnapshot: here, cachedSnapshot: before,
      persistedSnapshot: above.map { storedValues(of: $0, slots) },
      keysChangedInStore: isGone ? slots.map(\.name) : [], keysChangedHere: keysChangedHere(of: object),
      isDeletedHere: false, keysLeadingNowhere: nowhere.map { object.plan.properties[$0].name })
  }

  private func storedValues(of object: ManagedObject, _ slots: [Slot]) -> [String: StoredValue] {
    let known = Set(slots.map(\.index))
    let full = object.fullSnapshot { known.contains($0) }
    var values: [String: StoredValue] = [:]
    for slot in slots { values[slot.name] = full.values[slot.index] ?? .null }
    return values
  }

  private func keysChangedHere(of object: ManagedObject) -> [String] {
    guard let edits = object.edits else { return [] }
    return edits.indices.filter {
      edits[$0] != nil && object.plan.properties[$0].slot >= 0 && !object.plan.derived.contains($0)
    }.map { object.plan.properties[$0].name }
  }
}
