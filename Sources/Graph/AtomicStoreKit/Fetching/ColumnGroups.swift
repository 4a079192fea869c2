import AtomicStoreSPI
import FoundationEssentials
import StorePredicates
import StorePrimitives

/// The groups of rows that are read from columns: their keys, and what is computed of each, without objects.
///
/// Groups and results are those of ``StorePredicates/PredicateEvaluator`` on objects, to the bit. What would need
/// objects, or be an error there, makes ``add(_:)`` return false: then objects are evaluated after all.
struct ColumnGroups {
  private let keyCount: Int
  /// The values of the keys, of one group after the other.
  private var keys: [FetchedRow.Value] = []
  /// The number of rows of each group.
  private var counts: [Int] = []
  private var aggregates: [ColumnAggregate]
  private var places = TextNumbers()
  /// The groups by the numbers of their keys.
  private var groups: [Int] = []
  /// The types of computed keys.
  private var computedKinds: [Int: String] = [:]
  private var key: [UInt8] = []
  private var lastKey: [UInt8] = []
  private var lastGroup = -1

  /// - Parameters:
  ///   - keyCount: How many columns of the rows are keys: the first ones. Without keys, all rows are one group, even if
  ///     there are none.
  ///   - aggregates: What is computed of the columns behind them.
  init(keyCount: Int, aggregates: [ColumnAggregate]) {
    self.keyCount = keyCount
    self.aggregates = aggregates
    if keyCount == 0 { begin() }
  }

  /// The number of groups.
  var count: Int { counts.count }

  /// Adds a row to its group.
  ///
  /// - Returns: False if objects must be evaluated.
  mutating func add(_ row: borrowing ColumnRows.Row) -> Bool {
    guard keyCount > 0 else { return add(row, to: 0) }
    key.removeAll(keepingCapacity: true)
    var isUnique = false
    for index in 0..<keyCount where !append(row.cells[index], index, row, &isUnique) { return false }
    return add(row, to: group(row, isUnique: isUnique))
  }

  /// Adds a row to the group of keys that were computed of it.
  ///
  /// - Returns: False if objects must be evaluated.
  mutating func add(_ row: borrowing ColumnRows.Row, keys: [PredicateValue]) -> Bool {
    key.removeAll(keepingCapacity: true)
    var isUnique = false
    var values: [FetchedRow.Value] = []
    for (index, value) in keys.enumerated() {
      guard append(value, index, &isUnique, &values) else { return false }
    }
    if let known = knownGroup(isUnique: isUnique) { return add(row, to: known) }
    self.keys += values
    return add(row, to: newGroup(isUnique: isUnique))
  }

  private mutating func add(_ row: borrowing ColumnRows.Row, to group: Int) -> Bool {
    counts[group] += 1
    for index in aggregates.indices
    where !aggregates[index].add(row.cells[aggregates[index].column], row, to: group) { return false }
    return true
  }

  private mutating func begin() {
    counts.append(0)
    for index in aggregates.indices { aggregates[index].begin() }
  }

  /// Returns the group with this key, which is created if it does not exist. A key that contains not-a-number equals no
  /// other and always creates a group.
  private mutating func group(_ row: borrowing ColumnRows.Row, isUnique: Bool) -> Int {
    if let known = knownGroup(isUnique: isUnique) { return known }
    for index in 0..<keyCount { keys.append(row[index]) }
    return newGroup(isUnique: isUnique)
  }

  /// The group with this key, if there is one.
  private mutating func knownGroup(isUnique: Bool) -> Int? {
    // Rows of a group often follow each other.
    if lastGroup >= 0, !isUnique, key == lastKey { return lastGroup }
    if !isUnique, let number = key.withUnsafeBufferPointer({ places.number(of: $0) }) {
      let known = groups[number]
      lastGroup = known
      lastKey = key
      return known
    }
    return nil
  }

  /// A group with this key, whose values were appended.
  private mutating func newGroup(isUnique: Bool) -> Int {
    let group = counts.count
    begin()
    guard !isUnique else { return group }
    _ = key.withUnsafeBufferPointer { places.add($0) }
    groups.append(group)
    lastGroup = group
    lastKey = key
    return group
  }

  /// Appends bytes that are the same for equal values only.
  ///
  /// - Parameter isUnique: Set for not-a-number, which equals nothing.
  /// - Returns: False for values without such bytes.
  private mutating func append(
    _ cell: RowCell, _ index: Int, _ row: borrowing ColumnRows.Row, _ isUnique: inout Bool
  ) -> Bool {
    switch cell {
    case .null: key.append(0)
    case .boolean(let flag): key += [1, flag ? 1 : 0]
    case .integer(let number): append(2, UInt64(bitPattern: number))
    case .date(let seconds):
      if seconds.isNaN { isUnique = true }
      append(3, (seconds + 0).bitPattern)
    case .double(let number):
      if number.isNaN { isUnique = true }
      append(4, (number + 0).bitPattern)
    case .text(let bytes): append(5, bytes)
    case .decimal(let bytes):
      guard let number = DecimalNumber(utf8: Span(_unsafeElements: bytes)) else { return false }
      if number.isNaN { isUnique = true }
      let text = number.normalized
      append(6, text.mantissa)
      append(7, UInt64(bitPattern: Int64(text.exponent)))
      key.append(text.isNegative && text.mantissa != 0 ? 1 : 0)
    case .data(let bytes): append(8, bytes)
    case .object(let node):
      append(9, node.rawBits)
    case .objects: return false
    case .other:
      switch row[index] {
      case .value(.uuid(let uuid)): withUnsafeBytes(of: uuid.uuid) { append(10, $0.bindMemory(to: UInt8.self)) }
      case .value(.float(let number)):
        if number.isNaN { isUnique = true }
        append(11, UInt64((number + 0).bitPattern))
      case .value(.null): key.append(0)
      default: return false
      }
    }
    return true
  }

  /// As above, for a computed value. Values of different types, which may be equal nevertheless, are left to objects.
  private mutating func append(
    _ value: PredicateValue, _ index: Int, _ isUnique: inout Bool, _ values: inout [FetchedRow.Value]
  ) -> Bool {
    guard case .value(let stored) = value else { return false }
    values.append(.value(stored))
    guard !stored.isNull else {
      key.append(0)
      return true
    }
    let kind = stored.kindDescription
    guard computedKinds[index, default: kind] == kind else { return false }
    computedKinds[index] = kind
    switch stored {
    case .boolean(let flag): key += [1, flag ? 1 : 0]
    case .integer(let number): append(2, UInt64(bitPattern: number))
    case .date(let date):
      if date.timeIntervalSinceReferenceDate.isNaN { isUnique = true }
      append(3, (date.timeIntervalSinceReferenceDate + 0).bitPattern)
    case .double(let number):
      if number.isNaN { isUnique = true }
      append(4, (number + 0).bitPattern)
    case .string(var text): text.withUTF8 { append(5, $0) }
    case .data(let data): data.withUnsafeBytes { append(8, $0.bindMemory(to: UInt8.self)) }
    default: return false
    }
    return true
  }

  private mutating func append(_ kind: UInt8, _ bytes: UnsafeBufferPointer<UInt8>) {
    append(kind, UInt64(truncatingIfNeeded: bytes.count))
    key.append(contentsOf: bytes)
  }

  private mutating func append(_ kind: UInt8, _ number: some FixedWidthInteger) {
    key.append(kind)
    withUnsafeBytes(of: number.littleEndian) { key.append(contentsOf: $0) }
  }

  // MARK: Results

  /// The value of a plan's expression in a group; nil if objects must be evaluated.
  func value(_ value: StoreGroupPlan.Value, of group: Int) -> PredicateValue? {
    switch value {
    case .count: .value(.integer(Int64(counts[group])))
    case .key(let index): Self.value(keys[group * keyCount + index])
    case .single(let index): aggregates[index].result(of: group).map { .value($0) }
    case .average(let sum, _): aggregates[sum].average(of: group).map { .value($0) }
    }
  }

  private static func value(_ value: FetchedRow.Value) -> PredicateValue? {
    switch value {
    case .value(let value): .value(value)
    case .object(let id): .id(id)
    case .list: nil
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
