import AtomicStoreSPI

/// Changes the rows of a many-to-many relationship's table.
struct JoinTableEditor {
  private let join: DatabaseLayout.JoinTable
  private let work: RowWork
  private let reader: JoinTableReader
  private let first: [RowChanges.List]
  private let second: [RowChanges.List]

  /// Nil if the relationship does not change.
  init?(_ join: DatabaseLayout.JoinTable, _ work: RowWork) throws(PersistentStoreError) {
    first = work.changes.lists[.init(entity: join.first.entity, slot: join.first.slot)] ?? []
    second =
      join.isReflexive ? [] : work.changes.lists[.init(entity: join.second.entity, slot: join.second.slot)] ?? []
    guard !first.isEmpty || !second.isEmpty else { return nil }
    let found = try JoinTableReader(
      join, schema: work.schema, layout: work.layout, database: work.database)
    guard let found else {
      throw PersistentStoreError(
        .modelMismatch, "the store has no table for this many-to-many relationship",
        at: StoreLocation(
          file: work.output.path, entity: work.layout.model.entity(at: join.first.entity).name,
          property: join.first.name))
    }
    self.join = join
    self.work = work
    reader = found
  }

  private func quoted(_ name: String) -> String { SQLiteDatabase.quoted(name) }

  func run() throws(PersistentStoreError) {
    let (table, columns) = (quoted(reader.tableName), reader.columns)
    let (one, other) = (quoted(columns.first), quoted(columns.second))
    let deletion = try work.output.prepare("DELETE FROM \(table) WHERE \(one) = ? AND \(other) = ?")
    let insertion = try work.output.prepare("INSERT INTO \(table) (\(one), \(other)) VALUES (?, ?)")
    for list in first {
      let (before, after) = (Set(list.before), Set(list.after))
      for member in list.before where !after.contains(member) {
        // A pair of a relationship that is its own inverse may be there in either direction, or in both.
        for (owner, member) in join.isReflexive ? [(list.owner, member), (member, list.owner)] : [(list.owner, member)]
        {
          deletion.bind(1, integer: owner)
          deletion.bind(2, integer: member)
          try deletion.run()
        }
      }
      for member in list.after where !before.contains(member) {
        insertion.bind(1, integer: list.owner)
        insertion.bind(2, integer: member)
        try insertion.run()
      }
    }
    let (firstOrder, secondOrder) = (columns.firstOrder.map(quoted), columns.secondOrder.map(quoted))
    if join.first.isOrdered, let order = join.isReflexive ? firstOrder : secondOrder {
      try sort(first, table, owner: one, member: other, order)
    }
    if join.second.isOrdered, !join.isReflexive, let order = firstOrder {
      try sort(second, table, owner: other, member: one, order)
    }
  }

  private func sort(
    _ lists: [RowChanges.List], _ table: String, owner: String, member: String, _ order: String
  ) throws(PersistentStoreError) {
    let statement = try work.output.prepare(
      "UPDATE \(table) SET \(order) = ? WHERE \(owner) = ? AND \(member) = ?")
    let insertion = try work.output.prepare("INSERT INTO \(table) (\(order), \(owner), \(member)) VALUES (?, ?, ?)")
    func run(_ statement: Insertion, _ place: Int64, _ owner: Int64, _ member: Int64) throws(PersistentStoreError) {
      statement.bind(1, integer: place)
      statement.bind(2, integer: owner)
      statement.bind(3, integer: member)
      try statement.run()
    }
    for list in lists {
      let known = try work.orderKeys(of: list.owner, in: table, member: member, owner: owner, order: order)
      for (key, place) in zip(list.after, OrderKeys.assign(list.after.map { known[$0] })) where known[key] != place {
        try run(statement, place, list.owner, key)
        // A pair of a relationship that is its own inverse may be there in the other direction only.
        if join.isReflexive, work.output.changedRows == 0 { try run(insertion, place, list.owner, key) }
      }
    }
  }
}
