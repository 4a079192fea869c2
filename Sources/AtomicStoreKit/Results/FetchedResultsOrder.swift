import AtomicStoreSPI
import FoundationEssentials
import StorePredicates

/// The objects of a request in the order of its sort keys, kept up to date object by object.
struct FetchedResultsOrder<Result: ManagedObject> {
  typealias Entry = FetchedResultsList<Result>.Entry

  let keys: [SortKey]
  let sectionKeyPath: String?
  private(set) var sorted: ContiguousArray<Entry> = []
  private var known: [ObjectIdentifier: Entry] = [:]
  private(set) var names: [String] = []
  private var numbers: [ScalarString: Int] = [:]
  private var nextSerial = 0

  init(keys: [SortKey], sectionKeyPath: String?) {
    self.keys = keys
    self.sectionKeyPath = sectionKeyPath
  }

  var list: FetchedResultsList<Result> {
    FetchedResultsList(sorted, hasSections: sectionKeyPath != nil, names: names)
  }

  func contains(_ object: ManagedObject) -> Bool { known[ObjectIdentifier(object)] != nil }

  /// Takes objects that are in order already.
  mutating func reset(to objects: [Result]) throws(ManagedObjectError) {
    var entries: ContiguousArray<Entry> = []
    entries.reserveCapacity(objects.count)
    // Serials go on until all is read: what fails half-way leaves the order as it was.
    for object in objects { entries.append(try makeEntry(object)) }
    sorted = entries
    known = [:]
    known.reserveCapacity(entries.count)
    for entry in entries { known[ObjectIdentifier(entry.object)] = entry }
  }

  /// Removes objects, and adds objects where they belong; one may be in both lists.
  mutating func update(removing gone: [ManagedObject], adding present: [Result]) throws(ManagedObjectError) {
    // Values are read before anything changes: reading them may fail.
    var entries: [Entry] = []
    for object in present {
      entries.append(try makeEntry(object, serial: known[ObjectIdentifier(object)]?.serial))
    }
    let places = gone.compactMap { object in
      known.removeValue(forKey: ObjectIdentifier(object)).map { position(of: $0) }
    }.sorted()
    if places.count + entries.count > 64 + sorted.count / 64 {
      let removed = Set(places)
      var all: ContiguousArray<Entry> = []
      all.reserveCapacity(sorted.count + entries.count)
      for (place, entry) in sorted.enumerated() where !removed.contains(place) { all.append(entry) }
      all += entries
      all.sort(by: precedes)
      sorted = all
    } else {
      for place in places.reversed() { sorted.remove(at: place) }
      for entry in entries { sorted.insert(entry, at: position(of: entry)) }
    }
    for entry in entries { known[ObjectIdentifier(entry.object)] = entry }
  }

  private mutating func makeEntry(_ object: Result, serial: Int? = nil) throws(ManagedObjectError) -> Entry {
    let values = try SortKey.values(of: object, by: keys)
    var section = 0
    if let sectionKeyPath { section = number(of: try sectionName(of: object, sectionKeyPath)) }
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
    guard let value = try object.value(forKeyPath: path) else { return "" }
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
  private func position(of entry: Entry) -> Int {
    var low = 0
    var high = sorted.count
    while low < high {
      let middle = (low + high) / 2
      if precedes(sorted[middle], entry) { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
