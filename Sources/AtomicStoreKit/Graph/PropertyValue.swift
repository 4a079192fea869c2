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
