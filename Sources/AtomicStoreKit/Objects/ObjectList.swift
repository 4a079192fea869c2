import AtomicStoreSPI

/// Objects in the order they were added, each once, found by identity.
///
/// Removing keeps the others' order; the gaps are closed when they outnumber the objects.
struct ObjectList: Sequence {
  private var slots: ContiguousArray<ManagedObject?> = []
  private var places: [ObjectIdentifier: Int] = [:]

  init() {}
  init(_ objects: some Sequence<ManagedObject>) { for object in objects { append(object) } }

  var count: Int { places.count }
  var isEmpty: Bool { places.isEmpty }

  func contains(_ object: ManagedObject) -> Bool { places[ObjectIdentifier(object)] != nil }

  /// False where the object was there already.
  @discardableResult
  mutating func append(_ object: ManagedObject) -> Bool {
    let key = ObjectIdentifier(object)
    guard places[key] == nil else { return false }
    places[key] = slots.count
    slots.append(object)
    return true
  }

  /// False where the object was not there.
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

/// The objects of an ordered relationship: positions matter, each object stands once.
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

  /// The place it stood at, or nil.
  mutating func remove(_ object: ManagedObject) -> Int? {
    guard members.remove(ObjectIdentifier(object)) != nil else { return nil }
    guard let place = elements.firstIndex(where: { $0 === object }) else { return nil }
    elements.remove(at: place)
    return place
  }
}

/// What was added to and taken from a to-many, over what the store holds: a change to a set of a million costs as much
/// as to a set of one.
final class ToManyChanges {
  private(set) var added = ObjectList()
  /// By their node in the version that the owner reads.
  private(set) var removed: [UInt64: ManagedObject] = [:]
  /// The nodes the store holds, once there is a question for which going through the list would be too slow.
  private var held: Set<UInt64>?

  init() {}
  init(copying other: ToManyChanges) {
    added = other.added
    removed = other.removed
    held = other.held
  }

  var isEmpty: Bool { added.isEmpty && removed.isEmpty }

  func add(_ object: ManagedObject, base: UInt64?) {
    if let base, removed.removeValue(forKey: base) != nil { return }
    added.append(object)
  }

  func remove(_ object: ManagedObject, base: UInt64?) {
    if added.remove(object) { return }
    if let base { removed[base] = object }
  }

  /// Whether the stored list, which `list` gives, has the node.
  func holds(_ bits: UInt64, in list: UnsafeBufferPointer<UInt64>) -> Bool {
    if list.count <= 32 { return list.contains(bits) }
    if let held { return held.contains(bits) }
    let set = Set(list)
    held = set
    return set.contains(bits)
  }

  /// The same changes over another version of the store.
  func rebase(_ translate: (ManagedObject) -> (bits: UInt64?, isHeld: Bool)) {
    held = nil
    let before = (added: added, removed: removed)
    added = ObjectList()
    removed = [:]
    for object in before.removed.values {
      let now = translate(object)
      if now.isHeld, let bits = now.bits { removed[bits] = object }
    }
    for object in before.added where !translate(object).isHeld { added.append(object) }
  }
}

/// What stands in a property of an object, over what its store holds.
enum PropertyValue {
  case stored(StoredValue)
  case object(ManagedObject?)
  case changes(ToManyChanges)
  case ordered(OrderedObjectList)
  /// A transient attribute's value, of whatever type.
  case transient(Any?)
}
