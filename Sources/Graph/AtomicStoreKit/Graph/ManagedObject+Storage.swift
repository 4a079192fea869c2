import AtomicStoreSPI
import FoundationEssentials
import StoreCoordination

/// Reading and writing by property number: the layers that make up an object's values.
///
/// A value is the one edited since the last save; else the one that overrides the store's; else the one in the version
/// of the store that the object reads.
extension ManagedObject {
  /// Makes the values readable.
  ///
  /// - Throws: An error with the object, the reason, and how the object was reached.
  @inline(__always) final func realize() throws(ManagedObjectError) {
    if flags.contains(.realized) { return }
    try fire()
  }

  private final func fire() throws(ManagedObjectError) {
    if let context { return try context.fire(self) }
    if let reason = extras?.gone { throw unavailable(reason) }
    // It is in no context: its values are those it is given until it is inserted.
    flags.insert(.realized)
    for (p, value) in plan.defaults { setEdit(p, .stored(value)) }
  }

  /// Makes a fault's stored values readable internally, without firing the fault.
  final func isPeekable() -> Bool {
    if flags.contains(.realized) { return true }
    guard extras?.gone == nil, extras?.parentObject == nil, let cache, let reference,
      let version = cache.currentVersion()
    else { return false }
    if base === version, version.isFilled(node) { return true }
    guard let found = version.handle(for: reference, root: plan.root), found.entity == plan.index else { return false }
    base = version
    node = found
    return true
  }

  /// Whether values can be read; if not, the error is recorded.
  final func isReadable() -> Bool {
    if flags.contains(.realized) { return true }
    do throws(ManagedObjectError) {
      try realize()
      return true
    } catch {
      record(error)
      return false
    }
  }

  @inline(__always) final func layered(_ p: Int) -> PropertyValue? {
    if let edits, let value = edits[p] { return value }
    if let overlay, let value = overlay[p] { return value }
    return nil
  }

  final func setEdit(_ p: Int, _ value: PropertyValue?) {
    willChangeObserved(p)
    if !flags.contains(.recorded) { context?.event.record(self) }
    if flags.contains(.indexed) {
      flags.remove(.indexed)
      context?.fetchState.pendingValues?.noteChange(of: self)
    }
    if edits == nil {
      if value == nil { return }
      edits = ContiguousArray(repeating: nil, count: plan.properties.count)
    }
    edits?[p] = value
  }

  final func setOverlay(_ p: Int, _ value: PropertyValue?) {
    willChangeObserved(p)
    if value != nil, plan.properties[p].slot >= 0 { cache?.settledVersion = nil }
    if overlay == nil {
      if value == nil { return }
      overlay = ContiguousArray(repeating: nil, count: plan.properties.count)
    }
    overlay?[p] = value
  }

  /// Whether values override the store's.
  final var hasStoredOverlay: Bool {
    guard let overlay else { return false }
    return overlay.indices.contains { overlay[$0] != nil && plan.properties[$0].slot >= 0 }
  }

  // MARK: Attributes

  /// The stored value of an attribute. The object must be realized.
  final func storedValue(_ p: Int) -> StoredValue {
    if case .stored(let value)? = layered(p) { return value }
    return committedStoredValue(p)
  }

  /// The value in the version that the object reads.
  final func committedStoredValue(_ p: Int) -> StoredValue {
    let property = plan.properties[p]
    guard let base, property.slot >= 0, case .attribute(let type) = property.kind else { return property.unsetValue }
    if base.isDeferred(slot: property.slot, of: node) {
      do throws(PersistentStoreError) {
        return try cache?.suppliedValue(slot: property.slot, object: self) ?? .null
      } catch {
        record(
          objectError(
            .persistentStoreOperation, "\(plan.name).\(property.name) could not be read", key: property.name,
            underlying: error))
        return .null
      }
    }
    return base.attribute(slot: property.slot, type: type, of: node)
  }

  /// Sets an attribute's value. If it is the same, nothing is marked as changed.
  final func setStoredValue(_ p: Int, _ value: StoredValue) throws(ManagedObjectError) {
    try realize()
    if flags.contains(.awakening) { return setOverlay(p, .stored(value)) }
    let old = storedValue(p)
    if old.isIdentical(to: value) { return }
    try checkChangeable(p)
    guard let context else {
      setEdit(p, .stored(value))
      return
    }
    context.undoManager?.log(.attribute(self, p, old))
    applyStoredValue(p, value)
    extras?.transformed[p] = nil
    context.noteChange(of: self)
  }

  /// The part of a change that undo performs as well.
  final func applyStoredValue(_ p: Int, _ value: StoredValue) {
    let isBack: Bool
    if isOverParent || plan.properties[p].isTransient && !flags.contains(.inserted) {
      if case .stored(let under)? = overlay?[p] {
        isBack = under.isIdentical(to: value)
      } else {
        isBack = value.isIdentical(to: plan.properties[p].unsetValue)
      }
    } else {
      isBack =
        base != nil && !flags.contains(.inserted) && overlayIsEmpty(at: p)
        && committedStoredValue(p).isIdentical(to: value)
    }
    setEdit(p, isBack ? nil : .stored(value))
  }

  /// Whether its values without its changes are those of an object of the parent context.
  final var isOverParent: Bool { extras?.parentObject != nil && !flags.contains(.inserted) }

  final func overlayIsEmpty(at p: Int) -> Bool { overlay.map { $0[p] == nil } ?? true }

  final func checkChangeable(_ p: Int) throws(ManagedObjectError) {
    context?.checkThread()
    guard flags.contains(.deleted) else { return }
    throw objectError(
      .invalidValue, "\(plan.name).\(plan.properties[p].name) was not set: the object is being deleted",
      key: plan.properties[p].name, reason: .deletedHere)
  }

  // MARK: Relationships

  /// The object at a to-one's other end. The object must be realized.
  final func toOneObject(_ p: Int) -> ManagedObject? {
    if case .object(let object)? = layered(p) {
      if let object, !object.flags.contains(.realized) { object.noteReached(from: self, p) }
      return object
    }
    let slot = plan.properties[p].slot
    guard slot >= 0 else { return nil }
    if let cells = base?.cells, let known = knownToOne(slot, cells) { return known }
    guard let base, let handle = base.toOne(slot: slot, of: node), let context, let cache else { return nil }
    return context.object(at: handle, in: base, of: cache)
  }

  final func noteReached(from source: ManagedObject, _ p: Int) {
    needExtras().reachedBy =
      "\(source.plan.name).\(source.plan.properties[p].name) of \(source.rowName)"
  }

  /// The number of objects in a to-many, without creating them.
  final func toManyCount(_ p: Int) -> Int {
    switch layered(p) {
    case .ordered(let list)?: return list.count
    case .changes(let changes)?:
      guard let base, base.isWindow, plan.properties[p].slot >= 0 else {
        return storedCount(p) - changes.removed.count + changes.added.count
      }
      return base.withToMany(slot: plan.properties[p].slot, of: node) { handles in
        handles.count(where: { changes.removed[$0] == nil })
      } + newObjects(p, changes).count
    default: return storedCount(p)
    }
  }

  /// The objects that were added to a to-many and are not in the stored list, which may have been read, and have got
  /// them, after they were added.
  private final func newObjects(_ p: Int, _ changes: ToManyChanges) -> [ManagedObject] {
    let slot = plan.properties[p].slot
    guard let base, base.isWindow, slot >= 0, !changes.added.isEmpty else { return changes.added.elements }
    return base.withToMany(slot: slot, of: node) { handles in
      let held = Set(handles)
      return changes.added.filter { object in !(baseBits(of: object).map { held.contains($0) } ?? false) }
    }
  }

  /// Reads a to-many of an incremental store, so that it is known where its objects are.
  private final func readStoredList(_ p: Int) {
    if let base, base.isWindow { _ = storedCount(p) }
  }

  final func storedCount(_ p: Int) -> Int {
    let slot = plan.properties[p].slot
    guard let base, slot >= 0 else { return 0 }
    return base.toManyCount(slot: slot, of: node)
  }

  /// The objects of a to-many: in their order or, if it is unordered, the stored ones by reference, then the new ones.
  final func toManyObjects(_ p: Int) -> [ManagedObject] {
    switch layered(p) {
    case .ordered(let list)?: return list.elements
    case .changes(let changes)?:
      return storedObjects(p, without: changes.removed) + newObjects(p, changes)
    default: return storedObjects(p, without: [:])
    }
  }

  private final func storedObjects(_ p: Int, without removed: [UInt64: ManagedObject]) -> [ManagedObject] {
    let slot = plan.properties[p].slot
    guard let base, slot >= 0, let context, let cache else { return [] }
    return base.withToMany(slot: slot, of: node) { handles in
      var result: [ManagedObject] = []
      result.reserveCapacity(handles.count)
      for bits in handles where removed.isEmpty || removed[bits] == nil {
        result.append(context.object(at: NodeHandle(rawBits: bits), in: base, of: cache))
      }
      return result
    }
  }

  /// Copies all values into the object and releases the stored version, whose nodes will soon be invalid, or what was
  /// read from the parent context.
  final func detachFromBase() {
    guard base != nil || isOverParent, isReachable else { return }
    for p in plan.properties.indices where plan.properties[p].slot >= 0 {
      switch plan.properties[p].kind {
      case .toOne: setEdit(p, .object(toOneObject(p)))
      case .orderedToMany: setEdit(p, .ordered(OrderedObjectList(toManyObjects(p))))
      case .toMany:
        let all = ToManyChanges()
        for object in toManyObjects(p) { all.add(object, base: nil) }
        setEdit(p, .changes(all))
      case .fetched: break
      default: setEdit(p, .stored(storedValue(p)))
      }
      if isOverParent { setOverlay(p, nil) }
    }
    base = nil
  }

  /// The node of another object of the same store in the version that this one reads.
  final func baseBits(of other: ManagedObject) -> UInt64? {
    guard let base, let cache, other.cache === cache, let reference = other.reference else { return nil }
    if other.base === base, !other.flags.contains(.inserted) { return other.node.rawBits }
    return base.knownHandle(for: reference, root: other.plan.root)?.rawBits
  }

  /// Whether the stored list of a to-many contains the node.
  final func storedContains(_ p: Int, _ bits: UInt64, _ changes: ToManyChanges) -> Bool {
    let slot = plan.properties[p].slot
    guard let base, slot >= 0 else { return false }
    return base.withToMany(slot: slot, of: node) { changes.holds(bits, in: $0) }
  }

  final func toManyContains(_ p: Int, _ object: ManagedObject) -> Bool {
    switch layered(p) {
    case .ordered(let list)?: return list.contains(object)
    case .changes(let changes)?:
      if changes.added.contains(object) { return true }
      if containsByInverse(p, object) == nil { readStoredList(p) }
      guard let bits = baseBits(of: object), changes.removed[bits] == nil else { return false }
      return containsByInverse(p, object) ?? storedContains(p, bits, changes)
    default:
      if let contains = containsByInverse(p, object) { return contains }
      readStoredList(p)
      guard let bits = baseBits(of: object) else { return false }
      let slot = plan.properties[p].slot
      guard let base, slot >= 0 else { return false }
      return base.withToMany(slot: slot, of: node) { $0.contains(bits) }
    }
  }

  /// The changes to an unordered to-many, created if there are none yet.
  final func needChanges(_ p: Int) -> ToManyChanges {
    if let edits, case .changes(let changes)? = edits[p] { return changes }
    let changes: ToManyChanges
    if let overlay, case .changes(let under)? = overlay[p] {
      changes = ToManyChanges(copying: under)
    } else {
      changes = ToManyChanges()
    }
    setEdit(p, .changes(changes))
    return changes
  }

  // MARK: Raw changes to one end, which undo does as well

  final func applyToOne(_ p: Int, _ object: ManagedObject?) {
    if isOverParent {
      var under: ManagedObject?
      if case .object(let known)? = overlay?[p] { under = known }
      return setEdit(p, under === object ? nil : .object(object))
    }
    let slot = plan.properties[p].slot
    if let base, !flags.contains(.inserted), slot >= 0, overlayIsEmpty(at: p) {
      let stored = base.toOne(slot: slot, of: node)
      let isBack: Bool
      if let object {
        isBack = stored != nil && baseBits(of: object) == stored?.rawBits
      } else {
        isBack = stored == nil
      }
      if isBack { return setEdit(p, nil) }
    }
    setEdit(p, .object(object))
  }

  /// Adds at the end or, for an ordered relationship, at an index.
  final func applyAdd(_ p: Int, _ object: ManagedObject, at place: Int?) {
    willChangeObserved(p)
    context?.event.record(self, p, .added(object))
    if plan.properties[p].kind == .orderedToMany {
      var list = takeOrdered(p)
      list.insert(object, at: place ?? list.count)
      return putOrdered(p, list)
    }
    let changes = needChanges(p)
    changes.add(object, base: baseBits(of: object))
    if isBack(p, changes) { setEdit(p, nil) }
  }

  /// Whether the changes to a to-many cancel each other out.
  private final func isBack(_ p: Int, _ changes: ToManyChanges) -> Bool {
    if isOverParent {
      guard case .changes(let under)? = overlay?[p] else { return changes.isEmpty }
      return changes.added.count == under.added.count && changes.added.allSatisfy { under.added.contains($0) }
    }
    return changes.isEmpty && !flags.contains(.inserted) && overlayIsEmpty(at: p)
  }

  /// Removes an object. For an ordered relationship, returns the index that it had.
  @discardableResult
  final func applyRemove(_ p: Int, _ object: ManagedObject) -> Int? {
    willChangeObserved(p)
    if plan.properties[p].kind == .orderedToMany {
      var list = takeOrdered(p)
      let place = list.remove(object)
      putOrdered(p, list)
      if let place { context?.event.record(self, p, .removed(object, at: place)) }
      return place
    }
    context?.event.record(self, p, .removed(object, at: nil))
    let changes = needChanges(p)
    if containsByInverse(p, object) == nil { readStoredList(p) }
    let bits = baseBits(of: object)
    changes.remove(
      object, base: bits.flatMap { containsByInverse(p, object) ?? storedContains(p, $0, changes) ? $0 : nil })
    if isBack(p, changes) { setEdit(p, nil) }
    return nil
  }

  /// Removes edits that no longer differ from the values below them.
  final func dropIdleEdits() {
    guard let edits else { return }
    for p in edits.indices {
      switch edits[p] {
      case .stored(let value)?: applyStoredValue(p, value)
      case .object(let object)?: applyToOne(p, object)
      case .changes(let changes)?: if isBack(p, changes) { setEdit(p, nil) }
      case .ordered(let list)?: putOrdered(p, list)
      case .transient?, nil: break
      }
    }
  }

  /// The object at a to-one's other end, if it is known already; nil if it has to be found in the general way.
  @inline(__always) final func knownToOne(_ slot: Int, _ cells: NodeCells) -> ManagedObject? {
    guard let handle = cells.toOne(slot, of: node), let number = cells.number(of: handle), let cache else { return nil }
    return cache.object(root: cache.roots[handle.entity], number)
  }

  /// An error about the object.
  final func objectError(
    _ code: ManagedObjectError.Code, _ message: String, key: String? = nil, value: String? = nil, rule: String? = nil,
    reason: ManagedObjectError.UnavailableReason? = nil, underlying: (any Error)? = nil
  ) -> ManagedObjectError {
    ManagedObjectError(
      code, message, objectID: objectID, entityName: plan.name, key: key, value: value, rule: rule, reason: reason,
      underlying: underlying)
  }
}
