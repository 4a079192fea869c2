import AtomicStoreSPI

/// Deletes many rows by statements, where that is all that saving their deletion does: the rows lead to others by
/// to-ones, which have no inverse, or a to-many without order.
struct SQLDeleteWork<Database: SQLDatabase> {
  /// A to-one of the rows whose inverse changes.
  private struct Owner {
    let column: SQLSchema.Column
    let destination: Entity
    /// The to-many, among the slots of the destination.
    let slot: Int
  }
  /// In the history, owners come behind everything that the database clears.
  private static var firstOwner: Int64 { 1 << 40 }

  private let store: SQLStore<Database>
  private let schema: SQLSchema
  private let change: StoreUpdate
  private let entity: Entity
  private let owners: [Owner]
  private var table: String { schema.table(of: entity).name.quoted }
  private var changes: String { SQLStore<Database>.changesTable }

  /// Nil if the kit has to do it.
  init?(_ store: SQLStore<Database>, _ schema: SQLSchema, _ change: StoreUpdate) {
    self.store = store
    self.schema = schema
    self.change = change
    entity = schema.model.entity(at: change.rows.entity)
    var owners: [String: Owner] = [:]
    for number in change.rows.entities {
      let entity = schema.model.entity(at: number)
      for slot in entity.slots where slot.isRelationship {
        guard !slot.isToMany, let column = schema.column(slot.index, of: entity),
          let destination = slot.destination.map({ schema.model.entity(at: $0) }), destination.root != entity.root
        else { return nil }
        guard let inverse = slot.inverseSlot else { continue }
        guard case .inverse? = schema.toMany(inverse, of: destination), !destination.slots[inverse].keepsSequence else {
          return nil
        }
        owners[column.name] = Owner(column: column, destination: destination, slot: inverse)
      }
    }
    self.owners = owners.values.sorted { $0.column.name < $1.column.name }
    // An owner by two relationships would be named twice.
    guard Set(self.owners.map(\.destination.root.index)).count == owners.count else { return nil }
  }

  /// Within the transaction.
  ///
  /// - Returns: Nil if the kit has to do it; nothing is written then.
  func run(
    _ name: String, number: Int64
  ) throws(PersistentStoreError) -> (deleted: [ObjectReference], updated: [ObjectReference])? {
    var compiler = SQLPredicateCompiler(schema, Database.dialect, store: store.identifier)
    let condition = store.condition(change.rows, &compiler, schema)
    guard compiler.reason == nil else { return nil }
    for owner in owners {
      guard try !isRefused(owner, condition, compiler) else { return nil }
    }
    let order = "t.ent, (CASE WHEN t.ref IS NULL THEN 0 ELSE 1 END), t.ref, t.id"
    let count = try store.database.run(
      "INSERT INTO \(changes) (number, place, ent, id, ref, kind, slots) SELECT \(number), ROW_NUMBER() OVER (ORDER BY \(order)) - 1, t.ent, t.id, t.ref, '\(HistoryTransaction.Kind.delete.rawValue)', '' FROM \(table) t WHERE \(condition)",
      compiler.values)
    guard count > 0 else { return ([], []) }
    var first = Self.firstOwner
    for owner in owners { first += try change(owner, number, first) }
    let gone = "SELECT c.id FROM \(changes) c WHERE c.number = \(number) AND c.kind = 'delete'"
    try store.database.run("DELETE FROM \(table) WHERE id IN (\(gone))", [])
    var save = SQLSaveWork(store, schema, StoreSave(), name)
    save.number = number
    save.deletedCount = Int64(count)
    let root = entity.root.index
    let links = save.links(toRoots: [root])
    // Entity by entity, as for objects, so that the history has the same order.
    for entity in change.rows.entities.sorted() { try save.cutOff(root, "\(gone) AND c.ent = \(entity)", links) }
    try store.noteTransaction(number, name, author: change.author, context: change.contextName)
    return try changedObjects(number)
  }

  /// Whether an owner must not change.
  private func isRefused(
    _ owner: Owner, _ condition: String, _ compiler: SQLPredicateCompiler
  ) throws(PersistentStoreError) -> Bool {
    var compiler = compiler
    var refused = ["d.ver = \(Int64.max)"]
    for (number, predicate) in change.refused {
      let entity = schema.model.entity(at: number)
      guard entity.root == owner.destination.root else { continue }
      guard let found = compiler.compile(predicate, entity, table: "d"), compiler.reason == nil else { return true }
      refused.append("(d.ent = \(number) AND \(found))")
    }
    var count: Int64 = 0
    try store.database.query(
      "SELECT COUNT(*) FROM \(schema.table(of: owner.destination).name.quoted) d WHERE d.id IN (SELECT t.\(owner.column.name.quoted) FROM \(table) t WHERE \(condition)) AND (\(refused.joined(separator: " OR ")))",
      compiler.values
    ) { row in count = row.integer(0) }
    return count > 0
  }

  /// Notes the owners of the rows in the history, and gives them new versions.
  ///
  /// - Returns: How many they are.
  private func change(_ owner: Owner, _ number: Int64, _ first: Int64) throws(PersistentStoreError) -> Int64 {
    let destination = schema.table(of: owner.destination).name.quoted
    let count = try store.database.run(
      "INSERT INTO \(changes) (number, place, ent, id, ref, kind, slots) SELECT \(number), \(first - 1) + ROW_NUMBER() OVER (ORDER BY MIN(c.place)), d.ent, d.id, d.ref, '\(HistoryTransaction.Kind.update.rawValue)', '\(owner.slot)' FROM \(changes) c JOIN \(table) t ON t.id = c.id JOIN \(destination) d ON d.id = t.\(owner.column.name.quoted) WHERE c.number = \(number) AND c.kind = 'delete' GROUP BY d.ent, d.id, d.ref",
      [])
    try store.database.run(
      "UPDATE \(destination) SET ver = ver + 1 WHERE id IN (SELECT c.id FROM \(changes) c WHERE c.number = \(number) AND c.place >= \(first))",
      [])
    return Int64(count)
  }

  /// What was deleted, and the owners. What the database clears is reported by no save.
  private func changedObjects(
    _ number: Int64
  ) throws(PersistentStoreError) -> (deleted: [ObjectReference], updated: [ObjectReference]) {
    var found: (deleted: [ObjectReference], updated: [ObjectReference]) = ([], [])
    let model = schema.model
    var last: (number: Int64, name: String) = (-1, "")
    try store.database.query(
      "SELECT ent, id, ref, kind FROM \(changes) WHERE number = \(number) AND (kind = 'delete' OR place >= \(Self.firstOwner)) ORDER BY place",
      []
    ) { row throws(PersistentStoreError) in
      let number = row.integer(0)
      if last.number != number {
        guard number >= 0, number < Int64(model.entityCount) else {
          throw PersistentStoreError(.malformed, "the row \(row.integer(1)) is of an entity that it cannot be of")
        }
        last = (number, model.entity(at: Int(number)).name)
      }
      let object = ObjectReference(
        entityName: last.name, reference: row.isNull(2) ? .integer(row.integer(1)) : .string(row.text(2)))
      if row.text(3) == HistoryTransaction.Kind.delete.rawValue {
        found.deleted.append(object)
      } else {
        found.updated.append(object)
      }
    }
    return found
  }
}
