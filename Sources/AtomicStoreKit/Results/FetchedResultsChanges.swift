/// What changed in the results of a ``FetchedResultsController`` in one event.
///
/// Positions `from` are those before the event, positions `to` those after it. A view that applies deletions and the
/// first half of moves, then deleted sections, inserted sections, and insertions and the second half of moves in
/// ascending order, shows the new results: ``applied(to:)`` does that for lists.
public struct FetchedResultsChanges<Result: ManagedObject> {
  /// A change of one object.
  public enum Change {
    /// The object is among the results now.
    case insert(Result, to: FetchedResultsIndex)
    /// The object is no longer among the results.
    case delete(Result, from: FetchedResultsIndex)
    /// The object changed its place among the others; its values may have changed as well.
    case move(Result, from: FetchedResultsIndex, to: FetchedResultsIndex)
    /// Values of the object changed, and its place among the others did not.
    case update(Result, from: FetchedResultsIndex, to: FetchedResultsIndex)
  }
  /// The indexes of sections that no longer exist, before the event, ascending.
  public internal(set) var deletedSections: [Int] = []
  /// The indexes and names of new sections, after the event, ascending.
  public internal(set) var insertedSections: [(index: Int, name: String)] = []
  /// The changes of objects: deletions in descending order of their positions, then moves, insertions and updates in
  /// ascending order of the new positions.
  public internal(set) var changes: [Change] = []

  /// Whether nothing changed.
  public var isEmpty: Bool { deletedSections.isEmpty && insertedSections.isEmpty && changes.isEmpty }

  /// Applies the changes to the sections before the event.
  ///
  /// - Parameter sections: The sections to which the changes apply; with other sections, the result is undefined.
  /// - Returns: The sections after the event. New sections have no index title.
  public func applied(to sections: [FetchedResultsSection<Result>]) -> [FetchedResultsSection<Result>] {
    var sections = sections
    var removed: [FetchedResultsIndex] = []
    var added: [(object: Result, to: FetchedResultsIndex)] = []
    for change in changes {
      switch change {
      case .insert(let object, let to): added.append((object, to))
      case .delete(_, let from): removed.append(from)
      case .move(let object, let from, let to):
        removed.append(from)
        added.append((object, to))
      case .update: break
      }
    }
    for place in removed.sorted(by: >)
    where sections.indices.contains(place.section) && sections[place.section].objects.indices.contains(place.item) {
      sections[place.section].objects.remove(at: place.item)
    }
    for section in deletedSections.reversed() where sections.indices.contains(section) {
      sections.remove(at: section)
    }
    for section in insertedSections {
      sections.insert(FetchedResultsSection(name: section.name), at: min(section.index, sections.count))
    }
    for (object, place) in added.sorted(by: { $0.to < $1.to }) where sections.indices.contains(place.section) {
      let count = sections[place.section].objects.count
      sections[place.section].objects.insert(object, at: min(place.item, count))
    }
    return sections
  }
}

/// Finds the changes that lead from one list of results to the next.
struct FetchedResultsDiff<Result: ManagedObject> {
  let old: FetchedResultsList<Result>
  let new: FetchedResultsList<Result>

  /// - Parameter updated: The objects whose values may have changed.
  func changes(updated: Set<ObjectIdentifier>) -> FetchedResultsChanges<Result> {
    var changes = FetchedResultsChanges<Result>()
    let kept = keptSections()
    changes.deletedSections = old.sections.indices.filter { kept[$0] == nil }
    let stays = Set(kept.compactMap { $0 })
    changes.insertedSections = new.sections.indices.filter { !stays.contains($0) }.map {
      (index: $0, name: new.name(ofSection: $0))
    }
    let (start, oldEnd, newEnd) = middle(kept)
    var places: [ObjectIdentifier: Int] = [:]
    places.reserveCapacity(oldEnd - start)
    for index in start..<oldEnd { places[ObjectIdentifier(old.entries[index].object)] = index }
    // Where each object of the new middle was, and whether it may stay.
    var before: [Int?] = []
    var candidates: [(old: Int, new: Int)] = []
    for index in start..<newEnd {
      let place = places.removeValue(forKey: ObjectIdentifier(new.entries[index].object))
      before.append(place)
      if let place, kept[old.section(at: place)] == new.section(at: index) { candidates.append((place, index)) }
    }
    let staying = Set(Self.longestIncreasing(candidates.map(\.old)).map { candidates[$0].new })
    for place in places.values.sorted(by: >) {
      changes.changes.append(.delete(old.entries[place].object, from: old.index(at: place)))
    }
    var moves: [FetchedResultsChanges<Result>.Change] = []
    var inserts: [FetchedResultsChanges<Result>.Change] = []
    for (offset, place) in before.enumerated() where !staying.contains(start + offset) {
      let object = new.entries[start + offset].object
      let to = new.index(at: start + offset)
      if let place {
        moves.append(.move(object, from: old.index(at: place), to: to))
      } else {
        inserts.append(.insert(object, to: to))
      }
    }
    changes.changes += moves + inserts
    guard !updated.isEmpty else { return changes }
    for index in new.entries.indices where updated.contains(ObjectIdentifier(new.entries[index].object)) {
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
        .update(new.entries[index].object, from: old.index(at: place), to: new.index(at: index)))
    }
    return changes
  }

  /// For each old section the index of the same section in the new list; nil if it no longer exists, or comes in
  /// another order.
  private func keptSections() -> [Int?] {
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
  private func middle(_ kept: [Int?]) -> (start: Int, oldEnd: Int, newEnd: Int) {
    var start = 0
    while start < min(old.entries.count, new.entries.count), isSame(start, start, kept) { start += 1 }
    var oldEnd = old.entries.count
    var newEnd = new.entries.count
    while oldEnd > start, newEnd > start, isSame(oldEnd - 1, newEnd - 1, kept) {
      oldEnd -= 1
      newEnd -= 1
    }
    return (start, oldEnd, newEnd)
  }

  private func isSame(_ one: Int, _ other: Int, _ kept: [Int?]) -> Bool {
    guard old.entries[one].object === new.entries[other].object else { return false }
    // The name is the same in most cases, and compared first since finding a section takes a search.
    return old.entries[one].section == new.entries[other].section
      && (old.sections.count == 1 || kept[old.section(at: one)] != nil)
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
