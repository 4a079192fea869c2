import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import StoreEditing
import Synchronization
import TestSupport
import Testing

/// Deletions that a database carries out itself leave what those of objects do, history and references included.
@Suite("Deleting many objects by statements") struct RowDeletionTests {
  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory("row-deletions") }

  /// Boxes have items; an item may be the best of a box and a favorite of shops, which it does not know.
  ///
  /// - Returns: The model, and whether rules make objects necessary that delete items.
  private static func model(
    _ random: inout SeededGenerator
  ) throws -> (model: ManagedObjectModel, needsObjects: Bool) {
    func chance(_ one: Int) -> Bool { Int.random(in: 0..<one, using: &random) == 0 }
    let (isLimited, isOrdered) = (chance(8), chance(8))
    let items: PropertyDescription = .toMany(
      "items", "Item", inverse: "box", maximumCount: isLimited ? 40 : 0, isOrdered: isOrdered)
    let cascades = chance(8)
    var item: [PropertyDescription] = [
      .attribute("number", .integer64), .attribute("name", .string),
      .toOne("box", "Box", inverse: "items", deleteRule: cascades ? .cascade : .nullify), .toOne("origin", "Shop"),
    ]
    let hasParts = chance(8)
    if hasParts { item.append(.toMany("parts", "Item")) }
    let model = try ManagedObjectModel(
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
    return (model, isLimited || isOrdered || cascades || hasParts)
  }

  /// Saves items with references that are texts: a context gives numbers only.
  private static func named(_ context: ManagedObjectContext, _ count: Int) throws -> [ManagedObject] {
    let store = try #require(context.persistentStoreCoordinator.persistentStores.first)
    let entities = try ["Item", "Special"].map { try #require(store.model.entity(named: $0)).index }
    let items = (0..<count).map { number in
      ManagedObjectSnapshot(entity: entities[number % 2], reference: .string("item \(number * 7 % 10)"))
    }
    try context.persistentStoreCoordinator.save(store, changes: StoreChanges(inserted: items))
    return try context.fetch(FetchRequest<ManagedObject>(entityName: "Item"))
  }

  private static func fill(_ context: ManagedObjectContext, _ random: inout SeededGenerator) throws {
    var named = try Bool.random(using: &random) ? named(context, 10) : []
    let boxes = try (0..<5).map { number in
      let box = try context.insertNewObject(forEntityName: number % 2 == 0 ? "Box" : "Crate")
      try box.setValue(number, forKey: "size")
      return box
    }
    let shops = try (0..<2).map { _ in try context.insertNewObject(forEntityName: "Shop") }
    var items: [ManagedObject] = []
    for number in 0..<30 {
      let new = number % 3 == 0 ? "Special" : "Item"
      let item = try named.popLast() ?? context.insertNewObject(forEntityName: new)
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

  /// What a deletion left: the outcome, what it reported, the history since, row versions, and the next reference.
  private struct Left: Equatable {
    var outcome: String
    var reported: [String] = []
    var history: [String]
    var versions: [String]
    var next: String
  }

  private final class Log: Sendable {
    private let entries = Mutex<[StoreLogEntry]>([])
    /// Whether a statement changed rows: only saves of objects count what they inserted.
    var hasStatement: Bool {
      entries.withLock { $0.contains { $0.message == "saved" && $0.metadata["inserted"] == nil } }
    }

    init(of coordinator: PersistentStoreCoordinator) {
      coordinator.log = { entry in self.entries.withLock { $0.append(entry) } }
    }
  }

  /// - Returns: Also whether the database itself deleted.
  private func left(
    _ path: String, _ entity: String, _ condition: String?,
    _ delete: (ManagedObjectContext, FetchRequest<ManagedObject>) throws -> (count: Int, reported: [String])
  ) throws -> (left: Left, byStatement: Bool) {
    let coordinator = PersistentStoreCoordinator(registry: .builtIn)
    let store = try coordinator.addPersistentStore(at: path)
    // A property list has no history.
    let hasHistory = store.connection != nil
    let token = hasHistory ? try coordinator.currentHistoryToken(of: store) : nil
    let before = try versions(store)
    let context = ManagedObjectContext(coordinator)
    // As the context of a batch request.
    context.name = "batch"
    context.transactionAuthor = "tests"
    let request = FetchRequest<ManagedObject>(
      entityName: entity, predicate: try condition.map { try FetchPredicate(format: $0) })
    var outcome: String
    var reported: [String] = []
    let log = Log(of: coordinator)
    do {
      let done = try delete(context, request)
      outcome = "\(done.count)"
      reported = done.reported
    } catch {
      outcome = "\(error)".replacing(store.path, with: "")
    }
    let byStatement = log.hasStatement
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
    return (
      Left(outcome: outcome, reported: reported, history: history, versions: changed, next: next), byStatement
    )
  }

  /// Deletes by a request, as programs do.
  private static func batch(
    _ context: ManagedObjectContext, _ request: BatchDeleteRequest
  ) throws -> (count: Int, reported: [String]) {
    let result = try context.execute(request)
    func names(_ kind: String, _ ids: [ManagedObjectID]) -> [String] {
      ids.map { "\(kind) \($0.entityName) \($0.reference.map { "\($0)" } ?? "-")" }.sorted()
    }
    let changes = result.changes
    return (
      result.count,
      names("inserted", changes.inserted) + names("updated", changes.updated) + names("deleted", changes.deleted)
        + names("refreshed", changes.refreshed) + ["\(changes.transactionAuthor ?? "-") \(changes.isComplete)"]
    )
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

  /// More with a file, which takes less time.
  private static let cases: [(kind: String, seed: UInt64)] =
    (1...200).map { ("sqlgraph", $0) } + (TestServer.url == nil ? [] : (201...240).map { ("PostgreSQL", $0) })

  @Test(
    "statements leave and report what deletions of objects do: graph, history, row versions and the next reference",
    arguments: cases.share(of: "row deletions", name: { "\($0.0) \($0.1)" }))
  func same(kind: String, seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let (model, needsObjects) = try Self.model(&random)
    let copies = try StoreCopies(in: directory, model: model) { try Self.fill($0, &random) }
    let paths = try ["objects", "statement", "command"].map { try copies.copy("deletions_\(seed)_\($0)", kind) }
    let condition = Self.conditions.randomElement(using: &random) ?? nil
    let entity = ["Item", "Item", "Special", "Box", "Shop"].randomElement(using: &random) ?? ""
    let isItem = entity != "Box" && entity != "Shop"
    let usable = isItem ? condition : nil
    let objects = try left(paths[0], entity, usable) { context, request in
      let ids = try context.fetch(request).map(\.objectID)
      return try Self.batch(context, BatchDeleteRequest(objectIDs: ids))
    }
    let statement = try left(paths[1], entity, usable) { try Self.batch($0, BatchDeleteRequest(fetchRequest: $1)) }
    var command = try left(paths[2], entity, usable) {
      (try $0.deleteAndSaveObjects(entityName: entity, predicate: $1.predicate), objects.left.reported)
    }
    #expect(objects.left == statement.left)
    #expect(!objects.byStatement)
    #expect(statement.byStatement == (isItem && !needsObjects) && command.byStatement == statement.byStatement)
    for path in paths.dropFirst() {
      let differences = try copies.differences(paths[0], path)
      #expect(differences.isEmpty, "\(differences)")
    }
    let atomic = try left(copies.origin, entity, usable) { context, request in
      let count = try context.deleteObjects(entityName: entity, predicate: request.predicate)
      try context.save()
      return (count, [])
    }
    #expect(atomic.left.outcome == command.left.outcome)
    // The request counts what rules delete as well.
    command.left.outcome = objects.left.outcome
    #expect(objects.left == command.left)
    let others = try copies.differences(
      copies.origin, paths[1], options: .init(comparesIdentity: false, comparesMetadata: false))
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
