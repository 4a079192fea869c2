import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import SQLiteGraphStoreFormat
import StoreCoordination
import StoreSQL
import TestSupport
import Testing

/// What `merge` and `import --into` do to a database: the difference is saved and compared in one transaction.
@Suite struct ChangedDatabaseTests {
  private typealias Life = StoreLifeTests

  /// A store that loses changes of objects.
  private struct LosingStore: SQLIncrementalStore {
    static let storeType = SQLiteGraphStore.storeType
    static let traits = SQLiteGraphStore.traits
    static func recognize(_ probe: StoreProbe) -> Recognition { SQLiteGraphStore.recognize(probe) }

    private var store: SQLiteGraphStore
    var sql: SQLStore<SQLiteGraphDatabase> {
      get { store.sql }
      set { store.sql = newValue }
    }
    init(_ configuration: StoreConfiguration) throws(PersistentStoreError) {
      store = try SQLiteGraphStore(configuration)
    }
    mutating func save(
      _ changes: StoreSave,
      verify: ((NodeTableBuilder) throws(PersistentStoreError) -> StoreMetadata) throws(PersistentStoreError) -> Void
    ) throws(PersistentStoreError) -> StoreSaveAnswer? {
      var fewer = changes
      fewer.updated = []
      return try store.save(fewer, verify: verify)
    }
  }

  private func makeStore(_ place: Life.Place) throws {
    let context = ManagedObjectContext(try place.open())
    for name in ["Ada", "Bob"] { _ = try Life.make(name, "Person", context) }
    try context.save()
  }

  private func names(_ place: Life.Place) throws -> [String] {
    let context = ManagedObjectContext(try place.open())
    return try context.fetch(FetchRequest<ManagedObject>(entityName: "Person")).map {
      try $0.value(forKey: "name") as? String ?? "-"
    }.sorted()
  }

  /// Reads a database whole, renames Ada, adds an object and an entry, and saves the difference.
  ///
  /// - Parameter meanwhile: Called between reading and saving.
  private func change(_ place: Life.Place, _ registry: StoreRegistry, meanwhile: () throws -> Void = {}) throws -> Bool
  {
    let coordinator = PersistentStoreCoordinator(registry: registry)
    let store = try coordinator.addPersistentStore(at: place.path, isReadOnly: true)
    let connection = try #require(store.connection)
    let token = try connection.use { store throws(PersistentStoreError) in try store.currentHistoryToken() }
    let old = try store.nodesWithDeferredValues()
    var new = old
    let person = try #require(new.model.entity(named: "Person")).index
    for node in old.handles(of: person) where new.value(forKey: "name", of: node) == .string("Ada") {
      try new.setValue(.string("Eve"), forKey: "name", of: node)
    }
    let more = try new.addCacheNode(entity: person, reference: .integer(store.metadata.lastReference + 1))
    try new.setValue(.string("Zoe"), forKey: "name", of: more)
    var metadata = store.metadata
    metadata.entries["note"] = .string("new")
    try meanwhile()
    let converter = StoreConverter(registry: registry)
    return try converter.change(
      store, at: place.path, from: old, after: token, to: StoreSnapshot(nodes: try new.canonical(), metadata: metadata)
    ).isVerified
  }

  @Test("what was saved is read back and compared, and is there")
  func saved() throws {
    let place = try Life.Place()
    try makeStore(place)
    #expect(try change(place, .builtIn))
    #expect(try names(place) == ["Bob", "Eve", "Zoe"])
  }

  @Test("where the database would not hold what was to be saved, nothing is saved")
  func lost() throws {
    let place = try Life.Place()
    try makeStore(place)
    var registry = StoreRegistry()
    try registry.register(LosingStore.self)
    let error = #expect(throws: PersistentStoreError.self) { try change(place, registry) }
    #expect(error?.code == .internalInconsistency)
    #expect(error?.message.contains("nothing was saved") == true)
    #expect(try names(place) == ["Ada", "Bob"])
    let metadata = try PersistentStoreCoordinator.metadataForPersistentStore(at: place.path, registry: .builtIn)
    #expect(metadata.entries["note"] == nil)
  }

  @Test("metadata that another process has set since the database was read is not replaced")
  func metadataSetMeanwhile() throws {
    let place = try Life.Place()
    try makeStore(place)
    let error = #expect(throws: PersistentStoreError.self) {
      try change(place, .builtIn) {
        try PersistentStoreCoordinator.setMetadata(
          ["note": .string("theirs")], at: place.path, registry: .builtIn)
      }
    }
    #expect(error?.code == .retry)
    #expect(try names(place) == ["Ada", "Bob"])
    let metadata = try PersistentStoreCoordinator.metadataForPersistentStore(at: place.path, registry: .builtIn)
    #expect(metadata.entries["note"] == .string("theirs"))
  }
}
