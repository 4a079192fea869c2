import AtomicStoreKit
import BuiltInStoreFormats
import Foundation
import TestSupport
import Testing

private let model = ModelDescription(entities: [
  EntityDescription(
    name: "Person",
    properties: [
      .attribute("name", .string),
      .toOne("friend", "Person"),
    ])
])

@Suite("Save As") struct SaveAsTests {
  private let directory: TemporaryDirectory
  private var folder: String { directory.path }

  init() throws { directory = try TemporaryDirectory("save-as") }

  @Test(
    "to every type UUID and references stay, and old URIs find the same objects",
    arguments: ["b.xml", "b.plist", "b.csvstore"])
  func keepsIdentity(_ name: String) throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let coordinator = PersistentStoreCoordinator(
      managedObjectModel: try ManagedObjectModel(model), registry: .builtIn)
    let store = try coordinator.addPersistentStore(type: "XML", at: folder + "/a.xml")
    let ada = ObjectReference(entityName: "Person", reference: .integer(1))
    try coordinator.save(
      store,
      changes: StoreChanges(inserted: [
        ManagedObjectSnapshot(entity: 0, values: [0: .string("Ada")]),
        ManagedObjectSnapshot(entity: 0, values: [0: .string("Bob"), 1: .toOne(ada)]),
      ]))
    let uri = store.objectID(for: ObjectReference(entityName: "Person", reference: .integer(2))).uriRepresentation
    let before = try Data(contentsOf: URL(filePath: folder + "/a.xml"))
    let migrated = try coordinator.migratePersistentStore(store, to: folder + "/" + name)
    #expect(coordinator.persistentStores.count == 1 && !store.isOpen && migrated.isOpen)
    #expect(migrated.identifier == store.identifier)
    let id = try #require(coordinator.managedObjectID(forURIRepresentation: uri))
    let node = try #require(migrated.node(for: id))
    #expect(migrated.nodes.value(forKey: "name", of: node) == .string("Bob"))
    #expect(migrated.nodes.value(forKey: "friend", of: node) == .toOne(ada))
    #expect(try Data(contentsOf: URL(filePath: folder + "/a.xml")) == before)
    // And it goes on from there: the next reference is a new one.
    try coordinator.save(
      migrated, changes: StoreChanges(inserted: [ManagedObjectSnapshot(entity: 0, values: [0: .string("Cyd")])]))
    #expect(migrated.nodes.handle(for: .integer(3), entity: 0) != nil)
  }

  @Test("a target that cannot keep the identity refuses, and the old store stays open")
  func refuses() throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let coordinator = PersistentStoreCoordinator(
      managedObjectModel: try ManagedObjectModel(model), registry: .builtIn)
    let store = try coordinator.addPersistentStore(type: "XML", at: folder + "/a.xml")
    try coordinator.save(
      store, changes: StoreChanges(inserted: [ManagedObjectSnapshot(entity: 0, values: [0: .string("Ada")])]))
    #expect(throws: PersistentStoreError.self) {
      try coordinator.migratePersistentStore(store, to: folder + "/b.csv", type: "CSV")
    }
    #expect(store.isOpen)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["a.xml"])
  }
}
