import AtomicStoreSPI
import FoundationEssentials

/// The sound database that is made of a damaged one: its tables, and the rows that were read.
final class SalvageCopy {
  /// A table of the new database.
  final class Target {
    let name: String
    let columns: [(name: String, type: String)]
    /// The column that is the key of rows, which rows do not have a value for.
    let keyColumn: Int?
    fileprivate var insertions: [Int: Insertion] = [:]

    fileprivate init(_ name: String, _ columns: [(name: String, type: String, isKey: Bool)]) {
      self.name = name
      self.columns = columns.map { ($0.name, $0.type) }
      let keys = columns.indices.filter { columns[$0].isKey }
      keyColumn = keys.count == 1 && columns[keys[0]].type == "INTEGER" ? keys[0] : nil
    }
  }

  let output: SQLiteOutput
  private let pages: DatabasePages
  private var targets: [String: Target] = [:]
  /// The rows of Z_PRIMARYKEY, as they were read.
  private(set) var entities: [StoreTables.EntityRow] = []
  private var entityIndexes: [Int64: Int] = [:]
  private var entityNames: Set<ScalarString> = []
  private(set) var hasMetadata = false
  private(set) var metadataLacksEntries = false

  init(_ pages: DatabasePages, file: String) throws(PersistentStoreError) {
    self.pages = pages
    output = try SQLiteOutput(for: file)
    output.refuseQueries(steps: SQLiteDatabase.steps(forSize: pages.bytes.count))
  }

  func entity(_ number: Int64) -> StoreTables.EntityRow? { entityIndexes[number].map { entities[$0] } }

  // MARK: Tables

  func target(_ name: String) -> Target? { targets[DatabaseSchema.key(name)] }

  /// Whether there is a table for a many-to-many relationship, by the name of either side.
  func hasTable(of join: DatabaseLayout.JoinTable) -> Bool {
    [join.first, join.second].contains { side in
      let name = "Z_\(side.number)" + DatabaseLayout.columnText(side.name)
      return target(name) != nil || (1...9).contains { target(name + String($0)) != nil }
    }
  }

  /// The tables that may be of many-to-many relationships, by name.
  var joinTables: [Target] {
    targets.filter { $0.key.hasPrefix("Z_") && !StoreTables.ownTables.contains($0.key) }
      .sorted { $0.key < $1.key }.map(\.value)
  }

  /// Creates a table; nil if SQLite does not take the statement, which may be damaged.
  func create(_ name: String, _ sql: String) throws(PersistentStoreError) -> Target? {
    guard sql.prefix(13).uppercased() == "CREATE TABLE " else { return nil }
    do throws(PersistentStoreError) { try output.prepare(sql).run() } catch {
      guard error.code != .limitExceeded else { throw error }
      return nil
    }
    let columns = try output.columns(of: name)
    guard !columns.isEmpty else { return nil }
    let target = Target(name, columns)
    targets[DatabaseSchema.key(name)] = target
    return target
  }

  /// How the model has the tables, with the numbers of the store; nil without a model.
  func layout(_ model: ManagedObjectModel?) -> DatabaseLayout? {
    guard let model, !model.description.isInferred else { return nil }
    let known = EntityNumbers(entities, model: model, hashes: nil).numbers
    return DatabaseLayout(
      model: model, numbers: entities.isEmpty ? DatabaseLayout.freshNumbers(model) : known)
  }

  // MARK: Rows

  /// Adds the rows of pages, and counts them and what is lost.
  ///
  /// - Parameter onlyInGaps: Whether only rows are added that may have been on pages that cannot be read.
  func add(
    _ leaves: [TreeContent.Leaf], to target: Target, _ table: inout SalvageReport.Table, _ reader: inout RowReader,
    onlyInGaps: Bool = false
  ) throws(PersistentStoreError) {
    let key = DatabaseSchema.key(target.name)
    for leaf in leaves {
      try reader.read(leaf) { (reader, row, text) throws(PersistentStoreError) in
        guard let row else {
          table.add(text)
          table.lostRows += 1
          return
        }
        guard !onlyInGaps || table.isInGap(row.key) else { return }
        // The UUID of a store is worth having without its metadata.
        if key == "Z_METADATA", let values = row.values, try self.addMetadata(values, reader) {
          table.readCount += 1
          return row.damage.map { table.add($0) } ?? ()
        }
        guard key != "Z_METADATA", row.damage == nil, let values = row.values else {
          table.add(row.damage ?? "the row \(row.key) is not metadata")
          table.lostRows += 1
          return
        }
        guard key != "Z_PRIMARYKEY" || self.isEntity(values, row.key, reader) else {
          table.add("the row \(row.key) is not an entity")
          table.lostRows += 1
          return
        }
        guard try self.insert(values, key: row.key, into: target, reader) else {
          table.add("the row \(row.key) contradicts another one, or has more values than the table has columns")
          table.lostRows += 1
          return
        }
        table.readCount += 1
        if table.isInGap(row.key) { table.readInGaps += 1 }
        if key == "Z_PRIMARYKEY" { self.note(values, row.key, reader) }
      }
    }
  }

  /// - Returns: Whether the row was added.
  private func insert(
    _ values: [RowReader.Value], key: Int64, into target: Target, _ reader: RowReader
  ) throws(PersistentStoreError) -> Bool {
    guard values.count <= target.columns.count else { return false }
    let before = output.changeCount
    do throws(PersistentStoreError) { try bound(values, key, target, reader).run() } catch {
      guard error.code != .limitExceeded else { throw error }
      return false
    }
    return output.changeCount > before
  }

  /// The statement for a row, with its values.
  private func bound(
    _ values: [RowReader.Value], _ key: Int64, _ target: Target, _ reader: RowReader
  ) throws(PersistentStoreError) -> Insertion {
    let insertion = try insertion(values.count, target)
    insertion.bind(1, integer: key)
    var parameter: Int32 = 1
    for (column, value) in values.enumerated() where column != target.keyColumn {
      parameter += 1
      switch value {
      case .null, .lost: continue
      case .integer(let number): insertion.bind(parameter, integer: number)
      case .real(let number): insertion.bind(parameter, real: number)
      case .text(let range):
        if pages.isUTF8 {
          insertion.bind(parameter, text: reader.payload.span.extracting(range))
        } else {
          insertion.bind(parameter, text: reader.text(range))
        }
      case .blob(let range):
        reader.payload.withUnsafeBytes {
          insertion.bind(parameter, bytes: UnsafeRawBufferPointer(rebasing: $0[range]))
        }
      }
    }
    return insertion
  }

  /// A row of a table to which columns were added later has fewer values than the table has columns.
  private func insertion(_ count: Int, _ target: Target) throws(PersistentStoreError) -> Insertion {
    if let known = target.insertions[count] { return known }
    let names = target.columns.prefix(count).enumerated().filter { $0.offset != target.keyColumn }
      .map { SQLiteDatabase.quoted($0.element.name) }
    let marks = Array(repeating: "?", count: names.count + 1).joined(separator: ", ")
    let insertion = try output.prepare(
      "INSERT OR IGNORE INTO \(SQLiteDatabase.quoted(target.name)) (\((["_rowid_"] + names).joined(separator: ", "))) VALUES (\(marks))"
    )
    target.insertions[count] = insertion
    return insertion
  }

  // MARK: What the store says about itself

  /// Whether a row of Z_PRIMARYKEY has a number and a name that no other has.
  private func isEntity(_ values: [RowReader.Value], _ number: Int64, _ reader: RowReader) -> Bool {
    guard values.count == 4, number > 0, case .text(let name) = values[1] else { return false }
    return entityNames.insert(ScalarString(reader.text(name))).inserted
  }

  private func note(_ values: [RowReader.Value], _ number: Int64, _ reader: RowReader) {
    guard values.count == 4, case .text(let name) = values[1] else { return }
    func integer(_ value: RowReader.Value) -> Int64 { if case .integer(let number) = value { number } else { 0 } }
    keep(
      StoreTables.EntityRow(
        number: number, name: reader.text(name), parent: integer(values[2]), greatestKey: integer(values[3])))
  }

  func add(_ row: StoreTables.EntityRow) throws(PersistentStoreError) {
    let insertion = try output.prepare("INSERT INTO Z_PRIMARYKEY VALUES (?, ?, ?, ?)")
    insertion.bind(1, integer: row.number)
    insertion.bind(2, text: row.name)
    insertion.bind(3, integer: row.parent)
    insertion.bind(4, integer: row.greatestKey)
    try insertion.run()
    keep(row)
  }

  private func keep(_ row: StoreTables.EntityRow) {
    entityIndexes[row.number] = entities.count
    entities.append(row)
  }

  /// Adds the row of the metadata if it has the store's UUID; without its property list if that cannot be read.
  ///
  /// - Returns: Whether it has.
  private func addMetadata(
    _ values: [RowReader.Value], _ reader: RowReader
  ) throws(PersistentStoreError) -> Bool {
    guard !hasMetadata, values.count == 3, case .text(let name) = values[1],
      let uuid = UUID(uuidString: reader.text(name))
    else { return false }
    var entries: Range<Int>?
    if case .blob(let range) = values[2] { entries = range }
    let isReadable = entries.map { StoreTables.isReadable(Array(reader.payload[$0])) } ?? false
    let insertion = try output.prepare("INSERT INTO Z_METADATA (Z_VERSION, Z_UUID, Z_PLIST) VALUES (1, ?, ?)")
    insertion.bind(1, text: uuid.uuidString)
    if let entries, isReadable {
      reader.payload.withUnsafeBytes { insertion.bind(2, bytes: UnsafeRawBufferPointer(rebasing: $0[entries])) }
    }
    metadataLacksEntries = if case .null = values[2] { false } else { !isReadable }
    try insertion.run()
    hasMetadata = true
    return true
  }

  /// Adds a UUID made of two numbers.
  func addMetadata(identifier: (UInt64, UInt64)) throws(PersistentStoreError) {
    let parts = [identifier.0.bigEndian, identifier.1.bigEndian]
    let uuid = parts.withUnsafeBytes { $0.loadUnaligned(as: UUIDBytes.self).uuid }
    let insertion = try output.prepare("INSERT INTO Z_METADATA (Z_VERSION, Z_UUID) VALUES (1, ?)")
    insertion.bind(1, text: uuid.uuidString)
    try insertion.run()
    hasMetadata = true
  }
}
