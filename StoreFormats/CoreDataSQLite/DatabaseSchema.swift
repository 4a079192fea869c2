import AtomicStoreSPI

/// The tables of a database file, by name as SQLite distinguishes names: ASCII letters without case.
struct DatabaseSchema {
  struct Table {
    let name: String
    let columns: [Column]
    /// The columns of the primary key.
    let keyColumns: [Int]
    private let byName: [String: Int]

    init(name: String, columns: [Column], keyColumns: [Int]) {
      self.name = name
      self.columns = columns
      self.keyColumns = keyColumns
      var byName: [String: Int] = [:]
      for (index, column) in columns.enumerated() { byName[DatabaseSchema.key(column.name)] = index }
      self.byName = byName
    }

    func column(named name: String) -> Int? { byName[DatabaseSchema.key(name)] }

    /// The column that rows are kept in the order of; nil where no column of the table is.
    var rowKey: Int? { keyColumns.count == 1 && columns[keyColumns[0]].type == "INTEGER" ? keyColumns[0] : nil }
  }
  struct Column {
    let name: String
    /// The declared type in capitals, such as `VARCHAR`; empty where none is declared.
    let type: String
  }

  /// The tables' names, in the order in which they were created.
  let tableNames: [String]
  let triggerNames: [String]
  /// Tables that a module keeps, such as the trees of rectangles of indexes over places.
  let virtualTableNames: [String]
  private let names: [String: String]
  private let database: SQLiteDatabase

  init(_ database: SQLiteDatabase) throws(PersistentStoreError) {
    self.database = database
    var tables: [String] = []
    var triggers: [String] = []
    var virtual: [String] = []
    var names: [String: String] = [:]
    let place = StoreLocation(offset: 0)
    let rows = try database.prepare("SELECT type, name, rootpage, sql FROM sqlite_master", place)
    while try rows.step() {
      guard let type = rows.string(0), let name = rows.string(1) else { continue }
      if type == "trigger" { triggers.append(name) }
      guard type == "table", !name.hasPrefix("sqlite_") else { continue }
      // A virtual table does not have a page, and reading it would run a module.
      guard rows.kind(2) == .integer, rows.integer(2) > 0 else {
        virtual.append(name)
        continue
      }
      tables.append(name)
      names[Self.key(name)] = name
    }
    tableNames = tables
    triggerNames = triggers
    virtualTableNames = virtual
    self.names = names
  }

  /// Whether a table holds the content of a virtual one: it has its name, and a word after it.
  func isIndexTable(_ name: String) -> Bool {
    let key = Self.key(name)
    return virtualTableNames.contains { key.hasPrefix(Self.key($0) + "_") }
  }

  func hasTable(_ name: String) -> Bool { names[Self.key(name)] != nil }

  /// A table with its columns; nil where there is not one of the name.
  ///
  /// - Throws: `.malformed` for a table with computed columns, which Core Data does not make.
  func table(_ name: String) throws(PersistentStoreError) -> Table? {
    guard let name = names[Self.key(name)] else { return nil }
    let place = StoreLocation(file: database.file, entity: name)
    let rows = try database.prepare("PRAGMA table_xinfo(\(SQLiteDatabase.quoted(name)))", place)
    var columns: [Column] = []
    var keyColumns: [Int] = []
    while try rows.step() {
      guard let column = rows.string(1) else { continue }
      guard rows.integer(6) == 0 else {
        throw PersistentStoreError(
          .malformed, "the column '\(column)' is computed; Core Data's tables have no such columns", at: place)
      }
      if rows.integer(5) > 0 { keyColumns.append(columns.count) }
      columns.append(Column(name: column, type: (rows.string(2) ?? "").uppercased()))
    }
    return Table(name: name, columns: columns, keyColumns: keyColumns)
  }

  static func key(_ name: String) -> String {
    String(decoding: name.utf8.map { $0 >= UInt8(ascii: "a") && $0 <= UInt8(ascii: "z") ? $0 - 32 : $0 }, as: UTF8.self)
  }
}
