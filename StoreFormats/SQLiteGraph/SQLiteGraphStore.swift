public import AtomicStoreSPI
public import StoreSQL

/// A graph in an SQLite database with tables of the kit's own: read and written in parts, by several processes at once.
///
/// `FORMAT.md` describes the tables. Core Data's own SQLite files are of the type `CoreDataSQLite`.
public struct SQLiteGraphStore: SQLIncrementalStore {
  public static let storeType = "SQLiteGraph"
  public static let traits = StoreTraits(
    summary: "an SQLite database with readable tables, read and written in parts",
    fileExtensions: ["sqlgraph"])
  public static let urlSchemes = ["sqlite"]

  public var sql: SQLStore<SQLiteGraphDatabase>

  public init(_ configuration: StoreConfiguration) throws(PersistentStoreError) {
    sql = SQLStore(
      SQLiteGraphDatabase(path: configuration.path, isReadOnly: configuration.isReadOnly), storeType: Self.storeType,
      isReadOnly: configuration.isReadOnly)
  }

  public mutating func destroy() throws(PersistentStoreError) {
    guard try metadata() != nil else { return }
    try sql.database.removeFiles()
  }

  /// An SQLite file says whose it is in the header, at offset 68.
  public static func recognize(_ probe: StoreProbe) -> Recognition {
    guard !probe.isFolder, probe.begins(with: "SQLite format 3\0"), probe.prefix.count >= 72 else { return .no }
    let start = probe.prefix.startIndex + 68
    let number = probe.prefix[start..<(start + 4)].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
    return number == SQLiteGraphDatabase.applicationIdentifier ? .yes : .no
  }
}
