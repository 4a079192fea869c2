import AtomicStoreSPI

/// The objects added to and removed from a to-many, relative to what the store holds: a change to a set of a million
/// objects costs as much as one to a set of one.
final class ToManyChanges {
  private(set) var added = ObjectList()
  /// By their node in the version that the owner reads.
  private(set) var removed: [UInt64: ManagedObject] = [:]
  /// The nodes that the store holds, created once scanning the list would be too slow.
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
    added.remove(object)
    // It may be both: added, and held by a list that was read later.
    if let base { removed[base] = object }
  }

  /// Whether the stored list, which `list` returns, contains the node.
  func holds(_ bits: UInt64, in list: UnsafeBufferPointer<UInt64>) -> Bool {
    if list.count <= 32 { return list.contains(bits) }
    if let held { return held.contains(bits) }
    let set = Set(list)
    held = set
    return set.contains(bits)
  }

  /// Translates the changes to another version of the store.
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

/// The value of a property of an object, overriding the value in its store.
enum PropertyValue {
  case stored(StoredValue)
  case object(ManagedObject?)
  case changes(ToManyChanges)
  case ordered(OrderedObjectList)
  /// The value of a transient attribute, of any type.
  case transient(Any?)
}

extension PropertyValue {
  /// Whether two values of one property are the same. Transient values of any type never are.
  static func isSame(_ one: PropertyValue?, _ other: PropertyValue?) -> Bool {
    switch (one, other) {
    case (nil, nil): true
    case (.stored(let a)?, .stored(let b)?): a.isIdentical(to: b)
    case (.object(let a)?, .object(let b)?): a === b
    case (.changes(let a)?, .changes(let b)?):
      a.removed.isEmpty && b.removed.isEmpty && a.added.count == b.added.count
        && a.added.allSatisfy { b.added.contains($0) }
    case (.ordered(let a)?, .ordered(let b)?): a.elements.elementsEqual(b.elements, by: ===)
    default: false
    }
  }
}

/// The objects that a relationship held when the program last read it.
///
/// An object holds what the program read through it, so that reading again gives the same instances. It never decides
/// what a relationship leads to: it only keeps objects alive. Related objects may therefore hold each other in a cycle,
/// which ends when one of them turns into a fault or leaves its context, and when the context is reset or released.
enum HeldObjects {
  case one(ManagedObject)
  case many([ManagedObject])

  var objects: [ManagedObject] {
    switch self {
    case .one(let object): [object]
    case .many(let objects): objects
    }
  }
}

/// Ordered to-manys with changes: whole lists.
extension ManagedObject {
  final func applyOrder(_ p: Int, _ objects: [ManagedObject]) {
    context?.event.record(self, p, .ordered(toManyObjects(p)))
    putOrdered(p, OrderedObjectList(objects))
  }

  /// Moves an object to an index of the list. Returns the index that it had, or nil.
  final func applyMove(_ p: Int, _ object: ManagedObject, to index: Int) -> Int? {
    willChangeObserved(p)
    var list = takeOrdered(p)
    let old = list.move(object, to: index)
    putOrdered(p, list)
    guard let old, old != index else { return old }
    context?.event.record(self, p, .removed(object, at: old))
    context?.event.record(self, p, .added(object))
    return old
  }

  /// Moves the list out of its property, so that changing it does not copy.
  final func takeOrdered(_ p: Int) -> OrderedObjectList {
    if case .ordered(let list)? = edits?[p] {
      edits?[p] = nil
      return list
    }
    return OrderedObjectList(toManyObjects(p))
  }

  final func putOrdered(_ p: Int, _ list: OrderedObjectList) {
    if isOverParent {
      var under: [ManagedObject] = []
      if case .ordered(let known)? = overlay?[p] { under = known.elements }
      let isBack = list.count == under.count && list.allSatisfy { $1 === under[$0] }
      return setEdit(p, isBack ? nil : .ordered(list))
    }
    let slot = plan.properties[p].slot
    if let base, !flags.contains(.inserted), slot >= 0, overlayIsEmpty(at: p),
      base.toManyCount(slot: slot, of: node) == list.count
    {
      let isBack = base.withToMany(slot: slot, of: node) { handles in
        list.allSatisfy { baseBits(of: $1) == handles[$0] }
      }
      if isBack { return setEdit(p, nil) }
    }
    setEdit(p, .ordered(list))
  }

  /// The objects at the other ends of a relationship, as the object reads it.
  final func ends(_ p: Int) -> [ManagedObject] {
    plan.properties[p].isToMany ? toManyObjects(p) : toOneObject(p).map { [$0] } ?? []
  }
}
