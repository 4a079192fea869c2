package import AtomicStoreSPI
import FoundationEssentials

extension GraphComparison {
  /// Returns all differences, metadata first, then the models, then by entity and reference.
  ///
  /// - Parameters:
  ///   - names: What objects are called in the place of their references, by which they are matched then.
  ///   - isIncluded: Whether a difference is one of those asked for. Others do not count towards the limit.
  package static func differences(
    _ first: StoreSnapshot, _ second: StoreSnapshot, options: Options = Options(), names: KeyedNames? = nil,
    isIncluded: (GraphDifference) -> Bool = { _ in true }
  ) -> [GraphDifference] {
    withoutActuallyEscaping(isIncluded) { isIncluded in
      var run = ComparisonRun(first, second, options: options, names: names, isIncluded: isIncluded)
      run.compareMetadata()
      run.compareModels()
      run.compareObjects()
      return run.found
    }
  }
}

/// A comparison of two graphs under way.
struct ComparisonRun {
  let first: StoreSnapshot
  let second: StoreSnapshot
  let options: GraphComparison.Options
  let names: KeyedNames?
  private let isIncluded: (GraphDifference) -> Bool
  private(set) var found: [GraphDifference] = []

  init(
    _ first: StoreSnapshot, _ second: StoreSnapshot, options: GraphComparison.Options, names: KeyedNames?,
    isIncluded: @escaping (GraphDifference) -> Bool
  ) {
    var (first, second) = (first, second)
    // The rows that have the names.
    if let names { (first.nodes, second.nodes) = (names.one.nodes, names.other.nodes) }
    self.first = first
    self.second = second
    self.options = options
    self.names = names
    self.isIncluded = isIncluded
  }

  var isFull: Bool { options.limit.map { found.count >= $0 } ?? false }

  mutating func add(_ difference: GraphDifference) {
    if isIncluded(difference) { found.append(difference) }
  }

  mutating func compareMetadata() {
    if options.comparesIdentity, first.metadata.uuid != second.metadata.uuid {
      add(
        GraphDifference(
          kind: .identity, old: first.metadata.uuid.uuidString, new: second.metadata.uuid.uuidString))
    }
    guard options.comparesMetadata else { return }
    let one = first.metadata.entries
    let other = second.metadata.entries
    let keys = Set((one.keys + other.keys).map { ScalarString($0) }).sorted()
    for key in keys where one[key.string] != other[key.string] {
      let isMissing = one[key.string] == nil || other[key.string] == nil
      if isMissing, !options.comparesMissingDerivedMetadata, VersionHashes.derivedMetadataKeys.contains(key.string) {
        continue
      }
      compareEntries(one[key.string], other[key.string], key.string, [])
    }
  }

  /// Compares dictionaries key by key, and everything else whole.
  private mutating func compareEntries(
    _ one: PropertyListValue?, _ other: PropertyListValue?, _ key: String, _ path: [String]
  ) {
    if one == other { return }
    if case .dictionary(let ours)? = one, case .dictionary(let theirs)? = other, path.count < Self.maximumPathLength {
      for name in Set((ours.keys + theirs.keys).map { ScalarString($0) }).sorted() {
        compareEntries(ours[name.string], theirs[name.string], key, path + [name.string])
      }
      return
    }
    var difference = GraphDifference(
      kind: .metadata, key: key, old: one.map { GraphComparison.text($0) }, new: other.map { GraphComparison.text($0) })
    difference.path = path
    difference.oldEntry = one
    difference.newEntry = other
    add(difference)
  }
  /// Deeper dictionaries are compared whole, so that comparing them does not exhaust the stack.
  private static let maximumPathLength = 32

  mutating func compareModels() {
    guard options.comparesModel, let one = first.metadata.model, let other = second.metadata.model,
      !one.isInferred, !other.isInferred
    else { return }
    let differences = ModelComparison.differences(one, other, comparesOrder: options.comparesModelOrder)
    for difference in differences {
      add(GraphDifference(kind: .model, key: difference.path, old: difference.old, new: difference.new))
    }
  }
}
