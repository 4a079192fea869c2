import AtomicStoreSPI
import FoundationEssentials
import StorePredicates
import StorePrimitives

/// The groups of rows that are read from columns: their keys, and what is computed of each, without objects.
///
/// Groups and results are those of ``StorePredicates/PredicateEvaluator`` on objects, to the bit. What would need
/// objects, or be an error there, makes ``add(_:)`` return false: then objects are evaluated after all.
struct ColumnGroups {
  private let rows: ColumnRows
  private let keyCount: Int
  /// The number of the first row of each group, whose keys are those of the group.
  private var firsts: [Int] = []
  /// The values of computed keys, of one group after the other.
  private var computed: [StoredValue] = []
  /// The number of rows of each group.
  private var counts: [Int] = []
  private var aggregates: [ColumnAggregate]
  /// The keys of groups, and those of rows that are not in their groups yet.
  private var numbers: TextNumbers
  private var keys = RowKeys()
  private var waiting = Waiting()
  /// Whether there is a group whose key contains not-a-number, and so has no number.
  private var hasNaN = false
  /// The groups by the numbers of their keys, if they are not the same.
  private var groups: [Int] = []
  /// The types of computed keys.
  private var computedKinds: [Int: String] = [:]

  /// The rows of ``keys``: their nodes and numbers, the values of computed keys, and what results are computed of.
  private struct Waiting {
    /// One of the rows, which are all of one store.
    var row: ColumnRows.Row?
    var nodes: [(node: NodeHandle, number: Int)] = []
    var computed: [StoredValue] = []
    var cells: [RowCell] = []
  }

  /// - Parameters:
  ///   - rows: What is grouped.
  ///   - keyCount: How many columns of the rows are keys: the first ones. Without keys, all rows are one group, even if
  ///     there are none.
  ///   - aggregates: What is computed of the columns behind them.
  init(of rows: ColumnRows, keyCount: Int, aggregates: [ColumnAggregate]) {
    self.rows = rows
    self.keyCount = keyCount
    self.aggregates = aggregates
    numbers = TextNumbers(expecting: rows.count)
    if keyCount == 0 { begin(0) }
  }

  /// The number of groups.
  var count: Int { counts.count }

  /// Adds a row to its group, at the latest when the rows are complete, see ``finish()``.
  ///
  /// - Returns: False if objects must be evaluated.
  mutating func add(_ row: borrowing ColumnRows.Row) -> Bool {
    for index in 0..<keyCount {
      let cell = row.cells[index]
      let isLast = index == keyCount - 1
      if keys.append(cell, isLast: isLast) { continue }
      guard case .other = cell, case .value(let value) = row[index] else { return false }
      switch value {
      case .uuid, .float, .null: guard keys.append(value, isLast: isLast) else { return false }
      // Numbers of several types may be equal.
      default: return false
      }
    }
    return end(row)
  }

  /// Adds a row to the group of keys that were computed of it.
  ///
  /// - Returns: False if objects must be evaluated.
  mutating func add(_ row: borrowing ColumnRows.Row, keys values: [PredicateValue]) -> Bool {
    for (index, value) in values.enumerated() {
      guard case .value(let stored) = value, keys.append(stored, isLast: index == values.count - 1) else {
        return false
      }
      waiting.computed.append(stored)
      guard !stored.isNull else { continue }
      // Values of different types, which may be equal nevertheless, are left to objects.
      let kind = stored.kindDescription
      guard computedKinds[index, default: kind] == kind else { return false }
      computedKinds[index] = kind
    }
    return end(row)
  }

  /// Ends the key of a row.
  private mutating func end(_ row: borrowing ColumnRows.Row) -> Bool {
    if waiting.row == nil { waiting.row = copy row }
    waiting.nodes.append((row.node, row.number))
    for place in aggregates.indices { waiting.cells.append(row.cells[aggregates[place].column]) }
    if keys.hasNaN {
      // The rows before it come first.
      keys.cancel()
      return finish()
    }
    if keyCount > 0 { keys.end() }
    return waiting.nodes.count < TextBatch.size || finish()
  }

  /// Adds the rows that are not in their groups yet.
  ///
  /// - Returns: False if objects must be evaluated.
  mutating func finish() -> Bool {
    let found = keys.takeNumbers(from: &numbers)
    guard var row = waiting.row else { return true }
    let isComputed = !waiting.computed.isEmpty
    for (index, (node, number)) in waiting.nodes.enumerated() {
      row.move(to: node, number)
      let known = count
      let group = keyCount == 0 ? 0 : group(index < found.count ? found[index] : nil, number)
      if isComputed, group == known { computed += waiting.computed[index * keyCount..<(index + 1) * keyCount] }
      counts[group] += 1
      for place in aggregates.indices {
        let cell = waiting.cells[index * aggregates.count + place]
        guard aggregates[place].add(cell, row, to: group) else { return false }
      }
    }
    waiting.nodes.removeAll(keepingCapacity: true)
    waiting.computed.removeAll(keepingCapacity: true)
    waiting.cells.removeAll(keepingCapacity: true)
    return true
  }

  private mutating func begin(_ row: Int) {
    firsts.append(row)
    counts.append(0)
    for index in aggregates.indices { aggregates[index].begin() }
  }

  /// Returns the group whose key has a number, which is created if it does not exist. A key that contains not-a-number
  /// equals no other, has no number and always creates a group.
  private mutating func group(_ number: Int?, _ row: Int) -> Int {
    let group = count
    if let number {
      if hasNaN {
        if number < groups.count { return groups[number] }
        groups.append(group)
      } else if number < group {
        return number
      }
    } else {
      if !hasNaN { groups = Array(0..<group) }
      hasNaN = true
    }
    begin(row)
    return group
  }

  // MARK: Results

  /// The value of a plan's expression in a group; nil if objects must be evaluated.
  func value(_ value: StoreGroupPlan.Value, of group: Int) -> FetchedRow.Value? {
    switch value {
    case .count: .value(.integer(Int64(counts[group])))
    case .key(let index) where !computed.isEmpty: .value(computed[group * keyCount + index])
    case .key(let index): rows.value(index, row: firsts[group])
    case .single(let index): aggregates[index].result(of: group).map { .value($0) }
    case .average(let sum, _): aggregates[sum].average(of: group).map { .value($0) }
    }
  }
}

/// One aggregate of the values of a column, for each group.
struct ColumnAggregate {
  /// The number of the column in the rows.
  let column: Int
  private let function: StoreGrouping.Function
  /// Whether the average is asked for, which needs all numbers.
  private let needsNumbers: Bool
  private var counts: [Int] = []
  private var wholes: [Int128] = []
  private var sums: [Double] = []
  private var numbers: [[Double]] = []
  private var decimals: [[DecimalNumber]] = []
  private var best: [StoredValue] = []
  private var kind = Kind.none

  /// What the values of the column are.
  private enum Kind { case none, whole, double, decimal }

  init(_ function: StoreGrouping.Function, column: Int, needsNumbers: Bool) {
    self.function = function
    self.column = column
    self.needsNumbers = needsNumbers
  }

  mutating func begin() {
    counts.append(0)
    switch function {
    case .count: break
    case .minimum, .maximum: best.append(.null)
    case .sum:
      wholes.append(0)
      sums.append(0)
      numbers.append([])
      decimals.append([])
    }
  }

  /// - Returns: False if objects must be evaluated.
  @inline(__always)
  mutating func add(_ cell: RowCell, _ row: borrowing ColumnRows.Row, to group: Int) -> Bool {
    if case .null = cell { return true }
    switch function {
    case .count: return count(cell, row, group)
    case .sum: return sum(cell, row, group)
    case .minimum, .maximum: return compare(cell, row, group)
    }
  }

  private mutating func count(_ cell: RowCell, _ row: borrowing ColumnRows.Row, _ group: Int) -> Bool {
    if case .objects = cell { return false }
    if case .other = cell, row[column].isNull { return true }
    counts[group] += 1
    return true
  }

  private mutating func sum(_ cell: RowCell, _ row: borrowing ColumnRows.Row, _ group: Int) -> Bool {
    switch cell {
    case .boolean(let flag): return add(Int128(flag ? 1 : 0), group)
    case .integer(let number): return add(Int128(number), group)
    case .double(let number): return add(number, group)
    case .decimal(let bytes):
      guard let number = DecimalNumber(utf8: Span(_unsafeElements: bytes)), isAll(.decimal) else { return false }
      decimals[group].append(number)
    case .other:
      switch row[column] {
      case .value(.null): return true
      case .value(.float(let number)): return add(Double(number), group)
      default: return false
      }
    default: return false
    }
    counts[group] += 1
    return true
  }

  private mutating func add(_ number: Int128, _ group: Int) -> Bool {
    guard isAll(.whole) else { return false }
    wholes[group] += number
    counts[group] += 1
    return true
  }

  private mutating func add(_ number: Double, _ group: Int) -> Bool {
    guard isAll(.double) else { return false }
    sums[group] += number
    if needsNumbers { numbers[group].append(number) }
    counts[group] += 1
    return true
  }

  /// Whether all values of the column are of one kind: others are not added up here.
  private mutating func isAll(_ kind: Kind) -> Bool {
    if self.kind == .none { self.kind = kind }
    return self.kind == kind
  }

  private mutating func compare(_ cell: RowCell, _ row: borrowing ColumnRows.Row, _ group: Int) -> Bool {
    switch (cell, best[group]) {
    case (.objects, _), (.object, _): return false
    case (.integer(let number), .integer(let known)):
      if function == .minimum ? number >= known : number <= known { return true }
    case (.double(let number), .double(let known)):
      // Not-a-number is less than all others, which the general comparison below knows.
      if !number.isNaN, !known.isNaN, function == .minimum ? number >= known : number <= known { return true }
    default: break
    }
    guard case .value(let value) = row[column] else { return false }
    if value.isNull { return true }
    defer { counts[group] += 1 }
    guard !best[group].isNull else {
      best[group] = value
      return true
    }
    guard
      let order = ValueOrder.order(value, best[group], [])
        ?? NumberOrder.orderOfNotANumber(value, best[group])
    else { return false }
    if function == .minimum ? order < 0 : order > 0 { best[group] = value }
    return true
  }

  /// The result of the function; nil if objects must be evaluated.
  func result(of group: Int) -> StoredValue? {
    switch function {
    case .count: .integer(Int64(counts[group]))
    case .minimum, .maximum: best[group]
    case .sum:
      switch kind {
      case .double: counts[group] == 0 ? .integer(0) : Arithmetic.sum(sums[group])
      case .decimal: Arithmetic.sum(decimals[group].map { .decimal($0) })
      case .whole, .none: Arithmetic.sum(wholes[group])
      }
    }
  }

  /// The average of the values; null if there are none.
  func average(of group: Int) -> StoredValue? {
    guard function == .sum else { return nil }
    guard counts[group] > 0 else { return .null }
    return switch kind {
    case .double: Arithmetic.average(numbers[group].map { .double($0) })
    case .decimal: Arithmetic.average(decimals[group].map { .decimal($0) })
    case .whole, .none: Arithmetic.average(wholes[group], of: counts[group])
    }
  }
}
