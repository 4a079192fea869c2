public import AtomicStoreSPI
public import StoreSQL

/// A graph in a schema of a PostgreSQL database, or of one that speaks its protocol.
///
/// The place is a URL as libpq takes it, with the schema as one more parameter:
/// `postgresql://user@host/database?schema=app`. User, password, host and TLS come from the usual environment, from
/// `.pgpass`, or from the URL. `FORMAT.md` describes the tables.
public struct PostgreSQLStore: SQLIncrementalStore {
  public static let storeType = "PostgreSQL"
  public static let traits = StoreTraits(
    summary: "tables in a PostgreSQL database, read and written in parts", fileExtensions: [])
  public static let urlSchemes = ["postgresql", "postgres"]

  public var sql: SQLStore<PostgreSQLDatabase>

  public init(_ configuration: StoreConfiguration) throws(PersistentStoreError) {
    sql = SQLStore(
      try PostgreSQLDatabase(url: configuration.path, isReadOnly: configuration.isReadOnly), storeType: Self.storeType,
      isReadOnly: configuration.isReadOnly)
  }
}
