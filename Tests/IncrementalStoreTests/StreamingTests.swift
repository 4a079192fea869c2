import AtomicStoreConformance
import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import CSQLite
import Foundation
import StoreCoordination
import Synchronization
import TestSupport
import Testing

/// Conversions from one database to another, row by row.
@Suite struct StreamingTests {
  /// The contents of a store, as of one that is read whole.
  private func graph(_ place: String) throws -> (NodeTable, StoreMetadata) {
    let coordinator = PersistentStoreCoordinator(registry: .builtIn)
    coordinator.readsIncrementalStoresWhole = true
    let store = try coordinator.addPersistentStore(at: place, isReadOnly: true)
    return (try store.nodes.canonical(), store.metadata)
  }

  /// Converts row by row: only after reading everything is known how much would be lost.
  private func convert(_ source: String, _ target: String) throws -> StoreConverter.Report {
    let stages = Mutex<[StoreConverter.Stage]>([])
    var converter = StoreConverter(registry: .builtIn)
    converter.replacesTarget = true
    converter.progress = { stage in stages.withLock { $0.append(stage) } }
    let report = try converter.convert(from: source, to: target)
    #expect(stages.withLock { $0 } == [.loading, .writing, .verifying, .publishing])
    return report
  }

  static func execute(_ statements: [String], in path: String) throws {
    var database: OpaquePointer?
    #expect(sqlite3_open(path, &database) == SQLITE_OK)
    defer { sqlite3_close(database) }
    for statement in statements {
      #expect(sqlite3_exec(database, statement, nil, nil, nil) == SQLITE_OK, "\(statement)")
    }
  }

  @Test("a server's store is not replaced by itself, however its URL is written", .enabled(if: TestServer.url != nil))
  func replacedByItself() throws {
    let pair = try GraphPair(seed: 7, count: 10)
    let server = TestServer.schema("itself")
    _ = try convert(pair.incrementalPath, server)
    let rest = server.drop { $0 != ":" }
    for spelling in ["postgres\(rest)", "postgresql\(rest)"] {
      #expect { try convert(server, spelling) } throws: { ($0 as? PersistentStoreError)?.code == .alreadyExists }
    }
    try same(pair.incrementalPath, server)
  }

  @Test("numbers that are in use are not given to new objects, whatever the source has counted")
  func numbers() throws {
    let pair = try GraphPair(seed: 8, count: 20)
    let (source, copy) = (pair.folder.path + "/source.sqlgraph", pair.folder.path + "/copy.sqlgraph")
    _ = try convert(pair.incrementalPath, source)
    try Self.execute(["UPDATE atomicstore_keys SET last = 0, texts = 0"], in: source)
    _ = try convert(source, copy)
    let coordinator = PersistentStoreCoordinator(registry: .builtIn)
    try coordinator.addPersistentStore(at: copy)
    let context = ManagedObjectContext(coordinator)
    let request = FetchRequest<ManagedObject>(entityName: "Tag")
    let count = try context.count(for: request)
    try context.insertNewObject(forEntityName: "Tag").setValue("new", forKey: "name")
    try context.save()
    #expect(try ManagedObjectContext(coordinator).count(for: request) == count + 1)
  }

  /// A file with a person of each kind; the pairs of both relationships are given by names.
  private func people(_ folder: TemporaryDirectory) throws -> String {
    let model = try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Person",
          properties: [
            .attribute("name", .string), .toMany("friends", "Person", inverse: "friends"),
            .toMany("teachers", "Teacher"),
          ],
          subentities: [
            EntityDescription(name: "Pupil", properties: []), EntityDescription(name: "Teacher", properties: []),
          ])
      ]))
    let path = folder.path + "/people.sqlgraph"
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model, registry: .builtIn)
    let store = try coordinator.addPersistentStore(at: path)
    let context = ManagedObjectContext(coordinator)
    let pupil = try context.insertNewObject(forEntityName: "Pupil")
    let teacher = try context.insertNewObject(forEntityName: "Teacher")
    try pupil.setValue("pupil", forKey: "name")
    try teacher.setValue("teacher", forKey: "name")
    try pupil.add(teacher, to: "friends")
    try pupil.add(teacher, to: "teachers")
    try context.save()
    try coordinator.remove(store)
    return path
  }

  @Test(
    "pairs that lead to an object of another entity, or in one direction only, are not copied",
    arguments: [
      "UPDATE Person_teachers SET b = (SELECT id FROM Person WHERE name = 'pupil')",
      "DELETE FROM Person_friends WHERE a = (SELECT id FROM Person WHERE name = 'pupil')",
      "UPDATE Person_friends SET b = 999",
    ])
  func damagedPairs(_ statement: String) throws {
    let folder = try TemporaryDirectory("streaming-pairs")
    let (source, target) = (try people(folder), folder.path + "/copy.sqlgraph")
    _ = try convert(source, target)
    try same(source, target)
    try Self.execute([statement], in: source)
    #expect { try convert(source, folder.path + "/bad.sqlgraph") } throws: {
      ($0 as? PersistentStoreError)?.code == .danglingReference
    }
    #expect(!FileManager.default.fileExists(atPath: folder.path + "/bad.sqlgraph"))
  }

  private func same(_ one: String, _ other: String) throws {
    let (first, second) = (try graph(one), try graph(other))
    let differences = GraphComparison.differences(
      StoreSnapshot(nodes: first.0, metadata: first.1), StoreSnapshot(nodes: second.0, metadata: second.1),
      options: .init(
        comparesIdentity: true, comparesMetadata: true, comparesModel: true, comparesUnknownOrder: true, limit: 5)
    ) { _ in true }
    #expect(differences.isEmpty, "\(differences)")
  }

  @Test(
    "a copy from file to file is equal to the bit, and takes the place of an older one",
    arguments: [1, 2, 3] as [UInt64])
  func sqlite(seed: UInt64) throws {
    let pair = try GraphPair(seed: seed, count: 60)
    #expect(try pair.stores.save(rounds: 2, seed: seed) == nil)
    let copy = pair.folder.path + "/copy.sqlgraph"
    for _ in 0..<2 {
      let report = try convert(pair.incrementalPath, copy)
      #expect(report.counts.map(\.count).reduce(0, +) == (try graph(copy)).0.count)
      try same(pair.incrementalPath, copy)
    }
    #expect(try pair.stores.differences() == [])
    // The copy is a store that is used like any other.
    let coordinator = PersistentStoreCoordinator(registry: .builtIn)
    try coordinator.addPersistentStore(at: copy)
    let context = ManagedObjectContext(coordinator)
    let tag = try context.insertNewObject(forEntityName: "Tag")
    try tag.setValue("after", forKey: "name")
    try context.save()
  }

  @Test("from an SQLite file to PostgreSQL and back nothing changes", .enabled(if: TestServer.url != nil))
  func thereAndBack() throws {
    let pair = try GraphPair(seed: 9, count: 80)
    let (server, back) = (TestServer.schema("streaming"), pair.folder.path + "/back.sqlgraph")
    _ = try convert(pair.incrementalPath, server)
    try same(pair.incrementalPath, server)
    _ = try convert(server, back)
    try same(pair.incrementalPath, back)
  }

  @Test("an existing store is not replaced without permission, and a source that is missing is said so")
  func refusals() throws {
    let pair = try GraphPair(seed: 4, count: 10)
    let copy = pair.folder.path + "/copy.sqlgraph"
    _ = try convert(pair.incrementalPath, copy)
    func code(_ source: String, _ target: String) -> PersistentStoreError.Code? {
      do {
        _ = try StoreConverter(registry: .builtIn).convert(from: source, to: target)
        return nil
      } catch { return (error as? PersistentStoreError)?.code }
    }
    #expect(code(pair.incrementalPath, copy) == .alreadyExists)
    #expect(code(copy, copy) == .alreadyExists)
    #expect(code(pair.folder.path + "/none.sqlgraph", pair.folder.path + "/x.sqlgraph") == .notFound)
    #expect(!FileManager.default.fileExists(atPath: pair.folder.path + "/x.sqlgraph"))
  }

  @Test(
    "rows that are not valid are not copied",
    arguments: [
      (
        "UPDATE Item SET owner = 999 WHERE id = (SELECT MIN(id) FROM Item)", PersistentStoreError.Code.danglingReference
      ),
      ("UPDATE Item SET small = 70000 WHERE id = (SELECT MIN(id) FROM Item)", .malformed),
      ("UPDATE Item SET price = 'much' WHERE id = (SELECT MIN(id) FROM Item)", .malformed),
      ("UPDATE Item SET ent = 77 WHERE id = (SELECT MIN(id) FROM Item)", .malformed),
      ("UPDATE Item SET isNew = 'x' WHERE id = (SELECT MIN(id) FROM Item)", .malformed),
      ("INSERT INTO Item_tags (a, b) VALUES ((SELECT MIN(id) FROM Item), 999)", .danglingReference),
    ])
  func invalidRows(_ statement: String, _ code: PersistentStoreError.Code) throws {
    let pair = try GraphPair(seed: 6, count: 20)
    let source = pair.folder.path + "/source.sqlgraph"
    _ = try convert(pair.incrementalPath, source)
    var database: OpaquePointer?
    #expect(sqlite3_open(source, &database) == SQLITE_OK)
    #expect(sqlite3_exec(database, statement, nil, nil, nil) == SQLITE_OK)
    sqlite3_close(database)
    let target = pair.folder.path + "/target.sqlgraph"
    #expect { try StoreConverter(registry: .builtIn).convert(from: source, to: target) } throws: {
      ($0 as? PersistentStoreError)?.code == code
    }
    #expect(!FileManager.default.fileExists(atPath: target))
  }
}
