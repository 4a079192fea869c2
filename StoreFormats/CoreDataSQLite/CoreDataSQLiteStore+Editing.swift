public import AtomicStoreSPI

/// Rows of a store that exists are changed, in a transaction of SQLite's own, with its locks and its log: another
/// program may have the file open.
extension CoreDataSQLiteStore: EditableStore {
  public func checkIsEditable(_ source: StoreSource) throws(PersistentStoreError) {
    let database = try SQLiteDatabase(try SQLiteImage.read(source, limits), file: source.name, limits: limits)
    try refuseObstacles(database)
  }

  private func refuseObstacles(_ database: SQLiteDatabase) throws(PersistentStoreError) {
    if let obstacle = try EditObstacles(ignoresHistory: ignoresHistory).first(in: database) { throw obstacle }
  }

  public mutating func edit(
    _ edit: StoreEdit, beside files: CompanionChanges, check: (StoreEdit.Reading) throws(PersistentStoreError) -> Void,
    verify: (StoreEdit.Reading) throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError) {
    let path = try StorePath.inspect(path).resolvedPath
    let directory = ExternalData.directory(of: edit.source.fileName ?? "")
    let output = try SQLiteOutput(changing: path)
    do throws(PersistentStoreError) {
      let external = ExternalDataWriter(changing: !isInline) { (name, bytes) throws(PersistentStoreError) in
        try files.write(name, in: directory, bytes)
      }
      let editor = try change(edit, output, try output.image(), external, check)
      let image = try output.image()
      try verify { [self] (nodes) throws(PersistentStoreError) in try read(image, of: edit.source, into: nodes) }
      if !editor.droppedFiles.isEmpty {
        let database = try SQLiteDatabase(image, file: path, limits: limits)
        let kept = try NamedFiles(database, editor.work.schema, editor.work.layout).cells
        for file in editor.droppedFiles.sorted() where kept[file] == nil { try files.remove(file, in: directory) }
      }
      try output.commit()
    } catch {
      output.rollBack()
      throw error
    }
  }

  public mutating func save(
    _ edit: StoreEdit, to files: StagedFiles, check: (StoreEdit.Reading) throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError) {
    let path = try pathOfNewStore()
    let directory = ExternalData.directory(of: files.fileName)
    let image = try SQLiteImage.read(edit.source, limits)
    let output = try SQLiteOutput(copying: image, for: path)
    let external = ExternalDataWriter(changing: !isInline && files.hasCompanions) {
      (name, bytes) throws(PersistentStoreError) in
      try files.writeCompanion(name, in: directory, bytes)
    }
    let editor = try change(edit, output, image, external, check)
    try copyFiles(of: edit, editor, to: files)
    try output.finish { (bytes) throws(PersistentStoreError) in try files.file().write(bytes) }
    try files.removeReplacedCompanions(in: directory)
  }

  /// - Parameter image: The database as it is before the change.
  private func change(
    _ edit: StoreEdit, _ output: SQLiteOutput, _ image: SQLiteImage, _ external: ExternalDataWriter,
    _ check: (StoreEdit.Reading) throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError) -> RowEditor {
    try check { (nodes) throws(PersistentStoreError) in try read(image, of: edit.source, into: nodes) }
    let database = try SQLiteDatabase(image, file: output.path, limits: limits)
    try refuseObstacles(database)
    var editor = try RowEditor(edit, output, database, external: external)
    try editor.run()
    noteHistory(editor, edit.source)
    return editor
  }

  /// Reads the objects of a database in memory.
  private func read(
    _ image: SQLiteImage, of source: StoreSource, into nodes: NodeTableBuilder
  ) throws(PersistentStoreError) -> StoreMetadata {
    // What was worth a note was noted when the store was opened.
    let source = try StoreSource(opening: try StorePath.inspect(source.name))
    let database = try SQLiteDatabase(image, file: source.name, limits: limits)
    let metadata = try StoreTables(database).metadata()
    try StoreLoader(database, source: source, nodes: nodes, strayRows: strayRows).load()
    return metadata
  }

  private func noteHistory(_ editor: RowEditor, _ source: StoreSource) {
    let counts = editor.work.changes.counts
    guard let table = EditObstacles.historyTable(editor.work.schema), counts != (0, 0, 0) else { return }
    source.report(
      LoadNote(
        subject: table, count: counts.inserted + counts.updated + counts.deleted,
        text:
          "changes that are not in the persistent history (\(counts.inserted) inserted, \(counts.updated) changed, \(counts.deleted) deleted): programs that follow the history, such as widgets and other processes of the application, will not learn of them",
        isWarning: true))
  }

  /// Copies the files that cells still name. Where a result has no files beside it, their values go into the cells.
  private func copyFiles(
    of edit: StoreEdit, _ editor: RowEditor, to files: StagedFiles
  ) throws(PersistentStoreError) {
    let database = try SQLiteDatabase(try editor.work.output.image(), file: editor.work.output.path, limits: limits)
    let named = try NamedFiles(database, editor.work.schema, editor.work.layout)
    let (old, new) = (
      ExternalData.directory(of: edit.source.fileName ?? ""), ExternalData.directory(of: files.fileName)
    )
    for (name, cells) in named.cells.sorted(by: { $0.key < $1.key }) {
      // New ones are there. One that is missing is missing in the copy, too.
      guard let file = try edit.source.companion(named: old + "/" + name), !file.isFolder else { continue }
      let bytes = try file.bytes()
      try bytes.withUnsafeBytes { raw throws(PersistentStoreError) in
        guard !files.hasCompanions else { return try files.writeCompanion(name, in: new, raw) }
        for cell in cells {
          let statement = try editor.work.output.prepare("UPDATE \(cell.table) SET \(cell.column) = ? WHERE Z_PK = ?")
          ([ExternalData.inlineMark] + raw).withUnsafeBytes { statement.bind(1, bytes: $0) }
          statement.bind(2, integer: cell.key)
          try statement.run()
        }
      }
    }
  }
}

/// The files beside a store that its cells name.
private struct NamedFiles {
  /// A cell, with quoted names.
  struct Cell {
    let table: String
    let column: String
    let key: Int64
  }
  private(set) var cells: [String: [Cell]] = [:]

  init(
    _ database: SQLiteDatabase, _ schema: DatabaseSchema, _ layout: DatabaseLayout
  ) throws(PersistentStoreError) {
    let numbers = EntityNumbers(
      try StoreTables(database).entityRows(), model: layout.model, hashes: try StoreTables(database).versionHashes())
    for table in layout.tables {
      guard let found = try numbers.table(table, in: schema) else { continue }
      var lookup = ColumnLookup(table, found)
      let places = table.columns.map { (column: $0, index: lookup.index(of: $0)) }
      for case (let column, let index?) in places {
        guard case .attribute = column.role,
          layout.model.entity(at: column.entity).slots[column.slot].attribute?.allowsExternalBinaryDataStorage == true
        else { continue }
        let (name, quoted) = (found.columns[index].name, SQLiteDatabase.quoted(found.name))
        let rows = try database.prepare(
          "SELECT Z_PK, \(SQLiteDatabase.quoted(name)) FROM \(quoted) WHERE \(ExternalData.conditions(name).isFileName)",
          StoreLocation(file: database.file, entity: found.name))
        while try rows.step() {
          guard let file = ExternalData.fileName(rows.bytes(1)) else { continue }
          cells[file, default: []].append(
            Cell(table: quoted, column: SQLiteDatabase.quoted(name), key: rows.integer(0)))
        }
      }
    }
  }
}
