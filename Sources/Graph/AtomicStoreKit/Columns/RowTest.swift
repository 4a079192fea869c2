import AtomicStoreSPI
import FoundationEssentials
import StorePredicates
import StorePrimitives

/// A predicate compiled against the slots of one entity. It runs over columns without creating objects.
///
/// What cannot be compiled is evaluated by ``PredicateEvaluator``, row by row, or on objects. A test checks that all
/// give the same results.
indirect enum RowTest {
  case constant(Bool)
  case and([RowTest])
  case or([RowTest])
  case not(RowTest)
  /// Whether the value is null, or is not.
  case null(slot: Int, Bool)
  /// Whether an integer is within bounds, or outside them; and the result for null.
  case integers(slot: Int, low: Int64, high: Int64, isOutside: Bool, null: Bool)
  case integerSet(slot: Int, Set<Int64>, null: Bool)
  case doubles(slot: Int, Order, Double, null: Bool)
  case decimals(slot: Int, Order, DecimalBound, null: Bool)
  case boolean(slot: Int, Bool, null: Bool)
  case text(slot: Int, TextTest, null: Bool)
  case uuid(slot: Int, UUID, isOther: Bool, null: Bool)
  /// Whether the object is one of some, or is not.
  case itself(NamedObjects, isOther: Bool)
  /// Whether a to-one leads to a node, or does not.
  case destination(slot: Int, UInt64, isOther: Bool)
  /// Whether a relationship leads to one of some objects, or does not.
  case destinations(slot: Int, NamedObjects, isOther: Bool)
  /// The test of a to-one's destination, by entity; and the result without a destination.
  case through(slot: Int, [Int: RowTest], null: Bool)
  /// Whether at least one object of a to-many fulfils the test.
  case some(slot: Int, [Int: RowTest])
  case every(slot: Int, [Int: RowTest])
  /// Whether the number of objects in a to-many is within bounds, or outside them.
  case count(slot: Int, low: Int64, high: Int64, isOutside: Bool)

  /// Compares two numbers that are computed for each row.
  case numbers(RowExpression, Order, RowExpression)
  /// A condition that is not compiled.
  case evaluated(FetchPredicate, RowConditions)

  typealias Order = RowOrder

  // MARK: Running

  /// Returns a byte for each row of the entity: 1 if it fulfils the test.
  ///
  /// - Parameter budget: The steps of the fetch. If none are left, the result is meaningless: a test cannot throw.
  func run(_ version: NodeVersion, entity: Int, _ budget: StepBudget) -> [UInt8] {
    var mask = [UInt8](repeating: 1, count: version.rowCount(of: entity))
    mask.withUnsafeMutableBufferPointer { narrow($0, version, entity, budget) }
    return mask
  }

  /// The number of rows of the entity that fulfil the test.
  func count(_ version: NodeVersion, entity: Int, _ budget: StepBudget) -> Int {
    run(version, entity: entity, budget).withUnsafeBufferPointer { mask in
      var count = 0
      var row = 0
      // One byte each, for at most 255 rounds: byte sums, of which the processor computes many at once.
      while row < mask.count {
        let end = min(row + 255, mask.count)
        var sum: UInt8 = 0
        for place in row..<end { sum &+= mask[place] }
        count += Int(sum)
        row = end
      }
      return count
    }
  }

  /// Clears the rows that do not fulfil the test. Where testing a row is expensive, rows that are already cleared are
  /// skipped.
  private func narrow(
    _ mask: UnsafeMutableBufferPointer<UInt8>, _ version: NodeVersion, _ entity: Int, _ budget: StepBudget
  ) {
    guard budget.use(steps(mask.count)) else { return }
    switch self {
    case .constant(let flag):
      if !flag { mask.update(repeating: 0) }
    case .and(let parts):
      for part in Self.ordered(parts) { part.narrow(mask, version, entity, budget) }
    case .or(let parts):
      withUnsafeTemporaryAllocation(of: UInt8.self, capacity: mask.count * 2) { scratch in
        let open = UnsafeMutableBufferPointer(rebasing: scratch[..<mask.count])
        let part = UnsafeMutableBufferPointer(rebasing: scratch[mask.count...])
        _ = open.initialize(fromContentsOf: mask)
        _ = part.initialize(fromContentsOf: mask)
        for (place, test) in Self.ordered(parts).enumerated() {
          if place > 0 { _ = part.update(fromContentsOf: open) }
          test.narrow(part, version, entity, budget)
          for row in 0..<mask.count { open[row] ^= part[row] }
        }
        // Rows that no alternative took remain candidates.
        for row in 0..<mask.count { mask[row] ^= open[row] }
      }
    case .not(let part):
      withUnsafeTemporaryAllocation(of: UInt8.self, capacity: mask.count) { scratch in
        _ = scratch.initialize(fromContentsOf: mask)
        part.narrow(scratch, version, entity, budget)
        for row in 0..<mask.count { mask[row] ^= scratch[row] }
      }
    case .evaluated(let predicate, let conditions):
      Self.left(mask) { conditions.holds(predicate, NodeHandle(entity: entity, row: $0)) }
    case .itself(let objects, let isOther):
      let rows = objects.rows(of: entity).filter { $0 < mask.count && mask[$0] != 0 }
      if !isOther { mask.update(repeating: 0) }
      for row in rows { mask[row] = isOther ? 0 : 1 }
    case .destinations(let slot, let objects, let isOther):
      withExtendedLifetime(version) {
        let column = version.column(entity: entity, slot: slot)
        Self.left(mask) { column.leads($0, to: objects.bits) != isOther }
      }
    case .decimals(let slot, let order, let bound, let null):
      withExtendedLifetime(version) {
        let column = version.column(entity: entity, slot: slot)
        Self.left(mask) { row in column.bytes(row).map { order.holds(bound.order($0)) } ?? null }
      }
    case .numbers(let one, let order, let other):
      withExtendedLifetime(version) {
        let one = RowReader(one, version, entity)
        let other = RowReader(other, version, entity)
        Self.left(mask) { RowReader.holds(one.number($0), order, other.number($0)) }
      }
    default: withExtendedLifetime(version) { leaf(mask, version, entity, budget) }
    }
  }

  /// The steps of testing so many rows: a step of the evaluator takes as long as 64 of the cheapest tests. The parts of
  /// a test count for themselves.
  private func steps(_ rows: Int) -> Int {
    switch self {
    case .and, .or, .not: 1
    // The evaluator counts them.
    case .evaluated: 0
    default: 1 + rows * cost / 64
    }
  }

  /// The approximate cost of testing one row.
  var cost: Int {
    switch self {
    case .constant, .evaluated: 0
    case .null, .integers, .doubles, .boolean, .destination, .uuid, .itself: 1
    case .count: 2
    case .integerSet, .through, .destinations: 4
    case .decimals: 6
    case .text(_, let test, _): test.cost
    case .numbers: 12
    case .some, .every: 30
    case .and(let parts), .or(let parts): parts.reduce(1) { $0 + $1.cost }
    case .not(let part): 1 + part.cost
    }
  }

  /// The order in which the parts of a test run. What is compiled cannot fail, so its order is free: cheap tests run
  /// first and leave fewer rows to the others. An evaluated condition is asked of those rows only of which objects are.
  private static func ordered(_ parts: [RowTest]) -> [RowTest] {
    let sure = parts.sureCount
    return parts[..<sure].sorted { $0.cost < $1.cost } + parts[sure...]
  }

  /// Whether it has conditions that may be errors.
  fileprivate var canFail: Bool {
    switch self {
    case .evaluated: true
    case .and(let parts), .or(let parts): parts.contains { $0.canFail }
    case .not(let part): part.canFail
    default: false
    }
  }

  private func leaf(
    _ mask: UnsafeMutableBufferPointer<UInt8>, _ version: NodeVersion, _ entity: Int, _ budget: StepBudget
  ) {
    func column(_ slot: Int) -> ColumnView { version.column(entity: entity, slot: slot) }
    switch self {
    case .null(let slot, let wanted):
      let column = column(slot)
      switch column.layout {
      case .bytes: Self.every(mask, column) { (column.bytes(at: $0) == nil) == wanted }
      case .toOne: Self.every(mask, column) { (column.handle(at: $0) == .max) == wanted }
      case .toMany: Self.every(mask) { column.handles($0).isEmpty == wanted }
      default: Self.every(mask) { column.isPresent($0) != wanted }
      }
    case .integers(let slot, let low, let high, let isOutside, let null):
      let column = column(slot)
      func test<Value: FixedWidthInteger & BitwiseCopyable>(_: Value.Type) {
        Self.present(mask, column, null) { place in
          let value = Int64(column.cells.load(fromByteOffset: place &* MemoryLayout<Value>.size, as: Value.self))
          let isWithin: UInt8 = (value >= low ? 1 : 0) & (value <= high ? 1 : 0)
          return isWithin ^ (isOutside ? 1 : 0)
        }
      }
      switch column.layout {
      case .integer16: test(Int16.self)
      case .integer32: test(Int32.self)
      default: test(Int64.self)
      }
    case .integerSet(let slot, let set, let null):
      let column = column(slot)
      Self.left(mask) { column.isPresent($0) ? set.contains(column.integer($0)) : null }
    case .doubles(let slot, let order, let bound, let null):
      let column = column(slot)
      if column.layout == .float {
        Self.compare(mask, column, order, bound, null) {
          Double(column.cells.load(fromByteOffset: $0 &* 4, as: Float.self))
        }
      } else {
        Self.compare(mask, column, order, bound, null) { column.cells.load(fromByteOffset: $0 &* 8, as: Double.self) }
      }
    case .boolean(let slot, let wanted, let null):
      let column = column(slot)
      Self.present(mask, column, null) { place in
        (column.cells.load(fromByteOffset: place, as: UInt8.self) == 0 ? 1 : 0) ^ (wanted ? 1 : 0)
      }
    case .text(let slot, let test, let null):
      let column = column(slot)
      if test.isSameness {
        let isWanted = test.comparator == .equal
        test.other.withUnsafeBufferPointer { other in
          Self.left(mask) { row in column.bytes(row).map { TextTest.isSame($0, other) == isWanted } ?? null }
        }
      } else {
        Self.left(mask) { row in column.bytes(row).map { test.holds($0, budget) } ?? null }
      }
    case .uuid(let slot, let uuid, let isOther, let null):
      let column = column(slot)
      let wanted = UUIDBits(uuid)
      Self.left(mask) { column.isPresent($0) ? (UUIDBits(column, $0) == wanted) != isOther : null }
    case .destination(let slot, let bits, let isOther):
      let column = column(slot)
      Self.every(mask, column) { (column.handle(at: $0) == bits) != isOther }
    case .itself, .destinations, .constant, .and, .or, .not, .decimals, .numbers, .evaluated: return
    case .through(let slot, let tests, let null):
      let column = column(slot)
      let masks = Self.masks(tests, version, budget)
      Self.left(mask) { row in
        let bits = column.handle(row)
        guard bits != .max else { return null }
        return Self.holds(masks, bits)
      }
    case .some(let slot, let tests), .every(let slot, let tests):
      let column = column(slot)
      let masks = Self.masks(tests, version, budget)
      let isSome = if case .some = self { true } else { false }
      Self.left(mask) { row in
        for bits in column.handles(row) where Self.holds(masks, bits) == isSome { return isSome }
        return !isSome
      }
    case .count(let slot, let low, let high, let isOutside):
      let column = column(slot)
      Self.left(mask) { row in
        let count = Int64(column.handles(row).count)
        return (count >= low && count <= high) != isOutside
      }
    }
  }

  // MARK: Loops

  /// Visits all rows: for tests that cost less than checking whether the row is still set.
  @inline(__always) private static func every(_ mask: UnsafeMutableBufferPointer<UInt8>, _ test: (Int) -> Bool) {
    for row in 0..<mask.count { mask[row] &= test(row) ? 1 : 0 }
  }

  /// The same for a test of cells by place.
  @inline(__always) private static func every(
    _ mask: UnsafeMutableBufferPointer<UInt8>, _ column: ColumnView, _ test: (Int) -> Bool
  ) {
    if column.sparse == nil { every(mask, test) } else { every(mask) { test(column.place($0)) } }
  }

  /// Visits the rows that are still set.
  @inline(__always) private static func left(_ mask: UnsafeMutableBufferPointer<UInt8>, _ test: (Int) -> Bool) {
    for row in 0..<mask.count where mask[row] != 0 { mask[row] = test(row) ? 1 : 0 }
  }

  /// Visits all rows of a column of fixed width, 64 at a time: if none of them is null, the loop has no branch. The
  /// test is of a cell by its place.
  @inline(__always) private static func present(
    _ mask: UnsafeMutableBufferPointer<UInt8>, _ column: ColumnView, _ null: Bool, _ test: (Int) -> UInt8
  ) {
    guard column.sparse == nil else {
      return left(mask) { row in column.isPresent(row) ? test(column.place(row)) != 0 : null }
    }
    var start = 0
    while start < mask.count {
      let end = min(start + 64, mask.count)
      let present = column.presence[start >> 6]
      let all = UInt64.max >> UInt64(64 - (end - start))
      if present & all == all {
        for row in start..<end { mask[row] &= test(row) }
      } else {
        for row in start..<end { mask[row] &= present >> UInt64(row - start) & 1 != 0 ? test(row) : null ? 1 : 0 }
      }
      start = end
    }
  }

  @inline(__always) private static func compare(
    _ mask: UnsafeMutableBufferPointer<UInt8>, _ column: ColumnView, _ order: Order, _ bound: Double, _ null: Bool,
    _ value: (Int) -> Double
  ) {
    switch order {
    case .less: present(mask, column, null) { value($0) < bound ? 1 : 0 }
    case .lessOrEqual: present(mask, column, null) { value($0) <= bound ? 1 : 0 }
    case .equal: present(mask, column, null) { value($0) == bound ? 1 : 0 }
    case .notEqual: present(mask, column, null) { value($0) != bound ? 1 : 0 }
    case .greaterOrEqual: present(mask, column, null) { value($0) >= bound ? 1 : 0 }
    case .greater: present(mask, column, null) { value($0) > bound ? 1 : 0 }
    }
  }

  @inline(__always) private static func holds(_ masks: [[UInt8]], _ bits: UInt64) -> Bool {
    let mask = masks[Int(bits >> 32)]
    let row = Int(bits & 0xFFFF_FFFF)
    return row < mask.count && mask[row] != 0
  }

  private static func masks(_ tests: [Int: RowTest], _ version: NodeVersion, _ budget: StepBudget) -> [[UInt8]] {
    var masks = [[UInt8]](repeating: [], count: version.nodes.model.entityCount)
    for (entity, test) in tests { masks[entity] = test.run(version, entity: entity, budget) }
    return masks
  }
}

extension [RowTest] {
  /// How many tests at the beginning cannot fail.
  var sureCount: Int { firstIndex { $0.canFail } ?? count }
}
