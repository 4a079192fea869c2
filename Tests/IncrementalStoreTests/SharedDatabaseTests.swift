import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import StoreCoordination
import TestSupport
import Testing

/// Two programs that change a database at random, and others that follow: by notices, by fetching again, by the
/// history.
@Suite struct SharedDatabaseTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let type: String
    let seed: Int
    var testDescription: String { "\(type) \(seed)" }
  }
  static let cases =
    (0..<40).map { Case(type: "SQLiteGraph", seed: $0) }
    + (TestServer.url == nil ? [] : (40..<52).map { Case(type: "PostgreSQL", seed: $0) })

  private static let model: Result<ManagedObjectModel, any Error> = Result {
    try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Thing", isAbstract: true,
          properties: [
            .attribute("name", .string), .attribute("n", .integer32), .toMany("tags", "Tag", inverse: "things"),
            .toMany("ranks", "Tag", inverse: "ranked", isOrdered: true), .toOne("next", "Thing"),
            .toMany("seen", "Tag"),
          ],
          subentities: [
            EntityDescription(
              name: "Book",
              properties: [.toOne("shelf", "Shelf", inverse: "books"), .attribute("pages", .integer16)]),
            EntityDescription(name: "Film", properties: [.toOne("poster", "Poster", inverse: "film")]),
          ]),
        EntityDescription(
          name: "Tag",
          properties: [
            .attribute("name", .string), .toMany("things", "Thing", inverse: "tags"),
            .toMany("ranked", "Thing", inverse: "ranks", isOrdered: true),
          ], uniquenessConstraints: [["name"]]),
        EntityDescription(
          name: "Shelf",
          properties: [
            .attribute("name", .string), .toMany("books", "Book", inverse: "shelf", isOrdered: true),
          ]),
        EntityDescription(
          name: "Poster", properties: [.attribute("name", .string), .toOne("film", "Film", inverse: "poster")]),
      ]))
  }
  private static let entities = ["Book", "Film", "Tag", "Shelf", "Poster"]

  private static func open(_ place: String) throws -> PersistentStoreCoordinator {
    let coordinator = PersistentStoreCoordinator(managedObjectModel: try model.get(), registry: .builtIn)
    try coordinator.addPersistentStore(at: place)
    return coordinator
  }

  // MARK: What a context sees

  private typealias Seen = [String: [String: String]]

  private static func text(_ value: Any?) -> String {
    switch value {
    case nil: "nil"
    case let object as ManagedObject: "\(object.objectID)"
    case let value?: "\(value)"
    }
  }

  /// Every value of every object.
  private static func seen(_ context: ManagedObjectContext, refreshing: Bool = false) throws -> Seen {
    var seen: Seen = [:]
    for entity in entities {
      var request = FetchRequest<ManagedObject>(entityName: entity)
      request.shouldRefreshRefetchedObjects = refreshing
      for object in try context.fetch(request) {
        var values: [String: String] = [:]
        for slot in object.entity.slots {
          guard slot.isToMany else {
            values[slot.name] = text(try object.value(forKey: slot.name))
            continue
          }
          let list = try object.objects(forRelationshipNamed: slot.name).map { text($0) }
          values[slot.name] = "\(slot.keepsSequence ? list : list.sorted())"
        }
        seen["\(object.objectID)"] = values
      }
    }
    return seen
  }

  /// The first differences between what two contexts see.
  private static func differences(_ one: Seen, _ other: Seen) -> [String] {
    Set(one.keys).union(other.keys).sorted().flatMap { id -> [String] in
      guard let left = one[id], let right = other[id] else { return ["\(id): \(one[id] == nil ? "gone" : "new")"] }
      return left.keys.sorted().filter { left[$0] != right[$0] }.map {
        "\(id).\($0): \(left[$0] ?? "") or \(right[$0] ?? "")"
      }
    }
  }

  // MARK: Changes

  private static func pick(_ entity: String, _ context: ManagedObjectContext, _ dice: inout SeededGenerator) throws
    -> ManagedObject?
  {
    var request = FetchRequest<ManagedObject>(entityName: entity, sortKeys: [SortKey("name")])
    request.fetchLimit = 12
    return try context.fetch(request).randomElement(using: &dice)
  }

  /// Does one thing. Returns what, for the message of a failure.
  private static func change(_ context: ManagedObjectContext, _ dice: inout SeededGenerator) throws -> String {
    let name = "\(Int.random(in: 0..<30, using: &dice))"
    let thing = try pick(["Book", "Film"].randomElement(using: &dice) ?? "Book", context, &dice)
    let tag = try pick("Tag", context, &dice)
    switch Int.random(in: 0..<14, using: &dice) {
    case 0...3:
      let entity = entities.randomElement(using: &dice) ?? "Book"
      try context.insertNewObject(forEntityName: entity).setValue(name, forKey: "name")
      return "insert \(entity) \(name)"
    case 4:
      try thing?.setValue(Int.random(in: 0..<9, using: &dice), forKey: "n")
      return "n"
    case 5:
      try tag?.setValue(name, forKey: "name")
      return "tag is \(name)"
    case 6, 7:
      guard let thing, let tag else { break }
      let key = ["tags", "ranks", "seen"].randomElement(using: &dice) ?? "tags"
      let list = try thing.objects(forRelationshipNamed: key)
      if list.contains(where: { $0 === tag }) { try thing.remove(tag, from: key) } else { try thing.add(tag, to: key) }
      return key
    case 8:
      let key = ["ranks", "ranked"].randomElement(using: &dice) ?? "ranks"
      guard let owner = key == "ranks" ? thing : tag else { break }
      try owner.setValue(try owner.objects(forRelationshipNamed: key).shuffled(using: &dice), forKey: key)
      return "shuffle \(key)"
    case 9:
      guard let book = try pick("Book", context, &dice) else { break }
      try book.setValue(try pick("Shelf", context, &dice), forKey: "shelf")
      return "shelf"
    case 10:
      guard let shelf = try pick("Shelf", context, &dice) else { break }
      try shelf.setValue(
        try shelf.objects(forRelationshipNamed: "books").shuffled(using: &dice), forKey: "books")
      return "shuffle books"
    case 11:
      try pick("Film", context, &dice)?.setValue(try pick("Poster", context, &dice), forKey: "poster")
      return "poster"
    case 12:
      try thing?.setValue(try pick("Film", context, &dice), forKey: "next")
      return "next"
    default:
      let entity = entities.randomElement(using: &dice) ?? "Book"
      guard let gone = try pick(entity, context, &dice) else { break }
      context.delete(gone)
      return "delete \(entity)"
    }
    return "nothing"
  }

  @Test(
    "who follows two programs that change a database sees what is in it",
    arguments: cases.share(of: "shared databases", name: { "\($0.type) \($0.seed)" }))
  func followed(_ test: Case) throws {
    let seed = test.seed
    let folder = try TemporaryDirectory("shared-database")
    let place =
      test.type == "PostgreSQL" ? TestServer.schema("shared_\(seed)") : folder.path + "/shared.sqlgraph"
    var dice = SeededGenerator(seed: UInt64(seed))
    let coordinators = try (0..<4).map { _ in try Self.open(place) }
    let store = try #require(coordinators[3].persistentStores.first)
    let writers = (0..<2).map { number in
      let context = ManagedObjectContext(coordinators[number])
      context.mergePolicy = number == 0 ? .mergeByPropertyObjectTrump : .mergeByPropertyStoreTrump
      return context
    }
    let noticing = ManagedObjectContext(coordinators[2])
    noticing.automaticallyMergesChangesFromParent = true
    noticing.retainsRegisteredObjects = true
    // Beside the first program's context.
    let sibling = ManagedObjectContext(coordinators[0])
    sibling.automaticallyMergesChangesFromParent = true
    sibling.retainsRegisteredObjects = true
    _ = coordinators[0].checkForRemoteChanges()
    let refetching = ManagedObjectContext(coordinators[3])
    refetching.retainsRegisteredObjects = true
    _ = coordinators[2].checkForRemoteChanges()
    var log: [String] = []
    var before: Seen = [:]
    for _ in 0..<20 {
      let token = try coordinators[3].currentHistoryToken(of: store)
      let writer = Int.random(in: 0..<2, using: &dice)
      for _ in 0..<Int.random(in: 1..<6, using: &dice) {
        log.append("\(writer): \(try Self.change(writers[writer], &dice))")
      }
      do {
        try writers[writer].save()
        log.append("saved")
      } catch {
        log.append("refused: \(error.message)")
        writers[writer].rollback()
        // What it has read is older than what others saved.
        if Bool.random(using: &dice) { writers[writer].reset() }
      }
      let now = try Self.seen(ManagedObjectContext(try Self.open(place)))
      _ = coordinators[2].checkForRemoteChanges()
      noticing.processPendingChanges()
      let story = log.suffix(30).joined(separator: "\n")
      try #require(Self.differences(try Self.seen(noticing), now) == [], "merged after a notice:\n\(story)")
      _ = coordinators[0].checkForRemoteChanges()
      sibling.processPendingChanges()
      try #require(Self.differences(try Self.seen(sibling), now) == [], "beside the one that saved:\n\(story)")
      try #require(
        Self.differences(try Self.seen(refetching, refreshing: true), now) == [], "fetched again:\n\(story)")
      try #require(
        try Self.missing(in: coordinators[3].changes(since: token, in: store), store, before, now) == [],
        "the history:\n\(story)")
      before = now
    }
    #expect(try Self.content(place).isEmpty)
    withExtendedLifetime(folder) {}
  }

  @Test(
    "a deletion is in the history with each object that led to the deleted one, once, with all its relationships",
    arguments: ["SQLiteGraph"] + (TestServer.url == nil ? [] : ["PostgreSQL"]))
  func hub(_ type: String) throws {
    let folder = try TemporaryDirectory("hub")
    let place = type == "PostgreSQL" ? TestServer.schema("hub") : folder.path + "/hub.sqlgraph"
    let coordinator = try Self.open(place)
    let store = try #require(coordinator.persistentStores.first)
    let context = ManagedObjectContext(coordinator)
    let hub = try context.insertNewObject(forEntityName: "Film")
    let tag = try context.insertNewObject(forEntityName: "Tag")
    var both: Set<ManagedObjectID> = []
    var others: Set<ManagedObjectID> = []
    let books = try (0..<3000).map { index in
      let book = try context.insertNewObject(forEntityName: "Book")
      if index % 3 > 0 { try book.setValue(hub, forKey: "next") }
      if index % 3 == 1 { try book.add(tag, to: "seen") }
      return book
    }
    try context.save()
    for (index, book) in books.enumerated() where index % 3 > 0 {
      if index % 3 == 1 { both.insert(book.objectID) } else { others.insert(book.objectID) }
    }
    let token = try coordinator.currentHistoryToken(of: store)
    // In a context that has read nothing else.
    let deleting = ManagedObjectContext(try Self.open(place))
    for entity in ["Film", "Tag"] { deleting.delete(try #require(try Self.all(entity, deleting).first)) }
    try deleting.save()
    let changes = try coordinator.changes(since: token, in: store).flatMap(\.changes)
    func updated(_ properties: [String]) -> [ManagedObjectID] {
      changes.filter { $0.kind == .update && $0.properties == properties }.map { store.objectID(for: $0.object) }
    }
    #expect(changes.count == 2002)
    #expect(Set(updated(["next", "seen"])) == both)
    #expect(Set(updated(["next"])) == others)
    // Who has read one of them before is overtaken, though nothing but the relationship is another.
    try books[1].setValue(5, forKey: "n")
    context.mergePolicy = .error
    let error = #expect(throws: ManagedObjectError.self) { try context.save() }
    #expect(error?.code == .managedObjectMerge)
  }

  @Test(
    "the members that a many-to-many loses without a rule are in the history, whichever of its ends is deleted",
    arguments: ["SQLiteGraph"] + (TestServer.url == nil ? [] : ["PostgreSQL"]), ["One", "Two"])
  func withoutRule(_ type: String, _ deleted: String) throws {
    let folder = try TemporaryDirectory("without-rule")
    let place = type == "PostgreSQL" ? TestServer.schema("rule\(deleted.lowercased())") : folder.path + "/rule.sqlgraph"
    let model = try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(name: "One", properties: [.toMany("twos", "Two", inverse: "ones", deleteRule: .noAction)]),
        EntityDescription(name: "Two", properties: [.toMany("ones", "One", inverse: "twos", deleteRule: .noAction)]),
      ]))
    func open() throws -> PersistentStoreCoordinator {
      let coordinator = PersistentStoreCoordinator(managedObjectModel: model, registry: .builtIn)
      try coordinator.addPersistentStore(at: place)
      return coordinator
    }
    let coordinator = try open()
    let store = try #require(coordinator.persistentStores.first)
    let context = ManagedObjectContext(coordinator)
    let (one, two) = (
      try context.insertNewObject(forEntityName: "One"), try context.insertNewObject(forEntityName: "Two")
    )
    try one.add(two, to: "twos")
    try context.save()
    let (gone, kept, name) = deleted == "One" ? (one, two, "ones") : (two, one, "twos")
    let token = try coordinator.currentHistoryToken(of: store)
    let deleting = ManagedObjectContext(try open())
    deleting.delete(try #require(try Self.all(deleted, deleting).first))
    try deleting.save()
    let changes = try coordinator.changes(since: token, in: store).flatMap(\.changes)
    let texts = changes.map { "\($0.kind.rawValue) \(store.objectID(for: $0.object)) \($0.properties)" }
    #expect(Set(texts) == ["delete \(gone.objectID) []", "update \(kept.objectID) [\"\(name)\"]"] && texts.count == 2)
    let now = ManagedObjectContext(try open())
    let left = try #require(try Self.all(kept.entity.name, now).first)
    #expect(try left.objects(forRelationshipNamed: name).isEmpty)
  }

  private static func all(_ entity: String, _ context: ManagedObjectContext) throws -> [ManagedObject] {
    try context.fetch(FetchRequest<ManagedObject>(entityName: entity))
  }

  /// What a history does not say of the difference between two states.
  private static func missing(
    in transactions: [HistoryTransaction], _ store: PersistentStore, _ before: Seen, _ now: Seen
  ) throws -> [String] {
    var found: [HistoryTransaction.Kind: Set<String>] = [:]
    var properties: [String: Set<String>] = [:]
    for change in transactions.flatMap(\.changes) {
      let id = "\(store.objectID(for: change.object))"
      found[change.kind, default: []].insert(id)
      properties[id, default: []].formUnion(change.properties)
    }
    let gone = Set(before.keys).subtracting(now.keys)
    var missing = Set(now.keys).subtracting(before.keys).subtracting(found[.insert] ?? []).map { "insert \($0)" }
    missing += gone.subtracting(found[.delete] ?? []).map { "delete \($0)" }
    for (id, values) in now {
      guard let old = before[id] else { continue }
      for (name, value) in values where old[name] != value && properties[id]?.contains(name) != true {
        // A list follows the to-ones of its members.
        guard name != "books" else { continue }
        missing.append("update \(id).\(name)")
      }
    }
    return missing.sorted()
  }

  /// What is wrong with the store as a whole: a load refuses what cannot be, and `check` has nothing to say.
  private static func content(_ place: String) throws -> [String] {
    let coordinator = PersistentStoreCoordinator(registry: .builtIn)
    coordinator.readsIncrementalStoresWhole = true
    let store = try coordinator.addPersistentStore(at: place, isReadOnly: true)
    let whole = ManagedObjectContext(coordinator)
    let parts = ManagedObjectContext(try open(place))
    defer { withExtendedLifetime(store) {} }
    return differences(try seen(whole), try seen(parts))
  }
}
