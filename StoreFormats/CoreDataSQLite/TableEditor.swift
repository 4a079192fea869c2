import AtomicStoreSPI

/// Changes the rows of one root entity's table.
struct TableEditor {
  /// What is different in a row that stays.
  private struct Row {
    let node: NodeHandle
    /// The object itself changed, not only its place in the list of another one.
    var isChanged = false
    /// Of columns in the layout.
    var positions: Set<Int> = []
  }

  private let table: DatabaseLayout.Table
  private let found: DatabaseSchema.Table
  private let changes: RowChanges.Table
  private let work: RowWork
  private let name: String
  /// By position of a column in the layout, its name in the table; nil where the table does not have it.
  private var names: [String?] = []
  private var rows: [Int64: Row] = [:]
  /// By position of a column about to-manys, and by the member's key, the new value of the cell.
  private var listed: [Int: [Int64: Int64?]] = [:]
  private(set) var droppedFiles: Set<String> = []

  init(
    _ table: DatabaseLayout.Table, _ found: DatabaseSchema.Table, _ changes: RowChanges.Table, _ work: RowWork
  ) throws(PersistentStoreError) {
    self.table = table
    self.found = found
    self.changes = changes
    self.work = work
    name = SQLiteDatabase.quoted(found.name)
    var lookup = ColumnLookup(table, found)
    for column in table.columns {
      names.append(lookup.index(of: column).map { SQLiteDatabase.quoted(found.columns[$0].name) })
    }
  }

  private var nodes: NodeTable { work.values.nodes }
  private var hasSaveCount: Bool { found.column(named: "Z_OPT") != nil }

  // MARK: What is different

  /// Finds out which cells change.
  ///
  /// - Returns: Whether any does.
  mutating func prepare() throws(PersistentStoreError) -> Bool {
    let lists = ListedCells(table, names, table: name, work)
    listed = try lists.cells()
    guard !changes.isEmpty || !listed.isEmpty else { return false }
    var positions: [Int: [Int: [Int]]] = [:]
    for (position, column) in table.columns.enumerated() where names[position] != nil {
      switch column.role {
      case .attribute, .toOne, .toOneEntity:
        positions[column.entity, default: [:]][column.slot, default: []].append(position)
      case .orderKey, .owner, .ownerOrderKey: break
      }
    }
    for change in changes.updated {
      var row = Row(node: change.node, isChanged: true)
      let entity = nodes.model.entity(at: change.node.entity)
      for slot in change.slots {
        let declarer = work.layout.declarer(of: slot, in: entity)
        row.positions.formUnion(positions[declarer.index]?[slot] ?? [])
      }
      rows[change.key] = row
    }
    let inserted = Set(changes.inserted.map { work.values.key($0) })
    for (position, cells) in listed {
      for key in cells.keys where !inserted.contains(key) {
        // A member that is deleted has no cell any more.
        guard let node = nodes.handle(for: .integer(key), entity: table.root) else { continue }
        rows[key, default: Row(node: node)].positions.insert(position)
      }
    }
    return true
  }

  private func isExternal(_ position: Int) -> Bool {
    let column = table.columns[position]
    guard case .attribute(let type) = column.role, type.valueKind == .data else { return false }
    return nodes.model.entity(at: column.entity).slots[column.slot].attribute?.allowsExternalBinaryDataStorage == true
  }

  /// Notes the files that cells of a row name, which will be gone.
  private mutating func noteFiles(_ key: Int64, _ positions: some Sequence<Int>) throws(PersistentStoreError) {
    let columns = positions.filter(isExternal).compactMap { names[$0] }
    guard !columns.isEmpty else { return }
    let query = try work.database.prepare(
      "SELECT \(columns.joined(separator: ", ")) FROM \(name) WHERE Z_PK = \(key)",
      StoreLocation(file: work.output.path, entity: found.name, reference: String(key)))
    guard try query.step() else { return }
    for column in columns.indices {
      if let file = ExternalData.fileName(query.bytes(Int32(column))) { droppedFiles.insert(file) }
    }
  }

  // MARK: Statements

  mutating func delete() throws(PersistentStoreError) {
    guard !changes.deleted.isEmpty else { return }
    let statement = try work.output.prepare("DELETE FROM \(name) WHERE Z_PK = ?")
    for key in changes.deleted {
      try noteFiles(key, table.columns.indices)
      statement.bind(1, integer: key)
      try statement.run(changing: 1, of: found.name, key: key)
    }
  }

  mutating func update(_ values: RowValues) throws(PersistentStoreError) {
    try clearUnique()
    var statements: [String: Insertion] = [:]
    var readers: [Int: EntityReader] = [:]
    for (key, row) in rows.sorted(by: { $0.key < $1.key }) {
      let positions = row.positions.sorted()
      try noteFiles(key, positions)
      var terms = positions.compactMap { names[$0] }.map { "\($0) = ?" }
      if row.isChanged, hasSaveCount { terms.insert("Z_OPT = ifnull(Z_OPT, 0) + 1", at: 0) }
      guard !terms.isEmpty else { continue }
      let sql = "UPDATE \(name) SET \(terms.joined(separator: ", ")) WHERE Z_PK = ?"
      let statement = if let known = statements[sql] { known } else { try work.output.prepare(sql) }
      statements[sql] = statement
      let reader = readers[row.node.entity] ?? nodes.reader(of: row.node.entity)
      readers[row.node.entity] = reader
      for (parameter, position) in positions.enumerated() {
        try bind(values, position, key, row.node, reader, to: statement, Int32(parameter + 1))
      }
      statement.bind(Int32(positions.count + 1), integer: key)
      try located(row.node) { () throws(PersistentStoreError) in
        try statement.run(changing: 1, of: found.name, key: key)
      }
    }
  }

  /// Rows may exchange values that must be unique: of each row that changes in an index, one changed column is null in
  /// between, and null is equal to nothing there.
  private func clearUnique() throws(PersistentStoreError) {
    guard rows.count > 1 else { return }
    for index in try uniqueIndexes() {
      let positions = names.indices.filter { names[$0].map { index.contains(DatabaseSchema.key($0)) } ?? false }
      let changed = rows.compactMap { key, row in
        positions.first { row.positions.contains($0) }.map { (key: key, position: $0) }
      }
      guard changed.count > 1 else { continue }
      for (position, list) in Dictionary(grouping: changed, by: \.position).sorted(by: { $0.key < $1.key }) {
        guard let column = names[position] else { continue }
        let statement = try work.output.prepare("UPDATE \(name) SET \(column) = NULL WHERE Z_PK = ?")
        for key in list.map(\.key).sorted() {
          statement.bind(1, integer: key)
          try statement.run(changing: 1, of: found.name, key: key)
        }
      }
    }
  }

  /// The columns of each unique index, quoted and in capitals.
  private func uniqueIndexes() throws(PersistentStoreError) -> [Set<String>] {
    let place = StoreLocation(file: work.output.path, entity: found.name)
    var result: [Set<String>] = []
    let indexes = try work.database.prepare("PRAGMA index_list(\(name))", place)
    while try indexes.step() {
      guard indexes.integer(2) != 0, let index = indexes.string(1) else { continue }
      let columns = try work.database.prepare("PRAGMA index_info(\(SQLiteDatabase.quoted(index)))", place)
      var own: Set<String> = []
      while try columns.step() {
        if let column = columns.string(2) { own.insert(DatabaseSchema.key(SQLiteDatabase.quoted(column))) }
      }
      result.append(own)
    }
    return result
  }

  func insert(_ values: RowValues) throws(PersistentStoreError) {
    guard !changes.inserted.isEmpty else { return }
    let own = ["Z_PK", "Z_ENT"] + (hasSaveCount ? ["Z_OPT"] : [])
    let positions = names.indices.filter { names[$0] != nil }
    let columns = own + positions.compactMap { names[$0] }
    let statement = try work.output.prepare(
      "INSERT INTO \(name) (\(columns.joined(separator: ", "))) VALUES (\(columns.map { _ in "?" }.joined(separator: ", ")))"
    )
    for node in changes.inserted.sorted(by: { values.key($0) < values.key($1) }) {
      let entity = nodes.model.entity(at: node.entity)
      guard let number = work.layout.numbers[node.entity] else {
        throw PersistentStoreError(
          .modelMismatch, "the store does not have this entity: Z_PRIMARYKEY has no row for it",
          at: StoreLocation(file: work.output.path, entity: entity.name))
      }
      let declarers = Set(sequence(first: entity, next: \.superentity).map(\.index))
      let reader = nodes.reader(of: node.entity)
      statement.bind(1, integer: values.key(node))
      statement.bind(2, integer: number)
      if hasSaveCount { statement.bind(3, integer: 1) }
      for (place, position) in positions.enumerated() where declarers.contains(table.columns[position].entity) {
        try bind(values, position, values.key(node), node, reader, to: statement, Int32(own.count + place + 1))
      }
      try located(node) { () throws(PersistentStoreError) in try statement.run() }
    }
  }

  private func bind(
    _ values: RowValues, _ position: Int, _ key: Int64, _ node: NodeHandle, _ reader: EntityReader,
    to statement: Insertion, _ parameter: Int32
  ) throws(PersistentStoreError) {
    let cell = RowValues.Cell(column: table.columns[position], table: table.root, position: position)
    try values.bind(
      cell, of: node, reader, listed: listed[position]?[key] ?? nil, to: statement, parameter: parameter)
  }

  /// - Throws: What the statement throws, with the object; for a uniqueness constraint in the words of the model.
  private func located(
    _ node: NodeHandle, _ body: () throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError) {
    do throws(PersistentStoreError) { try body() } catch {
      throw error.located(
        StoreLocation(
          entity: nodes.model.entity(at: node.entity).name, reference: nodes.reference(of: node).description))
    }
  }
}
