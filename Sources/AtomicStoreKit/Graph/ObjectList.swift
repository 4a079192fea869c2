/// A set of objects in the order in which they were added, by identity.
///
/// Removing preserves the order; the gaps are closed when they outnumber the objects.
struct ObjectList: Sequence {
  private var slots: ContiguousArray<ManagedObject?> = []
  private var places: [ObjectIdentifier: Int] = [:]

  init() {}
  init(_ objects: some Sequence<ManagedObject>) { for object in objects { append(object) } }

  var count: Int { places.count }
  var isEmpty: Bool { places.isEmpty }

  func contains(_ object: ManagedObject) -> Bool { places[ObjectIdentifier(object)] != nil }

  /// Returns false if the object is in the list already.
  @discardableResult
  mutating func append(_ object: ManagedObject) -> Bool {
    let key = ObjectIdentifier(object)
    guard places[key] == nil else { return false }
    places[key] = slots.count
    slots.append(object)
    return true
  }

  /// Returns false if the object is not in the list.
  @discardableResult
  mutating func remove(_ object: ManagedObject) -> Bool {
    guard let place = places.removeValue(forKey: ObjectIdentifier(object)) else { return false }
    if place == slots.count - 1 { slots.removeLast() } else { slots[place] = nil }
    if slots.count > 32, slots.count > places.count * 2 { compact() }
    return true
  }

  mutating func removeAll() {
    slots.removeAll()
    places.removeAll()
  }

  private mutating func compact() {
    slots = ContiguousArray(slots.lazy.filter { $0 != nil })
    for (place, object) in slots.enumerated() {
      if let object { places[ObjectIdentifier(object)] = place }
    }
  }

  var elements: [ManagedObject] {
    var result: [ManagedObject] = []
    result.reserveCapacity(count)
    for case let object? in slots { result.append(object) }
    return result
  }

  func makeIterator() -> AnyIterator<ManagedObject> {
    var rest = slots.makeIterator()
    return AnyIterator {
      while let next = rest.next() {
        if let object = next { return object }
      }
      return nil
    }
  }
}

/// The objects of an ordered relationship: each object occurs once, and its index matters.
struct OrderedObjectList {
  private(set) var elements: [ManagedObject] = []
  private var members: Set<ObjectIdentifier> = []

  init() {}
  init(_ objects: [ManagedObject]) {
    for object in objects where members.insert(ObjectIdentifier(object)).inserted { elements.append(object) }
  }

  var count: Int { elements.count }
  func contains(_ object: ManagedObject) -> Bool { members.contains(ObjectIdentifier(object)) }

  mutating func insert(_ object: ManagedObject, at place: Int) {
    guard members.insert(ObjectIdentifier(object)).inserted else { return }
    elements.insert(object, at: Swift.max(0, Swift.min(place, elements.count)))
  }

  /// Returns the index that it had, or nil.
  mutating func remove(_ object: ManagedObject) -> Int? {
    guard members.remove(ObjectIdentifier(object)) != nil else { return nil }
    guard let place = elements.firstIndex(where: { $0 === object }) else { return nil }
    elements.remove(at: place)
    return place
  }
}
