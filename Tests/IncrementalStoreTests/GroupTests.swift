import AtomicStoreConformance
import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import CSQLite
import Foundation
import StoreCoordination
import TestSupport
import Testing

/// Groups that a database forms are those that the kit forms of a property list.
@Suite struct GroupTests {
  @Test("random requests for groups have the rows of a property list", arguments: [1, 2, 3, 4] as [UInt64])
  func random(seed: UInt64) throws {
    let outcome = try GraphPair(seed: seed, count: 60).stores.compareGroups(requests: 300, seed: seed)
    #expect(outcome.difference == nil)
    // A store that grouped nothing would pass everything else.
    #expect(outcome.exact > 60)
    #expect(outcome.partly > 60)
  }

  @Test("groups of unsaved changes are those of a property list", arguments: [5, 6] as [UInt64])
  func pendingChanges(seed: UInt64) throws {
    let outcome = try GraphPair(seed: seed, count: 40).stores.compareGroups(requests: 150, seed: seed, edits: 12)
    #expect(outcome.difference == nil)
  }

  @Test(
    "PostgreSQL forms the groups of a property list",
    .enabled(if: TestServer.url != nil, "ATOMICSTORE_POSTGRES_URL names no server"), arguments: [1, 2] as [UInt64])
  func postgreSQL(seed: UInt64) throws {
    let pair = try GraphPair(seed: seed, count: 60, target: TestServer.schema("groups_\(seed)"))
    let outcome = try pair.stores.compareGroups(requests: 300, seed: seed)
    #expect(outcome.difference == nil)
    #expect(outcome.exact > 60)
  }

  /// A request for groups of items.
  private static func request(_ keys: [String], _ columns: [String]) throws -> FetchRequest<ManagedObject> {
    var request = FetchRequest<ManagedObject>(entityName: "Item")
    request.propertiesToGroupBy = keys.map { FetchColumn(keyPath: $0) }
    request.propertiesToFetch = try columns.map { try FetchColumn(format: $0) }
    return request
  }

  @Test("explain says that the store groups, or why the kit does")
  func explanations() throws {
    let pair = try GraphPair(seed: 1, count: 10)
    let context = ManagedObjectContext(pair.incremental)
    func explained(_ keys: [String], _ columns: [String]) throws -> String {
      "\(try context.explain(try Self.request(keys, columns)))"
    }
    #expect(try explained(["owner.name"], ["owner.name", "@count", "average:(big)"]) == "store")
    #expect(try explained([], ["max:(made)", "sum:(small) * 2"]) == "store")
    #expect(
      try explained(["name"], ["sum:(price)"])
        == "columns: 'price' is added up by the kit: sums of type Decimal depend on how a database adds")
    #expect(
      try explained(["weight"], ["@count"])
        == "columns: 'weight' is grouped by the kit: equal values of type Double may differ in the database")
    #expect(
      try explained(["name"], ["median:(big)"]) == "objects: 'median:(big)' is evaluated on the objects of each group")
    #expect(try explained(["name"], ["name", "tags.name"]).hasPrefix("objects: "))
    var refreshing = try Self.request(["name"], ["@count"])
    refreshing.shouldRefreshRefetchedObjects = true
    #expect("\(try context.explain(refreshing))".hasPrefix("objects: "))
    let item = try context.insertNewObject(forEntityName: "Item")
    #expect(try explained(["name"], ["@count"]).contains("unsaved changes"))
    context.delete(item)
    withExtendedLifetime(pair) {}
  }

  @Test("a key has one value in its group, and an aggregate of it is one of its objects, in a database as in memory")
  func functionsOfKeys() throws {
    let pair = try GraphPair(seed: 2, count: 30)
    let requests = try [
      Self.request(["small"], ["small", "count:(small)", "sum:(small)", "max:(small)", "@sum.small"]),
      Self.request(["name", "small"], ["length(name)", "small + 1", "@count"]),
    ]
    let outcome = try pair.stores.compareRows(requests)
    #expect(outcome.difference == nil)
    #expect(outcome.exact == 2)
  }

  @Test(
    "a value that its attribute cannot have is not added up, compared or counted by the store",
    arguments: ["'many'", "70000", "1.5"])
  func invalidValues(_ value: String) throws {
    let pair = try GraphPair(seed: 4, count: 20)
    let path = pair.folder.path + "/copy.sqlgraph"
    _ = try StoreConverter(registry: .builtIn).convert(from: pair.incrementalPath, to: path)
    let types = StoreRegistry.builtIn.incrementalTypes
    let type = try #require(types.first { $0.traits.fileExtensions.contains("sqlgraph") })
    func isGrouped(_ function: StoreGrouping.Function) throws -> Bool {
      var store = try type.init(StoreConfiguration(path: path, isReadOnly: true))
      defer { store.close() }
      let model = try ManagedObjectModel(try #require(try store.metadata()?.model))
      try store.prepare(for: model)
      let item = try #require(model.entity(named: "Item"))
      let rows = StoreFetch(entity: item.index, entities: item.hierarchy.filter { !$0.isAbstract }.map(\.index))
      return try store.groups(StoreGrouping(rows, keys: [], aggregates: [.init(function, of: ["small"])])) != nil
    }
    for function in [StoreGrouping.Function.sum, .minimum, .maximum, .count] { #expect(try isGrouped(function)) }
    var database: OpaquePointer?
    #expect(sqlite3_open(path, &database) == SQLITE_OK)
    let statement = "UPDATE Item SET small = \(value) WHERE id = (SELECT MIN(id) FROM Item)"
    #expect(sqlite3_exec(database, statement, nil, nil, nil) == SQLITE_OK)
    sqlite3_close(database)
    for function in [StoreGrouping.Function.sum, .minimum, .maximum, .count] { #expect(try !isGrouped(function)) }
  }

  @Test("objects that are grouped by the store are not read")
  func readsNothing() throws {
    let pair = try GraphPair(seed: 3, count: 50)
    let context = ManagedObjectContext(pair.incremental)
    let rows = try context.fetchRows(try Self.request(["isNew"], ["isNew", "@count"]))
    #expect(rows.count == 3)
    #expect(context.registeredObjects.isEmpty)
    withExtendedLifetime(pair) {}
  }
}
