import AtomicStoreSPI
import FoundationEssentials

/// The value of an attribute.
enum AttributeContent {
  case stored(StoredValue)
  /// What a transformer created, or a value of any type that a transient attribute was set to.
  case other(Any)

  var anyValue: Any? {
    switch self {
    case .stored(let value): value.anyValue
    case .other(let value): value
    }
  }
}

/// Access by key, for any entity, with or without a class.
extension ManagedObject {
  /// Returns the value of a property: an attribute's (`Int` for integers of every width, `String`, `Double`, `Date`, …;
  /// nil for null), an object for a to-one, a `Set<ManagedObject>` for a to-many, an `[ManagedObject]` for an ordered
  /// one and for a fetched property, a `[String: Any]` for a composite.
  ///
  /// - Throws: `.undefinedKey`, or `.managedObjectReferentialIntegrity` for an unavailable object, with the reason.
  public final func value(forKey key: String) throws(ManagedObjectError) -> Any? {
    let p = try number(of: key)
    noteAccess(p)
    return try value(at: p, holds: true)
  }

  /// Sets the value of a property; for a relationship, the other end is updated immediately.
  ///
  /// ```swift
  /// try object.setValue("Ada", forKey: "name")
  /// try object.setValue(nil, forKey: "manager")
  /// ```
  ///
  /// An attribute takes values of its type, and of numbers also those of other types that are equal: 3.0 is an
  /// Integer 16, 3.5 is not. Nothing is rounded, and no text becomes a number or a date.
  ///
  /// - Throws: `.undefinedKey`; `.invalidValue` if the property does not take the value;
  ///   `.managedObjectExternalRelationship` for an object of another store.
  public final func setValue(_ value: Any?, forKey key: String) throws(ManagedObjectError) {
    try setValue(value, at: try number(of: key))
  }

  /// As ``value(forKey:)`` and ``setValue(_:forKey:)``, for code that cannot throw: an unavailable object reads as nil,
  /// and the error is stored in ``accessError`` and ``ManagedObjectContext/accessErrors``. A refused assignment makes
  /// the next save fail, so that it cannot go unnoticed.
  ///
  /// ```swift
  /// object["name"] = "Ada"
  /// print(object["name"] ?? "no name")
  /// ```
  public final subscript(key: String) -> Any? {
    get {
      do throws(ManagedObjectError) { return try value(forKey: key) } catch {
        record(error)
        return nil
      }
    }
    set {
      do throws(ManagedObjectError) { try setValue(newValue, forKey: key) } catch { refuse(error) }
    }
  }

  /// Returns the value in memory without firing a fault and without calling transformers or fetching: nil if there is
  /// none.
  public final func primitiveValue(forKey key: String) throws(ManagedObjectError) -> Any? {
    let p = try number(of: key)
    guard flags.contains(.realized) else { return nil }
    if plan.properties[p].kind == .fetched { return extras?.fetched[p] }
    return try value(at: p, holds: true)
  }

  /// Sets a value without marking the object as changed, without updating the inverse and without undo: in
  /// ``awakeFromFetch()`` and ``willSave()``, and for transient properties. A persistent value is saved if the object
  /// is saved anyway.
  public final func setPrimitiveValue(_ value: Any?, forKey key: String) throws(ManagedObjectError) {
    let p = try number(of: key)
    try realize()
    let wasAwakening = flags.contains(.awakening)
    if !hasChanges { flags.insert(.awakening) }
    defer { if !wasAwakening { flags.remove(.awakening) } }
    let property = plan.properties[p]
    switch property.kind {
    case .attribute(let type):
      if property.isTransient {
        let value: PropertyValue =
          property.holdsAnyValue
          ? .transient(StoredValue.unwrapped(value)) : .stored(try converted(value, property, type))
        setOverlay(p, value)
        setEdit(p, nil)
        return
      }
      let stored = try converted(value, property, type)
      if flags.contains(.awakening) { setOverlay(p, .stored(stored)) } else { applyStoredValue(p, stored) }
      extras?.transformed[p] = nil
    case .toOne:
      let object = try destination(value, property)
      if flags.contains(.awakening) || property.isTransient {
        setOverlay(p, .object(object))
      } else {
        applyToOne(p, object)
      }
    case .toMany, .orderedToMany:
      let objects = try destinations(value, property)
      if flags.contains(.awakening) || property.isTransient {
        setOverlay(p, overlayValue(p, objects))
        setEdit(p, nil)
      } else if property.kind == .orderedToMany {
        applyOrder(p, objects)
      } else {
        let wanted = ObjectList(objects)
        for old in toManyObjects(p) where !wanted.contains(old) { applyRemove(p, old) }
        for new in objects where !toManyContains(p, new) { applyAdd(p, new, at: nil) }
      }
    case .fetched: needExtras().fetched[p] = try destinations(value, property)
    case .composite: try setValue(value, at: p)
    }
  }

  /// The number of a property, or of a part of a composite attribute.
  final func number(of key: String) throws(ManagedObjectError) -> Int {
    if let p = plan.property(named: key) { return p }
    return try naming { () throws(ManagedObjectError) in try plan.number(of: key) }
  }

  /// - Parameter holds: Whether the object holds the objects of a relationship from now on: see ``HeldObjects``.
  final func value(at p: Int, holds: Bool = false) throws(ManagedObjectError) -> Any? {
    try realize()
    if let value = cellValue(p) { return value.anyValue }
    let property = plan.properties[p]
    switch property.kind {
    case .attribute: return try content(p).anyValue
    case .composite:
      var parts: [String: Any] = [:]
      let prefix = property.name.utf8.count + 1
      for part in property.parts where plan.properties[part].kind != .composite {
        if let value = try value(at: part) {
          parts[String(decoding: plan.properties[part].name.utf8.dropFirst(prefix), as: UTF8.self)] = value
        }
      }
      return parts.isEmpty ? nil : parts
    case .toOne: return holds ? readToOne(p) : toOneObject(p)
    case .toMany: return Set(holds ? readToMany(p) : toManyObjects(p))
    case .orderedToMany: return holds ? readToMany(p) : toManyObjects(p)
    case .fetched: return try fetches.fetchedObjects(p)
    }
  }

  /// The value of an attribute, which access by key and typed access both read here. The object must be realized.
  final func content(_ p: Int) throws(ManagedObjectError) -> AttributeContent {
    let property = plan.properties[p]
    if property.holdsAnyValue, case .transient(let value)? = layered(p) {
      return value.map { .other($0) } ?? .stored(.null)
    }
    let stored = storedValue(p)
    guard case .attribute(.transformable) = property.kind, case .data(let data) = stored,
      let value = try transformed(data, property)
    else { return .stored(stored) }
    return .other(value)
  }

  final func setValue(_ value: Any?, at p: Int) throws(ManagedObjectError) {
    try realize()
    let property = plan.properties[p]
    switch property.kind {
    case .attribute(let type):
      if property.holdsAnyValue { return try setTransient(p, StoredValue.unwrapped(value)) }
      let stored = try converted(value, property, type)
      try setStoredValue(p, stored)
      if case .transformable = type, let value = StoredValue.unwrapped(value), !(value is Data),
        !(value is StoredValue), transformer(of: property) != nil
      {
        needExtras().transformed[p] = value
      }
    case .composite:
      let parts = try naming { () throws(ManagedObjectError) in try plan.parts(of: value, property) }
      for (part, value) in parts { try setValue(value, at: part) }
    case .toOne: try setToOne(p, try destination(value, property))
    case .toMany, .orderedToMany: try setToMany(p, try destinations(value, property))
    case .fetched:
      throw objectError(
        .invalidValue, "\(plan.name).\(property.name) is a fetched property and cannot be set", key: property.name)
    }
  }

  private final func setTransient(_ p: Int, _ value: Any?) throws(ManagedObjectError) {
    if flags.contains(.awakening) { return setOverlay(p, .transient(value)) }
    try checkChangeable(p)
    let old = try content(p).anyValue
    if let old, let value, AnyValue.areEqual(old, value) == true { return }
    if old == nil, value == nil { return }
    context?.undoManager?.log(.transient(self, p, old))
    applyTransient(p, value)
    context?.noteChange(of: self)
  }

  /// The part of a change that undo performs as well.
  final func applyTransient(_ p: Int, _ value: Any?) {
    let isUnset = value == nil && overlayIsEmpty(at: p) && plan.properties[p].unsetValue.isNull
    setEdit(p, isUnset ? nil : .transient(value))
  }

  final func overlayValue(_ p: Int, _ objects: [ManagedObject]) -> PropertyValue {
    if plan.properties[p].kind == .orderedToMany { return .ordered(OrderedObjectList(objects)) }
    let changes = ToManyChanges()
    let wanted = ObjectList(objects)
    if plan.properties[p].slot >= 0 {
      for object in toManyObjects(p) where !wanted.contains(object) {
        changes.remove(object, base: baseBits(of: object))
      }
    }
    for object in objects {
      let bits = baseBits(of: object)
      if let bits, storedContains(p, bits, changes) { continue }
      changes.add(object, base: nil)
    }
    return .changes(changes)
  }

  // MARK: Conversions

  final func converted(
    _ value: Any?, _ property: PropertyPlan, _ type: AttributeType
  ) throws(ManagedObjectError) -> StoredValue {
    let transformers = context?.transformers
    return try naming { () throws(ManagedObjectError) in try plan.stored(value, property, type, transformers) }
  }

  /// Adds the object to an error of its entity.
  private final func naming<Result>(
    _ body: () throws(ManagedObjectError) -> Result
  ) throws(ManagedObjectError) -> Result {
    do throws(ManagedObjectError) { return try body() } catch {
      var error = error
      error.objectID = objectID
      throw error
    }
  }

  final func refusal(_ value: Any?, _ property: PropertyPlan, _ wanted: String) -> ManagedObjectError {
    var error = plan.refusal(value, property, wanted)
    error.objectID = objectID
    return error
  }

  final func destination(_ value: Any?, _ property: PropertyPlan) throws(ManagedObjectError) -> ManagedObject? {
    guard let value = StoredValue.unwrapped(value) else { return nil }
    guard let object = value as? ManagedObject else {
      throw refusal(value, property, property.relationship?.destinationEntityName ?? "an object")
    }
    return object
  }

  final func destinations(_ value: Any?, _ property: PropertyPlan) throws(ManagedObjectError) -> [ManagedObject] {
    guard let value = StoredValue.unwrapped(value) else { return [] }
    if let list = value as? [ManagedObject] { return list }
    // A set is unordered: sort it, so that the order does not vary between runs.
    if let set = value as? Set<ManagedObject> { return set.sorted(by: ManagedObject.precedes) }
    throw refusal(value, property, "a set or list of \(property.relationship?.destinationEntityName ?? "objects")")
  }
}
