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
