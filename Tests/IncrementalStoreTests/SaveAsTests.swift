import AtomicStoreConformance
import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import StoreCoordination
import TestSupport
import Testing

/// Save As to a database, with contexts that go on.
@Suite struct SaveAsToDatabaseTests {
  /// A property list with two tags and an item, which a coordinator has open.
  private struct Fixture {
    let folder: TemporaryDirectory
    let coordinator: PersistentStoreCoordinator
    let store: PersistentStore
    let context: ManagedObjectContext

    init() throws {
      folder = try TemporaryDirectory("save-as-database")
      coordinator = PersistentStoreCoordinator(
        managedObjectModel: try ManagedObjectModel(ItemGraph.description), registry: .builtIn)
      store = try coordinator.addPersistentStore(at: folder.path + "/graph.plist")
      context = ManagedObjectContext(coordinator)
      let item = try context.insertNewObject(forEntityName: "Item")
      try item.setValue("one", forKey: "name")
      for name in ["a", "b"] {
        let tag = try context.insertNewObject(forEntityName: "Tag")
        try tag.setValue(name, forKey: "name")
        try item.add(tag, to: "tags")
      }
      try context.save()
    }

    func all(_ entity: String, in context: ManagedObjectContext) throws -> [ManagedObject] {
      try context.fetch(FetchRequest<ManagedObject>(entityName: entity))
    }
  }

  private func saveAs(_ place: String, _ fixture: Fixture) throws {
    let context = fixture.context
    let item = try #require(try fixture.all("Item", in: context).first)
    let tag = try #require(try fixture.all("Tag", in: context).first { $0["name"] as? String == "a" })
    let identifier = item.objectID
    // A change and a new object that are not saved yet.
    try tag.setValue("changed", forKey: "name")
    let new = try context.insertNewObject(forEntityName: "Tag")
    try new.setValue("new", forKey: "name")
    let moved = try fixture.coordinator.migratePersistentStore(fixture.store, to: place)
    #expect(moved.identifier == fixture.store.identifier)
    #expect(fixture.coordinator.persistentStores.map { $0 === moved } == [true])
    // The same objects go on, with what they have read and what was changed.
    #expect(item["name"] as? String == "one")
    #expect(tag["name"] as? String == "changed")
    #expect(try item.objects(forRelationshipNamed: "tags").count == 2)
    #expect(try fixture.all("Item", in: context).map { $0 === item } == [true])
    try item.setValue("two", forKey: "name")
    try item.add(new, to: "tags")
    try context.save()
    #expect(item.objectID == identifier)
    // Another program sees it, and the old file is as it was.
    let other = PersistentStoreCoordinator(registry: .builtIn)
    try other.addPersistentStore(at: place, isReadOnly: true)
    let reader = ManagedObjectContext(other)
    let there = try #require(try fixture.all("Item", in: reader).first)
    #expect(there["name"] as? String == "two")
    let names = try there.objects(forRelationshipNamed: "tags").map { $0["name"] as? String ?? "nil" }
    #expect(names.sorted() == ["b", "changed", "new"])
    let old = PersistentStoreCoordinator(registry: .builtIn)
    try old.addPersistentStore(at: fixture.folder.path + "/graph.plist", isReadOnly: true)
    #expect(try fixture.all("Tag", in: ManagedObjectContext(old)).count == 2)
    // Once more in the same context, now that everything is in the database.
    try tag.setValue("again", forKey: "name")
    context.delete(new)
    try context.save()
    #expect(try fixture.all("Tag", in: context).map { $0["name"] as? String ?? "nil" }.sorted() == ["again", "b"])
    try fixture.coordinator.remove(moved)
  }

  @Test("contexts go on after Save As to an SQLite file")
  func sqlite() throws {
    let fixture = try Fixture()
    try saveAs(fixture.folder.path + "/graph.sqlgraph", fixture)
  }

  @Test("contexts go on after Save As to PostgreSQL", .enabled(if: TestServer.url != nil))
  func postgreSQL() throws { try saveAs(TestServer.schema("save_as"), try Fixture()) }

  @Test("a Save As that is refused leaves the store open, and the database as it was")
  func refused() throws {
    let fixture = try Fixture()
    let place = fixture.folder.path + "/graph.sqlgraph"
    _ = try StoreConverter(registry: .builtIn).convert(from: fixture.folder.path + "/graph.plist", to: place)
    let before = try Data(contentsOf: URL(filePath: place))
    #expect { try fixture.coordinator.migratePersistentStore(fixture.store, to: place) } throws: {
      ($0 as? PersistentStoreError)?.code == .alreadyExists
    }
    #expect(try Data(contentsOf: URL(filePath: place)) == before)
    #expect(fixture.store.isOpen)
    try fixture.all("Item", in: fixture.context).first?.setValue("saved", forKey: "name")
    try fixture.context.save()
    // With permission it is replaced.
    let moved = try fixture.coordinator.migratePersistentStore(fixture.store, to: place, replaces: true)
    #expect(try fixture.all("Item", in: fixture.context).first?["name"] as? String == "saved")
    try fixture.coordinator.remove(moved)
  }
}

/// Save As whose last step fails.
@Suite struct FailingSaveAsTests {
  private struct Stop: Error {}

  /// A property list with notes, which a coordinator has open.
  private struct Fixture {
    let folder: TemporaryDirectory
    let coordinator: PersistentStoreCoordinator
    let store: PersistentStore
    var path: String { folder.path + "/notes.plist" }

    static func model() throws -> ManagedObjectModel {
      try ManagedObjectModel(
        ModelDescription(entities: [
          EntityDescription(
            name: "Note",
            properties: [.attribute("name", .string, isOptional: false), .toMany("others", "Note", inverse: "others")])
        ]))
    }

    init() throws {
      folder = try TemporaryDirectory("failing-save-as")
      coordinator = PersistentStoreCoordinator(managedObjectModel: try Self.model(), registry: .builtIn)
      store = try coordinator.addPersistentStore(at: folder.path + "/notes.plist")
      let context = ManagedObjectContext(coordinator)
      let notes = try ["a", "b"].map { name in
        let note = try context.insertNewObject(forEntityName: "Note")
        try note.setValue(name, forKey: "name")
        return note
      }
      try notes[0].add(notes[1], to: "others")
      try context.save()
    }

    /// A database with another note.
    func makeDatabase(_ place: String) throws {
      let other = PersistentStoreCoordinator(managedObjectModel: try Self.model(), registry: .builtIn)
      let made = try other.addPersistentStore(at: place)
      let context = ManagedObjectContext(other)
      try context.insertNewObject(forEntityName: "Note").setValue("old", forKey: "name")
      try context.save()
      try other.remove(made)
    }

    static func names(_ place: String) throws -> [String] {
      let coordinator = PersistentStoreCoordinator(registry: .builtIn)
      let store = try coordinator.addPersistentStore(at: place, isReadOnly: true)
      defer { try? coordinator.remove(store) }
      return try names(in: ManagedObjectContext(coordinator))
    }

    static func names(in context: ManagedObjectContext) throws -> [String] {
      try context.fetch(FetchRequest<ManagedObject>(entityName: "Note")).compactMap { $0["name"] as? String }.sorted()
    }

    func code(_ place: String, replaces: Bool) -> PersistentStoreError.Code? {
      do {
        _ = try coordinator.migratePersistentStore(store, to: place, replaces: replaces)
        return nil
      } catch { return (error as? PersistentStoreError)?.code }
    }
  }

  @Test("the database that was replaced is back byte for byte, and a new one is removed", arguments: [true, false])
  func restores(isThere: Bool) throws {
    let fixture = try Fixture()
    let place = fixture.folder.path + "/existing.sqlgraph"
    if isThere { try fixture.makeDatabase(place) }
    let before = try? Data(contentsOf: URL(filePath: place))
    #expect((before != nil) == isThere)
    let context = ManagedObjectContext(fixture.coordinator)
    #expect(throws: Stop.self) {
      _ = try fixture.coordinator.migratePersistentStore(
        fixture.store, to: place, type: nil, options: [:], replaces: true
      ) {
        // What was written is in the log of the database, and in the file when it is closed.
        try context.insertNewObject(forEntityName: "Note").setValue("new", forKey: "name")
        try context.save()
        throw Stop()
      }
    }
    #expect((try? Data(contentsOf: URL(filePath: place))) == before)
    let names = try FileManager.default.contentsOfDirectory(atPath: fixture.folder.path)
    #expect(names.filter { $0.contains("existing") } == (isThere ? ["existing.sqlgraph"] : []))
    if isThere { #expect(try Fixture.names(place) == ["old"]) }
    #expect(fixture.coordinator.persistentStores.map { $0 === fixture.store } == [true])
    #expect(try Fixture.names(fixture.path) == ["a", "b"])
  }

  @Test("objects that were read from the database meanwhile are those of the old store again")
  func contexts() throws {
    let fixture = try Fixture()
    let context = ManagedObjectContext(fixture.coordinator)
    #expect(throws: Stop.self) {
      _ = try fixture.coordinator.migratePersistentStore(
        fixture.store, to: fixture.folder.path + "/new.sqlgraph", type: nil, options: [:], replaces: false
      ) {
        #expect(try Fixture.names(in: context) == ["a", "b"])
        throw Stop()
      }
    }
    #expect(try Fixture.names(in: context) == ["a", "b"])
    let notes = try context.fetch(FetchRequest<ManagedObject>(entityName: "Note"))
    for note in notes { #expect(try note.objects(forRelationshipNamed: "others").count == 1) }
    try notes.first { $0["name"] as? String == "a" }?.setValue("c", forKey: "name")
    try context.save()
    #expect(try Fixture.names(fixture.path) == ["b", "c"])
    // And once more, now to the end.
    let place = fixture.folder.path + "/new.sqlgraph"
    let moved = try fixture.coordinator.migratePersistentStore(fixture.store, to: place)
    try notes.first { $0["name"] as? String == "b" }?.setValue("d", forKey: "name")
    try context.save()
    try fixture.coordinator.remove(moved)
    #expect(try Fixture.names(place) == ["c", "d"])
  }

  @Test("a document that cannot be saved leaves the database that it was to replace, and goes on")
  func document() throws {
    let fixture = try Fixture()
    let place = fixture.folder.path + "/existing.sqlgraph"
    try fixture.makeDatabase(place)
    let before = try Data(contentsOf: URL(filePath: place))
    let path = fixture.folder.path + "/document.plist"
    let document = PersistentDocument(model: try Fixture.model(), registry: .builtIn)
    let context = document.managedObjectContext
    try context.insertNewObject(forEntityName: "Note").setValue("one", forKey: "name")
    try document.save(to: path)
    let bad = try context.insertNewObject(forEntityName: "Note")
    #expect(throws: ManagedObjectError.self) { try document.save(to: place, replaces: true) }
    #expect(try Data(contentsOf: URL(filePath: place)) == before)
    #expect(document.path == path)
    try bad.setValue("two", forKey: "name")
    try document.save()
    #expect(try Fixture.names(path) == ["one", "two"])
  }

  @Test("a store that is open is not replaced, however its place is written")
  func open() throws {
    let fixture = try Fixture()
    let place = fixture.folder.path + "/open.sqlgraph"
    try fixture.makeDatabase(place)
    let other = PersistentStoreCoordinator(registry: .builtIn)
    let there = try other.addPersistentStore(at: place)
    #expect(fixture.code(place, replaces: true) == .unavailable)
    try other.remove(there)
    let second = try fixture.coordinator.addPersistentStore(at: place)
    for spelling in [place, "sqlite:" + place, "sqlite://" + place] {
      #expect(fixture.code(spelling, replaces: true) == .storeAlreadyAdded)
    }
    try fixture.coordinator.remove(second)
    #expect(try Fixture.names(place) == ["old"])
  }

  @Test(
    "a store on a server is replaced with permission, and restored, or removed if it is new, if the last step fails",
    .enabled(if: TestServer.url != nil))
  func server() throws {
    let fixture = try Fixture()
    let (there, new) = (TestServer.schema("failing_there"), TestServer.schema("failing_new"))
    try fixture.makeDatabase(there)
    #expect(fixture.code(there, replaces: false) == .alreadyExists)
    #expect(try Fixture.names(there) == ["old"])
    for place in [there, new] {
      #expect(throws: Stop.self) {
        _ = try fixture.coordinator.migratePersistentStore(
          fixture.store, to: place, type: nil, options: [:], replaces: true
        ) { throw Stop() }
      }
    }
    #expect(try Fixture.names(there) == ["old"])
    #expect { try Fixture.names(new) } throws: { ($0 as? PersistentStoreError)?.code == .notFound }
    #expect(fixture.store.isOpen)
    let moved = try fixture.coordinator.migratePersistentStore(fixture.store, to: there, replaces: true)
    try fixture.coordinator.remove(moved)
    #expect(try Fixture.names(there) == ["a", "b"])
  }
}
