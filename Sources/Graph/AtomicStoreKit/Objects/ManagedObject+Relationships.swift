import AtomicStoreSPI
import StoreCoordination

/// Relationships with both ends: when one end changes, the other is updated immediately.
extension ManagedObject {
  /// Adds an object to a to-many; for an ordered one at an index, by default at the end. Has no effect if the
  /// relationship contains the object.
  public final func add(_ object: ManagedObject, to key: String, at place: Int? = nil) throws(ManagedObjectError) {
    let p = try toManyNumber(key)
    try realize()
    try addObject(p, object, at: place)
  }

  /// Removes an object from a to-many. Has no effect if the relationship does not contain it.
  public final func remove(_ object: ManagedObject, from key: String) throws(ManagedObjectError) {
    let p = try toManyNumber(key)
    try realize()
    try removeObject(p, object)
  }

  /// Moves an object of an ordered to-many to another index.
  public final func move(_ object: ManagedObject, in key: String, to place: Int) throws(ManagedObjectError) {
    let p = try toManyNumber(key)
    try realize()
    try moveObject(p, object, to: place)
  }

  /// Returns the objects of a to-many, an ordered to-many or a fetched property as a list; of a to-one, an empty list
  /// or one object. If the relationship is not ordered, saved objects come first, by reference.
  public final func objects(forRelationshipNamed key: String) throws(ManagedObjectError) -> [ManagedObject] {
    try objects(forRelationshipNamed: key, holds: true)
  }

  /// - Parameter holds: Whether the object keeps the objects alive from now on. Code that visits many objects once
  ///   does without: see ``HeldObjects``.
  package final func objects(
    forRelationshipNamed key: String, holds: Bool
  ) throws(ManagedObjectError) -> [ManagedObject] {
    let p = try number(of: key)
    noteAccess(p)
    try realize()
    switch plan.properties[p].kind {
    case .toOne: return (holds ? readToOne(p) : toOneObject(p)).map { [$0] } ?? []
    case .toMany, .orderedToMany: return holds ? readToMany(p) : toManyObjects(p)
    case .fetched: return try fetches.fetchedObjects(p)
    default: throw noRelationship(key)
    }
  }

  /// Returns the IDs of the objects at the other end, without creating or fetching the objects.
  public final func objectIDs(forRelationshipNamed key: String) throws(ManagedObjectError) -> [ManagedObjectID] {
    let p = try number(of: key)
    noteAccess(p)
    try realize()
    let property = plan.properties[p]
    guard property.isRelationship else { throw noRelationship(key) }
    if layered(p) == nil, let base, let cache, property.slot >= 0 {
      func id(_ node: NodeHandle) -> ManagedObjectID {
        ManagedObjectID(
          storeIdentifier: cache.identifier, entityName: base.nodes.model.entity(at: node.entity).name,
          reference: base.reference(of: node))
      }
      if property.kind == .toOne { return base.toOne(slot: property.slot, of: node).map { [id($0)] } ?? [] }
      return base.withToMany(slot: property.slot, of: node) { $0.map { id(NodeHandle(rawBits: $0)) } }
    }
    if property.kind == .toOne { return toOneObject(p).map { [$0.objectID] } ?? [] }
    return toManyObjects(p).map(\.objectID)
  }

  /// Returns the number of objects that a relationship leads to, without creating them.
  public final func count(forRelationshipNamed key: String) throws(ManagedObjectError) -> Int {
    let p = try number(of: key)
    noteAccess(p)
    try realize()
    let property = plan.properties[p]
    switch property.kind {
    case .toOne:
      if case .object(let object)? = layered(p) { return object == nil ? 0 : 1 }
      guard let base, property.slot >= 0 else { return 0 }
      return base.toOne(slot: property.slot, of: node) == nil ? 0 : 1
    case .toMany, .orderedToMany: return toManyCount(p)
    case .fetched: return try fetches.fetchedObjects(p).count
    default: throw noRelationship(key)
    }
  }

  /// Whether the objects of a relationship have not been created yet. Creates none, and fires no fault.
  public final func hasFault(forRelationshipNamed key: String) -> Bool {
    guard let p = plan.property(named: key), plan.properties[p].isRelationship || plan.properties[p].kind == .fetched
    else {
      return false
    }
    guard flags.contains(.realized) else { return true }
    if plan.properties[p].kind == .fetched { return extras?.fetched[p] == nil }
    if plan.properties[p].kind == .toOne {
      if case .object(let object)? = layered(p) { return object?.isFault ?? false }
      let slot = plan.properties[p].slot
      guard let base, slot >= 0, let other = base.toOne(slot: slot, of: node), let cache else { return false }
      return cache.object(root: cache.plan.entities[other.entity].root, base.reference(of: other))?.isFault ?? true
    }
    return layered(p) == nil && base != nil && !flags.contains(.inserted) && !isHeld(p)
  }

  private final func noRelationship(_ key: String) -> ManagedObjectError {
    objectError(.undefinedKey, "\(plan.name).\(key) is not a relationship", key: key)
  }

  private final func toManyNumber(_ key: String) throws(ManagedObjectError) -> Int {
    let p = try number(of: key)
    guard plan.properties[p].isToMany else {
      throw objectError(.undefinedKey, "\(plan.name).\(key) is not a to-many relationship", key: key)
    }
    return p
  }

  // MARK: Changes with their inverses

  final func setToOne(_ p: Int, _ new: ManagedObject?) throws(ManagedObjectError) {
    let old = toOneObject(p)
    if old === new { return }
    if flags.contains(.awakening) { return setOverlay(p, .object(new)) }
    try checkChangeable(p)
    if let new { try checkDestination(new, p) }
    let inverse = plan.properties[p].inverse
    if inverse >= 0 {
      if let old { old.unlink(inverse, self) }
      if let new { try new.link(inverse, self, inverseOf: p) }
    }
    // If a relationship is its own inverse and an object its own partner, the other end is this one.
    if toOneObject(p) !== new { changeToOne(p, new) }
  }

  final func setToMany(_ p: Int, _ objects: [ManagedObject]) throws(ManagedObjectError) {
    if flags.contains(.awakening) { return setOverlay(p, overlayValue(p, objects)) }
    try checkChangeable(p)
    let wanted = ObjectList(objects)
    for object in wanted where !toManyContains(p, object) { try checkDestination(object, p) }
    for old in toManyObjects(p) where !wanted.contains(old) { try removeObject(p, old) }
    for object in wanted where !toManyContains(p, object) { try addObject(p, object, at: nil) }
    guard plan.properties[p].kind == .orderedToMany else { return }
    let before = toManyObjects(p)
    let after = wanted.elements
    guard !before.elementsEqual(after, by: ===) else { return }
    context?.undoManager?.log(.order(self, p, before))
    applyOrder(p, after)
    context?.noteChange(of: self)
  }

  /// Only this end changes. An undo inserts the object where it was.
  private final func moveObject(_ p: Int, _ object: ManagedObject, to place: Int) throws(ManagedObjectError) {
    guard plan.properties[p].kind == .orderedToMany else { return }
    if flags.contains(.awakening) {
      var list = OrderedObjectList(toManyObjects(p))
      guard list.move(object, to: place) != nil else { return }
      return setOverlay(p, .ordered(list))
    }
    try checkChangeable(p)
    let new = max(0, min(place, toManyCount(p) - 1))
    guard let old = applyMove(p, object, to: new), old != new else { return }
    context?.undoManager?.log(.removed(self, p, object, old))
    context?.undoManager?.log(.added(self, p, object, new))
    context?.noteChange(of: self)
  }

  final func addObject(_ p: Int, _ object: ManagedObject, at place: Int?) throws(ManagedObjectError) {
    if toManyContains(p, object) { return }
    if flags.contains(.awakening) { return setOverlay(p, overlayValue(p, toManyObjects(p) + [object])) }
    try checkChangeable(p)
    try checkDestination(object, p)
    let inverse = plan.properties[p].inverse
    if inverse >= 0 { try object.link(inverse, self, inverseOf: p) }
    // If a relationship is its own inverse and an object its own partner, the other end is this one.
    if !toManyContains(p, object) { changeAdd(p, object, at: place) }
  }

  final func removeObject(_ p: Int, _ object: ManagedObject) throws(ManagedObjectError) {
    guard toManyContains(p, object) else { return }
    if flags.contains(.awakening) {
      return setOverlay(p, overlayValue(p, toManyObjects(p).filter { $0 !== object }))
    }
    try checkChangeable(p)
    let inverse = plan.properties[p].inverse
    if inverse >= 0 { object.unlink(inverse, self) }
    if toManyContains(p, object) { changeRemove(p, object) }
  }

  /// Adds `partner` at this end. For a to-one, the previous object is released from its own end.
  private final func link(
    _ q: Int, _ partner: ManagedObject, inverseOf p: Int
  ) throws(ManagedObjectError) {
    try realize()
    guard q < plan.properties.count else { return }
    if plan.properties[q].isToMany {
      if !toManyContains(q, partner) { changeAdd(q, partner, at: nil) }
      return
    }
    let previous = toOneObject(q)
    if previous === partner { return }
    // The end may lead to objects of a super-entity that does not have the relationship.
    if let previous, previous.plan.shares(p, with: partner.plan), previous.isReachable {
      if previous.plan.properties[p].isToMany {
        if previous.toManyContains(p, self) { previous.changeRemove(p, self) }
      } else if previous.toOneObject(p) === self {
        previous.changeToOne(p, nil)
      }
    }
    changeToOne(q, partner)
  }

  /// Removes `partner` at this end. An unavailable object has nothing to change.
  final func unlink(_ q: Int, _ partner: ManagedObject) {
    guard q < plan.properties.count, plan.properties[q].isRelationship, isReachable else { return }
    if plan.properties[q].isToMany {
      if toManyContains(q, partner) { changeRemove(q, partner) }
    } else if toOneObject(q) === partner {
      changeToOne(q, nil)
    }
  }

  private final func changeToOne(_ p: Int, _ object: ManagedObject?) {
    context?.undoManager?.log(.toOne(self, p, toOneObject(p)))
    applyToOne(p, object)
    context?.noteChange(of: self)
  }
  private final func changeAdd(_ p: Int, _ object: ManagedObject, at place: Int?) {
    context?.undoManager?.log(.added(self, p, object, place))
    applyAdd(p, object, at: place)
    context?.noteChange(of: self)
  }
  private final func changeRemove(_ p: Int, _ object: ManagedObject) {
    let place = applyRemove(p, object)
    context?.undoManager?.log(.removed(self, p, object, place))
    context?.noteChange(of: self)
  }

  private final func checkDestination(_ object: ManagedObject, _ p: Int) throws(ManagedObjectError) {
    let property = plan.properties[p]
    func refused(_ code: ManagedObjectError.Code, _ message: String) -> ManagedObjectError {
      objectError(
        code, "\(plan.name).\(property.name): \(message)", key: property.name, value: object.objectID.uriRepresentation)
    }
    guard object.plan.entity.model === plan.entity.model, object.plan.isKind(of: property.destination) else {
      throw refused(
        .invalidValue,
        "\(object.plan.name) is not \(property.relationship?.destinationEntityName ?? "the destination entity")")
    }
    if property.inverse >= 0 {
      let back = object.plan.properties[property.inverse]
      guard plan.isKind(of: back.destination) else {
        throw refused(
          .invalidValue,
          "\(plan.name) is not \(back.relationship?.destinationEntityName ?? "the inverse's entity"), the destination of \(object.plan.name).\(back.name)"
        )
      }
    }
    guard let context else {
      throw refused(.invalidValue, "an object that is not in a context has no relationships; insert it first")
    }
    guard object.context === context else {
      throw refused(
        .invalidValue, "the objects are in different contexts; use object(with:) to get the object of this context")
    }
    guard !object.flags.contains(.deleted) else {
      throw refused(
        .invalidValue, "\(object.rowName) is being deleted")
    }
    try object.realize()
    if property.isTransient { return }
    if let cache = context.cacheForCheck(self), let other = context.cacheForCheck(object), cache !== other {
      throw refused(
        .managedObjectExternalRelationship,
        "the objects are in different stores, \(cache.store.path) and \(other.store.path); store the other object's URI "
          + "in an attribute, or use a fetched property")
    }
  }
}
