extension ManagedObject {
  /// The object at a to-one's other end, which the program reads: it is held from now on.
  final func readToOne(_ p: Int) -> ManagedObject? {
    let object = toOneObject(p)
    let cell = plan.reads[p]
    // A relationship that is not stored is held by the layers that have its value.
    guard cell.slot >= 0 else { return object }
    if let object {
      hold(object, at: Int(cell.holder))
    } else if held != nil {
      held?[Int(cell.holder)] = nil
    }
    return object
  }

  /// The objects of a to-many, which the program reads: they are held from now on.
  final func readToMany(_ p: Int) -> [ManagedObject] {
    let objects = toManyObjects(p)
    let cell = plan.reads[p]
    guard cell.slot >= 0 else { return objects }
    if objects.isEmpty {
      if held != nil { held?[Int(cell.holder)] = nil }
    } else {
      startHolding(.many(objects), at: Int(cell.holder))
    }
    return objects
  }

  /// Holds the object that a to-one leads to. If it is held already, this is one load and a comparison.
  @inline(__always) final func hold(_ object: ManagedObject, at holder: Int) {
    if let held, case .one(let known)? = held[holder], known === object { return }
    startHolding(.one(object), at: holder)
  }

  private final func startHolding(_ objects: HeldObjects, at holder: Int) {
    if held == nil { held = ContiguousArray(repeating: nil, count: plan.reads.holderCount) }
    held?[holder] = objects
  }

  /// Whether the program read a relationship, and found objects.
  final func isHeld(_ p: Int) -> Bool {
    let cell = plan.reads[p]
    return cell.slot >= 0 && held?[Int(cell.holder)] != nil
  }

  /// Has a relationship that the program read hold what it was changed to. Called when the change was saved, before the
  /// layer that holds the objects of the change is released.
  final func holdSaved(_ p: Int, _ edit: PropertyValue) {
    guard isHeld(p) else { return }
    let holder = Int(plan.reads[p].holder)
    switch edit {
    case .object(let object): held?[holder] = object.map { .one($0) }
    case .ordered(let list): held?[holder] = .many(list.elements)
    case .changes(let changes):
      guard case .many(var objects)? = held?[holder] else { return }
      held?[holder] = nil
      let removed = Set(changes.removed.values.lazy.map { ObjectIdentifier($0) })
      // One that was added after the last save and then deleted is not among those that were removed.
      objects.removeAll { $0.contextReference == nil || removed.contains(ObjectIdentifier($0)) }
      // Some may be there already, if the relationship was read after the change: that does no harm.
      objects += changes.added.elements
      held?[holder] = .many(objects)
    case .stored, .transient: break
    }
  }
}
