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
