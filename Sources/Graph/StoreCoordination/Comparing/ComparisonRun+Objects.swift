import AtomicStoreSPI

extension ComparisonRun {
  /// One entity of both graphs.
  private struct EntityPair {
    var one: Entity?
    var other: Entity?
    /// The readers, and the rows that are compared.
    var left: EntityReader?
    var right: EntityReader?
    var matches: MatchedRows
    /// Whether the rows are matched by keys, and so are not in the order of what they are called.
    var isKeyed: Bool
    var properties: [Property] = []
  }
  /// A property of one entity: its slots; nil if one side does not have it.
  private struct Property {
    var name: String
    var one: Slot?
    var other: Slot?
    var columns: ColumnPair
  }

  func folded(_ name: String) -> ScalarString {
    ScalarString(options.ignoresNameCase ? name.lowercased() : name)
  }

  /// Compares the objects, an entity at a time in the order of names.
  mutating func compareObjects() {
    guard !isFull else { return }
    let translation = RowTranslation(entities: first.nodes.model.entityCount)
    var pairs: [EntityPair] = []
    for (one, other) in matchedEntities() {
      let left = one.map { first.nodes.reader(of: $0.index) }
      let right = other.map { second.nodes.reader(of: $0.index) }
      let keyed = names?.matches(one, other, left, right)
      let pair = EntityPair(
        one: one, other: other, left: left, right: right, matches: keyed ?? MatchedRows(left, right),
        isKeyed: keyed != nil)
      if let one, let other, let left {
        translation.set(one.index, to: other.index, pair.matches, rowCount: left.count)
      }
      pairs.append(pair)
    }
    for index in pairs.indices where !isFull {
      pairs[index].properties = properties(pairs[index])
      compare(pairs[index], translation)
    }
  }

  /// The entities of both graphs with the same name, in the order of names.
  private func matchedEntities() -> [(one: Entity?, other: Entity?)] {
    let ours = first.nodes.model.entities
    let theirs = second.nodes.model.entities
    if !options.ignoresNameCase, ours.count == theirs.count,
      ours.indices.allSatisfy({ ScalarString(ours[$0].name) == ScalarString(theirs[$0].name) })
    {
      return ours.indices.map { (ours[$0], theirs[$0]) }
    }
    var entities: [ScalarString: (one: Entity?, other: Entity?)] = [:]
    for entity in ours { entities[folded(entity.name), default: (nil, nil)].one = entity }
    for entity in theirs { entities[folded(entity.name), default: (nil, nil)].other = entity }
    return entities.keys.sorted().compactMap { entities[$0] }
  }

  /// The slots of both entities with the same name, in the order of the first.
  private func matchedSlots(_ ours: [Slot], _ theirs: [Slot]) -> [(one: Slot?, other: Slot?)] {
    if !options.ignoresNameCase, ours.count == theirs.count,
      ours.indices.allSatisfy({ ScalarString(ours[$0].name) == ScalarString(theirs[$0].name) })
    {
      return ours.indices.map { (ours[$0], theirs[$0]) }
    }
    var slots: [(one: Slot?, other: Slot?)] = []
    var place: [ScalarString: Int] = [:]
    for slot in ours {
      place[folded(slot.name)] = slots.count
      slots.append((slot, nil))
    }
    for slot in theirs {
      if let index = place[folded(slot.name)] { slots[index].other = slot } else { slots.append((nil, slot)) }
    }
    return slots
  }

  /// The properties of both entities, in the order of the first.
  private func properties(_ pair: EntityPair) -> [Property] {
    matchedSlots(pair.one?.slots ?? [], pair.other?.slots ?? []).map { one, other in
      let left = one.flatMap { slot in pair.left.map { (slot, $0) } }
      let right = other.flatMap { slot in pair.right.map { (slot, $0) } }
      return Property(
        name: one?.name ?? other?.name ?? "", one: one, other: other,
        columns: ColumnPair(left, right, isSequence: isSequence(one, other)))
    }
  }

  /// Whether members of a to-many are compared in order.
  private func isSequence(_ one: Slot?, _ other: Slot?) -> Bool {
    [one, other].contains {
      $0.map { $0.isOrdered || options.comparesUnknownOrder && $0.keepsSequence } ?? false
    }
  }

  /// How many rows are compared at a time: a multiple of 64.
  private static let block = 4096

  /// How many blocks are compared at the same time, before the differences in them are looked at.
  private static let blocksAtOnce = 64

  private mutating func compare(_ pair: EntityPair, _ translation: RowTranslation) {
    withExtendedLifetime((pair.left, pair.right)) {
      var start = 0
      var keyed: [(name: ReferenceObject, place: Int)] = []
      while start < pair.matches.count, !isFull {
        var blocks: [Range<Int>] = []
        while start < pair.matches.count, blocks.count < Self.blocksAtOnce {
          blocks.append(start..<min(start + Self.block, pair.matches.count))
          start += Self.block
        }
        for (rows, differ) in zip(blocks, Marking(pair, translation).marks(of: blocks)) {
          for place in rows where differ[place - rows.lowerBound] {
            if isFull { return }
            if pair.isKeyed {
              keyed.append((name(place, pair), place))
            } else {
              compareRow(place, pair, translation)
            }
          }
        }
      }
      for (_, place) in keyed.sorted(by: { $0.name < $1.name }) where !isFull { compareRow(place, pair, translation) }
    }
  }

  /// Finds the places of blocks at which there may be a difference, in several blocks at the same time.
  ///
  /// `@unchecked Sendable`: graphs and translation are only read. The marks of each block are written by one thread,
  /// and read after all have ended.
  private final class Marking: @unchecked Sendable {
    private let pair: EntityPair
    private let translation: RowTranslation

    init(_ pair: EntityPair, _ translation: RowTranslation) {
      self.pair = pair
      self.translation = translation
    }

    func marks(of blocks: [Range<Int>]) -> [[Bool]] {
      if blocks.count == 1 { return [ComparisonRun.marks(blocks[0], pair, translation)] }
      let found = UnsafeMutablePointer<[Bool]>.allocate(capacity: blocks.count)
      found.initialize(repeating: [], count: blocks.count)
      defer {
        found.deinitialize(count: blocks.count)
        found.deallocate()
      }
      let target = Target(marks: found)
      // A thread takes longer to start than a few blocks to compare.
      let jobs = blocks.count < 8 ? 1 : ParallelWork.jobs
      ParallelWork.forEach(blocks.count, jobs: jobs) { number in
        target.marks[number] = ComparisonRun.marks(blocks[number], self.pair, self.translation)
      }
      return blocks.indices.map { found[$0] }
    }

    private struct Target: @unchecked Sendable {
      let marks: UnsafeMutablePointer<[Bool]>
    }
  }

  /// For each place of a range whether there may be a difference.
  private static func marks(_ places: Range<Int>, _ pair: EntityPair, _ translation: RowTranslation) -> [Bool] {
    var marks = [Bool](repeating: false, count: places.count)
    if !pair.matches.isIdentity {
      for place in places where pair.matches.isOfOne(place) { marks[place - places.lowerBound] = true }
    }
    // A column after the other: its parts are then loaded once for all rows.
    for property in pair.properties { property.columns.markDifferent(at: places, pair.matches, translation, &marks) }
    return marks
  }

  /// What the object at a place is called.
  private func name(_ place: Int, _ pair: EntityPair) -> ReferenceObject {
    let (row, otherRow) = pair.matches.rows(at: place)
    if let row, let one = pair.one, let left = pair.left {
      return names?.reference(of: NodeHandle(entity: one.index, row: row), in: .one) ?? left.reference(row: row)
    }
    guard let otherRow, let other = pair.other, let right = pair.right else { return .integer(0) }
    return names?.reference(of: NodeHandle(entity: other.index, row: otherRow), in: .other)
      ?? right.reference(row: otherRow)
  }

  /// Compares what is at one place by its values.
  private mutating func compareRow(_ place: Int, _ pair: EntityPair, _ translation: RowTranslation) {
    let (row, otherRow) = pair.matches.rows(at: place)
    let reference = name(place, pair)
    guard let row, let left = pair.left else {
      guard otherRow != nil else { return }
      add(GraphDifference(kind: .inserted, object: Self.named(pair.other, reference)))
      return
    }
    guard let otherRow, let right = pair.right else {
      add(GraphDifference(kind: .deleted, object: Self.named(pair.one, reference)))
      return
    }
    for property in pair.properties where !property.columns.isSame(row, otherRow, translation) {
      let old = property.one.map { slot in
        let value = left.value(slot: slot.index, row: row)
        return names?.renamed(value, of: .one, slot) ?? value
      }
      let new = property.other.map { slot in
        let value = right.value(slot: slot.index, row: otherRow)
        return names?.renamed(value, of: .other, slot) ?? value
      }
      guard !isSame(old, new, isSequence: isSequence(property.one, property.other)) else { continue }
      var difference = GraphDifference(
        kind: .changed, object: Self.named(pair.one, reference), key: property.name,
        old: old.map { GraphComparison.text($0) }, new: new.map { GraphComparison.text($0) })
      difference.type = (property.one ?? property.other)?.kindDescription
      difference.oldValue = old
      difference.newValue = new
      add(difference)
    }
  }

  private static func named(_ entity: Entity?, _ reference: ReferenceObject) -> ObjectReference {
    ObjectReference(entityName: entity?.name ?? "", reference: reference)
  }

  /// Whether two values are the same. A property that one side does not have equals a property without a value.
  func isSame(_ old: StoredValue?, _ new: StoredValue?, isSequence: Bool) -> Bool {
    switch (old ?? .null, new ?? .null) {
    case (.toOne(let a), .toOne(let b)): return isSameObject(a, b)
    case (.toMany(let a), .toMany(let b)):
      guard a.count == b.count else { return false }
      if isSequence { return zip(a, b).allSatisfy { isSameObject($0, $1) } }
      let left = a.sorted { Self.before($0, $1) }
      let right = b.sorted { Self.before($0, $1) }
      return zip(left, right).allSatisfy { isSameObject($0, $1) }
    case (.toMany(let list), .null), (.null, .toMany(let list)): return list.isEmpty
    case (let a, let b): return a.isIdentical(to: b)
    }
  }

  private func isSameObject(_ one: ObjectReference, _ other: ObjectReference) -> Bool {
    one.reference == other.reference && folded(one.entityName) == folded(other.entityName)
  }

  private static func before(_ one: ObjectReference, _ other: ObjectReference) -> Bool {
    if one.reference != other.reference { return one.reference < other.reference }
    return ScalarString(one.entityName) < ScalarString(other.entityName)
  }
}
