import AtomicStoreSPI
import FoundationEssentials
import StorePredicates

extension RowTest {
  /// Calls `body` with each row that fulfils the test, in ascending order. If an index of the entity narrows the
  /// candidates down, only those are tested.
  func rows(_ version: NodeVersion, _ plan: EntityPlan, _ budget: StepBudget, _ body: (Int) -> Void) {
    if let rows = withExtendedLifetime(version, { narrowed(version, plan, budget) }) { return rows.forEach(body) }
    run(version, entity: plan.index, budget).withUnsafeBufferPointer { mask in
      for row in 0..<mask.count where mask[row] != 0 { body(row) }
    }
  }

  /// The number of rows of the entity that fulfil the test.
  func count(_ version: NodeVersion, _ plan: EntityPlan, _ budget: StepBudget) -> Int {
    withExtendedLifetime(version) { narrowed(version, plan, budget) }?.count
      ?? count(version, entity: plan.index, budget)
  }

  /// The tests that must all be fulfilled.
  private var conjuncts: [RowTest] {
    if case .and(let parts) = self { parts.flatMap(\.conjuncts) } else { [self] }
  }
  private var indexableSlot: Int? {
    switch self {
    case .integers(let slot, _, _, isOutside: false, null: false), .integerSet(let slot, _, null: false),
      .doubles(let slot, _, _, null: false), .text(let slot, _, null: false),
      .uuid(let slot, _, isOther: false, null: false):
      slot
    default: nil
    }
  }

  private func narrowed(_ version: NodeVersion, _ plan: EntityPlan, _ budget: StepBudget) -> [Int]? {
    let count = version.rowCount(of: plan.index)
    guard count > 0 else { return nil }
    let parts = conjuncts
    let sure = parts[..<parts.sureCount]
    // Objects that the predicate names are found without a search.
    for case .itself(let objects, isOther: false) in sure {
      let rows = objects.rows(of: plan.index).filter { $0 < count }
      guard budget.use(1 + rows.count * cost / 64) else { return [] }
      return rows.filter { row in parts.allSatisfy { $0.holds(row, version, plan.index, budget) } }
    }
    // Ranges on one column are intersected: a lower and an upper bound.
    var bySlot: [Int: [Range<Int>]] = [:]
    var indexes: [Int: RowIndex] = [:]
    for part in sure {
      guard let slot = part.indexableSlot else { continue }
      let isDeclared = plan.indexedSlots.contains(slot)
      guard isDeclared || part.soughtValue(plan) != nil,
        let type = plan.properties[plan.propertyOfSlot[slot]].attributeType
      else { continue }
      guard
        let index = indexes[slot]
          ?? RowIndexes.of(version).index(version, entity: plan.index, slot: slot, type, isDeclared: isDeclared)
      else { continue }
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
    guard budget.use(1 + best.value * cost / 64) else { return rows }
    rows.reserveCapacity(best.value)
    for range in ranges {
      for place in range {
        let row = Int(index.rows[place])
        if parts.allSatisfy({ $0.holds(row, version, plan.index, budget) }) { rows.append(row) }
      }
    }
    return rows.sorted()
  }

  /// Whether one row fulfils the test.
  func holds(_ row: Int, _ version: NodeVersion, _ entity: Int, _ budget: StepBudget) -> Bool {
    func column(_ slot: Int) -> ColumnView { version.column(entity: entity, slot: slot) }
    func leads(_ bits: UInt64, _ tests: [Int: RowTest]) -> Bool {
      let node = NodeHandle(rawBits: bits)
      return tests[node.entity]?.holds(node.row, version, node.entity, budget) ?? false
    }
    switch self {
    case .constant(let flag): return flag
    case .and(let parts): return parts.allSatisfy { $0.holds(row, version, entity, budget) }
    case .or(let parts): return parts.contains { $0.holds(row, version, entity, budget) }
    case .not(let part): return !part.holds(row, version, entity, budget)
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
        ? Double(column.cell(row, as: Float.self))
        : column.cell(row, as: Double.self)
      return order.holds(value, bound)
    case .decimals(let slot, let order, let bound, let null):
      return column(slot).bytes(row).map { order.holds(bound.order($0)) } ?? null
    case .numbers(let one, let order, let other):
      let (one, other) = (RowReader(one, version, entity), RowReader(other, version, entity))
      return RowReader.holds(one.number(row), order, other.number(row))
    case .evaluated(let predicate, let conditions):
      return conditions.holds(predicate, NodeHandle(entity: entity, row: row))
    case .boolean(let slot, let wanted, let null):
      let column = column(slot)
      return column.isPresent(row) ? (column.cell(row, as: UInt8.self) != 0) == wanted : null
    case .text(let slot, let test, let null): return column(slot).bytes(row).map { test.holds($0, budget) } ?? null
    case .uuid(let slot, let uuid, let isOther, let null):
      let column = column(slot)
      return column.isPresent(row) ? (UUIDBits(column, row) == UUIDBits(uuid)) != isOther : null
    case .itself(let objects, let isOther):
      return objects.bits.contains(NodeHandle(entity: entity, row: row).rawBits) != isOther
    case .destination(let slot, let bits, let isOther): return (column(slot).handle(row) == bits) != isOther
    case .destinations(let slot, let objects, let isOther):
      return column(slot).leads(row, to: objects.bits) != isOther
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
    column.isPresent(row) ? column.integer(row) : nil
  }

  /// The entities whose rows the test reads through relationships.
  var entitiesLedTo: Set<Int> {
    switch self {
    case .and(let parts), .or(let parts): return parts.reduce(into: []) { $0.formUnion($1.entitiesLedTo) }
    case .not(let part): return part.entitiesLedTo
    case .through(_, let tests, _), .some(_, let tests), .every(_, let tests):
      return tests.reduce(into: Set(tests.keys)) { $0.formUnion($1.value.entitiesLedTo) }
    case .evaluated(let predicate, let conditions):
      return FetchTree.predicate(predicate).readsOtherObjects ? Set(0..<conditions.entityCount) : []
    case .numbers(let one, _, let other): return one.entitiesLedTo.union(other.entitiesLedTo)
    default: return []
    }
  }

  /// A value that an object must have in a slot to fulfil the test, if there is one.
  func soughtValue(_ plan: EntityPlan) -> (slot: Int, value: StoredValue)? {
    switch self {
    case .and(let parts): return parts[..<parts.sureCount].lazy.compactMap { $0.soughtValue(plan) }.first
    case .integers(let slot, let low, let high, isOutside: false, null: false) where low == high:
      return (slot, .integer(low))
    case .doubles(let slot, .equal, let number, null: false):
      switch plan.properties[plan.propertyOfSlot[slot]].attributeType?.valueKind {
      case .double: return (slot, .double(number))
      case .date: return (slot, .date(Date(timeIntervalSinceReferenceDate: number)))
      case .float: return Float(exactly: number).map { (slot, .float($0)) }
      default: return nil
      }
    case .text(let slot, let test, null: false) where test.isSameness && test.comparator == .equal:
      let text = String(decoding: test.other, as: UTF8.self)
      return (
        slot, plan.properties[plan.propertyOfSlot[slot]].attributeType?.valueKind == .uri ? .uri(text) : .string(text)
      )
    case .uuid(let slot, let uuid, isOther: false, null: false): return (slot, .uuid(uuid))
    default: return nil
    }
  }
}

extension ColumnView {
  /// Whether a relationship leads to one of some nodes.
  func leads(_ row: Int, to nodes: Set<UInt64>) -> Bool {
    layout == .toOne ? nodes.contains(handle(row)) : handles(row).contains { nodes.contains($0) }
  }
}
