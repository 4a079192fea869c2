import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import StoreEditing
import TestSupport
import Testing

/// Deletions that a database carries out itself leave what those of objects do, history and references included.
@Suite("Deleting many objects by statements") struct RowDeletionTests {
  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory("row-deletions") }

  /// Boxes have items; an item may be the best of a box and a favorite of shops, which it does not know.
  private static func model(_ random: inout SeededGenerator) throws -> ManagedObjectModel {
    func chance(_ one: Int) -> Bool { Int.random(in: 0..<one, using: &random) == 0 }
    let items: PropertyDescription = .toMany(
      "items", "Item", inverse: "box", maximumCount: chance(8) ? 40 : 0, isOrdered: chance(8))
    var item: [PropertyDescription] = [
      .attribute("number", .integer64), .attribute("name", .string),
      .toOne("box", "Box", inverse: "items", deleteRule: chance(8) ? .cascade : .nullify), .toOne("origin", "Shop"),
    ]
    if chance(8) { item.append(.toMany("parts", "Item")) }
    return try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Item", properties: item,
          subentities: [EntityDescription(name: "Special", properties: [.attribute("extra", .integer32)])]),
        EntityDescription(
          name: "Box",
          properties: [
            .attribute("size", .integer32, maximum: chance(4) ? .integer(8) : nil), items, .toOne("best", "Item"),
          ], subentities: [EntityDescription(name: "Crate", properties: [])]),
        EntityDescription(
          name: "Shop", properties: [.attribute("name", .string), .toMany("favorites", "Item")]),
      ]))
  }

  private static func fill(_ context: ManagedObjectContext, _ random: inout SeededGenerator) throws {
    let boxes = try (0..<5).map { number in
      let box = try context.insertNewObject(forEntityName: number % 2 == 0 ? "Box" : "Crate")
      try box.setValue(number, forKey: "size")
      return box
    }
    let shops = try (0..<2).map { _ in try context.insertNewObject(forEntityName: "Shop") }
    var items: [ManagedObject] = []
    for number in 0..<30 {
      let item = try context.insertNewObject(forEntityName: number % 3 == 0 ? "Special" : "Item")
      try item.setValue(number, forKey: "number")
      try item.setValue(["a", "b", "c"].randomElement(using: &random), forKey: "name")
      if number % 5 > 0 { try item.setValue(boxes.randomElement(using: &random), forKey: "box") }
      if number % 4 == 0 { try item.setValue(shops[0], forKey: "origin") }
      items.append(item)
    }
    for box in boxes { try box.setValue(items.randomElement(using: &random), forKey: "best") }
    for shop in shops { try shop.setValue(Set(items.shuffled(using: &random).prefix(9)), forKey: "favorites") }
  }

  private static let conditions = [
    nil, "number > 10", "name == 'a'", "box.size > 1", "number == 7", "box == nil", "number > 99",
    "name BEGINSWITH 'b'", "box.size == 9", "origin != nil",
  ]

  /// What a deletion left: the outcome, the history since, row versions, the graph, and the next reference.
  private struct Left: Equatable {
    var outcome: String
    var history: [String]
    var versions: [String]
    var next: String
  }

  private func left(
    _ path: String, _ entity: String, _ condition: String?,
    _ delete: (ManagedObjectContext, FetchPredicate?) throws -> Int
  ) throws -> Left {
    let coordinator = PersistentStoreCoordinator(registry: .builtIn)
    let store = try coordinator.addPersistentStore(at: path)
    // A property list has no history.
    let hasHistory = store.connection != nil
    let token = hasHistory ? try coordinator.currentHistoryToken(of: store) : nil
    let before = try versions(store)
    let context = ManagedObjectContext(coordinator)
    context.name = "deleting"
    context.transactionAuthor = "tests"
    var outcome: String
    do {
      outcome = "\(try delete(context, try condition.map { try FetchPredicate(format: $0) }))"
    } catch {
      outcome = "\(error)".replacing(path, with: "")
    }
    let transactions = hasHistory ? try coordinator.changes(since: token, in: store) : []
    let history = transactions.flatMap { transaction in
      ["\(transaction.author ?? "-") \(transaction.contextName ?? "-")"]
        + transaction.changes.map { "\($0.kind) \($0.object) \($0.properties.sorted())" }
    }
    let after = try versions(store)
    let changed = after.filter { before[$0.key] != $0.value }.map { "\($0.key)" }.sorted()
    let other = ManagedObjectContext(coordinator)
    let object = try other.insertNewObject(forEntityName: "Item")
    try other.save()
    let next = object.objectID.reference.map { "\($0)" } ?? "-"
    return Left(outcome: outcome, history: history, versions: changed, next: next)
  }

  private func versions(_ store: PersistentStore) throws -> [String: Int64] {
    var found: [String: Int64] = [:]
    for name in ["Item", "Box", "Shop"] {
      guard let entity = store.model.entity(named: name), let connection = store.connection else { continue }
      let fetch = StoreFetch(entity: entity.index, entities: entity.hierarchy.map(\.index))
      for row in try connection.use({ store throws(PersistentStoreError) in try store.fetch(fetch) }).rows {
        found["\(name)/\(row.reference)"] = row.version
      }
    }
    return found
  }

  private func snapshot(_ path: String) throws -> StoreSnapshot {
    let coordinator = PersistentStoreCoordinator(registry: .builtIn)
    coordinator.readsIncrementalStoresWhole = true
    let store = try coordinator.addPersistentStore(at: path, isReadOnly: true)
    return StoreSnapshot(nodes: try store.nodes.canonical(), metadata: store.metadata)
  }

  @Test(
    "statements leave the graph, the history, the row versions and the next reference of objects",
    arguments: (1...200 as ClosedRange<UInt64>).share(of: "row deletions"))
  func same(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let origin = directory.path + "/0.plist"
    let model = try Self.model(&random)
    do {
      let coordinator = PersistentStoreCoordinator(managedObjectModel: model, registry: .builtIn)
      try coordinator.addPersistentStore(type: "BinaryPropertyList", at: origin)
      let context = ManagedObjectContext(coordinator)
      try Self.fill(context, &random)
      try context.save()
    }
    let paths = ["rows", "statement"].map { "\(directory.path)/\($0).sqlgraph" }
    for path in paths { _ = try StoreConverter(registry: .builtIn).convert(from: origin, to: path) }
    let condition = Self.conditions.randomElement(using: &random) ?? nil
    let entity = ["Item", "Item", "Special", "Box", "Shop"].randomElement(using: &random) ?? ""
    let usable = entity == "Box" || entity == "Shop" ? nil : condition
    let byObjects = { (context: ManagedObjectContext, predicate: FetchPredicate?) in
      let count = try context.deleteObjects(entityName: entity, predicate: predicate)
      try context.save()
      return count
    }
    let rows = try left(paths[0], entity, usable, byObjects)
    let statement = try left(paths[1], entity, usable) {
      try $0.deleteAndSaveObjects(entityName: entity, predicate: $1)
    }
    #expect(rows == statement)
    let differences = GraphComparison.differences(try snapshot(paths[0]), try snapshot(paths[1]))
    #expect(differences.isEmpty, "\(differences)")
    let atomic = try left(origin, entity, usable, byObjects)
    #expect(atomic.outcome == rows.outcome)
    let others = GraphComparison.differences(
      try snapshot(origin), try snapshot(paths[1]), options: .init(comparesIdentity: false, comparesMetadata: false))
    #expect(others.isEmpty, "\(others)")
  }

  /// A box with items in a database.
  private func boxes(_ rule: DeleteRule = .nullify, isOrdered: Bool = false) throws -> PersistentStoreCoordinator {
    let model = try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Item",
          properties: [.attribute("number", .integer64), .toOne("box", "Box", inverse: "items", deleteRule: rule)]),
        EntityDescription(
          name: "Box",
          properties: [
            .attribute("size", .integer32), .toMany("items", "Item", inverse: "box", isOrdered: isOrdered),
            .toOne("best", "Item"), .toOne("last", "Item"),
          ]),
      ]))
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model, registry: .builtIn)
    try coordinator.addPersistentStore(type: nil, at: directory.path + "/boxes.sqlgraph")
    let context = ManagedObjectContext(coordinator)
    let box = try context.insertNewObject(forEntityName: "Box")
    for number in 0..<9 {
      let item = try context.insertNewObject(forEntityName: "Item")
      try item.setValue(number, forKey: "number")
      if number > 4 { try item.setValue(box, forKey: "box") }
      if number == 8 { for key in ["best", "last"] { try box.setValue(item, forKey: key) } }
    }
    try context.save()
    return coordinator
  }

  @Test("no object is made where statements delete, and contexts that merge saves see both ends")
  func withoutObjects() throws {
    let coordinator = try boxes()
    let watching = ManagedObjectContext(coordinator)
    watching.automaticallyMergesChangesFromParent = true
    let box = try #require(try watching.fetch(FetchRequest<ManagedObject>(entityName: "Box")).first)
    #expect(try box.objects(forRelationshipNamed: "items").count == 4)
    let context = ManagedObjectContext(coordinator)
    let predicate = try FetchPredicate(format: "number > 6")
    let changes = try #require(
      try context.deleteRows(FetchRequest<ManagedObject>(entityName: "Item", predicate: predicate)))
    #expect(context.registeredObjects.isEmpty)
    // Once, although the database clears two relationships of it as well.
    #expect(changes.deleted.count == 2 && changes.updated.map(\.entityName) == ["Box"])
    watching.processPendingChanges()
    #expect(try box.objects(forRelationshipNamed: "items").count == 2)
  }

  @Test(
    "what needs objects is left to them: other delete rules, ordered inverses, limits, to-manys",
    arguments: [
      ("Item", DeleteRule.cascade, false), ("Item", .deny, false), ("Item", .nullify, true), ("Box", .nullify, false),
    ])
  func left(_ asked: (entity: String, rule: DeleteRule, isOrdered: Bool)) throws {
    let coordinator = try boxes(asked.rule, isOrdered: asked.isOrdered)
    let context = ManagedObjectContext(coordinator)
    #expect(try context.deleteRows(FetchRequest<ManagedObject>(entityName: asked.entity)) == nil)
    let count = try context.count(for: FetchRequest<ManagedObject>(entityName: asked.entity))
    #expect(count == (asked.entity == "Box" ? 1 : 9))
  }
}
