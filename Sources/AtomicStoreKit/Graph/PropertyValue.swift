import AtomicStoreSPI

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
