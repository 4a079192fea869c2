extension OrderedObjectList {
  /// A list that was changed here, over one that was changed elsewhere as well: what either side added or took away is
  /// so.
  ///
  /// Where objects were moved here, their order here holds, and what the other side added comes after what stands
  /// before it there. Where none was moved here, the other side's order holds, and what was added here comes before
  /// what follows it here, or at the end.
  ///
  /// - Parameter base: What both lists were made from.
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
        let place = next.flatMap { next in result.elements.firstIndex { $0 === next } }
        result.insert(object, at: place ?? result.count)
      }
      if result.contains(object) { next = object }
    }
    return result
  }

  private mutating func insert(_ object: ManagedObject, after previous: ManagedObject?) {
    let place = previous.flatMap { previous in elements.firstIndex { $0 === previous } }
    insert(object, at: place.map { $0 + 1 } ?? 0)
  }
}
