import AtomicStoreSPI
import FoundationEssentials
import StorePredicates

/// The objects of a request in the order of its sort keys, kept up to date object by object.
struct FetchedResultsOrder<Result: ManagedObject> {
  typealias Entry = FetchedResultsList<Result>.Entry

  let keys: [SortKey]
  let sectionKeyPath: String?
  private var sorted = ResultChunks<Entry>()
  /// The entries with their sections.
  private(set) var list = FetchedResultsList<Result>()
  private var known: [ObjectIdentifier: Entry] = [:]
  private(set) var names: [String] = []
  private var numbers: [ScalarString: Int] = [:]
  private var nextSerial = 0

  init(keys: [SortKey], sectionKeyPath: String?) {
    self.keys = keys
    self.sectionKeyPath = sectionKeyPath
  }

  func contains(_ object: ManagedObject) -> Bool { known[ObjectIdentifier(object)] != nil }

  /// Takes objects that are in order already.
  ///
  /// - Parameter sources: The objects whose values count, by ID; an object that has none there counts with its own.
  mutating func reset(
    to objects: [Result], from sources: [ManagedObjectID: Result] = [:]
  ) throws(ManagedObjectError) {
    var entries: ContiguousArray<Entry> = []
    entries.reserveCapacity(objects.count)
    // Serials go on until all is read: what fails half-way leaves the order as it was.
    for object in objects {
      entries.append(try makeEntry(object, from: sources.isEmpty ? object : sources[object.objectID] ?? object))
    }
    setSorted(entries)
    known = [:]
    known.reserveCapacity(entries.count)
    for entry in entries { known[ObjectIdentifier(entry.object)] = entry }
  }

  /// Removes objects, and adds objects where they belong; one may be in both lists.
  ///
  /// - Returns: Where the objects were and are; nil if so much changed that the lists have to be compared.
  mutating func update(
    removing gone: [ManagedObject], adding present: [Result]
  ) throws(ManagedObjectError) -> FetchedResultsTouch<Result>? {
    // Values are read before anything changes: reading them may fail.
    var entries: [Entry] = []
    for object in present {
      entries.append(try makeEntry(object, from: object, serial: known[ObjectIdentifier(object)]?.serial))
    }
    let removed = gone.compactMap { object in
      known.removeValue(forKey: ObjectIdentifier(object)).map { (object: $0.object, place: position(of: $0)) }
    }.sorted { $0.place < $1.place }
    for entry in entries { known[ObjectIdentifier(entry.object)] = entry }
    if removed.count + entries.count > 64 + sorted.count / 64 {
      let places = Set(removed.map(\.place))
      var all: ContiguousArray<Entry> = []
      all.reserveCapacity(sorted.count + entries.count)
      for (place, entry) in sorted.all.enumerated() where !places.contains(place) { all.append(entry) }
      all += entries
      all.sort(by: precedes)
      setSorted(all)
      return nil
    }
    let old = list
    var counts = old.sections.map { (name: $0.name, count: $0.range.count) }
    for (_, place) in removed.reversed() {
      sorted.remove(at: place)
      if !old.isRegrouped { counts[old.section(at: place)].count -= 1 }
    }
    if sectionKeyPath != nil { counts.removeAll { $0.count == 0 } }
    var isGrouped = !old.isRegrouped
    for entry in entries {
      let place = position(of: entry)
      isGrouped = isGrouped && count(entry, at: place, in: &counts)
      sorted.insert(entry, at: place)
    }
    guard isGrouped else {
      setSorted(sorted.all)
      return nil
    }
    list = FetchedResultsList(sorted, counts: counts, names: names)
    return FetchedResultsTouch(
      removed: removed, added: entries.map { (object: $0.object, place: position(of: $0)) })
  }

  /// Counts a new entry among those of its section, which may be new.
  ///
  /// - Returns: False if that section, or another one, would no longer be together.
  private func count(_ entry: Entry, at place: Int, in counts: inout [(name: Int, count: Int)]) -> Bool {
    guard sectionKeyPath != nil else {
      if counts.isEmpty { counts = [(name: 0, count: 0)] }
      counts[0].count += 1
      return true
    }
    let before = place > 0 ? sorted[place - 1].section : nil
    let after = place < sorted.count ? sorted[place].section : nil
    if let index = counts.firstIndex(where: { $0.name == entry.section }) {
      counts[index].count += 1
      return before == entry.section || after == entry.section
    }
    guard before == nil || before != after else { return false }
    let index = before.flatMap { name in counts.firstIndex { $0.name == name } }
    counts.insert((name: entry.section, count: 1), at: index.map { $0 + 1 } ?? 0)
    return true
  }

  private mutating func setSorted(_ entries: ContiguousArray<Entry>) {
    sorted = ResultChunks(entries)
    list = FetchedResultsList(entries, hasSections: sectionKeyPath != nil, names: names)
  }

  /// The index of an object in the list; nil if it is not there, or if that is not the order of the sort keys.
  func place(of object: ManagedObject) -> Int? {
    guard !list.isRegrouped else { return nil }
    return known[ObjectIdentifier(object)].map { position(of: $0) }
  }

  private mutating func makeEntry(
    _ object: Result, from source: Result, serial: Int? = nil
  ) throws(ManagedObjectError) -> Entry {
    let values = try SortKey.values(of: source, by: keys)
    var section = 0
    if let sectionKeyPath { section = number(of: try sectionName(of: source, sectionKeyPath)) }
    defer { if serial == nil { nextSerial += 1 } }
    return Entry(object, values: values, serial: serial ?? nextSerial, section: section)
  }

  private mutating func number(of name: String) -> Int {
    let key = ScalarString(name)
    if let known = numbers[key] { return known }
    numbers[key] = names.count
    names.append(name)
    return names.count - 1
  }

  private func sectionName(of object: Result, _ path: String) throws(ManagedObjectError) -> String {
    let found: Any?
    do throws(ManagedObjectError) { found = try object.value(forKeyPath: path, holds: false) } catch {
      guard error.code == .undefinedKey else { throw error }
      // A key of another entity of the hierarchy is nil, as it is in the request.
      found = try FetchExpression.keyPath(of: path).value(with: object)
    }
    guard let value = found else { return "" }
    switch value {
    case let text as String: return text
    case let flag as Bool: return flag ? "1" : "0"
    case let date as Date: return date.formatted(.iso8601)
    case is ManagedObject, is Set<ManagedObject>, is [ManagedObject], is Data:
      throw ManagedObjectError(
        .invalidFetch, "sections cannot be named by '\(path)': it does not lead to a text, number or date",
        entityName: object.entity.name, key: path)
    default: return "\(value)"
    }
  }

  // MARK: Order

  private func precedes(_ one: Entry, _ other: Entry) -> Bool {
    for index in keys.indices {
      let order = keys[index].order(one.values[index], other.values[index])
      if order != 0 { return keys[index].isAscending ? order < 0 : order > 0 }
    }
    return one.serial < other.serial
  }

  /// The index of the first entry that does not precede this one.
  private func position(of entry: Entry) -> Int { sorted.partitionPoint { precedes($0, entry) } }
}

/// Where the objects that an event touched were in a list of results, and where they are.
struct FetchedResultsTouch<Result: ManagedObject> {
  /// In the order of the indexes in the old list.
  var removed: [(object: Result, place: Int)]
  /// With the indexes in the new list.
  var added: [(object: Result, place: Int)]
}
