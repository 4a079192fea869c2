extension OrderedObjectList {
  /// Merges a list changed here with the same list changed elsewhere: additions and removals of both sides apply.
  ///
  /// If objects were moved here, the order here is kept, and each addition of the other side follows the object that it
  /// follows there. If none was moved here, the order of the other side is kept, and each addition made here precedes
  /// the object that it precedes here, or is at the end.
  ///
  /// - Parameter base: The list that both sides started from.
  func merged(over other: [ManagedObject], from base: [ManagedObject]) -> OrderedObjectList {
    let before = OrderedObjectList(base)
    let theirs = OrderedObjectList(other)
    let isMoved = !elements.filter(before.contains).elementsEqual(base.filter(contains), by: ===)
    if isMoved {
      var result = OrderedObjectList(elements.filter { !before.contains($0) || theirs.contains($0) })
      var previous: ManagedObject?
      for object in other {
        if !before.contains(object) { result.insert(object, after: previous) }
        if result.contains(object) { previous = object }
      }
      return result
    }
    var result = OrderedObjectList(other.filter { !before.contains($0) || contains($0) })
    var next: ManagedObject?
    for object in elements.reversed() {
      if !before.contains(object), !result.contains(object) {
        let place = next.flatMap { result.index(of: $0) }
        result.insert(object, at: place ?? result.count)
      }
      if result.contains(object) { next = object }
    }
    return result
  }

  private mutating func insert(_ object: ManagedObject, after previous: ManagedObject?) {
    let place = previous.flatMap { index(of: $0) }
    insert(object, at: place.map { $0 + 1 } ?? 0)
  }
}
