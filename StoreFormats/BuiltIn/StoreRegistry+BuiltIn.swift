import ArrowStoreFormat
public import AtomicStoreSPI
import BinaryPropertyListStoreFormat
import CSVStoreFormat
import CoreDataBinaryStoreFormat
import XMLStoreFormat

#if SQLite
  import CoreDataSQLiteStoreFormat
  import SQLiteGraphStoreFormat
#endif
#if PostgreSQL
  import PostgreSQLStoreFormat
#endif

extension AbsentStoreTypes {
  /// What a build without the trait `SQLite` leaves out.
  package static let sqlite = AbsentStoreTypes(
    storeTypes: ["CoreDataSQLite", "SQLiteGraph"], trait: "SQLite", magic: Array("SQLite format 3\0".utf8),
    fileExtensions: ["sqlite", "sqlgraph"])
  /// What a build without the trait `PostgreSQL` leaves out.
  package static let postgreSQL = AbsentStoreTypes(
    storeTypes: ["PostgreSQL"], trait: "PostgreSQL", urlSchemes: ["postgresql", "postgres"])
}

extension StoreRegistry {
  /// The formats that come with the kit; those that need libsqlite3 or libpq with the package's traits `SQLite` and
  /// `PostgreSQL`, which are on by default.
  ///
  /// ```swift
  /// print(StoreRegistry.builtIn.storeTypes)
  /// ```
  public static var builtIn: StoreRegistry {
    var registry = StoreRegistry()
    var formats: [any AtomicStore.Type] = [XMLStore.self, BinaryPropertyListStore.self, CSVStore.self]
    #if SQLite
      formats.append(CoreDataSQLiteStore.self)
    #endif
    formats += [CoreDataBinaryStore.self, ArrowStore.self, InMemoryStore.self]
    // Their names differ, so none is refused; a name that clashed would show in the tests of this list.
    for format in formats { try? registry.register(format) }
    #if SQLite
      try? registry.register(SQLiteGraphStore.self)
    #else
      registry.absent.append(.sqlite)
    #endif
    #if PostgreSQL
      try? registry.register(PostgreSQLStore.self)
    #else
      registry.absent.append(.postgreSQL)
    #endif
    return registry
  }
}
