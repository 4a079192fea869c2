import AtomicStoreSPI
import FoundationEssentials

/// Reads the persistent history that Core Data keeps in three tables, by the columns that are there.
///
/// A damaged row is an error, or left out and reported if damage is skipped.
struct HistoryReader {
  private let database: SQLiteDatabase
  private let schema: DatabaseSchema
  private let source: StoreSource
  private let skipsDamage: Bool
  private var entities: HistoryEntities
  /// The rows that were left out, by table, with the first reason.
  private var damage: [String: (count: Int, reason: String)] = [:]
  private var missingStrings = 0
  private var hasUnknownBits = false
  /// How many properties the changes may name together: bits are an eighth of a byte, names are not.
  private var namesLeft: Int
  private var budget: ValueBudget

  init(
    _ database: SQLiteDatabase, source: StoreSource, model: ManagedObjectModel?, skipsDamage: Bool
  ) throws(PersistentStoreError) {
    self.database = database
    self.source = source
    self.skipsDamage = skipsDamage
    schema = try DatabaseSchema(database)
    entities = try HistoryEntities(database, schema, model)
    namesLeft = (1 << 20) + 2 * database.image.count
    budget = ValueBudget(database)
  }

  func transactions() throws(PersistentStoreError) -> [HistoryTransaction] {
    var copy = self
    let found = try copy.read()
    copy.report()
    return found
  }

  private mutating func read() throws(PersistentStoreError) -> [HistoryTransaction] {
    let changes = try schema.table("ACHANGE")
    guard let table = try schema.table("ATRANSACTION") else {
      guard changes == nil else {
        throw PersistentStoreError(
          .malformed, "the store has the table ACHANGE, and not ATRANSACTION, which says when and by whom",
          at: StoreLocation(file: database.file, entity: "ATRANSACTION"))
      }
      return []
    }
    var places: [Int64: Int] = [:]
    var found = try readTransactions(table, &places)
    if let changes { try readChanges(changes, places, &found) }
    return found
  }

  // MARK: Transactions

  private mutating func readStrings() throws(PersistentStoreError) -> [Int64: String] {
    guard let table = try schema.table("ATRANSACTIONSTRING") else { return [:] }
    var strings: [Int64: String] = [:]
    try forEachRow(of: table, ["ZNAME"]) { (reader, rows, key) throws(PersistentStoreError) in
      guard let text = rows.string(1) else {
        return try reader.leaveOut(key, of: table, "the string is \(rows.kind(1).name)")
      }
      strings[key] = text
    }
    return strings
  }

  private mutating func readTransactions(
    _ table: DatabaseSchema.Table, _ places: inout [Int64: Int]
  ) throws(PersistentStoreError) -> [HistoryTransaction] {
    let strings = try readStrings()
    var found: [HistoryTransaction] = []
    var known: [Int64: Int] = [:]
    // Newer systems keep texts in a table and their keys here, older ones the texts.
    let names = ["AUTHOR", "CONTEXTNAME", "BUNDLEID", "PROCESSID"]
    let columns = ["ZTIMESTAMP"] + names.flatMap { ["Z\($0)TS", "Z\($0)"] }
    try forEachRow(of: table, columns) { (reader, rows, key) throws(PersistentStoreError) in
      guard rows.kind(1) == .real || rows.kind(1) == .integer else {
        return try reader.leaveOut(key, of: table, "the time, ZTIMESTAMP, is \(rows.kind(1).name)")
      }
      func text(_ index: Int32) -> String? {
        let column = 2 + 2 * index
        guard !rows.isNull(column) else { return rows.string(column + 1) }
        if rows.kind(column) == .integer, let string = strings[rows.integer(column)] { return string }
        reader.missingStrings += 1
        return rows.string(column + 1)
      }
      known[key] = found.count
      found.append(
        HistoryTransaction(
          token: HistoryToken(key), date: Date(timeIntervalSinceReferenceDate: rows.real(1)), author: text(0),
          contextName: text(1), bundleID: text(2), processID: text(3), changes: []))
    }
    places = known
    return found
  }

  // MARK: Changes

  private static let tombstonePrefix = "ZTOMBSTONE"

  private mutating func readChanges(
    _ table: DatabaseSchema.Table, _ places: [Int64: Int], _ found: inout [HistoryTransaction]
  ) throws(PersistentStoreError) {
    // Each has the number of one of the attributes that are kept: ZTOMBSTONE0, ZTOMBSTONE1 and so on.
    let tombstones = table.columns.compactMap { column -> (number: Int, name: String)? in
      let key = DatabaseSchema.key(column.name)
      guard key.hasPrefix(Self.tombstonePrefix), let number = Int(key.dropFirst(Self.tombstonePrefix.count)),
        number >= 0
      else { return nil }
      return (number, column.name)
    }
    let columns = ["ZTRANSACTIONID", "ZCHANGETYPE", "ZENTITY", "ZENTITYPK", "ZCOLUMNS"] + tombstones.map(\.name)
    var transactions = found
    try forEachRow(of: table, columns) { (reader, rows, key) throws(PersistentStoreError) in
      guard rows.kind(1) == .integer, let place = places[rows.integer(1)] else {
        return try reader.leaveOut(
          key, of: table, "its transaction, \(Self.shown(rows, 1)), is not in ATRANSACTION")
      }
      let kinds = HistoryTransaction.Kind.allCases
      guard rows.kind(2) == .integer, kinds.indices.contains(Int(clamping: rows.integer(2))) else {
        return try reader.leaveOut(
          key, of: table, "the kind of change, \(Self.shown(rows, 2)), is not 0, 1 or 2")
      }
      guard rows.kind(3) == .integer, rows.kind(4) == .integer else {
        return try reader.leaveOut(key, of: table, "the object has no entity number or no key")
      }
      let kind = kinds[Int(rows.integer(2))]
      let number = rows.integer(3)
      let properties =
        kind == .update && rows.kind(5) == .blob ? try reader.properties(rows.bytes(5), of: number, key, table) : []
      var tombstone: [String: StoredValue]?
      for (index, column) in tombstones.enumerated() where !rows.isNull(Int32(6 + index)) {
        let slot = reader.entities.properties(of: number)?.kept(column.number)
        tombstone = tombstone ?? [:]
        tombstone?[slot?.name ?? column.name] = Self.value(rows, Int32(6 + index), of: slot)
      }
      transactions[place].changes.append(
        HistoryTransaction.Change(
          object: ObjectReference(
            entityName: reader.entities.name(of: number), reference: .integer(rows.integer(4))),
          kind: kind, properties: properties, tombstone: tombstone))
    }
    found = transactions
  }

  /// The names of the properties whose bits are set, in slot order, then what has no name.
  private mutating func properties(
    _ bytes: UnsafeRawBufferPointer, of number: Int64, _ key: Int64, _ table: DatabaseSchema.Table
  ) throws(PersistentStoreError) -> [String] {
    let known = entities.properties(of: number)
    var slots: Set<Int> = []
    var others: [String] = []
    var unnamed = 0
    for (index, byte) in bytes.enumerated() where byte != 0 {
      for bit in 0..<8 where byte & (0x80 >> UInt8(bit)) != 0 {
        let place = index * 8 + bit
        switch known?.meaning(ofBit: place) {
        case .slot(let slot): slots.insert(slot)
        case .toMany: if !others.contains(Self.anyToMany) { others.append(Self.anyToMany) }
        case nil:
          hasUnknownBits = hasUnknownBits || known != nil
          if unnamed < Self.shownBits { others.append("bit \(place)") }
          unnamed += 1
        }
      }
    }
    if unnamed > Self.shownBits { others.append("\(unnamed - Self.shownBits) more bits") }
    namesLeft -= slots.count + others.count
    guard namesLeft >= 0 else {
      throw PersistentStoreError(
        .limitExceeded, "the changes name more properties than the size of the file allows",
        at: StoreLocation(file: database.file, entity: table.name, reference: String(key)))
    }
    return slots.sorted().compactMap { known?.name(ofSlot: $0) } + others
  }

  /// Which of several to-many relationships a bit means is not known.
  private static let anyToMany = "a to-many relationship"
  private static let shownBits = 64

  /// A value as its attribute's own column would have it; as SQLite has it where it does not fit.
  private static func value(_ rows: SQLiteStatement, _ column: Int32, of slot: Slot?) -> StoredValue {
    let kind = rows.kind(column)
    switch (slot?.valueKind, kind) {
    case (.boolean, .integer) where rows.integer(column) & ~1 == 0: return .boolean(rows.integer(column) == 1)
    case (.float, .real), (.float, .integer): return .float(Float(rows.real(column)))
    case (.double, .integer): return .double(rows.real(column))
    case (.date, .real), (.date, .integer):
      return .date(Date(timeIntervalSinceReferenceDate: rows.real(column)))
    case (.decimal, .integer): return .decimal(DecimalNumber(rows.integer(column)))
    case (.decimal, .real), (.decimal, .text):
      let text = rows.string(column) ?? rows.real(column).description
      return DecimalNumber(text).map { .decimal($0) } ?? TableReader.untyped(rows, column, kind)
    case (.uri, .text): return .uri(rows.string(column) ?? "")
    case (.uuid, .blob) where rows.bytes(column).count == 16:
      return .uuid(rows.bytes(column).loadUnaligned(as: UUIDBytes.self).uuid)
    default: return TableReader.untyped(rows, column, kind)
    }
  }

  private static func shown(_ rows: SQLiteStatement, _ column: Int32) -> String {
    rows.kind(column) == .integer ? String(rows.integer(column)) : rows.kind(column).name
  }

  // MARK: Rows

  /// Calls with each row, in the order of the keys. Columns that the table does not have are null.
  private mutating func forEachRow(
    of table: DatabaseSchema.Table, _ columns: [String],
    _ body: (inout HistoryReader, SQLiteStatement, Int64) throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError) {
    let place = StoreLocation(file: database.file, entity: table.name)
    guard let keyColumn = table.column(named: "Z_PK") else {
      throw PersistentStoreError(.malformed, "the table has no column Z_PK", at: place)
    }
    let selected = (["Z_PK"] + columns).map { name in
      table.column(named: name).map { SQLiteDatabase.quoted(table.columns[$0].name) } ?? "NULL"
    }
    let order = table.rowKey == keyColumn ? "" : " ORDER BY Z_PK"
    do throws(PersistentStoreError) {
      let rows = try database.prepare(
        "SELECT \(selected.joined(separator: ", ")) FROM \(SQLiteDatabase.quoted(table.name)) NOT INDEXED\(order)",
        place)
      var previous: Int64?
      while try rows.step(after: previous) {
        let key = try rows.key(after: previous, of: table.name, place)
        previous = key
        try budget.count(rows, columns: selected.count, at: place.filled(from: StoreLocation(reference: String(key))))
        try body(&self, rows, key)
      }
    } catch {
      guard skipsDamage, error.code == .malformed else { throw error.damagedTable(skips: skipsDamage) }
      note(table, error.message)
    }
  }

  private mutating func leaveOut(
    _ key: Int64, of table: DatabaseSchema.Table, _ reason: String
  ) throws(PersistentStoreError) {
    guard skipsDamage else {
      throw PersistentStoreError(
        .malformed, "the row with Z_PK \(key) of \(table.name) is damaged: \(reason)",
        at: StoreLocation(file: database.file, entity: table.name, reference: String(key)))
    }
    note(table, "the row with Z_PK \(key): \(reason)")
  }

  private mutating func note(_ table: DatabaseSchema.Table, _ reason: String) {
    damage[table.name, default: (0, reason)].count += 1
  }

  private func report() {
    for (table, found) in damage.sorted(by: { $0.key < $1.key }) {
      source.report(
        LoadNote(
          subject: table, count: found.count, text: "left out because it is damaged: \(found.reason)", isWarning: true))
    }
    if missingStrings > 0 {
      source.report(
        LoadNote(
          subject: "ATRANSACTIONSTRING", count: missingStrings,
          text: "an author, context, bundle or process of ATRANSACTION is not there", isWarning: true))
    }
    if hasUnknownBits {
      source.report(
        LoadNote(
          subject: "ACHANGE.ZCOLUMNS",
          text:
            "changes of properties that the model does not have: they are listed as bits, and the names of others may be wrong",
          isWarning: true))
    }
  }
}
