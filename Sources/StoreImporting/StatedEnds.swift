import AtomicStoreSPI

/// Which relationships of which objects the tables have values of. All others have the values of the store that the
/// records are added to, or none.
struct StatedEnds {
  /// The records of one table that became objects.
  private struct Table {
    let entity: Int
    let slots: Set<Int>
    var rows: Range<Int>
  }
  private struct Column: Hashable {
    let entity: Int
    let slot: Int
  }
  private var tables: [Table] = []
  /// The rows of JSON objects without a member for a relationship that other records of their table have.
  private var lacking: [Column: Set<Int>] = [:]

  /// Whether a record lacks a relationship that its table has.
  var isAnyLacking: Bool { !lacking.isEmpty }

  /// Notes that the rows from the next one on are the records of a table, until ``end(at:)``.
  mutating func begin(entity: Int, slots: Set<Int>, at row: Int) {
    tables.append(Table(entity: entity, slots: slots, rows: row..<row))
  }

  mutating func end(at row: Int) {
    guard let last = tables.indices.last else { return }
    tables[last].rows = tables[last].rows.lowerBound..<row
  }

  mutating func lack(_ node: NodeHandle, slot: Int) {
    lacking[Column(entity: node.entity, slot: slot), default: []].insert(node.row)
  }

  func contains(_ node: NodeHandle, slot: Int) -> Bool {
    for table in tables where table.entity == node.entity && table.rows.contains(node.row) {
      return table.slots.contains(slot) && !isLacking(node, slot)
    }
    return false
  }

  /// Whether any object of an entity has a stated value.
  func hasAny(entity: Int, slot: Int) -> Bool { tables.contains { $0.entity == entity && $0.slots.contains(slot) } }

  /// The objects of an entity that have a stated value, in the order of the records.
  func nodes(entity: Int, slot: Int) -> [NodeHandle] {
    tables.filter { $0.entity == entity && $0.slots.contains(slot) }.flatMap { table in
      table.rows.lazy.map { NodeHandle(entity: entity, row: $0) }.filter { !isLacking($0, slot) }
    }
  }

  private func isLacking(_ node: NodeHandle, _ slot: Int) -> Bool {
    !lacking.isEmpty && (lacking[Column(entity: node.entity, slot: slot)]?.contains(node.row) ?? false)
  }
}
