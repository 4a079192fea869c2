import AtomicStoreSPI

/// Reads the tables that hold nothing of the objects and are not the history: of mirroring in iCloud, of indexes, of
/// other programs.
struct SystemTableReader {
  private let database: SQLiteDatabase
  private let schema: DatabaseSchema
  private let source: StoreSource
  private let tablesOfGraph: Set<String>

  init(
    _ database: SQLiteDatabase, source: StoreSource, model: ManagedObjectModel?
  ) throws(PersistentStoreError) {
    self.database = database
    self.source = source
    schema = try DatabaseSchema(database)
    let known = if let model { model } else { try Self.rawModel(database) }
    tablesOfGraph = try Self.tablesOfGraph(database, schema, known)
  }

  private static func rawModel(_ database: SQLiteDatabase) throws(PersistentStoreError) -> ManagedObjectModel {
    let description = try RawView(database).model()
    do { return try ManagedObjectModel(description) } catch {
      throw PersistentStoreError(
        .invalidModel, "the store's own model is not valid", at: StoreLocation(file: database.file), underlying: error)
    }
  }

  private static func tablesOfGraph(
    _ database: SQLiteDatabase, _ schema: DatabaseSchema, _ model: ManagedObjectModel
  ) throws(PersistentStoreError) -> Set<String> {
    let tables = StoreTables(database)
    let numbers = EntityNumbers(try tables.entityRows(), model: model, hashes: try tables.versionHashes())
    let layout = DatabaseLayout(model: model, numbers: numbers.numbers)
    var names = StoreTables.ownTables.union(StoreTables.historyTables)
    for table in layout.tables {
      if let found = try numbers.table(table, in: schema) { names.insert(DatabaseSchema.key(found.name)) }
    }
    for join in layout.joinTables {
      let reader = try JoinTableReader(join, schema: schema, layout: layout, database: database)
      if let reader { names.insert(DatabaseSchema.key(reader.tableName)) }
    }
    return names
  }

  /// The tables in the order of their names. One that cannot be read to its end is reported.
  func tables() throws(PersistentStoreError) -> [SystemTable] {
    var found: [SystemTable] = []
    var budget = ValueBudget(database)
    for name in schema.tableNames.sorted(by: { ScalarString($0) < ScalarString($1) })
    where !tablesOfGraph.contains(DatabaseSchema.key(name)) {
      var table = SystemTable(name: name, columns: [], rows: [])
      do throws(PersistentStoreError) { try read(into: &table, &budget) } catch {
        guard error.code == .malformed else { throw error }
        source.report(
          LoadNote(subject: name, text: "the table cannot be read to its end: \(error.message)", isWarning: true))
      }
      found.append(table)
    }
    return found
  }

  private func read(into table: inout SystemTable, _ budget: inout ValueBudget) throws(PersistentStoreError) {
    guard let columns = try schema.table(table.name)?.columns, !columns.isEmpty else { return }
    table.columns = columns.map(\.name)
    let names = table.columns.map { SQLiteDatabase.quoted($0) }.joined(separator: ", ")
    let place = StoreLocation(file: database.file, entity: table.name)
    let rows = try database.prepare("SELECT \(names) FROM \(SQLiteDatabase.quoted(table.name)) NOT INDEXED", place)
    while try rows.step() {
      try budget.count(rows, columns: columns.count, at: place)
      table.rows.append(
        table.columns.enumerated().compactMap { index, name in
          let kind = rows.kind(Int32(index))
          if kind == .null { return nil }
          return (column: name, value: TableReader.untyped(rows, Int32(index), kind))
        })
    }
  }
}
