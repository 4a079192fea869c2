import AtomicStoreSPI
import FoundationEssentials
import Glibc
import StoreCodecs

/// A graph of objects in a database that speaks SQL: what SQLite and PostgreSQL stores have in common.
public struct SQLStore<Database: SQLDatabase>: Sendable {
  /// The connection.
  public let database: Database
  let storeType: String
  let isReadOnly: Bool
  var schema: SQLSchema?
  var identifier = UUID()
  /// The name of the tables as they were made: a replacement of all of them has another name.
  var stamp = ""
  /// Which database it is, whatever its address.
  var instance: String { "\(identifier) \(stamp)" }
  /// The last transaction that this connection has saved.
  var lastSaved: HistoryToken?
  /// References that were taken from the store and not given to objects yet, by root entity.
  var spare: [Int: ClosedRange<Int64>] = [:]
  /// The root entities of hierarchies that are known to have string references.
  var rootsWithTexts: Set<Int> = []
  /// The greatest reference that was taken from the store, by root entity: no other is greater than the table of keys
  /// says.
  var given: [Int: Int64] = [:]

  /// Creates the store of a database that is not connected yet.
  public init(_ database: Database, storeType: String, isReadOnly: Bool) {
    self.database = database
    self.storeType = storeType
    self.isReadOnly = isReadOnly
  }

  static var dialect: SQLDialect { Database.dialect }
  /// The version of the tables, which other versions of the kit have to know.
  static var tablesVersion: String { "1" }

  func ready() throws(PersistentStoreError) -> SQLSchema {
    guard let schema else { throw PersistentStoreError(.internalInconsistency, "the store is not prepared") }
    return schema
  }

  // MARK: Metadata

  static var metadataTable: String { "atomicstore_metadata" }

  mutating func metadata() throws(PersistentStoreError) -> StoreMetadata? {
    guard try database.connect(mayCreate: false), try database.hasTable(Self.metadataTable) else { return nil }
    var entries: [String: Data] = [:]
    try database.query("SELECT key, value FROM \(Self.metadataTable)", []) { row in entries[row.text(0)] = row.data(1) }
    func text(_ key: String) -> String? { entries[key].map { String(decoding: $0, as: UTF8.self) } }
    guard text("type") == storeType else {
      throw PersistentStoreError(.foreignFormat, "this is not a \(storeType) store but '\(text("type") ?? "nothing")'")
    }
    guard text("version") == Self.tablesVersion else {
      throw PersistentStoreError(
        .unsupportedVersion,
        "the tables are of version \(text("version") ?? "?"), but this version of the kit reads version \(Self.tablesVersion)"
      )
    }
    guard let uuid = text("uuid").flatMap({ UUID(uuidString: $0) }) else {
      throw PersistentStoreError(.malformed, "\(Self.metadataTable) has no 'uuid'")
    }
    identifier = uuid
    stamp = text("stamp") ?? ""
    var metadata = StoreMetadata(storeType: storeType, uuid: uuid)
    if let data = entries["entries"] {
      guard case .dictionary(let found) = try Self.propertyList(data) else {
        throw PersistentStoreError(.malformed, "\(Self.metadataTable): 'entries' is not a dictionary")
      }
      metadata.entries = found
    }
    if let data = entries["model"] { metadata.model = try ModelDescription(propertyList: try Self.propertyList(data)) }
    if try database.hasTable(Self.keysTable) { metadata.lastReference = try lastReference() }
    return metadata
  }

  /// The greatest number that was given out.
  func lastReference() throws(PersistentStoreError) -> Int64 {
    var last: Int64 = 0
    try database.query("SELECT MAX(last) FROM \(Self.keysTable)", []) { row in
      last = row.isNull(0) ? 0 : max(0, row.integer(0))
    }
    return last
  }

  /// The user's entries of the metadata.
  func entries() throws(PersistentStoreError) -> PropertyListDictionary {
    var data: Data?
    try database.query("SELECT value FROM \(Self.metadataTable) WHERE key = 'entries'", []) { row in data = row.data(0)
    }
    guard let data else { return [:] }
    guard case .dictionary(let found) = try Self.propertyList(data) else {
      throw PersistentStoreError(.malformed, "\(Self.metadataTable): 'entries' is not a dictionary")
    }
    return found
  }

  private static func propertyList(_ data: Data) throws(PersistentStoreError) -> PropertyListValue {
    let bytes = [UInt8](data)
    return try PropertyList.decodeBinary(bytes, maximumDepth: StoreLimits().depth)
  }

  func put(_ key: String, _ value: Data) throws(PersistentStoreError) {
    try database.run("DELETE FROM \(Self.metadataTable) WHERE key = ?1", [.text(key)])
    try database.run("INSERT INTO \(Self.metadataTable) (key, value) VALUES (?1, ?2)", [.text(key), .blob(value)])
  }

  func write(_ entries: PropertyListDictionary) throws(PersistentStoreError) {
    try put("entries", Data(try PropertyList.encodeBinary(.dictionary(entries))))
  }

  func writeMetadata(_ metadata: StoreMetadata) throws(PersistentStoreError) {
    try put("type", Data(storeType.utf8))
    try put("version", Data(Self.tablesVersion.utf8))
    try put("uuid", Data(metadata.uuid.uuidString.utf8))
    try write(metadata.entries)
    if let model = metadata.model { try put("model", Data(try PropertyList.encodeBinary(model.propertyList))) }
  }

  /// Checks that the tables are those that were opened: numbers of entities and slots are of their model.
  func checkStamp() throws(PersistentStoreError) {
    guard try Self.stamp(in: database) == stamp else {
      throw PersistentStoreError(.unavailable, "the store was replaced since it was opened: open it again")
    }
  }

  static func stamp(in database: Database) throws(PersistentStoreError) -> String {
    var found = ""
    try database.query("SELECT value FROM \(Self.metadataTable) WHERE key = 'stamp'", []) { row in
      found = String(decoding: row.data(0), as: UTF8.self)
    }
    return found
  }

  // MARK: Tables

  static var keysTable: String { "atomicstore_keys" }
  static var transactionsTable: String { "atomicstore_transactions" }
  static var changesTable: String { "atomicstore_changes" }

  mutating func create(_ metadata: StoreMetadata, for model: ManagedObjectModel) throws(PersistentStoreError) {
    guard try database.connect(mayCreate: true) else {
      throw PersistentStoreError(.cannotCreate, "the database cannot be created")
    }
    try transaction { () throws(PersistentStoreError) in
      // Another process may have been faster.
      guard try !database.hasTable(Self.metadataTable) else {
        throw PersistentStoreError(.alreadyExists, "another process has created the store")
      }
      try createTables(SQLSchema(model, Self.dialect), metadata, lasts: [:])
    }
    _ = try self.metadata()
  }

  /// Creates all tables, without the indexes that speed reading: a bulk load is faster before them.
  func createTables(
    _ schema: SQLSchema, _ metadata: StoreMetadata, lasts: [Int: Int64], withIndexes: Bool = true
  ) throws(PersistentStoreError) {
    let dialect = Self.dialect
    let (text, blob, integer) = (dialect.name(of: .text), dialect.name(of: .blob), dialect.name(of: .integer64))
    try database.run("CREATE TABLE \(Self.metadataTable) (key \(text) PRIMARY KEY, value \(blob) NOT NULL)", [])
    try database.run(
      "CREATE TABLE \(Self.keysTable) (root \(integer) PRIMARY KEY, last \(integer) NOT NULL, texts \(integer) NOT NULL)",
      [])
    try database.run(
      "CREATE TABLE \(Self.transactionsTable) (number \(integer) PRIMARY KEY, save \(text) NOT NULL, date \(dialect.name(of: .double)) NOT NULL, author \(text), context \(text))",
      [])
    try database.run(
      "CREATE TABLE \(Self.changesTable) (number \(integer) NOT NULL, place \(integer) NOT NULL, ent \(integer) NOT NULL, id \(integer) NOT NULL, ref \(text), kind \(text) NOT NULL, slots \(text) NOT NULL, PRIMARY KEY (number, place))\(dialect.byKey)",
      [])
    try writeMetadata(metadata)
    try put("stamp", Data(UUID().uuidString.utf8))
    for root in schema.tables.keys.sorted() {
      guard let table = schema.tables[root] else { continue }
      try database.run(
        "INSERT INTO \(Self.keysTable) (root, last, texts) VALUES (?1, ?2, ?3)",
        [.integer(Int64(root)), .integer(lasts[root] ?? 0), .integer(0)])
      var columns = [
        "id \(integer) PRIMARY KEY", "ent \(integer) NOT NULL", "ver \(integer) NOT NULL", "ref \(text)",
      ]
      for column in table.all {
        columns.append("\(column.name.quoted) \(dialect.name(of: column.type))")
        if let name = column.entityName { columns.append("\(name.quoted) \(integer)") }
        if let name = column.positionName { columns.append("\(name.quoted) \(integer)") }
      }
      try database.run("CREATE TABLE \(table.name.quoted) (\(columns.joined(separator: ", ")))", [])
    }
    for join in schema.joins {
      try database.run(
        "CREATE TABLE \(join.name.quoted) (a \(integer) NOT NULL, b \(integer) NOT NULL, pos_a \(integer), pos_b \(integer), PRIMARY KEY (a, b))\(dialect.byKey)",
        [])
    }
    if withIndexes { try createIndexes(schema) }
  }

  func createIndexes(_ schema: SQLSchema) throws(PersistentStoreError) {
    // Indexes and tables share their names.
    let tables = schema.tables.values.map(\.name) + schema.joins.map(\.name)
    var names = NameList(limit: Self.dialect.nameLimit, taken: tables.map { $0.lowercased() })
    for root in schema.tables.keys.sorted() {
      guard let table = schema.tables[root] else { continue }
      let on = table.name.quoted
      try database.run("CREATE UNIQUE INDEX \(names.add(table.name + "_ref").quoted) ON \(on) (ref)", [])
      for name in table.indexed {
        try database.run("CREATE INDEX \(names.add("\(table.name)_\(name)").quoted) ON \(on) (\(name.quoted))", [])
      }
      for (columns, entities) in table.unique {
        let condition = entities.map { " WHERE ent IN (\($0.map(String.init).joined(separator: ", ")))" } ?? ""
        let name = names.add("\(table.name)_unique").quoted
        let list = columns.map(\.quoted).joined(separator: ", ")
        try database.run("CREATE UNIQUE INDEX \(name) ON \(on) (\(list))\(condition)", [])
      }
    }
    for join in schema.joins {
      try database.run("CREATE INDEX \(names.add(join.name + "_b").quoted) ON \(join.name.quoted) (b)", [])
    }
  }

  func dropTables(_ schema: SQLSchema) throws(PersistentStoreError) {
    for table in schema.tables.values { try database.run("DROP TABLE IF EXISTS \(table.name.quoted)", []) }
    for join in schema.joins { try database.run("DROP TABLE IF EXISTS \(join.name.quoted)", []) }
    for name in [Self.metadataTable, Self.keysTable, Self.transactionsTable, Self.changesTable] {
      try database.run("DROP TABLE IF EXISTS \(name)", [])
    }
  }

  mutating func prepare(for model: ManagedObjectModel) throws(PersistentStoreError) {
    schema = SQLSchema(model, Self.dialect)
  }

  // MARK: Transactions

  /// Runs a transaction, and again where the database refused it because of another one.
  ///
  /// - Parameter wasSaved: Whether a transaction is in the database whose end is not known because the connection was
  ///   lost; nil for one that may be repeated in any case.
  /// - Parameter retries: How often it is repeated; nil for as often as the dialect says.
  func transaction<Result>(
    wasSaved: ((Database) throws(PersistentStoreError) -> Bool)? = nil, retries: Int? = nil,
    _ body: () throws(PersistentStoreError) -> Result
  ) throws(PersistentStoreError) -> Result {
    var attempt = 0
    var last: Result?
    while true {
      attempt += 1
      do throws(PersistentStoreError) {
        try database.begin(isWriting: true)
        let result = try body()
        last = result
        try database.commit(wasSaved: wasSaved)
        return result
      } catch {
        database.rollBack()
        // Of an earlier attempt it may have become known only now that it was carried out.
        if attempt > 1, error.code != .retry, let wasSaved, let last, try wasSaved(database) { return last }
        guard error.code == .retry, attempt <= retries ?? Self.dialect.retries else { throw error }
        // A little longer each time, and not the same for two that are in each other's way.
        var pause = timespec(tv_sec: 0, tv_nsec: Int.random(in: 0..<min(200_000 << min(attempt, 10), 100_000_000)))
        nanosleep(&pause, nil)
      }
    }
  }

  // MARK: Keys

  mutating func newReferences(_ count: Int, entity: Int) throws(PersistentStoreError) -> [ReferenceObject] {
    guard count > 0 else { return [] }
    guard !isReadOnly else { throw PersistentStoreError(.readOnly, "the store is open read-only") }
    let root = try ready().model.entity(at: entity).root.index
    var result: [ReferenceObject] = []
    // Numbers that print like a string reference of the hierarchy are skipped. There may be a million in a row, as
    // after an import of such keys, so twice as many are taken each time; those that are not needed stay unused.
    var asked = count
    while result.count < count {
      let taken = try takeNumbers(asked, root: root)
      result += try rootsWithTexts.contains(root) ? withoutTexts(taken, root: root) : taken
      asked = min(asked * 2, 1 << 16)
    }
    return Array(result.prefix(count))
  }

  /// Takes numbers for new objects, in ascending order.
  private mutating func takeNumbers(_ count: Int, root: Int) throws(PersistentStoreError) -> [ReferenceObject] {
    var result: [ReferenceObject] = []
    result.reserveCapacity(count)
    if let left = spare[root] {
      let taken = left.prefix(count)
      result += taken.map { .integer($0) }
      spare[root] = left.count > count ? (left.lowerBound + Int64(count))...left.upperBound : nil
    }
    let missing = count - result.count
    guard missing > 0 else { return result }
    // Single objects take a block: the next ones need no transaction.
    let block = Int64(max(missing, 64))
    let last = try reserve(block, root: root)
    let (before, overflow) = last.subtractingReportingOverflow(block)
    guard !overflow, before > SQLKeys.lastText else {
      throw PersistentStoreError(.malformed, "\(Self.keysTable) has \(last) as the last number of entity \(root)")
    }
    given[root] = max(given[root] ?? 0, last)
    let first = before + 1
    for number in first..<(first + Int64(missing)) { result.append(.integer(number)) }
    if Int64(missing) < block { spare[root] = (first + Int64(missing))...last }
    return result
  }

  /// The numbers that do not print like a string reference of the hierarchy.
  private func withoutTexts(
    _ numbers: [ReferenceObject], root: Int
  ) throws(PersistentStoreError) -> [ReferenceObject] {
    let taken = try self.numbers(numbers.map { .string($0.description) }, root: root, ready())
    return taken.isEmpty ? numbers : numbers.filter { taken[.string($0.description)] == nil }
  }

  /// Takes numbers for new objects. Returns the last of them.
  private mutating func reserve(_ count: Int64, root: Int) throws(PersistentStoreError) -> Int64 {
    let (last, texts) = try transaction { () throws(PersistentStoreError) in
      try checkStamp()
      // Not beyond the greatest number, where SQLite would go on with inexact ones.
      let changed = try database.run(
        "UPDATE \(Self.keysTable) SET last = last + ?1 WHERE root = ?2 AND last <= ?3",
        [.integer(count), .integer(Int64(root)), .integer(.max - count)])
      guard changed == 1 else {
        throw PersistentStoreError(.limitExceeded, "all numbers for objects of entity \(root) are used up")
      }
      var found: (last: Int64, texts: Int64)?
      try database.query("SELECT last, texts FROM \(Self.keysTable) WHERE root = ?1", [.integer(Int64(root))]) { row in
        found = (row.integer(0), row.integer(1))
      }
      guard let found else {
        throw PersistentStoreError(.malformed, "\(Self.keysTable) has no row for entity \(root)")
      }
      return found
    }
    if texts > 0 { rootsWithTexts.insert(root) }
    return last
  }
}
