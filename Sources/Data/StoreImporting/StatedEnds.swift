import AtomicStoreSPI

/// Which relationships of which objects the tables have values of. All others have the values of the store that the
/// records are added to, or none.
struct StatedEnds {
  /// The records of one table that became objects.
  private struct Table {
    let slots: Set<Int>
    var rows: Range<Int>
    /// For a table whose records may lack relationships: by relationship, the rows of those that do not. What records
    /// have is noted, not what they lack, which is not bounded by the size of the file.
    var statedRows: [Int: Set<Int>] = [:]

    func states(_ row: Int, _ slot: Int) -> Bool {
      slots.contains(slot) && rows.contains(row) && statedRows[slot]?.contains(row) ?? true
    }
  }
  /// By entity, in their order.
  private var tables: [Int: [Table]] = [:]

  /// Whether a record lacks a relationship that its table, or another one of its entity, has.
  var isAnyMissing: Bool {
    tables.values.contains { list in
      let filled = list.filter { !$0.rows.isEmpty }
      return filled.contains { table in
        table.slots != filled[0].slots || table.statedRows.values.contains { $0.count < table.rows.count }
      }
    }
  }

  /// Notes that the rows from the next one on are the records of a table, until ``end(entity:at:)``.
  ///
  /// - Parameter lackable: Those of the relationships that records may lack.
  mutating func begin(entity: Int, slots: Set<Int>, lackable: [Int], at row: Int) {
    let stated = Dictionary(lackable.map { ($0, Set<Int>()) }) { one, _ in one }
    tables[entity, default: []].append(Table(slots: slots, rows: row..<row, statedRows: stated))
  }

  mutating func end(entity: Int, at row: Int) {
    guard let last = tables[entity]?.indices.last, let start = tables[entity]?[last].rows.lowerBound else { return }
    tables[entity]?[last].rows = start..<row
  }

  /// Notes that a record of the table that was begun last has a relationship that others may lack.
  mutating func state(_ slot: Int, of row: Int, entity: Int) {
    guard let last = tables[entity]?.indices.last else { return }
    tables[entity]?[last].statedRows[slot]?.insert(row)
  }

  func contains(_ node: NodeHandle, slot: Int) -> Bool {
    // The tables of an entity are one after the other.
    guard let list = tables[node.entity] else { return false }
    var (low, high) = (0, list.count)
    while low < high {
      let middle = (low + high) / 2
      if list[middle].rows.upperBound <= node.row { low = middle + 1 } else { high = middle }
    }
    return low < list.count && list[low].states(node.row, slot)
  }

  /// Whether any object of an entity has a stated value.
  func hasAny(entity: Int, slot: Int) -> Bool { tables[entity]?.contains { $0.slots.contains(slot) } ?? false }

  /// The objects of an entity that have a stated value, in the order of the records.
  func nodes(entity: Int, slot: Int) -> [NodeHandle] {
    (tables[entity] ?? []).filter { $0.slots.contains(slot) }.flatMap { table in
      table.rows.lazy.filter { table.states($0, slot) }.map { NodeHandle(entity: entity, row: $0) }
    }
  }
}
