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
///
/// Finding, inserting and removing an object takes a time that grows with the logarithm of the list's length.
struct OrderedObjectList {
  /// A reference, so that the enumeration with the list as a payload stays small. Copied before a change if shared.
  private final class Storage {
    var chunks: ObjectChunks<ManagedObject>
    /// All objects in order, as far as they were requested since the last change.
    var elements: [ManagedObject]?
    /// An index at which the list differed from the store's when they were compared last.
    var differingIndex = 0

    init(_ chunks: ObjectChunks<ManagedObject>, elements: [ManagedObject]?) {
      self.chunks = chunks
      self.elements = elements
    }
  }
  private var storage: Storage

  init() { storage = Storage(ObjectChunks([]), elements: nil) }
  init(_ objects: [ManagedObject]) {
    let chunks = ObjectChunks(objects)
    storage = Storage(chunks, elements: chunks.count == objects.count ? objects : nil)
  }

  /// All objects in order. Collected once after each change.
  var elements: [ManagedObject] {
    if let elements = storage.elements { return elements }
    let elements = storage.chunks.elements
    storage.elements = elements
    return elements
  }
  var count: Int { storage.chunks.count }
  func contains(_ object: ManagedObject) -> Bool { storage.chunks.contains(object) }
  func index(of object: ManagedObject) -> Int? { storage.chunks.index(of: object) }

  /// Inserts an object that the list does not contain; at the nearest end if the index is outside of the list.
  mutating func insert(_ object: ManagedObject, at index: Int) {
    prepareForChange()
    storage.chunks.insert(object, at: index)
  }

  /// Returns the index that it had, or nil.
  mutating func remove(_ object: ManagedObject) -> Int? {
    guard contains(object) else { return nil }
    prepareForChange()
    return storage.chunks.remove(object)
  }

  /// Moves an object to an index, which counts the others; if that is outside of the list, to the nearest end. Returns
  /// the index that it had, or nil.
  mutating func move(_ object: ManagedObject, to index: Int) -> Int? {
    prepareForChange()
    return storage.chunks.move(object, to: index)
  }

  private mutating func prepareForChange() {
    if !isKnownUniquelyReferenced(&storage) { storage = Storage(storage.chunks, elements: nil) }
    storage.elements = nil
  }

  /// Whether each object fulfils a test, which is called with its index. The index that failed the last time is tested
  /// first: usually it still fails.
  func allSatisfy(_ test: (Int, ManagedObject) -> Bool) -> Bool {
    let last = storage.differingIndex
    if last < count, !test(last, storage.chunks[last]) { return false }
    guard let index = storage.chunks.firstIndex(where: { !test($0, $1) }) else { return true }
    storage.differingIndex = index
    return false
  }
}

/// Changed objects, kept alive, in the order of their first change. An object is in at most one list and stores its
/// index in it, so that no list is searched.
struct ChangeList: Sequence {
  private var slots: ContiguousArray<ManagedObject?> = []
  private(set) var count = 0

  /// The objects that were added or removed since ``takeJournal()``; nil if that was not recorded.
  private var journal: ContiguousArray<ManagedObject>?

  var isEmpty: Bool { count == 0 }

  mutating func append(_ object: ManagedObject) {
    object.position = Int32(truncatingIfNeeded: slots.count)
    slots.append(object)
    count += 1
    note(object)
  }

  mutating func remove(_ object: ManagedObject) {
    let place = Int(object.position)
    guard place >= 0, place < slots.count, slots[place] === object else { return }
    object.position = -1
    slots[place] = nil
    count -= 1
    note(object)
    if count == 0 {
      slots.removeAll()
    } else if slots.count > 64, slots.count > count * 2 {
      slots = ContiguousArray(slots.lazy.filter { $0 != nil })
      for (place, object) in slots.enumerated() { object?.position = Int32(truncatingIfNeeded: place) }
    }
  }

  mutating func removeAll() {
    for object in slots { object?.position = -1 }
    slots.removeAll()
    count = 0
    journal = nil
  }

  // MARK: What was added and removed

  /// Returns the objects that were added or removed since the last call, some more than once; nil if that was not
  /// recorded.
  mutating func takeJournal() -> ContiguousArray<ManagedObject>? {
    let taken = journal
    journal = []
    return taken
  }

  mutating func endJournal() { journal = nil }

  private mutating func note(_ object: ManagedObject) {
    guard let recorded = journal?.count else { return }
    // Rebuilding costs no more than processing a longer journal, and the journal keeps its objects alive.
    if recorded > 1024 + count * 2 { journal = nil } else { journal?.append(object) }
  }

  var elements: [ManagedObject] {
    var result: [ManagedObject] = []
    result.reserveCapacity(count)
    for case let object? in slots { result.append(object) }
    return result
  }

  func makeIterator() -> IndexingIterator<[ManagedObject]> { elements.makeIterator() }
}
