import AtomicStoreConformance
import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import StoreCoordination
import TestSupport
import Testing

/// What happens to an incremental store over its life, with several contexts and connections.
@Suite struct StoreLifeTests {
  static let description = ModelDescription(
    entities: [
      EntityDescription(
        name: "Team",
        properties: [
          .attribute("name", .string), .toMany("members", "Person", inverse: "team"),
        ]),
      EntityDescription(
        name: "Person",
        properties: [
          .attribute("name", .string), .attribute("age", .integer16), .toOne("team", "Team", inverse: "members"),
          .toOne("mentor", "Person"),
        ], uniquenessConstraints: [["name"]]),
      EntityDescription(
        name: "Walk", properties: [.attribute("name", .string), .toMany("stops", "Team", isOrdered: true)]),
    ])

  final class Place {
    let folder: TemporaryDirectory
    var path: String { folder.path + "/life.sqlgraph" }
    init() throws { folder = try TemporaryDirectory("incremental-life") }

    /// A coordinator with its own connection, as another process has it.
    func open() throws -> PersistentStoreCoordinator {
      let coordinator = PersistentStoreCoordinator(
        managedObjectModel: try ManagedObjectModel(StoreLifeTests.description), registry: .builtIn)
      try coordinator.addPersistentStore(at: path)
      return coordinator
    }
  }

  static func make(_ name: String, _ entity: String, _ context: ManagedObjectContext) throws -> ManagedObject {
    let model = try #require(context.managedObjectModel)
    let object = ManagedObject(entity: try #require(model.entity(named: entity)), insertInto: context)
    try object.setValue(name, forKey: "name")
    return object
  }

  static func find(_ name: String, _ entity: String, _ context: ManagedObjectContext) throws -> ManagedObject {
    let request = FetchRequest<ManagedObject>(
      entityName: entity, predicate: try FetchPredicate(format: "name == %@", name))
    return try #require(try context.fetch(request).first)
  }

  static func names(_ object: ManagedObject, _ key: String) throws -> [String] {
    try object.objects(forRelationshipNamed: key).map { try $0.value(forKey: "name") as? String ?? "-" }.sorted()
  }

  @Test("more different requests than a connection keeps statements for are all answered")
  func statements() throws {
    let place = try Place()
    let context = ManagedObjectContext(try place.open())
    let walks = try (0..<3).map { _ in try context.insertNewObject(forEntityName: "Walk") }
    try context.save()
    var request = FetchRequest<ManagedObject>(entityName: "Walk")
    for limit in 1...700 {
      request.fetchLimit = limit
      #expect(try context.fetch(request).count == min(limit, 3))
      request.fetchLimit = 0
      #expect(try context.count(for: request) == walks.count)
    }
  }

  @Test("reading leaves nothing beside the store, and changes no byte of it")
  func readingLeavesNothing() throws {
    let place = try Place()
    do {
      let coordinator = try place.open()
      let context = ManagedObjectContext(coordinator)
      _ = try Self.make("Ann", "Person", context)
      try context.save()
    }
    let bytes = try Data(contentsOf: URL(filePath: place.path))
    for _ in 0..<2 {
      do {
        let coordinator = PersistentStoreCoordinator(registry: .builtIn)
        try coordinator.addPersistentStore(at: place.path, isReadOnly: true)
        let context = ManagedObjectContext(coordinator)
        #expect(try context.count(for: FetchRequest<ManagedObject>(entityName: "Person")) == 1)
      }
      #expect(try FileManager.default.contentsOfDirectory(atPath: place.folder.path) == ["life.sqlgraph"])
    }
    #expect(try Data(contentsOf: URL(filePath: place.path)) == bytes)
  }

  @Test("what one connection saves, another reads, with both ends of relationships")
  func twoConnections() throws {
    let place = try Place()
    let one = ManagedObjectContext(try place.open())
    let team = try Self.make("Red", "Team", one)
    for name in ["Ada", "Bob"] { try Self.make(name, "Person", one).setValue(team, forKey: "team") }
    try one.save()
    let other = ManagedObjectContext(try place.open())
    let found = try Self.find("Red", "Team", other)
    #expect(try Self.names(found, "members") == ["Ada", "Bob"])
    #expect(try Self.find("Ada", "Person", other).value(forKey: "team") as? ManagedObject === found)
  }

  @Test("members that two connections add to one team are all kept")
  func addedByBoth() throws {
    let place = try Place()
    let one = ManagedObjectContext(try place.open())
    _ = try Self.make("Red", "Team", one)
    try one.save()
    let contexts = try (0..<3).map { _ in ManagedObjectContext(try place.open()) }
    for (index, context) in contexts.enumerated() {
      try Self.make("P\(index)", "Person", context).setValue(try Self.find("Red", "Team", context), forKey: "team")
    }
    for context in contexts { try context.save() }
    let last = ManagedObjectContext(try place.open())
    #expect(try Self.names(try Self.find("Red", "Team", last), "members") == ["P0", "P1", "P2"])
  }

  @Test(
    "a value that both change is a conflict, decided by the merge policy",
    arguments: [
      (MergePolicy.error, 1 as Int?), (.mergeByPropertyStoreTrump, 1), (.mergeByPropertyObjectTrump, 2),
      (.overwrite, 2),
      (.rollback, 1),
    ])
  func conflict(_ policy: MergePolicy, _ expected: Int?) throws {
    let place = try Place()
    let one = ManagedObjectContext(try place.open())
    _ = try Self.make("Ada", "Person", one)
    try one.save()
    let other = ManagedObjectContext(try place.open())
    other.mergePolicy = policy
    try Self.find("Ada", "Person", other).setValue(2, forKey: "age")
    try Self.find("Ada", "Person", one).setValue(1, forKey: "age")
    try one.save()
    if policy == .error {
      #expect { try other.save() } throws: { ($0 as? ManagedObjectError)?.code == .managedObjectMerge }
    } else {
      try other.save()
    }
    let last = ManagedObjectContext(try place.open())
    #expect(try Self.find("Ada", "Person", last).value(forKey: "age") as? Int == expected)
  }

  @Test("a team that is deleted while someone else joins it leaves no one with a team that does not exist")
  func deletedMeanwhile() throws {
    let place = try Place()
    let one = ManagedObjectContext(try place.open())
    let team = try Self.make("Red", "Team", one)
    try one.save()
    let other = ManagedObjectContext(try place.open())
    other.mergePolicy = .mergeByPropertyObjectTrump
    one.mergePolicy = .mergeByPropertyObjectTrump
    let joined = try Self.make("Ada", "Person", other)
    try joined.setValue(try Self.find("Red", "Team", other), forKey: "team")
    one.delete(team)
    try other.save()
    try one.save()
    let coordinator = PersistentStoreCoordinator(registry: .builtIn)
    coordinator.readsIncrementalStoresWhole = true
    // The load refuses dangling references.
    let store = try coordinator.addPersistentStore(at: place.path, isReadOnly: true)
    #expect(store.nodes.inverseDisagreements().isEmpty)
    let last = ManagedObjectContext(try place.open())
    #expect(try Self.find("Ada", "Person", last).value(forKey: "team") == nil)
  }

  @Test("a reference without an inverse to an object that another connection deletes is removed with it")
  func oneWay() throws {
    let place = try Place()
    let one = ManagedObjectContext(try place.open())
    let (ada, bob) = (try Self.make("Ada", "Person", one), try Self.make("Bob", "Person", one))
    try ada.setValue(bob, forKey: "mentor")
    try one.save()
    let other = ManagedObjectContext(try place.open())
    other.delete(try Self.find("Bob", "Person", other))
    try other.save()
    let last = ManagedObjectContext(try place.open())
    #expect(try Self.find("Ada", "Person", last).value(forKey: "mentor") == nil)
    // The first context finds out when it saves.
    one.mergePolicy = .mergeByPropertyObjectTrump
    try ada.setValue(3, forKey: "age")
    try one.save()
    #expect(try Self.find("Ada", "Person", last).value(forKey: "mentor") == nil)
  }

  @Test("a unique value that two connections insert is found by the second, whichever looked first")
  func uniqueness() throws {
    let place = try Place()
    let (one, other) = (ManagedObjectContext(try place.open()), ManagedObjectContext(try place.open()))
    try Self.make("Ada", "Person", one).setValue(1, forKey: "age")
    try Self.make("Ada", "Person", other).setValue(2, forKey: "age")
    try one.save()
    #expect { try other.save() } throws: { ($0 as? ManagedObjectError)?.code == .managedObjectConstraintMerge }
    other.mergePolicy = .mergeByPropertyObjectTrump
    try other.save()
    let last = ManagedObjectContext(try place.open())
    let all = try last.fetch(FetchRequest<ManagedObject>(entityName: "Person"))
    #expect(all.count == 1)
    #expect(try all.first?.value(forKey: "age") as? Int == 2)
  }

  @Test("unique values can be exchanged in one save")
  func exchanged() throws {
    let place = try Place()
    let context = ManagedObjectContext(try place.open())
    let (ada, bob) = (try Self.make("Ada", "Person", context), try Self.make("Bob", "Person", context))
    try ada.setValue(1, forKey: "age")
    try context.save()
    try ada.setValue("Bob", forKey: "name")
    try bob.setValue("Ada", forKey: "name")
    try context.save()
    let last = ManagedObjectContext(try place.open())
    #expect(try Self.find("Bob", "Person", last).value(forKey: "age") as? Int == 1)
  }

  @Test("a refreshed object has what another connection saved")
  func refreshed() throws {
    let place = try Place()
    let one = ManagedObjectContext(try place.open())
    let ada = try Self.make("Ada", "Person", one)
    try one.save()
    let other = ManagedObjectContext(try place.open())
    try Self.find("Ada", "Person", other).setValue(7, forKey: "age")
    try other.save()
    #expect(try ada.value(forKey: "age") == nil)
    one.refresh(ada, mergeChanges: false)
    #expect(try ada.value(forKey: "age") as? Int == 7)
    try Self.find("Ada", "Person", other).setValue(8, forKey: "age")
    try other.save()
    one.refresh(ada, mergeChanges: true)
    #expect(try ada.value(forKey: "age") as? Int == 8)
  }

  @Test("the history says what was saved, since a token, and forgets what is purged")
  func history() throws {
    let place = try Place()
    let coordinator = try place.open()
    let connection = try #require(coordinator.persistentStores.first?.connection)
    let context = ManagedObjectContext(coordinator)
    context.name = "writer"
    let ada = try Self.make("Ada", "Person", context)
    try context.save()
    try ada.setValue(5, forKey: "age")
    try context.save()
    context.delete(ada)
    try context.save()
    let all = try connection.use { store throws(PersistentStoreError) in try store.changes(since: nil) }
    #expect(all.map { $0.changes.map(\.kind) } == [[.insert], [.update], [.delete]])
    #expect(all.allSatisfy { $0.contextName == "writer" })
    #expect(all[1].changes[0].properties == ["age"])
    #expect(Set(all.flatMap { $0.changes.map(\.object) }).count == 1)
    let (second, last) = (all[1].token, all[2].token)
    let later = try connection.use { store throws(PersistentStoreError) in try store.changes(since: second) }
    #expect(later.map(\.token) == [last])
    try connection.use { store throws(PersistentStoreError) in try store.deleteHistory(before: last) }
    let left = try connection.use { store throws(PersistentStoreError) in try store.changes(since: nil) }
    #expect(left.map(\.token) == [last])
    #expect(try connection.use { store throws(PersistentStoreError) in try store.currentHistoryToken() } == last)
  }

  @Test("an ordered list that is saved after another connection deleted a member does not lead to it")
  func orderedMember() throws {
    let place = try Place()
    let one = ManagedObjectContext(try place.open())
    let walk = try Self.make("W", "Walk", one)
    let teams = try ["A", "B", "C"].map { try Self.make($0, "Team", one) }
    try walk.setValue(teams, forKey: "stops")
    try one.save()
    let other = ManagedObjectContext(try place.open())
    other.delete(try Self.find("B", "Team", other))
    try other.save()
    one.mergePolicy = .mergeByPropertyObjectTrump
    try walk.setValue([teams[2], teams[0], teams[1]], forKey: "stops")
    try? one.save()
    let coordinator = PersistentStoreCoordinator(registry: .builtIn)
    coordinator.readsIncrementalStoresWhole = true
    try coordinator.addPersistentStore(at: place.path, isReadOnly: true)
  }

  @Test("unique values count as the store has them, not as they were read")
  func staleUniqueness() throws {
    let place = try Place()
    let one = ManagedObjectContext(try place.open())
    let (ada, bob) = (try Self.make("Ada", "Person", one), try Self.make("Bob", "Person", one))
    try one.save()
    let other = ManagedObjectContext(try place.open())
    try Self.find("Ada", "Person", other).setValue("Zoe", forKey: "name")
    try other.save()
    // "Ada" is free now, whatever this context has read; "Zoe" is taken.
    _ = try Self.make("Ada", "Person", one).setValue(1, forKey: "age")
    try one.save()
    _ = try Self.make("Zoe", "Person", one)
    #expect { try one.save() } throws: { ($0 as? ManagedObjectError)?.code == .managedObjectConstraintMerge }
    let last = ManagedObjectContext(try place.open())
    let all = try last.fetch(FetchRequest<ManagedObject>(entityName: "Person", sortKeys: [SortKey("name")]))
    #expect(try all.map { try $0.value(forKey: "name") as? String } == ["Ada", "Bob", "Zoe"])
    withExtendedLifetime((ada, bob)) {}
  }

  @Test("what was fetched and not looked at is read again after a refresh and after a merge")
  func unread() throws {
    let place = try Place()
    let one = ManagedObjectContext(try place.open())
    _ = try Self.make("Ada", "Person", one)
    try one.save()
    let two = ManagedObjectContext(try place.open())
    let found = try Self.find("Ada", "Person", two)
    let three = ManagedObjectContext(try place.open())
    let merged = try Self.find("Ada", "Person", three)
    try Self.find("Ada", "Person", one).setValue(9, forKey: "age")
    try one.save()
    two.refresh(found, mergeChanges: false)
    #expect(try found.value(forKey: "age") as? Int == 9)
    three.mergeChanges(fromDidSave: ObjectIDChanges(updated: [merged.objectID]))
    #expect(try merged.value(forKey: "age") as? Int == 9)
  }

  @Test("a member is removed although neither it nor the list was read, and counts are right")
  func unreadMember() throws {
    let pair = try GraphPair(seed: 7, count: 20)
    let context = ManagedObjectContext(pair.incremental)
    let ids = try {
      let tags = try context.fetch(FetchRequest<ManagedObject>(entityName: "Tag"))
      let tag = try #require(tags.first { (try? $0.count(forRelationshipNamed: "items")) ?? 0 > 1 })
      return (tag.objectID, try #require(try tag.objectIDs(forRelationshipNamed: "items").first))
    }()
    let fresh = ManagedObjectContext(pair.incremental)
    let (tag, item) = (fresh.object(with: ids.0), fresh.object(with: ids.1))
    let before = try context.object(with: ids.0).count(forRelationshipNamed: "items")
    try tag.remove(item, from: "items")
    #expect(try tag.count(forRelationshipNamed: "items") == before - 1)
    try fresh.save()
    let last = ManagedObjectContext(pair.incremental)
    #expect(try last.object(with: ids.0).count(forRelationshipNamed: "items") == before - 1)
    #expect(try !last.object(with: ids.1).objectIDs(forRelationshipNamed: "tags").contains(ids.0))
  }

  @Test("a store that was replaced as a whole is not changed by those who had it open")
  func replaced() throws {
    let pair = try GraphPair(seed: 3, count: 6)
    let context = ManagedObjectContext(pair.incremental)
    let item = try #require(try context.fetch(FetchRequest<ManagedObject>(entityName: "Item")).first)
    try item.setValue("changed", forKey: "name")
    var converter = StoreConverter(registry: .builtIn)
    converter.replacesTarget = true
    _ = try converter.convert(from: pair.propertyPath, to: pair.incrementalPath)
    #expect { try context.save() } throws: {
      (($0 as? ManagedObjectError)?.underlying as? PersistentStoreError)?.code == .unavailable
    }
    #expect(try pair.stores.differences() == [])
  }

  @Test("changes that a program saves without a context get references, or are refused")
  func withoutContext() throws {
    let place = try Place()
    let coordinator = try place.open()
    let store = try #require(coordinator.persistentStores.first)
    let entity = try #require(store.model.entity(named: "Team"))
    let slot = try #require(entity.slot(named: "name"))
    try coordinator.save(
      store,
      changes: StoreChanges(inserted: [ManagedObjectSnapshot(entity: entity.index, values: [slot: .string("Red")])]))
    let context = ManagedObjectContext(coordinator)
    let team = try Self.find("Red", "Team", context)
    let reference = ObjectReference(entityName: "Team", reference: try #require(team.objectID.reference))
    try coordinator.save(store, changes: StoreChanges(deleted: [reference]))
    #expect { try coordinator.save(store, changes: StoreChanges(deleted: [reference])) } throws: {
      ($0 as? PersistentStoreError)?.code == .changedOnDisk
    }
  }

  @Test("metadata is saved with the objects, and alone")
  func metadata() throws {
    let place = try Place()
    let coordinator = try place.open()
    let store = try #require(coordinator.persistentStores.first)
    var entries = store.metadata.entries
    entries["note"] = .string("one")
    try store.setMetadata(entries)
    try coordinator.save(store)
    #expect(!store.hasUnsavedMetadata)
    let again = try place.open()
    #expect(again.persistentStores.first?.metadata.entries["note"] == .string("one"))
  }

  @Test("unique values of a batch update the object that has them, and keep what the row does not set")
  func upsert() throws {
    let place = try Place()
    let context = ManagedObjectContext(try place.open())
    try Self.make("Ada", "Person", context).setValue(7, forKey: "age")
    try context.save()
    var request = BatchInsertRequest(entityName: "Person", objects: [["name": "Ada"], ["name": "Bob", "age": 3]])
    request.constraintRule = .update
    let result = try context.execute(request)
    #expect(result.count == 2)
    let last = ManagedObjectContext(try place.open())
    #expect(try Self.find("Ada", "Person", last).value(forKey: "age") as? Int == 7)
    #expect(try Self.find("Bob", "Person", last).value(forKey: "age") as? Int == 3)
  }

  // MARK: Files

  @Test("a store that is made of a private one is private")
  func permissions() throws {
    let pair = try GraphPair(seed: 1, count: 5)
    #expect(chmod(pair.propertyPath, 0o600) == 0)
    let target = pair.folder.path + "/copy.sqlgraph"
    _ = try StoreConverter(registry: .builtIn).convert(from: pair.propertyPath, to: target)
    let attributes = try FileManager.default.attributesOfItem(atPath: target)
    #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: pair.folder.path).sorted().filter { $0.hasPrefix("copy") }
        == ["copy.sqlgraph"])
  }

  @Test("another program's database is neither opened nor changed")
  func foreign() throws {
    let place = try Place()
    let other = place.folder.path + "/other.sqlgraph"
    try ChildProcess.output(of: "sqlite3", [other, "CREATE TABLE t (x); INSERT INTO t VALUES (1)"])
    let before = try Data(contentsOf: URL(fileURLWithPath: other))
    for type in [nil, "SQLiteGraph"] {
      let coordinator = PersistentStoreCoordinator(
        managedObjectModel: try ManagedObjectModel(Self.description), registry: .builtIn)
      #expect(throws: PersistentStoreError.self) { try coordinator.addPersistentStore(type: type, at: other) }
    }
    #expect(throws: PersistentStoreError.self) {
      try StoreConverter(registry: .builtIn).convert(
        from: try GraphPair(seed: 1, count: 3).propertyPath, to: other)
    }
    #expect(try Data(contentsOf: URL(fileURLWithPath: other)) == before)
  }

  @Test("a store is destroyed with the files that SQLite has beside it, unless it is open")
  func destroyed() throws {
    let place = try Place()
    let coordinator = try place.open()
    let context = ManagedObjectContext(coordinator)
    _ = try Self.make("Ada", "Person", context)
    try context.save()
    #expect { try coordinator.destroyPersistentStore(at: place.path) } throws: {
      ($0 as? PersistentStoreError)?.code == .storeAlreadyAdded
    }
    try coordinator.remove(try #require(coordinator.persistentStores.first))
    try coordinator.destroyPersistentStore(at: place.path)
    #expect(try FileManager.default.contentsOfDirectory(atPath: place.folder.path) == [])
  }

  @Test("an object of a store that was removed says so")
  func removed() throws {
    let place = try Place()
    let coordinator = try place.open()
    let context = ManagedObjectContext(coordinator)
    let ada = try Self.make("Ada", "Person", context)
    try context.save()
    context.refresh(ada, mergeChanges: false)
    try coordinator.remove(try #require(coordinator.persistentStores.first))
    #expect { try ada.value(forKey: "name") } throws: {
      ($0 as? ManagedObjectError)?.reason == .storeRemoved
    }
  }

  @Test(
    "a database with values that cannot be is refused, and nothing traps",
    arguments: [
      "UPDATE Person SET ent = 99", "UPDATE Person SET ent = -1", "UPDATE Person SET age = 'old'",
      "UPDATE Person SET age = 99999", "UPDATE Person SET name = x'ff'",
      "UPDATE Person SET name = CAST(x'ff' AS TEXT)", "UPDATE Person SET ref = CAST(x'fe' AS TEXT)",
      "UPDATE atomicstore_metadata SET value = x'00' WHERE key = 'model'",
      "UPDATE atomicstore_metadata SET value = 'x' WHERE key = 'uuid'",
      "UPDATE atomicstore_metadata SET value = '9' WHERE key = 'version'", "DROP TABLE Person",
      "ALTER TABLE Person DROP COLUMN age", "UPDATE Team SET ent = 0",
    ])
  func damaged(_ statement: String) throws {
    let place = try Place()
    do {
      let context = ManagedObjectContext(try place.open())
      let team = try Self.make("Red", "Team", context)
      try Self.make("Ada", "Person", context).setValue(team, forKey: "team")
      try context.save()
    }
    try ChildProcess.output(of: "sqlite3", [place.path, statement])
    #expect(throws: (any Error).self) {
      let context = ManagedObjectContext(try place.open())
      let people = try context.fetch(FetchRequest<ManagedObject>(entityName: "Person"))
      let teams = try context.fetch(FetchRequest<ManagedObject>(entityName: "Team"))
      for object in people + teams { try object.realizeAll() }
      // Reads that cannot throw have recorded their errors.
      if let error = context.accessErrors.first { throw error }
      if people.isEmpty || teams.isEmpty { throw CocoaError(.fileReadCorruptFile) }
    }
  }

  @Test("the numbers for new objects end where they end")
  func numbers() throws {
    let place = try Place()
    _ = try place.open()
    for last in [Int64.max, .max - 10, .min, -(1 << 62)] {
      try ChildProcess.output(of: "sqlite3", [place.path, "UPDATE atomicstore_keys SET last = \(last)"])
      let context = ManagedObjectContext(try place.open())
      _ = try Self.make("Ada", "Person", context)
      #expect(throws: ManagedObjectError.self) { try context.save() }
    }
  }

  // MARK: Addresses

  @Test(
    "a password is in no address that is shown",
    arguments: [
      ("postgresql://u:secret@h/d?schema=s", "postgresql://u@h/d?schema=s"),
      ("postgresql://u:se@cret@h:5/d", "postgresql://u@h:5/d"), ("postgresql://u@h/d", "postgresql://u@h/d"),
      ("postgresql://h/d?password=secret&schema=s", "postgresql://h/d?schema=s"),
      ("postgresql://h/d?PassWord=secret", "postgresql://h/d"),
      ("postgresql://h/d?p%61ssword=secret&schema=s", "postgresql://h/d?schema=s"),
      ("postgresql:///d?sslpassword=secret", "postgresql:///d"),
      ("postgresql://u:se/cret@h/d", "postgresql://u@h/d"),
      ("postgresql://u:se?cret@h/d?schema=s", "postgresql://u@h/d?schema=s"),
      ("postgresql://u:se?c=ret@h/d", "postgresql://u@h/d"), ("postgresql://u:5?ret@h/d", "postgresql://u@h/d"),
      ("postgresql:u:secret@h/d", "postgresql:u@h/d"),
      ("postgresql://h/d?password=se&cret&schema=s", "postgresql://h/d?schema=s"),
      ("postgresql://h:5/d?user=u@x&schema=s", "postgresql://h:5/d?user=u@x&schema=s"),
      ("postgresql://[::1]:5/d", "postgresql://[::1]:5/d"),
      ("postgresql://h:5,i:6/d?user=u@x", "postgresql://h:5,i:6/d?user=u@x"),
      ("postgresql://u:2024?a=b@h/d", "postgresql://u@h/d"), ("postgresql://u:?k=v@h/d", "postgresql://u@h/d"),
      ("postgresql://[::1]:5/d?user=a@b", "postgresql://[::1]:5/d?user=a@b"),
      ("postgresql://u:secret@[::1]:5/d", "postgresql://u@[::1]:5/d"),
      ("postgresql://u:secret@\u{301}h/d", "postgresql://u@\u{301}h/d"),
    ])
  func passwords(_ url: String, _ shown: String) throws {
    #expect(StoreAddress.withoutPassword(url) == shown)
  }
}

extension ManagedObject {
  /// Reads every property.
  fileprivate func realizeAll() throws {
    for slot in entity.slots {
      if slot.isRelationship {
        for other in try objects(forRelationshipNamed: slot.name) { _ = try other.value(forKey: "name") }
      } else {
        _ = try value(forKey: slot.name)
      }
    }
  }
}
