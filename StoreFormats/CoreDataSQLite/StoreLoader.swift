import AtomicStoreSPI

/// Reads all tables of a store into the node table: each entity table once, in the order of its keys, then the join
/// tables.
struct StoreLoader {
  let database: SQLiteDatabase
  let source: StoreSource
  let nodes: NodeTableBuilder
  let strayRows: StrayRows
  private let schema: DatabaseSchema
  private let layout: DatabaseLayout
  private let entityRows: [StoreTables.EntityRow]
  private let numbers: EntityNumbers

  init(
    _ database: SQLiteDatabase, source: StoreSource, nodes: NodeTableBuilder, strayRows: StrayRows
  ) throws(PersistentStoreError) {
    self.database = database
    self.source = source
    self.nodes = nodes
    self.strayRows = strayRows
    schema = try DatabaseSchema(database)
    let tables = StoreTables(database)
    entityRows = try tables.entityRows()
    numbers = EntityNumbers(entityRows, model: nodes.model, hashes: try tables.versionHashes())
    layout = DatabaseLayout(model: nodes.model, numbers: numbers.numbers)
  }

  /// What is known of the tables after they were read.
  struct Result {
    /// The number of tables that were read in parts, at the same time.
    var dividedCount = 0
    /// The greatest key that was given out, by the root entity's index.
    var greatestKeys: [Int: Int64] = [:]
  }

  @discardableResult func load() throws(PersistentStoreError) -> Result {
    var result = Result()
    for (entity, row) in numbers.renamed {
      source.report(LoadNote(subject: entity, text: "the tables have it under its earlier name, \(row.name)"))
    }
    try refuseUnknownEntities()
    var lists: [MemberList] = []
    var lookups: [Int: KeyLookup] = [:]
    var read = StoreTables.ownTables
    let external = ExternalData(source, database.limits)
    for table in layout.tables {
      guard let found = try numbers.table(table, in: schema) else {
        do throws(PersistentStoreError) { try checkAbsent(table) } catch {
          try nodes.skipPart(of: table.root, because: error)
        }
        continue
      }
      read.insert(DatabaseSchema.key(found.name))
      if let damage = damage(of: found.name) { try nodes.skipPart(of: table.root, because: damage) }
      do throws(PersistentStoreError) {
        var reader = try TableReader(
          table, found, layout: layout, database: database, nodes: nodes, strayRows: strayRows, external: external,
          source: source, greatestKey: numbers.rows[table.root]?.greatestKey ?? 0)
        let lookup = try reader.read(into: &lists)
        lookups[table.root] = lookup
        result.greatestKeys[table.root] = max(numbers.rows[table.root]?.greatestKey ?? 0, lookup.lastKey ?? 0)
        if reader.isDivided { result.dividedCount += 1 }
      } catch {
        // A table that cannot be read does not take the others along.
        try nodes.skipPart(of: table.root, because: error)
      }
    }
    external.report(to: source)
    for join in layout.joinTables {
      let reader = try JoinTableReader(join, schema: schema, layout: layout, database: database)
      guard let reader else {
        do throws(PersistentStoreError) { try checkAbsent(join, lookups) } catch {
          try nodes.skipPart(of: join.first.entity, slot: join.first.slot, because: error)
        }
        continue
      }
      read.insert(DatabaseSchema.key(reader.tableName))
      if let damage = damage(of: reader.tableName) {
        try nodes.skipPart(of: join.first.entity, slot: join.first.slot, because: damage)
      }
      do throws(PersistentStoreError) {
        lists += try reader.read(lookups, nodes, strayRows: strayRows, source: source)
      } catch {
        try nodes.skipPart(of: join.first.entity, slot: join.first.slot, because: error)
      }
    }
    for list in lists { try list.fill(nodes, lookups) }
    reportDamage(notIn: read)
    try reportOthers(read)
    return result
  }

  // MARK: What is not there

  /// What the database in memory lacks of a table, if it was made of a damaged one.
  private func damage(of table: String) -> PersistentStoreError? {
    database.image.salvage?.tables[DatabaseSchema.key(table)].map { PersistentStoreError(.malformed, $0.text) }
  }

  /// Reports damage in tables that are not part of the graph. That of the store's own may concern every object.
  private func reportDamage(notIn read: Set<String>) {
    guard let tables = database.image.salvage?.tables else { return }
    for (key, table) in tables.sorted(by: { $0.key < $1.key }) {
      let isNeeded = key == "Z_PRIMARYKEY" || key == "Z_METADATA"
      guard isNeeded || !read.contains(key) || StoreTables.ownTables.contains(key) else { continue }
      source.report(
        LoadNote(
          subject: table.name, text: (isNeeded ? "" : "not needed for the model: ") + table.text, isLoss: isNeeded,
          isWarning: !isNeeded, location: isNeeded ? StoreLocation(file: source.name) : nil))
    }
  }

  /// An entity that the store does not know has no table, and no objects; one that never had any may have none.
  private func checkAbsent(_ table: DatabaseLayout.Table) throws(PersistentStoreError) {
    guard let entity = table.entities.first(where: { layout.numbers[$0] != nil }),
      numbers.rows[table.root].map({ $0.greatestKey > 0 }) ?? true
    else { return }
    let name = nodes.model.entity(at: entity).name
    throw PersistentStoreError(
      .modelMismatch, "the store knows the entity \(name) and has no table \(table.name)",
      at: StoreLocation(file: source.name, entity: name))
  }

  private func checkAbsent(
    _ join: DatabaseLayout.JoinTable, _ lookups: [Int: KeyLookup]
  ) throws(PersistentStoreError) {
    // Without objects on one side there is nothing to join.
    for side in [join.first, join.second] {
      guard layout.numbers[side.entity] != nil,
        lookups[nodes.model.entity(at: side.entity).root.index].map({ !$0.isEmpty }) ?? false
      else { return }
    }
    let name = nodes.model.entity(at: join.first.entity).name
    throw PersistentStoreError(
      .modelMismatch,
      "the store has no table for this many-to-many relationship, such as Z_\(join.first.number)\(DatabaseLayout.columnText(join.first.name))",
      at: StoreLocation(file: source.name, entity: name, property: join.first.name))
  }

  /// Entities of the store that the model lacks may not have objects.
  private func refuseUnknownEntities() throws(PersistentStoreError) {
    let known = entityRows.filter { $0.number < StoreTables.firstHistoryNumber }
    var unknown: [Int64: StoreTables.EntityRow] = [:]
    for row in numbers.unknown { unknown[row.number] = row }
    guard !unknown.isEmpty else { return }
    for root in known where root.parent == 0 {
      guard let table = try schema.table(DatabaseLayout.tableName(root.name)), table.column(named: "Z_ENT") != nil
      else {
        continue
      }
      // If it is one of the model's, reading it says that it is damaged.
      for rows in try entityCounts(table.name, isNeeded: unknown[root.number] == nil) {
        guard let entity = unknown[rows.number] else { continue }
        guard strayRows != .refuse else {
          throw PersistentStoreError(
            .modelMismatch,
            "the store holds \(rows.count) objects of \(entity.name), which the model does not have",
            at: StoreLocation(file: source.name, entity: entity.name, reference: String(rows.firstKey)),
            remedy: .readOption("rows=skip", effect: "leaves them out"))
        }
        // In a table that is read for others, rows are counted when they are met.
        guard unknown[root.number] != nil else { continue }
        source.report(
          LoadNote(
            subject: entity.name, count: rows.count,
            text: "left out: objects of an entity that the model does not have", isLoss: strayRows == .lose,
            location: strayRows == .lose ? StoreLocation(file: source.name, entity: entity.name) : nil))
      }
    }
  }

  /// The numbers of entities with rows in a table, how many each has, and the least key of these.
  ///
  /// - Parameter isNeeded: Whether the table is read as well, which says if it is damaged.
  private func entityCounts(
    _ table: String, isNeeded: Bool
  ) throws(PersistentStoreError) -> [(number: Int64, count: Int, firstKey: Int64)] {
    var result: [(number: Int64, count: Int, firstKey: Int64)] = []
    do throws(PersistentStoreError) {
      let rows = try database.prepare(
        "SELECT Z_ENT, count(*), min(Z_PK) FROM \(SQLiteDatabase.quoted(table)) NOT INDEXED GROUP BY Z_ENT",
        StoreLocation(file: source.name, entity: table))
      while try rows.step() { result.append((rows.integer(0), Int(rows.integer(1)), rows.integer(2))) }
    } catch {
      guard error.code == .malformed else { throw error }
      if !isNeeded { reportUnreadable(table, error) }
    }
    return result
  }

  // MARK: What is there beside the graph

  /// A table that holds nothing of the graph may be damaged.
  private func reportUnreadable(_ table: String, _ error: PersistentStoreError) {
    source.report(
      LoadNote(
        subject: table, text: "the table, which the model does not need, cannot be read: \(error.message)",
        isWarning: true))
  }

  private func reportOthers(_ read: Set<String>) throws(PersistentStoreError) {
    var others: [String] = []
    var hasIndexTables = false
    for name in schema.tableNames where !read.contains(DatabaseSchema.key(name)) {
      let key = DatabaseSchema.key(name)
      if schema.isIndexTable(name) {
        hasIndexTables = true
        continue
      }
      let isHistory = StoreTables.historyTables.contains(key)
      guard isHistory || key.hasPrefix("Z") else {
        others.append(name)
        continue
      }
      if isHistory, key != "ATRANSACTION" { continue }
      guard let count = try rowCount(name) else { continue }
      if isHistory {
        source.report(
          LoadNote(
            subject: name, count: count,
            text: "transactions of the persistent history, which is not part of the graph"))
      } else if count > 0 {
        // Join tables of relationships that the model does not have, for one.
        source.report(
          LoadNote(
            subject: name, count: count, text: "rows of a table that belongs to nothing in the model",
            isLoss: key.hasPrefix("Z_")))
      } else {
        others.append(name)
      }
    }
    if hasIndexTables {
      source.report(
        LoadNote(
          subject: schema.virtualTableNames.joined(separator: ", "), text: "indexes, which are not part of the graph"))
    }
    if !others.isEmpty {
      source.report(LoadNote(subject: others.joined(separator: ", "), text: "tables that are not part of the graph"))
    }
    if !schema.triggerNames.isEmpty {
      source.report(LoadNote(subject: "triggers", count: schema.triggerNames.count, text: "not part of the graph"))
    }
  }

  /// Nil for a table that cannot be read, which is reported.
  private func rowCount(_ table: String) throws(PersistentStoreError) -> Int? {
    do throws(PersistentStoreError) {
      let rows = try database.prepare(
        "SELECT count(*) FROM \(SQLiteDatabase.quoted(table)) NOT INDEXED",
        StoreLocation(file: source.name, entity: table))
      return try rows.step() ? Int(rows.integer(0)) : 0
    } catch {
      guard error.code == .malformed else { throw error }
      reportUnreadable(table, error)
      return nil
    }
  }
}
