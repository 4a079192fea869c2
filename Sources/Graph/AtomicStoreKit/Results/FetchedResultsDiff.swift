/// Finds the changes that lead from one list of results to the next.
struct FetchedResultsDiff<Result: ManagedObject> {
  typealias Entry = FetchedResultsList<Result>.Entry

  let old: FetchedResultsList<Result>
  let new: FetchedResultsList<Result>

  /// - Parameter updated: The objects whose values may have changed.
  func changes(updated: Set<ObjectIdentifier>) -> FetchedResultsChanges<Result> {
    var changes = FetchedResultsChanges<Result>()
    let kept = keptSections()
    addSections(kept, to: &changes)
    let (oldEntries, newEntries) = (old.entries.all, new.entries.all)
    let (start, oldEnd, newEnd) = middle(oldEntries, newEntries, kept)
    var places: [ObjectIdentifier: Int] = [:]
    places.reserveCapacity(oldEnd - start)
    for index in start..<oldEnd { places[ObjectIdentifier(oldEntries[index].object)] = index }
    // Where each object of the new middle was, and whether it may stay.
    var before: [Int?] = []
    var candidates: [(old: Int, new: Int)] = []
    for index in start..<newEnd {
      let place = places.removeValue(forKey: ObjectIdentifier(newEntries[index].object))
      before.append(place)
      if let place, kept[old.section(at: place)] == new.section(at: index) { candidates.append((place, index)) }
    }
    let staying = Set(Self.longestIncreasing(candidates.map(\.old)).map { candidates[$0].new })
    for place in places.values.sorted(by: >) {
      changes.changes.append(.delete(oldEntries[place].object, from: old.index(at: place)))
    }
    var moves: [FetchedResultsChanges<Result>.Change] = []
    var inserts: [FetchedResultsChanges<Result>.Change] = []
    for (offset, place) in before.enumerated() where !staying.contains(start + offset) {
      let object = newEntries[start + offset].object
      let to = new.index(at: start + offset)
      if let place {
        moves.append(.move(object, from: old.index(at: place), to: to))
      } else {
        inserts.append(.insert(object, to: to))
      }
    }
    changes.changes += moves + inserts
    guard !updated.isEmpty else { return changes }
    for index in newEntries.indices where updated.contains(ObjectIdentifier(newEntries[index].object)) {
      let place: Int
      if index < start {
        place = index
      } else if index >= newEnd {
        place = index - newEnd + oldEnd
      } else {
        guard staying.contains(index), let known = before[index - start] else { continue }
        place = known
      }
      changes.changes.append(
        .update(newEntries[index].object, from: old.index(at: place), to: new.index(at: index)))
    }
    return changes
  }

  private func addSections(_ kept: [Int?], to changes: inout FetchedResultsChanges<Result>) {
    changes.deletedSections = old.sections.indices.filter { kept[$0] == nil }
    let stays = Set(kept.compactMap { $0 })
    changes.insertedSections = new.sections.indices.filter { !stays.contains($0) }.map {
      (index: $0, name: new.name(ofSection: $0))
    }
  }

  /// The same, if only some objects were touched: the others are not examined, and none of them moves.
  ///
  /// - Returns: Nil if a section with other objects is no longer in its order.
  func changes(
    of touch: FetchedResultsTouch<Result>, updated: Set<ObjectIdentifier>
  ) -> FetchedResultsChanges<Result>? {
    var changes = FetchedResultsChanges<Result>()
    let kept = keptSections()
    var untouched = old.sections.map(\.range.count)
    for (_, place) in touch.removed { untouched[old.section(at: place)] -= 1 }
    guard kept.indices.allSatisfy({ kept[$0] != nil || untouched[$0] == 0 }) else { return nil }
    addSections(kept, to: &changes)
    let added = touch.added.sorted { $0.place < $1.place }
    // Of each object that was removed, its old index, and how many untouched objects were before it.
    var before: [ObjectIdentifier: (place: Int, rank: Int)] = [:]
    for (number, item) in touch.removed.enumerated() {
      before[ObjectIdentifier(item.object)] = (item.place, item.place - number)
    }
    let was = added.map { before.removeValue(forKey: ObjectIdentifier($0.object)) }
    let candidates = added.indices.filter { index in
      guard let old = was[index], old.rank == added[index].place - index else { return false }
      return kept[self.old.section(at: old.place)] == new.section(at: added[index].place)
    }
    let staying = Set(
      Self.longestIncreasing(candidates.compactMap { was[$0]?.place }).map { candidates[$0] })
    for item in touch.removed.reversed() where before[ObjectIdentifier(item.object)] != nil {
      changes.changes.append(.delete(item.object, from: old.index(at: item.place)))
    }
    var inserts: [FetchedResultsChanges<Result>.Change] = []
    var updates: [FetchedResultsChanges<Result>.Change] = []
    for (index, item) in added.enumerated() {
      let to = new.index(at: item.place)
      guard let place = was[index]?.place else {
        inserts.append(.insert(item.object, to: to))
        continue
      }
      if !staying.contains(index) {
        changes.changes.append(.move(item.object, from: old.index(at: place), to: to))
      } else if updated.contains(ObjectIdentifier(item.object)) {
        updates.append(.update(item.object, from: old.index(at: place), to: to))
      }
    }
    changes.changes += inserts + updates
    return changes
  }

  /// For each old section the index of the same section in the new list; nil if it no longer exists, or comes in
  /// another order.
  func keptSections() -> [Int?] {
    var places: [Int: Int] = [:]
    for (index, section) in new.sections.enumerated() { places[section.name] = index }
    let candidates = old.sections.enumerated().compactMap { index, section in
      places[section.name].map { (old: index, new: $0) }
    }
    var kept: [Int?] = Array(repeating: nil, count: old.sections.count)
    for index in Self.longestIncreasing(candidates.map(\.new)) { kept[candidates[index].old] = candidates[index].new }
    return kept
  }

  /// The range in which the lists differ.
  private func middle(
    _ oldEntries: ContiguousArray<Entry>, _ newEntries: ContiguousArray<Entry>, _ kept: [Int?]
  ) -> (start: Int, oldEnd: Int, newEnd: Int) {
    func isSame(_ one: Int, _ other: Int) -> Bool {
      guard oldEntries[one].object === newEntries[other].object else { return false }
      // The name is the same in most cases, and compared first since finding a section takes a search.
      return oldEntries[one].section == newEntries[other].section
        && (old.sections.count == 1 || kept[old.section(at: one)] != nil)
    }
    var start = 0
    while start < min(oldEntries.count, newEntries.count), isSame(start, start) { start += 1 }
    var oldEnd = oldEntries.count
    var newEnd = newEntries.count
    while oldEnd > start, newEnd > start, isSame(oldEnd - 1, newEnd - 1) {
      oldEnd -= 1
      newEnd -= 1
    }
    return (start, oldEnd, newEnd)
  }

  /// The indexes of a longest increasing subsequence of different numbers.
  static func longestIncreasing(_ numbers: [Int]) -> [Int] {
    if zip(numbers, numbers.dropFirst()).allSatisfy({ $0 < $1 }) { return Array(numbers.indices) }
    var tails: [Int] = []
    var previous: [Int?] = Array(repeating: nil, count: numbers.count)
    for index in numbers.indices {
      var low = 0
      var high = tails.count
      while low < high {
        let middle = (low + high) / 2
        if numbers[tails[middle]] < numbers[index] { low = middle + 1 } else { high = middle }
      }
      if low > 0 { previous[index] = tails[low - 1] }
      if low == tails.count { tails.append(index) } else { tails[low] = index }
    }
    var result: [Int] = []
    var next = tails.last
    while let index = next {
      result.append(index)
      next = previous[index]
    }
    return result.reversed()
  }
}
