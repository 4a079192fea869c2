import AtomicStoreSPI
import FoundationEssentials

/// Reads a whole store, or some of its columns: each table once, in the order of its key.
final class SQLWholeLoad<Database: SQLDatabase> {
  private let store: SQLStore<Database>
  private let schema: SQLSchema
  private let nodes: NodeTableBuilder
  /// What is read; nil for everything.
  private let needed: NeededColumns?
  /// The row numbers of each entity, in the order of rows.
  private var numbers: [[Int64]]
  /// Where to-ones lead whose other ends are to-manys, by entity and slot.
  private var ends: [Int: [Int: SQLEnds]] = [:]
  /// The references of rows that are texts, by root entity.
  private var texts: [Int: [Int64: String]] = [:]

  init(
    _ store: SQLStore<Database>, _ schema: SQLSchema, _ nodes: NodeTableBuilder, only needed: NeededColumns? = nil
  ) {
    self.store = store
    self.schema = schema
    self.nodes = nodes
    self.needed = needed
    numbers = schema.model.entities.map { _ in [] }
  }

  func run() throws(PersistentStoreError) {
    for root in schema.tables.keys.sorted().map({ schema.model.entity(at: $0) }) {
      guard let needed, !root.hierarchy.contains(where: { needed.needs(entity: $0.index) }) else {
        try readRows(of: root)
        continue
      }
    }
    for entity in schema.model.entities {
      // Each where it is declared: its table has the pairs of all entities below.
      for slot in entity.slots where slot.isToMany && SQLSchema.owner(of: slot.index, in: entity) == entity {
        try readToMany(slot, entity)
      }
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
    let rows = SQLWholeRows(schema, root, nodes, only: needed)
    try store.database.read(rows.layout.sql(), rows.layout.types) { row throws(PersistentStoreError) in
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

  private func readToMany(_ slot: Slot, _ declaring: Entity) throws(PersistentStoreError) {
    guard let kept = schema.toMany(slot.index, of: declaring), let number = slot.destination else { return }
    let owners = declaring.hierarchy.filter { owner in
      !owner.isAbstract && !numbers[owner.index].isEmpty && needed?.needs(slot: slot.index, of: owner.index) != false
    }
    guard !owners.isEmpty else { return }
    switch kept {
    case .inverse(let inverse, _):
      let parts = schema.model.entity(at: number).hierarchy.compactMap { member in
        ends[member.index]?[inverse].map { (ids: numbers[member.index], ends: $0) }
      }
      for owner in owners {
        let (counts, members) = SQLEnds.members(
          of: numbers[owner.index], owner.index, parts, inOrder: slot.keepsSequence)
        try fill(owner.slots[slot.index], owner, counts, members)
      }
    case .pairs(let join, let isTurned):
      var lists = owners.map { PairList(numbers[$0.index]) }
      let isPart = declaring.hierarchy.contains { owner in
        !owner.isAbstract && needed?.needs(slot: slot.index, of: owner.index) == false
      }
      try readPairs(of: slot, declaring, join, isTurned: isTurned, &lists, only: isPart ? owners : nil)
      for (owner, list) in zip(owners, lists) {
        try fill(owner.slots[slot.index], owner, list.counts, list.members)
      }
    }
  }

  /// The members of one entity's rows, which pairs in the order of owners add.
  private struct PairList {
    private let owners: [Int64]
    private var row = 0
    var counts: [UInt32]
    var members: [Int64] = []

    init(_ owners: [Int64]) {
      self.owners = owners
      counts = Array(repeating: 0, count: owners.count)
    }

    /// - Returns: False if the owner is not one of these rows.
    mutating func add(_ owner: Int64, _ member: Int64) -> Bool {
      while row < owners.count, owners[row] < owner { row += 1 }
      guard row < owners.count, owners[row] == owner else { return false }
      counts[row] += 1
      members.append(member)
      return true
    }
  }

  /// Reads a table of pairs once, for the rows of all entities that may be owners, or of some of them.
  private func readPairs(
    of slot: Slot, _ declaring: Entity, _ join: SQLSchema.JoinTable, isTurned: Bool, _ lists: inout [PairList],
    only owners: [Entity]?
  ) throws(PersistentStoreError) {
    let (one, other, position) = isTurned ? ("b", "a", "pos_b") : ("a", "b", "pos_a")
    let order = slot.keepsSequence ? ", j.\(position)" : ""
    let owned =
      owners.map { some in
        let kinds = SQLStore<Database>.isKind(of: some.map(\.index), "d.ent")
        return " JOIN \(schema.table(of: some[0]).name.quoted) d ON d.id = j.\(one) AND \(kinds)"
      } ?? ""
    var last = 0
    func add(_ owner: Int64, _ member: Int64) throws(PersistentStoreError) {
      // The pairs of an owner follow each other.
      if lists[last].add(owner, member) { return }
      for index in lists.indices where index != last && lists[index].add(owner, member) {
        last = index
        return
      }
      throw Self.dangling(owner, join.name)
    }
    try store.database.read(
      "SELECT j.\(one), j.\(other) FROM \(join.name.quoted) j\(owned) ORDER BY j.\(one)\(order), j.\(other)",
      [.integer64, .integer64]
    ) { pair throws(PersistentStoreError) in
      try add(pair.integer(0), pair.integer(1))
    } queried: { pair throws(PersistentStoreError) in
      guard pair.holds(0, .integer64), pair.holds(1, .integer64) else {
        throw SQLStore<Database>.malformed(pair.integer(0), slot, of: declaring)
      }
      try add(pair.integer(0), pair.integer(1))
    }
  }

  private func fill(
    _ slot: Slot, _ entity: Entity, _ counts: [UInt32], _ members: [Int64]
  ) throws(PersistentStoreError) {
    guard let destination = slot.destination.map({ schema.model.entity(at: $0) }) else { return }
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
