import AtomicStoreSPI
import FoundationEssentials
import StoreCodecs

/// Changes the rows of a store: those of objects that differ, and nothing else.
///
/// What follows from a change follows: `Z_OPT` of each object that changed, `Z_MAX`, order keys, join tables. What the
/// model does not know, as other tables and columns, stays as it is.
struct RowEditor {
  let work: RowWork
  private let edit: StoreEdit
  private let numbers: EntityNumbers
  /// Files beside the store that cells named that are gone.
  private(set) var droppedFiles: Set<String> = []

  init(
    _ edit: StoreEdit, _ output: SQLiteOutput, _ database: SQLiteDatabase, external: ExternalDataWriter
  ) throws(PersistentStoreError) {
    self.edit = edit
    let tables = StoreTables(database)
    let model = edit.after.nodes.model
    numbers = EntityNumbers(try tables.entityRows(), model: model, hashes: try tables.versionHashes())
    let layout = DatabaseLayout(model: model, numbers: numbers.numbers)
    work = RowWork(
      output: output, database: database, schema: try DatabaseSchema(database), layout: layout,
      changes: try RowChanges(from: edit.before.nodes, to: edit.after.nodes, layout, file: output.path),
      values: try RowValues(
        edit.after.nodes, layout: layout, path: output.path, external: external,
        lastReference: edit.after.metadata.lastReference))
  }

  mutating func run() throws(PersistentStoreError) {
    try refuseGuesses()
    for table in work.layout.tables { try change(table) }
    for join in work.layout.joinTables { try JoinTableEditor(join, work)?.run() }
    try changeMetadata()
  }

  /// Of a model that was guessed from the tables, relationships are not known: they would not follow.
  private func refuseGuesses() throws(PersistentStoreError) {
    guard edit.after.nodes.model.description.isInferred else { return }
    let counts = work.changes.counts
    guard counts.inserted > 0 || counts.deleted > 0 else { return }
    throw PersistentStoreError(
      .modelNeeded,
      "objects cannot be inserted or deleted without the store's model, which says what their relationships are",
      at: StoreLocation(file: work.output.path))
  }

  // MARK: Tables of entities

  private mutating func change(_ table: DatabaseLayout.Table) throws(PersistentStoreError) {
    let rows = work.changes.tables[table.root] ?? RowChanges.Table()
    let name = edit.after.nodes.model.entity(at: table.root).name
    guard let found = try numbers.table(table, in: work.schema) else {
      guard rows.isEmpty else {
        throw PersistentStoreError(
          .modelMismatch, "the store has no table \(table.name)",
          at: StoreLocation(file: work.output.path, entity: name))
      }
      return
    }
    var editor = try TableEditor(table, found, rows, work)
    guard try editor.prepare() else { return }
    try editor.delete()
    try editor.update(work.values)
    try editor.insert(work.values)
    droppedFiles.formUnion(editor.droppedFiles)
    try raiseGreatestKey(of: table, to: rows.inserted.reduce(0) { max($0, work.values.key($1)) })
  }

  private func raiseGreatestKey(of table: DatabaseLayout.Table, to key: Int64) throws(PersistentStoreError) {
    guard key > 0 else { return }
    guard let row = numbers.rows[table.root] else {
      throw PersistentStoreError(
        .modelMismatch, "Z_PRIMARYKEY has no row for the root entity of \(table.name), which numbers new objects",
        at: StoreLocation(file: work.output.path))
    }
    guard key > row.greatestKey else { return }
    let statement = try work.output.prepare("UPDATE Z_PRIMARYKEY SET Z_MAX = ? WHERE Z_ENT = ?")
    statement.bind(1, integer: key)
    statement.bind(2, integer: row.number)
    try statement.run(changing: 1, of: "Z_PRIMARYKEY")
  }

  // MARK: Metadata

  private func changeMetadata() throws(PersistentStoreError) {
    let (before, after) = (edit.before.metadata, edit.after.metadata)
    if before.uuid != after.uuid {
      let statement = try work.output.prepare("UPDATE Z_METADATA SET Z_UUID = ?")
      statement.bind(1, text: after.uuid.uuidString)
      try statement.run(changing: 1, of: "Z_METADATA")
    }
    guard before.entries != after.entries else { return }
    // Entries that are not shown, and those that another program added, stay.
    var entries = try StoreTables(work.database).metadataEntries()
    for entry in before.entries where after.entries[entry.key] == nil { entries[entry.key] = nil }
    for entry in after.entries where before.entries[entry.key] != entry.value { entries[entry.key] = entry.value }
    let list = try PropertyList.encodeBinary(.dictionary(entries))
    let statement = try work.output.prepare("UPDATE Z_METADATA SET Z_PLIST = ?")
    list.withUnsafeBytes { statement.bind(1, bytes: $0) }
    try statement.run(changing: 1, of: "Z_METADATA")
  }
}
