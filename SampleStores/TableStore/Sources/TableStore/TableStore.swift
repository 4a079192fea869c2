import AtomicStoreSPI
import FoundationEssentials

/// A store as a database of SQLite with a table for each entity, for programs that read it with SQL.
///
/// `FORMAT.md` describes the tables. SQLite insists on a path: it writes the staged file of the kit, and reads the
/// store's own file, through ``StagedFiles/file(discarding:writtenBy:)`` and ``StoreSource/withFile(ofMember:_:)``.
public struct TableStore: AtomicStore {
  public static let storeType = "Tables"
  public static let traits = StoreTraits(
    summary: "A database of SQLite with a table for each entity", fileExtensions: ["tables"])
  /// What marks the file as one of this format: `PRAGMA application_id`.
  private static let applicationID = Array("ASTB".utf8)

  public static func recognize(_ probe: StoreProbe) -> Recognition {
    probe.begins(with: "SQLite format 3\0") && probe.prefix.dropFirst(68).starts(with: applicationID) ? .yes : .no
  }

  private let limits: StoreLimits
  public init(_ configuration: StoreConfiguration) throws(PersistentStoreError) { limits = configuration.limits }

  public mutating func metadata(in source: StoreSource) throws(PersistentStoreError) -> StoreMetadata {
    let limits = limits
    return try source.withFile { try Self.header(try Database(reading: $0), limits).metadata }
  }

  public mutating func load(_ source: StoreSource, into nodes: NodeTableBuilder) throws(PersistentStoreError) {
    let limits = limits
    try source.withFile { path in
      let database = try Database(reading: path)
      // Pages that belong to two tables, or to none, would give rows twice or lose them.
      guard case .string("ok")? = try database.values("PRAGMA integrity_check(1)").first else {
        throw PersistentStoreError(.malformed, "SQLite's integrity check fails: the database is damaged")
      }
      let (_, objects, tables) = try Self.header(database, limits)
      guard try tables.read(database, into: nodes) == objects else {
        throw PersistentStoreError(.malformed, "the table 'store' counts \(objects) objects, and there are others")
      }
    }
  }

  private static func header(
    _ database: Database, _ limits: StoreLimits
  ) throws(PersistentStoreError) -> (metadata: StoreMetadata, objects: Int, tables: Tables) {
    guard case .integer(1)? = try database.values("PRAGMA user_version").first else {
      throw PersistentStoreError(.unsupportedVersion, "the format's version is not 1")
    }
    let malformed = PersistentStoreError(.malformed, "the table 'store' is not one of this format")
    // A view could be anything.
    guard case .string(Tables.store)? = try database.values("SELECT sql FROM sqlite_schema WHERE rowid = 1").first
    else { throw malformed }
    let row = try Statement(database, "SELECT * FROM store")
    guard try row.step(), case .string(let text) = try row[0], let uuid = UUID(uuidString: text),
      case .integer(let last) = try row[1], case .integer(let objects) = try row[2],
      case .string(let list) = try row[3],
      case .dictionary(let entries) = try PropertyListValue(typedText: list, limits: limits),
      case .string(let model) = try row[4], case .string(let names) = try row[5],
      let tables = Tables(try PropertyListValue(typedText: names, limits: limits))
    else { throw malformed }
    var metadata = StoreMetadata(storeType: storeType, uuid: uuid, lastReference: last)
    metadata.entries = entries
    metadata.model = try ModelDescription(propertyList: try PropertyListValue(typedText: model, limits: limits))
    guard try !row.step() else { throw malformed }
    return (metadata, Int(objects), tables)
  }

  public mutating func save(_ snapshot: StoreSnapshot, to files: StagedFiles) throws(PersistentStoreError) {
    let metadata = snapshot.metadata
    let model = metadata.model ?? snapshot.nodes.model.description
    // Of the objects' own model: that in the metadata is only carried.
    let tables = Tables(snapshot.nodes.model)
    let row: [Cell] = [
      .string(metadata.uuid.uuidString), .integer(metadata.lastReference), .integer(Int64(snapshot.nodes.count)),
      .string(try PropertyListValue.dictionary(metadata.entries).typedText),
      .string(try model.propertyList.typedText), .string(try tables.list.typedText),
    ]
    try files.file { path in
      let database = try Database(creating: path)
      let application = Self.applicationID.reduce(0) { $0 << 8 | Int($1) }
      try database.run("PRAGMA application_id = \(application)", "PRAGMA user_version = 1", Tables.store)
      try Statement(database, "INSERT INTO store VALUES (?, ?, ?, ?, ?, ?)").insert(row)
      try tables.write(snapshot.nodes, to: database)
      try database.run("COMMIT")
    }
  }
}
