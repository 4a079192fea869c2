import AtomicStoreSPI
import FoundationEssentials

/// Reads a whole store: each table once, in the order of its key.
final class SQLWholeLoad<Database: SQLDatabase> {
  private let store: SQLStore<Database>
  private let schema: SQLSchema
  private let nodes: NodeTableBuilder
  /// The row numbers of each entity, in the order of rows.
  private var numbers: [[Int64]]
  /// Where to-ones lead whose other ends are to-manys, by entity and slot.
  private var ends: [Int: [Int: SQLEnds]] = [:]
  /// The references of rows that are texts, by root entity.
  private var texts: [Int: [Int64: String]] = [:]

  init(_ store: SQLStore<Database>, _ schema: SQLSchema, _ nodes: NodeTableBuilder) {
    self.store = store
    self.schema = schema
    self.nodes = nodes
    numbers = schema.model.entities.map { _ in [] }
  }

  func run() throws(PersistentStoreError) {
    for root in schema.tables.keys.sorted() { try readRows(of: schema.model.entity(at: root)) }
    for entity in schema.model.entities where !entity.isAbstract && !numbers[entity.index].isEmpty {
      for slot in entity.slots where slot.isToMany { try readToMany(slot, entity) }
    }
  }

  private func reference(_ id: Int64, root: Int) throws(PersistentStoreError) -> ReferenceObject {
    if id > SQLKeys.lastText { return .integer(id) }
    if texts[root] == nil, let table = schema.tables[root] {
      var found: [Int64: String] = [:]
      try store.database.query("SELECT id, ref FROM \(table.name.quoted) WHERE ref IS NOT NULL", []) { row in
        found[row.integer(0)] = row.text(1)
      }
      texts[root] = found
    }
    guard let text = texts[root]?[id] else {
      throw PersistentStoreError(.danglingReference, "a relationship leads to row \(id), which does not exist")
    }
    return .string(text)
  }

  private static func dangling(_ id: Int64, _ table: String) -> PersistentStoreError {
    PersistentStoreError(.danglingReference, "the table '\(table)' has a pair of the row \(id), which does not exist")
  }

  // MARK: Rows

  private func readRows(of root: Entity) throws(PersistentStoreError) {
    let rows = SQLWholeRows<Database>(schema, root, nodes)
    try store.database.read(rows.sql, rows.types) { row throws(PersistentStoreError) in
      try rows.add(row)
    } queried: { row throws(PersistentStoreError) in
      try rows.add(row)
    }
    for (entity, plan) in rows.plans {
      numbers[entity] = plan.numbers
      ends[entity] = Dictionary(uniqueKeysWithValues: zip(plan.endSlots, plan.ends))
      // While rows are read, the connection has no time for others.
      for text in plan.texts {
        let slot = schema.model.entity(at: entity).slots[text.slot]
        guard let destination = slot.destination.map({ schema.model.entity(at: $0) }) else { continue }
        let end = ObjectReference(
          entityName: destination.name, reference: try reference(text.id, root: destination.root.index))
        try nodes.set(.toOne(end), entity: entity, row: text.row, slot: text.slot)
      }
    }
  }

  // MARK: To-manys

  private func readToMany(_ slot: Slot, _ entity: Entity) throws(PersistentStoreError) {
    guard let kept = schema.toMany(slot.index, of: entity), let number = slot.destination else { return }
    let destination = schema.model.entity(at: number)
    let owners = numbers[entity.index]
    switch kept {
    case .inverse(let inverse, _):
      let parts = destination.hierarchy.compactMap { member in
        ends[member.index]?[inverse].map { (ids: numbers[member.index], ends: $0) }
      }
      let (counts, members) = SQLEnds.members(of: owners, entity.index, parts, inOrder: slot.keepsSequence)
      try fill(slot, entity, destination, counts, members)
    case .pairs(let join, let isTurned):
      let (one, other, position) = isTurned ? ("b", "a", "pos_b") : ("a", "b", "pos_a")
      let order = slot.keepsSequence ? ", j.\(position)" : ""
      var counts = [UInt32](repeating: 0, count: owners.count)
      var members: [Int64] = []
      var row = 0
      let all = SQLSchema.owner(of: slot.index, in: entity).hierarchy.map { numbers[$0.index] }
      func add(_ owner: Int64, _ member: Int64) throws(PersistentStoreError) {
        while row < owners.count, owners[row] < owner { row += 1 }
        guard row < owners.count, owners[row] == owner else {
          // It may be of another entity.
          guard all.contains(where: { $0.place(ofSorted: owner) != nil }) else { throw Self.dangling(owner, join.name) }
          return
        }
        counts[row] += 1
        members.append(member)
      }
      try store.database.read(
        "SELECT j.\(one), j.\(other) FROM \(join.name.quoted) j ORDER BY j.\(one)\(order), j.\(other)",
        [.integer64, .integer64]
      ) { pair throws(PersistentStoreError) in
        try add(pair.integer(0), pair.integer(1))
      } queried: { pair throws(PersistentStoreError) in
        guard pair.holds(0, .integer64), pair.holds(1, .integer64) else {
          throw SQLStore<Database>.malformed(pair.integer(0), slot)
        }
        try add(pair.integer(0), pair.integer(1))
      }
      try fill(slot, entity, destination, counts, members)
    }
  }

  private func fill(
    _ slot: Slot, _ entity: Entity, _ destination: Entity, _ counts: [UInt32], _ members: [Int64]
  ) throws(PersistentStoreError) {
    guard members.contains(where: { $0 <= SQLKeys.lastText }) else {
      return try nodes.fillToMany(
        entity: entity.index, slot: slot.index, counts: counts.span, references: members.span)
    }
    var start = 0
    for (row, count) in counts.enumerated() where count > 0 {
      var list: [ObjectReference] = []
      for id in members[start..<(start + Int(count))] {
        list.append(
          ObjectReference(entityName: destination.name, reference: try reference(id, root: destination.root.index)))
      }
      start += Int(count)
      try nodes.set(.toMany(list), entity: entity.index, row: row, slot: slot.index)
    }
  }
}
