import AtomicStoreSPI
import StorePredicates

/// The results of a controller in order, with their sections. A value: the list before an event stays as it was.
struct FetchedResultsList<Result: ManagedObject> {
  /// An object with the values that it is sorted by.
  final class Entry {
    let object: Result
    let values: [StoredValue]
    /// Orders objects with equal values: an object that came later is behind.
    let serial: Int
    /// The number of its section's name.
    let section: Int

    init(_ object: Result, values: [StoredValue], serial: Int, section: Int) {
      self.object = object
      self.values = values
      self.serial = serial
      self.section = section
    }
  }
  struct Section {
    /// The number of its name.
    var name: Int
    var range: Range<Int>
  }
  private(set) var entries = ResultChunks<Entry>()
  private(set) var sections: [Section] = []
  /// Whether the sort keys do not bring the objects of each section together, so that the entries are in another order.
  private(set) var isRegrouped = false
  private var names: [String] = []

  init() {}

  /// - Parameters:
  ///   - entries: The entries by their values, those of a section together.
  ///   - counts: The sections in order, with the number of their entries.
  init(_ entries: ResultChunks<Entry>, counts: [(name: Int, count: Int)], names: [String]) {
    self.entries = entries
    self.names = names
    var start = 0
    for (name, count) in counts {
      sections.append(Section(name: name, range: start..<start + count))
      start += count
    }
  }

  /// - Parameter sorted: The entries by their values. Objects of one section are brought together, where the section
  ///   first occurs.
  init(_ sorted: ContiguousArray<Entry>, hasSections: Bool, names: [String]) {
    self.names = names
    guard hasSections else {
      entries = ResultChunks(sorted)
      sections = [Section(name: 0, range: 0..<sorted.count)]
      return
    }
    if let runs = Self.runs(sorted) {
      entries = ResultChunks(sorted)
      sections = runs
      return
    }
    isRegrouped = true
    var members: [Int: ContiguousArray<Entry>] = [:]
    var order: [Int] = []
    for entry in sorted {
      if members[entry.section] == nil { order.append(entry.section) }
      members[entry.section, default: []].append(entry)
    }
    let regrouped = ContiguousArray(order.lazy.flatMap { members[$0] ?? [] })
    entries = ResultChunks(regrouped)
    sections = Self.runs(regrouped) ?? []
  }

  /// Sections as they follow each other; nil if one occurs twice.
  private static func runs(_ entries: ContiguousArray<Entry>) -> [Section]? {
    var sections: [Section] = []
    var seen: Set<Int> = []
    var start = 0
    while start < entries.count {
      let name = entries[start].section
      guard seen.insert(name).inserted else { return nil }
      var end = start + 1
      while end < entries.count, entries[end].section == name { end += 1 }
      sections.append(Section(name: name, range: start..<end))
      start = end
    }
    return sections
  }

  /// The objects of a section, or of all sections, in order.
  func objects(ofSection section: Int? = nil) -> [Result] {
    let range = section.map { sections[$0].range } ?? 0..<entries.count
    return entries.elements(range).map(\.object)
  }

  /// The objects as IDs.
  var snapshot: FetchedResultsSnapshot {
    FetchedResultsSnapshot(
      sections: sections.indices.map { section in
        FetchedResultsSnapshot.Section(
          name: name(ofSection: section), objectIDs: objects(ofSection: section).map(\.objectID))
      })
  }

  func name(ofSection index: Int) -> String { names.isEmpty ? "" : names[sections[index].name] }

  /// The section of the object at a flat index.
  func section(at index: Int) -> Int {
    var low = 0
    var high = sections.count
    while low + 1 < high {
      let middle = (low + high) / 2
      if sections[middle].range.lowerBound <= index { low = middle } else { high = middle }
    }
    return low
  }

  func index(at place: Int) -> FetchedResultsIndex {
    let section = section(at: place)
    return FetchedResultsIndex(section: section, item: place - sections[section].range.lowerBound)
  }
}
