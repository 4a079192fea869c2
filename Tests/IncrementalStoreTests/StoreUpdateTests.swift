import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import StoreCoordination
import Synchronization
import TestSupport
import Testing

/// A database sets attributes of many rows in one statement where that is exactly what the kit would do, and leaves
/// everything else to the kit. That the results are equal is tested for all stores at once, by random models and
/// values: see `RowUpdateTests`.
@Suite("Updates by the database itself") struct StoreUpdateTests {
  private let directory: TemporaryDirectory
  private static let kinds = TestServer.url == nil ? ["SQLiteGraph"] : ["SQLiteGraph", "PostgreSQL"]

  private static func model() throws -> ManagedObjectModel {
    try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Item",
          properties: [
            .attribute("small", .integer16), .attribute("number", .integer64), .attribute("other", .integer64),
            .attribute("name", .string), .attribute("double", .double), .attribute("day", .date),
            .attribute("price", .decimal), .attribute("flag", .boolean),
          ], subentities: [EntityDescription(name: "Special", properties: [.attribute("extra", .string)])])
      ]))
  }

  init() throws { directory = try TemporaryDirectory("store-updates") }

  /// Six objects in a store.
  private struct Items {
    let path: String
    let coordinator: PersistentStoreCoordinator
    let store: PersistentStore

    init(_ path: String) throws {
      self.path = path
      coordinator = PersistentStoreCoordinator(managedObjectModel: try StoreUpdateTests.model(), registry: .builtIn)
      store = try coordinator.addPersistentStore(type: nil, at: path)
      let context = ManagedObjectContext(coordinator)
      for number in 0..<6 {
        let item = try context.insertNewObject(forEntityName: number < 4 ? "Item" : "Special")
        try item.setValue(number, forKey: "small")
        try item.setValue(number == 5 ? Int64.max : Int64(number), forKey: "number")
        try item.setValue("n\(number % 2)", forKey: "name")
        try item.setValue(number == 0 ? nil : 0.5, forKey: "double")
      }
      try context.save()
    }

    func update(
      _ values: [(String, FetchExpression)], where format: String? = nil, refused: String? = nil
    ) throws -> [ObjectReference]? {
      let entity = try #require(store.model.entity(named: "Item"))
      let rows = StoreFetch(
        entity: entity.index, entities: entity.hierarchy.map(\.index),
        predicate: try format.map { try FetchPredicate(format: $0) })
      let assigned = try values.map { (slot: try #require(entity.slot(named: $0.0)), value: $0.1) }
      return try coordinator.update(
        store,
        StoreUpdate(
          rows: rows, values: assigned,
          refused: try refused.map { [(entity.index, try FetchPredicate(format: $0))] } ?? [], author: "tests",
          contextName: nil))
    }

    func history() throws -> [HistoryTransaction] { try coordinator.changes(since: nil, in: store) }

    func values(_ key: String) throws -> [String] {
      let other = PersistentStoreCoordinator(registry: .builtIn)
      try other.addPersistentStore(at: path)
      let context = ManagedObjectContext(other)
      let request = FetchRequest<ManagedObject>(entityName: "Item", predicate: nil, sortKeys: [SortKey("small")])
      return try context.fetch(request).map { "\(try $0.value(forKey: key) ?? "-")" }
    }
  }

  private func items(_ kind: String, _ test: String) throws -> Items {
    guard kind == "PostgreSQL" else { return try Items(directory.path + "/s.sqlgraph") }
    return try Items(TestServer.schema("updates_\(test)_\(UUID().uuidString.prefix(8).lowercased())"))
  }

  @Test(
    "constants, columns of the same type, and sums, differences and products of integers are set by the database",
    arguments: [
      ("number", "other", "number < 100", 5), ("number", "small + 2 * number - 1", "number < 3", 3),
      ("small", "small", nil, 0), ("small", "number + 30000", "number < 3", 3), ("name", "'x'", "name == 'n1'", 3),
      ("name", "nil", nil, 6), ("double", "nil", nil, 5), ("flag", "TRUE", nil, 6),
    ] as [(String, String, String?, Int)], kinds)
  func exact(_ change: (key: String, expression: String, condition: String?, count: Int), kind: String) throws {
    let items = try items(kind, "exact")
    let value = try FetchExpression(format: change.expression)
    #expect(try items.update([(change.key, value)], where: change.condition)?.count == change.count)
  }

  @Test(
    "what the database would compute differently is left to the kit, and nothing is changed",
    arguments: [
      // Too large for the type, for a sum of 64 bits, and for an intermediate result.
      ("small", "small + 32765"), ("number", "number + 1"), ("number", "number * 2 - number"),
      ("double", "length:(name) * double"), ("double", "price + double"), ("price", "number"), ("name", "name + 'x'"),
      ("number", "double"),
      ("number", "length:(name)"), ("day", "'2020-01-01'"), ("number", "number / 2"), ("small", "70000"),
    ], kinds)
  func left(_ change: (key: String, expression: String), kind: String) throws {
    let items = try items(kind, "left")
    let before = try (items.values(change.key), items.history().count)
    #expect(try items.update([(change.key, FetchExpression(format: change.expression))]) == nil)
    #expect(try items.values(change.key) == before.0)
    #expect(try items.history().count == before.1)
  }

  @Test(
    "SQLite computes with doubles, and PostgreSQL leaves that to the kit",
    arguments: [
      ("double + 1", 5), ("double * 0.1 - 3", 5), ("small / double", 5), ("double / 3", 5), ("double * small", 4),
      ("double - double", 5), ("double * 1e308 * 1e10", 5),
    ], kinds)
  func doubles(_ change: (expression: String, count: Int), kind: String) throws {
    let items = try items(kind, "doubles")
    let value = try FetchExpression(format: change.expression)
    #expect(try items.update([("double", value)])?.count == (kind == "PostgreSQL" ? nil : change.count))
  }

  @Test(
    "doubles that SQLite would compute differently are left to the kit: negative zero, not-a-number, quotients by zero",
    arguments: [
      "double / 0", "double / (double - 0.5)", "(double - 0.5) * (double - 1)",
      "double * 1e308 * 1e10 - double * 1e308 * 1e10", "double * (1 / 3)", "-0.0 + double * small",
    ], kinds)
  func leftDoubles(expression: String, kind: String) throws {
    let items = try items(kind, "left-doubles")
    #expect(try items.update([("double", FetchExpression(format: expression))]) == nil)
    #expect(try items.values("double") == ["-"] + Array(repeating: "0.5", count: 5))
  }

  @Test(
    "the history has the order of entities and references, also of references that are texts", arguments: kinds)
  func order(kind: String) throws {
    let items = try items(kind, "order")
    let all = try #require(try items.update([("other", .constant(.integer(9)))]))
    #expect(all.map(\.entityName) == ["Item", "Item", "Item", "Item", "Special", "Special"])
    let entity = try #require(items.store.model.entity(named: "Special"))
    let text = ManagedObjectSnapshot(entity: entity.index, reference: .string("a"))
    try items.coordinator.save(items.store, changes: StoreChanges(inserted: [text]))
    for number in [10, 11] {
      let rows = StoreFetch(entity: entity.index, entities: [entity.index])
      let slot = try #require(entity.slot(named: "other"))
      let changed = try items.coordinator.update(
        items.store,
        StoreUpdate(
          rows: rows, values: [(slot, .constant(.integer(Int64(number))))], refused: [], author: nil, contextName: nil))
      #expect(changed == Array(all.suffix(2)) + [ObjectReference(entityName: "Special", reference: .string("a"))])
      #expect(try items.history().last?.changes.map(\.object) == changed)
    }
  }

  @Test(
    "an object that must not be among those that change stops all of it; among others it is of no concern",
    arguments: kinds)
  func refused(kind: String) throws {
    let items = try items(kind, "refused")
    let set = [("other", FetchExpression.constant(.integer(7)))]
    #expect(try items.update(set, refused: "double == nil") == nil)
    #expect(try items.values("other") == Array(repeating: "-", count: 6))
    #expect(try items.update(set, where: "small > 0", refused: "double == nil")?.count == 5)
    #expect(try items.values("other") == ["-", "7", "7", "7", "7", "7"])
  }

  @Test(
    "the history names each changed object once with the attributes in which it differs, and who saved",
    arguments: kinds)
  func history(kind: String) throws {
    let items = try items(kind, "history")
    let before = try items.history().count
    let changed = try #require(
      try items.update([("other", .constant(.integer(1))), ("name", .constant(.string("n1")))], where: "small < 3"))
    #expect(changed.count == 3)
    let transactions = try items.history()
    #expect(transactions.count == before + 1)
    let last = try #require(transactions.last)
    #expect(last.author == "tests" && last.changes.map(\.object) == changed)
    #expect(last.changes.map(\.properties) == [["other", "name"], ["other"], ["other", "name"]])
    // What changes nothing makes no transaction.
    #expect(try items.update([("other", .constant(.integer(1)))], where: "small < 3") == [])
    #expect(try items.history().count == before + 1)
  }

  @Test(
    "a context that has read a row before the update finds a conflict, and does not overwrite it",
    arguments: kinds)
  func conflict(kind: String) throws {
    let items = try items(kind, "conflict")
    let context = ManagedObjectContext(items.coordinator)
    let item = try #require(
      try context.fetch(
        FetchRequest<ManagedObject>(entityName: "Item", predicate: FetchPredicate(format: "small == 1"))
      ).first)
    #expect(try item.value(forKey: "name") as? String == "n1")
    #expect(try items.update([("name", .constant(.string("theirs")))])?.count == 6)
    try item.setValue("mine", forKey: "name")
    #expect(throws: ManagedObjectError.self) { try context.save() }
    #expect(try items.values("name") == Array(repeating: "theirs", count: 6))
  }

  @Test(
    "another coordinator hears of the update as of any save; the one that made it does not", arguments: kinds)
  func noticed(kind: String) throws {
    let items = try items(kind, "noticed")
    let coordinator = items.coordinator
    let other = PersistentStoreCoordinator(registry: .builtIn)
    try other.addPersistentStore(at: items.path)
    _ = other.checkForRemoteChanges()
    _ = coordinator.checkForRemoteChanges()
    #expect(try items.update([("other", .constant(.integer(3)))])?.count == 6)
    #expect(other.checkForRemoteChanges().first?.updated.count == 6)
    #expect(coordinator.checkForRemoteChanges().isEmpty)
  }

  @Test("an update or a deletion by the database that fails is logged as a save is", arguments: kinds, [true, false])
  func logged(kind: String, isDeletion: Bool) throws {
    let items = try items(kind, "logged")
    try OtherProgram.run("UPDATE \"Item\" SET \"price\" = 'ten' WHERE id = 3", in: items.path)
    let entries = Mutex<[StoreLogEntry]>([])
    items.coordinator.log = { entry in entries.withLock { $0.append(entry) } }
    let entity = try #require(items.store.model.entity(named: "Item"))
    let rows = StoreFetch(
      entity: entity.index, entities: [entity.index], predicate: try FetchPredicate(format: "price > 5"))
    let slot = try #require(entity.slot(named: "number"))
    let change = StoreUpdate(
      rows: rows, values: isDeletion ? [] : [(slot, .constant(.integer(1)))], refused: [], author: nil,
      contextName: nil)
    let error = try #require(throws: PersistentStoreError.self) {
      if isDeletion {
        _ = try items.coordinator.delete(items.store, change)
      } else {
        _ = try items.coordinator.update(items.store, change)
      }
    }
    let logged = entries.withLock { $0 }
    #expect(logged.map(\.message) == ["save failed"] && logged.map(\.level) == [.error])
    #expect(logged.first?.metadata == ["paths": items.store.path, "error": "\(error)"])
    #expect(try items.history().count == 1)
  }
}
