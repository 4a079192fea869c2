import AtomicStoreSPI
import Synchronization

/// The rows of a column in the order of its values, without null and not-a-number.
final class RowIndex: Sendable {
  let rows: [UInt32]

  private init(_ rows: [UInt32]) { self.rows = rows }

  /// A row and the first eight bytes of its value, which decide most comparisons.
  private struct Entry {
    let prefix: UInt64
    let row: UInt32
  }

  /// Nil for columns whose cells have no order of their own.
  init?(_ column: ColumnView, _ type: AttributeType) {
    guard let order = CellOrder(column, type) else { return nil }
    var entries: [Entry] = []
    entries.reserveCapacity(column.rows)
    for row in 0..<column.rows where order.isOrdered(row) {
      entries.append(Entry(prefix: order.prefix(row), row: UInt32(truncatingIfNeeded: row)))
    }
    rows = Self.sorted(entries, order)
  }

  private static func sorted(_ entries: [Entry], _ order: CellOrder) -> [UInt32] {
    entries.sorted { one, other in
      if one.prefix != other.prefix { return one.prefix < other.prefix }
      let result = order.compareRest(Int(one.row), Int(other.row))
      return result == 0 ? one.row < other.row : result < 0
    }.map(\.row)
  }

  /// The index of the same column in the version that a save made: rows whose values are as they were keep their order,
  /// the others are sorted in.
  ///
  /// - Parameter places: Where each row is in the new version, ascending; all ones for rows that are gone.
  func carried(
    from old: ColumnView, to new: ColumnView, _ type: AttributeType, places: [UInt32]
  ) -> RowIndex? {
    guard let order = CellOrder(new, type), let before = CellOrder(old, type) else { return nil }
    var isKept = [Bool](repeating: false, count: new.rows)
    var kept: [UInt32] = []
    kept.reserveCapacity(rows.count)
    for row in rows {
      let place = places[Int(row)]
      guard place != .max, before.isSame(Int(row), order, Int(place)) else { continue }
      kept.append(place)
      isKept[Int(place)] = true
    }
    var changed: [Entry] = []
    for row in 0..<new.rows where !isKept[row] && order.isOrdered(row) {
      changed.append(Entry(prefix: order.prefix(row), row: UInt32(truncatingIfNeeded: row)))
    }
    if changed.isEmpty { return RowIndex(kept) }
    let others = Self.sorted(changed, order)
    var merged: [UInt32] = []
    merged.reserveCapacity(kept.count + others.count)
    var next = 0
    for row in kept {
      while next < others.count, order.precedes(Int(others[next]), Int(row)) {
        merged.append(others[next])
        next += 1
      }
      merged.append(row)
    }
    merged.append(contentsOf: others[next...])
    return RowIndex(merged)
  }

  // MARK: Searching

  /// The first place whose row does not come before what is sought.
  private func first(_ isBefore: (Int) -> Bool) -> Int {
    var low = 0
    var high = rows.count
    while low < high {
      let middle = (low + high) / 2
      if isBefore(Int(rows[middle])) { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// The places of the rows that a test can hold for; nil where the order does not tell.
  func places(for test: RowTest, _ column: ColumnView, _ type: AttributeType) -> [Range<Int>]? {
    guard let order = CellOrder(column, type) else { return nil }
    func range(_ low: Int, _ high: Int) -> Range<Int> { low..<max(low, high) }
    func integers(_ low: Int64, _ high: Int64) -> Range<Int> {
      if low > high { return 0..<0 }
      return range(first { order.integer($0) < low }, high == .max ? rows.count : first { order.integer($0) <= high })
    }
    switch test {
    case .integers(_, let low, let high, isOutside: false, null: false): return [integers(low, high)]
    case .integerSet(_, let set, null: false):
      guard set.count <= 1000 else { return nil }
      return set.sorted().map { integers($0, $0) }
    case .doubles(_, let comparison, let bound, null: false):
      if bound.isNaN { return [] }
      func below() -> Int { first { order.double($0) < bound } }
      func upTo() -> Int { first { order.double($0) <= bound } }
      switch comparison {
      case .less: return [0..<below()]
      case .lessOrEqual: return [0..<upTo()]
      case .equal: return [range(below(), upTo())]
      case .greaterOrEqual: return [range(below(), rows.count)]
      case .greater: return [range(upTo(), rows.count)]
      case .notEqual: return nil
      }
    case .uuid(_, let uuid, isOther: false, null: false):
      let wanted = UUIDBits(uuid)
      func isBefore(_ row: Int, orSame: Bool) -> Bool {
        let bits = order.uuid(row)
        if bits.high != wanted.high { return bits.high < wanted.high }
        return orSame ? bits.low <= wanted.low : bits.low < wanted.low
      }
      return [range(first { isBefore($0, orSame: false) }, first { isBefore($0, orSame: true) })]
    case .text(_, let test, null: false):
      guard test.options.isDisjoint(with: [.caseInsensitive, .diacriticInsensitive]) else { return nil }
      func below(_ text: [UInt8]) -> Int { first { order.bytes($0).lexicographicallyPrecedes(text) } }
      func upTo(_ text: [UInt8]) -> Int { first { !text.lexicographicallyPrecedes(order.bytes($0)) } }
      switch test.comparator {
      case .equal: return [range(below(test.other), upTo(test.other))]
      case .less: return [0..<below(test.other)]
      case .lessOrEqual: return [0..<upTo(test.other)]
      case .greater: return [range(upTo(test.other), rows.count)]
      case .greaterOrEqual: return [range(below(test.other), rows.count)]
      case .beginsWith:
        let start = below(test.other)
        let end = first { row in
          let bytes = order.bytes(row)
          return bytes.lexicographicallyPrecedes(test.other) || bytes.starts(with: test.other)
        }
        return [range(start, end)]
      case .isIn:
        guard test.others.count <= 1000 else { return nil }
        var found: [Range<Int>] = []
        var last: [UInt8]?
        for text in test.others.sorted(by: { $0.lexicographicallyPrecedes($1) }) where text != last {
          found.append(range(below(text), upTo(text)))
          last = text
        }
        return found
      default: return nil
      }
    default: return nil
    }
  }
}

/// The cells of a column as values that have an order.
struct CellOrder {
  private enum Kind { case integer16, integer32, integer64, float, double, text, uuid }
  private let column: ColumnView
  private let kind: Kind

  init?(_ column: ColumnView, _ type: AttributeType) {
    self.column = column
    switch (type, column.layout) {
    case (.integer16, .integer16): kind = .integer16
    case (.integer32, .integer32): kind = .integer32
    case (.integer64, .integer64): kind = .integer64
    case (.float, .float): kind = .float
    case (.double, .double), (.date, .double): kind = .double
    case (.string, .bytes): kind = .text
    case (.uuid, .uuid): kind = .uuid
    default: return nil
    }
  }

  func isOrdered(_ row: Int) -> Bool {
    switch kind {
    case .text: column.bytes(row) != nil
    case .float, .double: column.isPresent(row) && !double(row).isNaN
    default: column.isPresent(row)
    }
  }

  func integer(_ row: Int) -> Int64 {
    switch kind {
    case .integer16: Int64(column.cells.load(fromByteOffset: row &* 2, as: Int16.self))
    case .integer32: Int64(column.cells.load(fromByteOffset: row &* 4, as: Int32.self))
    default: column.cells.load(fromByteOffset: row &* 8, as: Int64.self)
    }
  }
  func double(_ row: Int) -> Double {
    kind == .float
      ? Double(column.cells.load(fromByteOffset: row &* 4, as: Float.self))
      : column.cells.load(fromByteOffset: row &* 8, as: Double.self)
  }
  func uuid(_ row: Int) -> UUIDBits { UUIDBits(column, row) }
  func bytes(_ row: Int) -> UnsafeBufferPointer<UInt8> { column.bytes(row) ?? UnsafeBufferPointer(start: nil, count: 0) }

  func prefix(_ row: Int) -> UInt64 {
    switch kind {
    case .text:
      let bytes = bytes(row)
      var value: UInt64 = 0
      for place in 0..<8 { value = value << 8 | (place < bytes.count ? UInt64(bytes[place]) : 0) }
      return value
    case .float, .double:
      let value = double(row)
      let bits = (value == 0 ? 0.0 : value).bitPattern
      return bits >> 63 == 1 ? ~bits : bits | 1 << 63
    case .uuid: return uuid(row).high
    default: return UInt64(bitPattern: integer(row)) ^ 1 << 63
    }
  }

  /// The order of two rows whose prefixes are the same.
  func compareRest(_ one: Int, _ other: Int) -> Int {
    if kind == .uuid {
      let (a, b) = (uuid(one).low, uuid(other).low)
      return a < b ? -1 : a > b ? 1 : 0
    }
    guard kind == .text else { return 0 }
    let a = bytes(one)
    let b = bytes(other)
    let shared = min(a.count, b.count)
    var place = 0
    while place < shared, a[place] == b[place] { place += 1 }
    if place < shared { return a[place] < b[place] ? -1 : 1 }
    return a.count < b.count ? -1 : a.count > b.count ? 1 : 0
  }

  func precedes(_ one: Int, _ other: Int) -> Bool {
    let a = prefix(one)
    let b = prefix(other)
    if a != b { return a < b }
    let result = compareRest(one, other)
    return result == 0 ? one < other : result < 0
  }

  func isSame(_ row: Int, _ other: CellOrder, _ otherRow: Int) -> Bool {
    guard other.isOrdered(otherRow), prefix(row) == other.prefix(otherRow) else { return false }
    if kind == .uuid { return uuid(row).low == other.uuid(otherRow).low }
    return kind != .text || bytes(row).elementsEqual(other.bytes(otherRow))
  }
}

/// The indexes that a version has, made as they are needed and carried on by saves.
final class RowIndexes: NodeVersionAttachment {
  private struct Key: Hashable {
    let entity: Int
    let slot: Int
  }
  private struct State {
    var indexes: [Key: RowIndex] = [:]
    var asked: [Key: Int] = [:]
  }
  private let state = Mutex(State())

  /// Columns are looked through this often before an index is made of them: making one costs about as much, so whoever asks
  /// once does not pay for an order, and nobody ever pays more than twice the lesser.
  static let patience = 8
  /// The same for an attribute that the model does not have indexed, when it is asked for single values.
  static let greaterPatience = 64

  static func of(_ version: NodeVersion) -> RowIndexes {
    version.attachment.withLock { attachment in
      if let indexes = attachment as? RowIndexes { return indexes }
      let indexes = RowIndexes()
      attachment = indexes
      return indexes
    }
  }

  /// The index of a column, once it has been asked for often enough.
  func index(_ version: NodeVersion, entity: Int, slot: Int, _ type: AttributeType, isDeclared: Bool = true) -> RowIndex? {
    let key = Key(entity: entity, slot: slot)
    let (found, isDue) = state.withLock { state -> (RowIndex?, Bool) in
      if let index = state.indexes[key] { return (index, false) }
      let count = state.asked[key, default: 0] + 1
      state.asked[key] = count
      return (nil, count > (isDeclared ? Self.patience : Self.greaterPatience))
    }
    guard found == nil, isDue else { return found }
    // Two threads may make it at once; one of them wins.
    guard let made = RowIndex(version.column(entity: entity, slot: slot), type) else { return nil }
    return state.withLock { state in
      if let index = state.indexes[key] { return index }
      state.indexes[key] = made
      return made
    }
  }

  /// Whether a column has one, for tests.
  func has(entity: Int, slot: Int) -> Bool { state.withLock { $0.indexes[Key(entity: entity, slot: slot)] != nil } }

  /// Gives the version that a save made the indexes of the one it was made from.
  func carry(from old: NodeVersion, to new: NodeVersion) {
    guard old.nodes.model === new.nodes.model else { return }
    let before = state.withLock { $0 }
    var carried = State(indexes: [:], asked: before.asked)
    var places: [Int: [UInt32]] = [:]
    for (key, index) in before.indexes {
      let from = old.column(entity: key.entity, slot: key.slot)
      let to = new.column(entity: key.entity, slot: key.slot)
      // Memory that the versions share holds the same values at the same rows.
      if from.cells == to.cells, from.heap == to.heap, from.rows == to.rows {
        carried.indexes[key] = index
        continue
      }
      let rows = places[key.entity] ?? Self.places(key.entity, from: old, to: new)
      places[key.entity] = rows
      guard let type = Self.type(new, key),
        let made = withExtendedLifetime((old, new), { index.carried(from: from, to: to, type, places: rows) })
      else { continue }
      carried.indexes[key] = made
    }
    Self.of(new).state.withLock { $0 = carried }
  }

  private static func type(_ version: NodeVersion, _ key: Key) -> AttributeType? {
    let plan = ModelPlan.plan(of: version.nodes.model).entities[key.entity]
    return plan.properties[plan.propertyOfSlot[key.slot]].attributeType
  }

  private static func places(_ entity: Int, from old: NodeVersion, to new: NodeVersion) -> [UInt32] {
    let root = new.nodes.model.entity(at: entity).root.index
    return (0..<old.rowCount(of: entity)).map { row in
      let reference = old.reference(of: NodeHandle(entity: entity, row: row))
      guard let node = new.handle(for: reference, root: root), node.entity == entity else { return .max }
      return UInt32(truncatingIfNeeded: node.row)
    }
  }
}

extension RowTest {
  /// The rows that the test holds for, ascending. Where the entity has an index that narrows them down, only those that it
  /// leaves are looked at.
  func rows(_ version: NodeVersion, _ plan: EntityPlan, _ body: (Int) -> Void) {
    if let rows = withExtendedLifetime(version, { narrowed(version, plan) }) { return rows.forEach(body) }
    run(version, entity: plan.index).withUnsafeBufferPointer { mask in
      for row in 0..<mask.count where mask[row] != 0 { body(row) }
    }
  }

  /// For how many rows of the entity the test holds.
  func count(_ version: NodeVersion, _ plan: EntityPlan) -> Int {
    withExtendedLifetime(version) { narrowed(version, plan) }?.count ?? count(version, entity: plan.index)
  }

  /// What must hold all together.
  private var conjuncts: [RowTest] {
    if case .and(let parts) = self { parts.flatMap(\.conjuncts) } else { [self] }
  }
  private var indexableSlot: Int? {
    switch self {
    case .integers(let slot, _, _, isOutside: false, null: false), .integerSet(let slot, _, null: false),
      .doubles(let slot, _, _, null: false), .text(let slot, _, null: false), .uuid(let slot, _, isOther: false, null: false):
      slot
    default: nil
    }
  }

  private func narrowed(_ version: NodeVersion, _ plan: EntityPlan) -> [Int]? {
    let count = version.rowCount(of: plan.index)
    guard count > 0 else { return nil }
    let parts = conjuncts
    // Ranges of one column are cut with each other: from below and from above.
    var bySlot: [Int: [Range<Int>]] = [:]
    var indexes: [Int: RowIndex] = [:]
    for part in parts {
      guard let slot = part.indexableSlot else { continue }
      let isDeclared = plan.indexedSlots.contains(slot)
      guard isDeclared || part.soughtValue(plan) != nil,
        let type = plan.properties[plan.propertyOfSlot[slot]].attributeType
      else { continue }
      guard let index = indexes[slot] ?? RowIndexes.of(version).index(version, entity: plan.index, slot: slot, type, isDeclared: isDeclared) else { continue }
      indexes[slot] = index
      guard let ranges = index.places(for: part, version.column(entity: plan.index, slot: slot), type) else { continue }
      if let known = bySlot[slot] {
        bySlot[slot] = known.flatMap { one in ranges.map { one.clamped(to: $0) } }.filter { !$0.isEmpty }
      } else {
        bySlot[slot] = ranges
      }
    }
    let sizes = bySlot.mapValues { $0.reduce(0) { $0 + $1.count } }
    guard let best = sizes.min(by: { ($0.value, $0.key) < ($1.value, $1.key) }), best.value <= max(16, count / 8),
      let index = indexes[best.key], let ranges = bySlot[best.key]
    else { return nil }
    var rows: [Int] = []
    rows.reserveCapacity(best.value)
    for range in ranges {
      for place in range {
        let row = Int(index.rows[place])
        if parts.allSatisfy({ $0.holds(row, version, plan.index) }) { rows.append(row) }
      }
    }
    return rows.sorted()
  }

  /// Whether the test holds for one row.
  func holds(_ row: Int, _ version: NodeVersion, _ entity: Int) -> Bool {
    func column(_ slot: Int) -> ColumnView { version.column(entity: entity, slot: slot) }
    func leads(_ bits: UInt64, _ tests: [Int: RowTest]) -> Bool {
      let node = NodeHandle(rawBits: bits)
      return tests[node.entity]?.holds(node.row, version, node.entity) ?? false
    }
    switch self {
    case .constant(let flag): return flag
    case .and(let parts): return parts.allSatisfy { $0.holds(row, version, entity) }
    case .or(let parts): return parts.contains { $0.holds(row, version, entity) }
    case .not(let part): return !part.holds(row, version, entity)
    case .null(let slot, let wanted):
      let column = column(slot)
      switch column.layout {
      case .bytes: return (column.bytes(row) == nil) == wanted
      case .toOne: return (column.handle(row) == .max) == wanted
      case .toMany: return column.handles(row).isEmpty == wanted
      default: return column.isPresent(row) != wanted
      }
    case .integers(let slot, let low, let high, let isOutside, let null):
      guard let value = integer(column(slot), row) else { return null }
      return (value >= low && value <= high) != isOutside
    case .integerSet(let slot, let set, let null): return integer(column(slot), row).map { set.contains($0) } ?? null
    case .doubles(let slot, let order, let bound, let null):
      let column = column(slot)
      guard column.isPresent(row) else { return null }
      let value =
        column.layout == .float
        ? Double(column.cells.load(fromByteOffset: row &* 4, as: Float.self))
        : column.cells.load(fromByteOffset: row &* 8, as: Double.self)
      switch order {
      case .less: return value < bound
      case .lessOrEqual: return value <= bound
      case .equal: return value == bound
      case .notEqual: return value != bound
      case .greaterOrEqual: return value >= bound
      case .greater: return value > bound
      }
    case .boolean(let slot, let wanted, let null):
      let column = column(slot)
      return column.isPresent(row) ? (column.cells.load(fromByteOffset: row, as: UInt8.self) != 0) == wanted : null
    case .text(let slot, let test, let null): return column(slot).bytes(row).map { test.holds($0) } ?? null
    case .uuid(let slot, let uuid, let isOther, let null):
      let column = column(slot)
      return column.isPresent(row) ? (UUIDBits(column, row) == UUIDBits(uuid)) != isOther : null
    case .destination(let slot, let bits, let isOther): return (column(slot).handle(row) == bits) != isOther
    case .through(let slot, let tests, let null):
      let bits = column(slot).handle(row)
      return bits == .max ? null : leads(bits, tests)
    case .some(let slot, let tests): return column(slot).handles(row).contains { leads($0, tests) }
    case .every(let slot, let tests): return column(slot).handles(row).allSatisfy { leads($0, tests) }
    case .count(let slot, let low, let high, let isOutside):
      let count = Int64(column(slot).handles(row).count)
      return (count >= low && count <= high) != isOutside
    }
  }

  private func integer(_ column: ColumnView, _ row: Int) -> Int64? {
    guard column.isPresent(row) else { return nil }
    switch column.layout {
    case .integer16: return Int64(column.cells.load(fromByteOffset: row &* 2, as: Int16.self))
    case .integer32: return Int64(column.cells.load(fromByteOffset: row &* 4, as: Int32.self))
    default: return column.cells.load(fromByteOffset: row &* 8, as: Int64.self)
    }
  }

  /// The entities whose rows the test looks at through relationships.
  var entitiesLedTo: Set<Int> {
    switch self {
    case .and(let parts), .or(let parts): return parts.reduce(into: []) { $0.formUnion($1.entitiesLedTo) }
    case .not(let part): return part.entitiesLedTo
    case .through(_, let tests, _), .some(_, let tests), .every(_, let tests):
      return tests.reduce(into: Set(tests.keys)) { $0.formUnion($1.value.entitiesLedTo) }
    default: return []
    }
  }
}
