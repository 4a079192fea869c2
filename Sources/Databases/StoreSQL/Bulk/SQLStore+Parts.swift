import AtomicStoreSPI

/// Reading rows a part at a time: a table in the order of its key for each entity, as ``SQLWholeLoad`` reads it.
extension SQLStore {
  /// How often a table is read at most: each entity of a hierarchy is another query of the same table.
  private static var mostPasses: Int { 4 }

  func read(
    _ parts: StoreParts, _ body: (StorePart) throws(PersistentStoreError) -> Bool
  ) throws(PersistentStoreError) -> Bool {
    var hasBegun = false
    var isEnough = false
    do throws(PersistentStoreError) {
      return try reading { schema throws(PersistentStoreError) in
        let entities = parts.entities.map { schema.model.entity(at: $0) }
        guard entities.count <= Self.mostPasses, try !haveTexts(entities, parts, schema) else { return false }
        for entity in entities {
          try readRows(of: entity, isFirst: entity.index == entities[0].index, parts, schema) {
            part throws(PersistentStoreError) in
            hasBegun = true
            isEnough = try !body(part)
            // The only way to end a query early.
            if isEnough { throw PersistentStoreError(.cancelled, "no more rows are needed") }
          }
        }
        return true
      } mayRepeat: {
        !hasBegun
      }
    } catch {
      guard isEnough, error.code == .cancelled else { throw error }
      return true
    }
  }

  /// Whether rows that are read, or rows to which they lead, have texts as references: these are in another order than
  /// the numbers of the rows, and what leads to them does not name them.
  private func haveTexts(
    _ entities: [Entity], _ parts: StoreParts, _ schema: SQLSchema
  ) throws(PersistentStoreError) -> Bool {
    var roots = Set(entities.map(\.root.index))
    for entity in entities {
      for slot in entity.slots where parts.columns.needs(slot: slot.index, of: entity.index) {
        if let destination = slot.destination { roots.insert(schema.model.entity(at: destination).root.index) }
      }
    }
    for root in roots.sorted() {
      guard let name = schema.tables[root]?.name.quoted else { continue }
      var hasTexts = false
      // A comparison, for which SQLite takes the index: for IS NOT NULL it reads all of the table.
      try database.query("SELECT 1 FROM \(name) WHERE ref >= '' LIMIT 1", []) { _ in hasTexts = true }
      if hasTexts { return true }
    }
    return false
  }

  private func readRows(
    of entity: Entity, isFirst: Bool, _ parts: StoreParts, _ schema: SQLSchema,
    _ body: (StorePart) throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError) {
    func part() -> (nodes: NodeTableBuilder, rows: SQLWholeRows) {
      let nodes = NodeTableBuilder(model: schema.model, file: parts.file)
      return (nodes, SQLWholeRows(schema, entity.root, nodes, only: parts.columns, isPart: true))
    }
    var (nodes, rows) = part()
    func filled() throws(PersistentStoreError) {
      let count = nodes.count(of: entity.index)
      try rows.addReferences()
      let found = try nodes.finish()
      (nodes, rows) = part()
      try body(StorePart(found, entity: entity.index, count: count))
    }
    // Rows of no entity are an error, as where the table is read whole.
    let concrete = entity.root.hierarchy.filter { !$0.isAbstract }.map(\.index)
    let others = isFirst ? " OR t.ent NOT IN (\(Self.list(concrete.map(Int64.init))))" : ""
    let condition = "t.ent = \(entity.index)\(others)"
    try database.read(rows.layout.sql(where: concrete.count == 1 ? nil : condition), rows.layout.types) {
      row throws(PersistentStoreError) in
      try rows.add(row)
      if parts.isFull(nodes, entity: entity.index) { try filled() }
    } queried: { row throws(PersistentStoreError) in
      try rows.add(row)
      if parts.isFull(nodes, entity: entity.index) { try filled() }
    }
    if nodes.count(of: entity.index) > 0 { try filled() }
  }
}
