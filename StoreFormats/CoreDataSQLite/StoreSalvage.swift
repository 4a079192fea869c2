import AtomicStoreSPI

/// Makes a sound database in memory of what can be read of a damaged one, page by page, without SQLite.
///
/// SQLite stops at the first page of a table that it cannot read, and reads nothing at all if its schema is damaged.
struct StoreSalvage {
  /// A table of the schema.
  private struct Entry {
    let name: String
    let sql: String
    let root: Int
    var content = TreeContent()
    var isSound = false
  }

  let pages: DatabasePages
  let file: String
  let model: ManagedObjectModel?
  var walk: TreeWalk
  var reader: RowReader
  var report = SalvageReport()
  let copy: SalvageCopy
  /// Whether tables may be missing in the schema.
  private(set) var isSchemaDamaged = false
  private var entries: [Entry] = []
  /// Tables that a module keeps, whose content other tables have.
  private var virtualNames: [String] = []

  init(
    _ pages: DatabasePages, file: String, model: ManagedObjectModel?
  ) throws(PersistentStoreError) {
    self.pages = pages
    self.file = file
    self.model = model
    walk = TreeWalk(pages)
    // What a damaged list calls free may be part of a table.
    let free = pages.freePages()
    if free.isWhole { walk.claim(free.pages) }
    reader = RowReader(pages)
    copy = try SalvageCopy(pages, file: file)
  }

  // MARK: Is it damaged?

  mutating func isSound(_ image: SQLiteImage, _ limits: StoreLimits) throws(PersistentStoreError) -> Bool {
    if !pages.hasHeader {
      report.add("the first page is damaged: the file does not begin as an SQLite database")
    } else if let stated = pages.statedCount, stated * pages.pageSize > pages.bytes.count {
      report.add(
        "the file is cut short: it has \(pages.bytes.count / pages.pageSize) of \(stated) pages of \(pages.pageSize) bytes"
      )
    }
    try readSchema()
    walkTables()
    guard report.damage.isEmpty, entries.allSatisfy(\.isSound), try hasSoundRows() else { return false }
    // What it says about itself may be damaged although its pages are not.
    do throws(PersistentStoreError) {
      _ = try StoreTables(SQLiteDatabase(image, file: file, limits: limits)).metadata()
      return true
    } catch {
      guard error.code == .malformed else { throw error }
      return false
    }
  }

  private mutating func readSchema() throws(PersistentStoreError) {
    let content = walk.content(below: 1)
    walk.claim(content.pages)
    for gap in content.gaps {
      isSchemaDamaged = true
      report.add("the schema is damaged: page \(gap.page): \(gap.reason)")
    }
    var names: Set<String> = []
    var reader = RowReader(pages)
    for leaf in content.leaves {
      try reader.read(leaf) { (reader, row, text) throws(PersistentStoreError) in
        guard let row, let values = row.values, row.damage == nil, values.count == 5 else {
          isSchemaDamaged = true
          return report.add("the schema is damaged: \(row?.damage ?? text)")
        }
        guard case .text(let type) = values[0], case .text(let name) = values[1], reader.text(type) == "table" else {
          return
        }
        let table = reader.text(name)
        guard case .integer(let root) = values[3], root > 0, case .text(let sql) = values[4] else {
          virtualNames.append(DatabaseSchema.key(table) + "_")
          return
        }
        guard !table.hasPrefix("sqlite_"), names.insert(DatabaseSchema.key(table)).inserted else { return }
        entries.append(Entry(name: table, sql: reader.text(sql), root: Int(clamping: root)))
      }
    }
    // A store has few; so that many names take no time, they are not looked for among many others.
    guard virtualNames.count <= 64 else { return }
    entries.removeAll { entry in virtualNames.contains { DatabaseSchema.key(entry.name).hasPrefix($0) } }
  }

  /// Sound tables first, so that neither a damaged page nor a damaged list of free pages leads into one of them.
  private mutating func walkTables() {
    for index in entries.indices {
      // A table without keys of rows is a tree of another kind, which Core Data does not make.
      if let kind = pages.header(entries[index].root)?.kind, !kind.isTable {
        entries[index].isSound = isWithoutRowKeys(entries[index])
        continue
      }
      let content = walk.content(below: entries[index].root)
      guard content.gaps.isEmpty else { continue }
      walk.claim(content.pages)
      entries[index].content = content
      entries[index].isSound = true
    }
    walk.claim(pages.freePages().pages)
    for index in entries.indices where !entries[index].isSound {
      entries[index].content = walk.content(below: entries[index].root)
      walk.claim(entries[index].content.pages)
    }
  }

  private func isWithoutRowKeys(_ entry: Entry) -> Bool { entry.sql.uppercased().contains("WITHOUT ROWID") }

  private func hasSoundRows() throws(PersistentStoreError) -> Bool {
    var reader = RowReader(pages)
    var isSound = true
    for entry in entries {
      for leaf in entry.content.leaves where isSound {
        try reader.read(leaf) { (_, row, _) throws(PersistentStoreError) in
          if row == nil || row?.damage != nil { isSound = false }
        }
      }
    }
    return isSound
  }

  // MARK: Tables of the schema

  mutating func copyTables() throws(PersistentStoreError) {
    reader = RowReader(pages)
    for entry in entries {
      var table = SalvageReport.Table(entry.name)
      table.add(entry.content.gaps)
      if isWithoutRowKeys(entry) { table.add("it is a table without row keys, which cannot be salvaged") }
      guard let target = try copy.create(entry.name, entry.sql) else {
        // A later step may know the columns.
        isSchemaDamaged = true
        report.add("the schema is damaged: the table \(entry.name) does not have columns that SQLite understands")
        continue
      }
      try copy.add(entry.content.leaves, to: target, &table, &reader)
      if !table.details.isEmpty { report.tables[DatabaseSchema.key(entry.name)] = table }
    }
  }

  // MARK: The tables that each store has

  /// Adds what a store cannot be opened without, and tables of the model that the schema has lost.
  mutating func completeTables() throws(PersistentStoreError) {
    for (name, sql) in [
      ("Z_PRIMARYKEY", StoreSchemaText.createPrimaryKey), ("Z_METADATA", StoreSchemaText.createMetadata),
    ] where copy.target(name) == nil {
      _ = try copy.create(name, sql)
      report.add("the table \(name) is missing")
    }
    if !copy.hasMetadata {
      try copy.addMetadata(identifier: Self.identifier(of: pages.bytes))
      report.add(
        "the store's UUID and metadata cannot be read: it has a UUID made from the file's content, and no entries")
    } else if copy.metadataLacksEntries {
      report.add("the entries of the store's metadata cannot be read, only its UUID")
    }
    try completeEntities()
    for row in copy.entities {
      report.tables[DatabaseSchema.key(DatabaseLayout.tableName(row.name))]?.greatestKey = row.greatestKey
    }
    report.tables["Z_METADATA"]?.greatestKey = 1
    report.hasEntities = !copy.entities.isEmpty
    report.needsModel = report.needsModel || isSchemaDamaged || copy.entities.isEmpty
    guard isSchemaDamaged, let layout = copy.layout(model) else { return }
    let text = StoreSchemaText(layout)
    for (index, table) in layout.tables.enumerated() where copy.target(table.name) == nil {
      guard let row = layout.numbers[table.root].flatMap({ copy.entity($0) }),
        copy.target(DatabaseLayout.tableName(row.name)) == nil
      else { continue }
      _ = try copy.create(table.name, text.createTable(index))
      guard row.greatestKey > 0 else { continue }
      addLost(table.name, row.greatestKey)
    }
    for (index, join) in layout.joinTables.enumerated() where !copy.hasTable(of: join) {
      _ = try copy.create(text.joins[index].table, text.createJoinTable(index))
      addLost(text.joins[index].table, nil)
    }
  }

  /// Reports a table of which nothing was found.
  private mutating func addLost(_ name: String, _ greatestKey: Int64?) {
    var table = SalvageReport.Table(name)
    table.add("the schema does not have it, and no page of it was found")
    table.lostRows = Int(clamping: greatestKey ?? 0)
    table.isCountUnknown = greatestKey == nil
    report.tables[DatabaseSchema.key(name)] = table
  }

  /// Adds the entities that Z_PRIMARYKEY has lost, with the numbers that Core Data gives them in a new store.
  private mutating func completeEntities() throws(PersistentStoreError) {
    let isDamaged = report.tables["Z_PRIMARYKEY"] != nil || copy.entities.isEmpty
    guard isDamaged, let model else { return }
    let fresh = DatabaseLayout.freshNumbers(model)
    let fits = copy.entities.filter { $0.number < StoreTables.firstHistoryNumber }
      .allSatisfy { row in model.entity(named: row.name).map { fresh[$0.index] == row.number } ?? false }
    guard fits else { return }
    for entity in model.entities {
      guard let number = fresh[entity.index], copy.entity(number) == nil else { continue }
      let parent = entity.superentity.flatMap { fresh[$0.index] } ?? 0
      try copy.add(StoreTables.EntityRow(number: number, name: entity.name, parent: parent, greatestKey: 0))
      report.add(
        "Z_PRIMARYKEY does not have the entity \(entity.name) any more: it has the number \(number), as in a new store")
    }
  }

  /// A number for a store whose own cannot be read: the same for the same content.
  private static func identifier(of bytes: UnsafeRawBufferPointer) -> (UInt64, UInt64) {
    // FNV-1a, with two offsets.
    var hashes: (UInt64, UInt64) = (0xcbf2_9ce4_8422_2325, 0x8422_2325_cbf2_9ce4)
    for byte in bytes {
      hashes.0 = (hashes.0 ^ UInt64(byte)) &* 0x100_0000_01b3
      hashes.1 = (hashes.1 ^ UInt64(byte)) &* 0x100_0000_01b3
    }
    return hashes
  }
}
