import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import Testing

@Suite("Files of no bytes") struct ZeroLengthTests {
  static let model = ModelDescription(entities: [
    EntityDescription(name: "Person", properties: [.attribute("name", .string)])
  ])

  @Test(
    "every format creates a new store from an empty file, wherever it was reserved",
    arguments: [
      ("XML", "a.xml"), ("BinaryPropertyList", "a.plist"), ("CSV", "a.csvstore"), ("CSV", "Person.csv"),
      ("XML", "no extension"),
    ])
  func newStore(_ type: String, _ name: String) throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("zero-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.appendingPathComponent(name).path
    try Data().write(to: URL(filePath: path))
    let model = try ManagedObjectModel(Self.model)
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model, registry: .builtIn)
    let store = try coordinator.addPersistentStore(type: type, at: path)
    #expect(store.nodes.count(of: 0) == 0)
    let ada = ManagedObjectSnapshot(entity: 0, values: [0: .string("Ada")])
    try coordinator.save(store, changes: StoreChanges(inserted: [ada]))
    try coordinator.remove(store)
    let again = try coordinator.addPersistentStore(type: type, at: path)
    #expect(again.nodes.value(slot: 0, of: NodeHandle(entity: 0, row: 0)) == .string("Ada"))
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [name])
  }
}
