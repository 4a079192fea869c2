public import AtomicStoreSPI
import FoundationEssentials

/// Compares two graphs: objects by entity and reference, values to the bit and the Unicode scalar, relationships by
/// their destinations, in order if a model on either side says that they are ordered, and the metadata.
///
/// It reads the general values of both tables, and shares no code with formats or the converter, whose results it
/// checks.
public struct GraphComparison: Sendable {
  /// What is compared.
  public struct Options: Sendable {
    /// Whether the stores' UUIDs must be the same.
    public var comparesIdentity: Bool
    /// Whether the metadata entries must be the same.
    public var comparesMetadata: Bool
    /// Whether metadata that is derived from the model (``/AtomicStoreSPI/VersionHashes/derivedMetadataKeys``) must be
    /// in both. By default, an entry that only one of them has is not a difference, because a conversion adds such
    /// entries. Two different entries always are a difference.
    public var comparesMissingDerivedMetadata: Bool
    /// Whether the models that both stores carry must be the same, as data: see ``ModelComparison``. Models that were
    /// inferred are not compared.
    public var comparesModel: Bool
    /// Whether the entities, properties and other things in the models must come in the same order.
    public var comparesModelOrder: Bool
    /// Whether entity and property names that differ only in case are treated as the same: for a store whose format
    /// folds them.
    public var ignoresNameCase: Bool
    /// Whether members of to-manys of unknown order are compared in order: a copy must keep it. Otherwise they are
    /// compared as sets, unless a model on either side says that the relationship is ordered.
    public var comparesUnknownOrder: Bool
    /// The maximum number of differences to find; nil for all.
    public var limit: Int?
    /// Creates options. By default everything is compared except carried models and unknown orders, and all differences
    /// are found.
    public init(
      comparesIdentity: Bool = true, comparesMetadata: Bool = true, comparesMissingDerivedMetadata: Bool = false,
      comparesModel: Bool = false, comparesModelOrder: Bool = true,
      ignoresNameCase: Bool = false, comparesUnknownOrder: Bool = false, limit: Int? = nil
    ) {
      self.comparesIdentity = comparesIdentity
      self.comparesMetadata = comparesMetadata
      self.comparesMissingDerivedMetadata = comparesMissingDerivedMetadata
      self.comparesModel = comparesModel
      self.comparesModelOrder = comparesModelOrder
      self.ignoresNameCase = ignoresNameCase
      self.comparesUnknownOrder = comparesUnknownOrder
      self.limit = limit
    }
  }

  private let first: StoreSnapshot
  private let second: StoreSnapshot
  private let options: Options
  private var found: [GraphDifference] = []

  /// Returns all differences, metadata first, then the models, then by entity and reference.
  public static func differences(
    _ first: StoreSnapshot, _ second: StoreSnapshot, options: Options = Options()
  ) -> [GraphDifference] {
    var comparison = GraphComparison(first: first, second: second, options: options)
    comparison.compareMetadata()
    comparison.compareModels()
    comparison.compareObjects()
    return comparison.found
  }

  private init(first: StoreSnapshot, second: StoreSnapshot, options: Options) {
    self.first = first
    self.second = second
    self.options = options
  }

  private var isFull: Bool { options.limit.map { found.count >= $0 } ?? false }

  private mutating func compareMetadata() {
    if options.comparesIdentity, first.metadata.uuid != second.metadata.uuid {
      found.append(
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
      kind: .metadata, key: key, old: one.map { Self.text($0) }, new: other.map { Self.text($0) })
    difference.path = path
    difference.oldEntry = one
    difference.newEntry = other
    found.append(difference)
  }
  /// Deeper dictionaries are compared whole, so that comparing them does not exhaust the stack.
  private static let maximumPathLength = 32

  private mutating func compareModels() {
    guard options.comparesModel, let one = first.metadata.model, let other = second.metadata.model,
      !one.isInferred, !other.isInferred
    else { return }
    let differences = ModelComparison.differences(one, other, comparesOrder: options.comparesModelOrder)
    found += differences.map { GraphDifference(kind: .model, key: $0.path, old: $0.old, new: $0.new) }
  }

  private func folded(_ name: String) -> ScalarString {
    ScalarString(options.ignoresNameCase ? name.lowercased() : name)
  }

  private mutating func compareObjects() {
    var entities: [ScalarString: (one: Entity?, other: Entity?)] = [:]
    for entity in first.nodes.model.entities { entities[folded(entity.name), default: (nil, nil)].one = entity }
    for entity in second.nodes.model.entities { entities[folded(entity.name), default: (nil, nil)].other = entity }
    for name in entities.keys.sorted() {
      guard let pair = entities[name], !isFull else { continue }
      compare(pair.one, pair.other)
    }
  }

  private mutating func compare(_ one: Entity?, _ other: Entity?) {
    let ours = one.map { rows($0, first.nodes) } ?? []
    let theirs = other.map { rows($0, second.nodes) } ?? []
    // The slots of both sides by name; nil if one side does not have the property.
    var pairs: [(name: String, one: Int?, other: Int?, isOneType: Bool)] = []
    var place: [ScalarString: Int] = [:]
    for slot in one?.slots ?? [] {
      place[folded(slot.name)] = pairs.count
      pairs.append((slot.name, slot.index, nil, false))
    }
    for slot in other?.slots ?? [] {
      if let index = place[folded(slot.name)] {
        pairs[index].other = slot.index
        let type = pairs[index].one.flatMap { one?.slots[$0].attributeType }
        pairs[index].isOneType = type != nil && type != .undefined && type == slot.attributeType
      } else {
        pairs.append((slot.name, nil, slot.index, false))
      }
    }
    let left = one.map { first.nodes.reader(of: $0.index) }
    let right = other.map { second.nodes.reader(of: $0.index) }
    var here = 0
    var there = 0
    while (here < ours.count || there < theirs.count) && !isFull {
      if here < ours.count, there >= theirs.count || ours[here].reference < theirs[there].reference {
        found.append(GraphDifference(kind: .deleted, object: named(one, ours[here].reference)))
        here += 1
      } else if there < theirs.count, here >= ours.count || theirs[there].reference < ours[here].reference {
        found.append(GraphDifference(kind: .inserted, object: named(other, theirs[there].reference)))
        there += 1
      } else {
        if let left, let right {
          for pair in pairs {
            // Mostly nothing has changed, and no value needs to be created to see that.
            if pair.isOneType, let slot = pair.one, let otherSlot = pair.other,
              left.hasSameBits(
                slot: slot, row: ours[here].row, as: otherSlot, row: theirs[there].row, of: right)
            {
              continue
            }
            let old = pair.one.map { left.value(slot: $0, row: ours[here].row) }
            let new = pair.other.map { right.value(slot: $0, row: theirs[there].row) }
            guard !same(old, new, one, pair.one, other, pair.other) else { continue }
            var difference = GraphDifference(
              kind: .changed, object: named(one, ours[here].reference), key: pair.name,
              old: old.map { Self.text($0) }, new: new.map { Self.text($0) })
            difference.type =
              pair.one.map { one?.slots[$0].kindDescription } ?? pair.other.map { other?.slots[$0].kindDescription }
              ?? nil
            difference.oldValue = old
            difference.newValue = new
            found.append(difference)
          }
        }
        here += 1
        there += 1
      }
    }
  }

  private func named(_ entity: Entity?, _ reference: ReferenceObject) -> ObjectReference {
    ObjectReference(entityName: entity?.name ?? "", reference: reference)
  }

  /// The rows of an entity with their references, in ascending order.
  private func rows(_ entity: Entity, _ nodes: NodeTable) -> [(reference: ReferenceObject, row: Int)] {
    nodes.handles(of: entity.index).map { (nodes.reference(of: $0), $0.row) }.sorted { $0.reference < $1.reference }
  }

  /// A property that one side does not have equals a property without a value.
  private func same(
    _ old: StoredValue?, _ new: StoredValue?, _ one: Entity?, _ oneSlot: Int?, _ other: Entity?, _ otherSlot: Int?
  ) -> Bool {
    switch (old ?? .null, new ?? .null) {
    case (.toOne(let a), .toOne(let b)): return sameObject(a, b)
    case (.toMany(let a), .toMany(let b)):
      guard a.count == b.count else { return false }
      let slots = [oneSlot.flatMap { one?.slots[$0] }, otherSlot.flatMap { other?.slots[$0] }]
      if slots.contains(where: { $0.map { $0.isOrdered || options.comparesUnknownOrder && $0.keepsSequence } ?? false })
      {
        return zip(a, b).allSatisfy { sameObject($0, $1) }
      }
      let left = a.sorted { Self.before($0, $1) }
      let right = b.sorted { Self.before($0, $1) }
      return zip(left, right).allSatisfy { sameObject($0, $1) }
    case (.toMany(let list), .null), (.null, .toMany(let list)): return list.isEmpty
    case (let a, let b): return a.isIdentical(to: b)
    }
  }

  private func sameObject(_ one: ObjectReference, _ other: ObjectReference) -> Bool {
    one.reference == other.reference && folded(one.entityName) == folded(other.entityName)
  }

  private static func before(_ one: ObjectReference, _ other: ObjectReference) -> Bool {
    if one.reference != other.reference { return one.reference < other.reference }
    return ScalarString(one.entityName) < ScalarString(other.entityName)
  }
}
