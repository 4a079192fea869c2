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
