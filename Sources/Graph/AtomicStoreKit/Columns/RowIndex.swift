import AtomicStoreSPI

/// The rows of a column, sorted by value. Rows with null or not-a-number are left out.
final class RowIndex: Sendable {
  let rows: [UInt32]

  private init(_ rows: [UInt32]) { self.rows = rows }

  /// A row and the first eight bytes of its value, which decide most comparisons.
  private struct Entry {
    let prefix: UInt64
    let row: UInt32
  }

  /// Returns nil for columns whose type has no order.
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

  /// Derives the index of the same column for the version that a save created: rows with unchanged values keep their
  /// order, the others are inserted in order.
  ///
  /// - Parameter places: The index of each row in the new version, ascending; all bits set for removed rows.
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

  /// The first index whose row does not sort before the value sought.
  private func first(_ isBefore: (Int) -> Bool) -> Int {
    var low = 0
    var high = rows.count
    while low < high {
      let middle = (low + high) / 2
      if isBefore(Int(rows[middle])) { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// The range of indexes of the rows that can fulfil a test; nil if the order does not determine it.
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
