import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import SQLiteGraphStoreFormat
import StoreCoordination
import StoreMaintenance
import StoreMigration
import StoreSQL
import TestSupport
import Testing

@testable import PostgreSQLStoreFormat

/// Rows that the kit would not write: a load names them, and leaves nothing out.
@Suite struct HostileRowTests {
  struct Damage: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var statements: [String]
    var code: PersistentStoreError.Code
  }

  static let damages = [
    Damage(
      testDescription: "an entity that does not exist", statements: ["UPDATE \"Team\" SET ent = 99 WHERE id = 1"],
      code: .malformed),
    Damage(
      testDescription: "an entity of another table", statements: ["UPDATE \"Team\" SET ent = 2 WHERE id = 1"],
      code: .malformed),
    Damage(
      testDescription: "a to-one of a row that does not exist",
      statements: ["UPDATE \"Person\" SET \"team\" = 4711 WHERE id = 1"], code: .danglingReference),
    Damage(
      testDescription: "a to-one of the least number",
      statements: ["UPDATE \"Person\" SET \"mentor\" = -9223372036854775808 WHERE id = 1"], code: .danglingReference),
    Damage(
      testDescription: "a pair of a row that does not exist",
      statements: ["INSERT INTO \"Walk_stops\" (a, b, pos_a) VALUES (4711, 1, 0)"], code: .danglingReference),
    Damage(
      testDescription: "a pair with a row that does not exist",
      statements: ["INSERT INTO \"Walk_stops\" (a, b, pos_a) VALUES (1, 4711, 7)"], code: .danglingReference),
    Damage(
      testDescription: "a to-one of a row whose reference would be a text",
      statements: ["UPDATE \"Person\" SET \"mentor\" = -9223372036854775000 WHERE id = 1"], code: .danglingReference),
  ]

  /// Makes a store with two teams, three persons and a walk.
  private func make(_ place: String) throws {
    let coordinator = PersistentStoreCoordinator(
      managedObjectModel: try ManagedObjectModel(StoreLifeTests.description), registry: .builtIn)
    let store = try coordinator.addPersistentStore(at: place)
    let context = ManagedObjectContext(coordinator)
    let teams = try ["red", "blue"].map { try StoreLifeTests.make($0, "Team", context) }
    for name in ["Ada", "Bob", "Cyd"] {
      try StoreLifeTests.make(name, "Person", context).setValue(teams[0], forKey: "team")
    }
    let walk = try StoreLifeTests.make("round", "Walk", context)
    for team in [teams[1], teams[0]] { try walk.add(team, to: "stops") }
    try context.save()
    try coordinator.remove(store)
  }

  private func load(_ place: String) throws -> NodeTable {
    let coordinator = PersistentStoreCoordinator(registry: .builtIn)
    coordinator.readsIncrementalStoresWhole = true
    return try coordinator.addPersistentStore(at: place, isReadOnly: true).nodes
  }

  private func code(_ place: String) throws -> PersistentStoreError.Code? {
    do {
      _ = try load(place)
      return nil
    } catch let error as PersistentStoreError { return error.code }
  }

  @Test("rows that cannot be are errors of a load from an SQLite file", arguments: damages)
  func sqlite(_ damage: Damage) throws {
    let folder = try TemporaryDirectory("hostile-rows")
    let place = folder.path + "/rows.sqlgraph"
    try make(place)
    #expect(try load(place).count == 6)
    try StreamingTests.execute(damage.statements, in: place)
    #expect(try code(place) == damage.code)
    #expect(!StoreCheck(registry: .builtIn).check(place).isSound)
  }

  @Test("a check names references to objects that do not exist, and to those of another entity")
  func check() throws {
    let folder = try TemporaryDirectory("hostile-rows")
    let place = folder.path + "/company.sqlgraph"
    let sample = "SampleStores/Company/Company.xml"
    let root = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3).joined(separator: "/")
    _ = try StoreConverter(registry: .builtIn).convert(from: root + "/" + sample, to: place)
    #expect(StoreCheck(registry: .builtIn).check(place).isSound)
    // 3 is an employee, but no manager.
    try StreamingTests.execute(
      [
        "UPDATE \"Employee\" SET \"department\" = 99 WHERE id = 3",
        "UPDATE \"Record\" SET \"head\" = 3 WHERE \"name\" IS NOT NULL AND \"head\" IS NOT NULL",
      ], in: place)
    let findings = StoreCheck(registry: .builtIn).check(place).findings.filter { $0.kind == .dangling }
    #expect(findings.map(\.message).contains("names Department/99, which does not exist"), "\(findings)")
    #expect(findings.map(\.message).contains("names Employee/3, which is not a Manager"), "\(findings)")
  }

  @Test(
    "rows that cannot be are errors of a load from a server", .enabled(if: TestServer.url != nil), arguments: damages)
  func server(_ damage: Damage) throws {
    let place = TestServer.schema(
      "hostile_\(Self.damages.firstIndex { $0.testDescription == damage.testDescription } ?? 0)")
    try make(place)
    #expect(try load(place).count == 6)
    try execute(damage.statements, in: place)
    #expect(try code(place) == damage.code)
    #expect(!StoreCheck(registry: .builtIn).check(place).isSound)
  }

  private func execute(_ statements: [String], in place: String) throws {
    let database = try PostgreSQLDatabase(url: place, isReadOnly: false)
    defer { database.close() }
    _ = try database.connect(mayCreate: false)
    for statement in statements { try database.run(statement, []) }
  }

  @Test(
    "escapes that are none, and columns of other types, are errors of a load and of a fetch",
    .enabled(if: TestServer.url != nil),
    arguments: [
      ["UPDATE \"Team\" SET \"name\" = 'a\u{1}x' WHERE id = 1"],
      ["UPDATE \"Team\" SET \"name\" = 'a\u{1}' WHERE id = 1"],
      [
        "DROP TABLE IF EXISTS \"Team\"",
        "CREATE TABLE \"Team\" (id int8 PRIMARY KEY, ent int8, ver int8, ref text COLLATE \"C\", \"name\" float8)",
        "INSERT INTO \"Team\" (id, ent, ver, \"name\") VALUES (1, 0, 1, 5), (2, 1, 1, 5)",
      ],
    ])
  func values(_ statements: [String]) throws {
    let place = TestServer.schema("hostile_values_\(abs(statements.joined().hashValue) % 100_000)")
    try make(place)
    try execute(statements, in: place)
    #expect(try code(place) == .malformed)
    let coordinator = PersistentStoreCoordinator(registry: .builtIn)
    try coordinator.addPersistentStore(at: place)
    #expect {
      try ManagedObjectContext(coordinator).fetch(FetchRequest<ManagedObject>(entityName: "Team"))
    } throws: { (($0 as? ManagedObjectError)?.underlying as? PersistentStoreError)?.code == .malformed }
  }

  @Test(
    "texts with U+0000 and U+0001, huge texts and odd numbers come through a whole load",
    .enabled(if: TestServer.url != nil))
  func odd() throws {
    let folder = try TemporaryDirectory("hostile-rows")
    let path = folder.path + "/odd.plist"
    let coordinator = PersistentStoreCoordinator(
      managedObjectModel: try ManagedObjectModel(StoreLifeTests.description), registry: .builtIn)
    let store = try coordinator.addPersistentStore(at: path)
    let context = ManagedObjectContext(coordinator)
    let names = [
      "", "\0", "\u{1}", "\0\u{1}\0", "a\u{1}\u{2}", "12345678", "1234567\u{1}", "1234567\0x", "e\u{301}", "\u{10FFFF}",
      String(repeating: "x", count: 3 << 20) + "\0",
    ]
    for name in names { _ = try StoreLifeTests.make(name, "Team", context) }
    try context.save()
    try coordinator.remove(store)
    let place = TestServer.schema("odd")
    _ = try StoreConverter(registry: .builtIn).convert(from: path, to: place)
    let nodes = try load(place)
    let found = nodes.handles(ofEntity: "Team").map { nodes.value(slot: 0, of: $0) }
    #expect(found.count == names.count)
    let again = folder.path + "/again.plist"
    _ = try StoreConverter(registry: .builtIn).convert(from: place, to: again)
    #expect(try Data(contentsOf: URL(filePath: again)) == Data(contentsOf: URL(filePath: path)))
  }

  @Test("a server that does not send rows in binary form is read with a cursor", .enabled(if: TestServer.url != nil))
  func cursor() throws {
    let place = TestServer.schema("cursor")
    try make(place)
    var store = try PostgreSQLStore(StoreConfiguration(path: place, isReadOnly: true))
    defer { store.close() }
    store.sql.database.hasCopyOut = false
    let model = try ManagedObjectModel(try #require(try store.metadata()?.model))
    try store.prepare(for: model)
    let builder = NodeTableBuilder(model: model)
    try store.load(into: builder)
    let nodes = try builder.finish()
    #expect(store.sql.database.cursors > 0)
    func texts(_ nodes: NodeTable) -> [String] {
      nodes.model.entities.flatMap { entity in
        nodes.handles(ofEntity: entity.name).map { node in
          entity.slots.map { "\($0.name): \(nodes.value(slot: $0.index, of: node))" }.joined(separator: ", ")
        }
      }
    }
    #expect(texts(nodes) == texts(try load(place)))
  }
}
