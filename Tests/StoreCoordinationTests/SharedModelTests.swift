import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import StoreCoordination
import TestSupport
import Testing

@Suite("Models of stores that are opened one after the other") struct SharedModelTests {
  private static func description(_ name: String) -> ModelDescription {
    ModelDescription(entities: [
      EntityDescription(name: "Person", properties: [.attribute(AttributeDescription(name: name, type: .string))])
    ])
  }

  /// Opens a store that is compared with another one, as a comparison does.
  private static func open(
    _ path: String, comparedWith other: PersistentStore? = nil
  ) throws -> (PersistentStoreCoordinator, PersistentStore) {
    let coordinator = PersistentStoreCoordinator(managedObjectModel: nil, registry: .builtIn)
    coordinator.similarNodes = other?.nodes
    return (coordinator, try coordinator.addPersistentStore(at: path, isReadOnly: true))
  }

  private static func makeStore(_ path: String, _ description: ModelDescription) throws {
    let model = try ManagedObjectModel(description)
    let snapshot = StoreSnapshot(
      nodes: NodeTable(model: model), metadata: StoreMetadata(storeType: "memory", model: description))
    _ = try StoreConverter(registry: .builtIn).write(snapshot, to: path)
  }

  @Test("a store with the model of the one that it is compared with shares it; one that only looks like it does not")
  func sharesIdenticalModels() throws {
    let folder = NSTemporaryDirectory() + "models-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try Self.makeStore(folder + "/a.xml", Self.description("é"))
    try Self.makeStore(folder + "/b.plist", Self.description("é"))
    try Self.makeStore(folder + "/c.plist", Self.description("e\u{301}"))
    let (one, a) = try Self.open(folder + "/a.xml")
    let (other, b) = try Self.open(folder + "/b.plist", comparedWith: a)
    let (third, c) = try Self.open(folder + "/c.plist", comparedWith: a)
    withExtendedLifetime((one, other, third)) {
      #expect(a.model === b.model)
      #expect(a.model !== c.model)
      #expect(Array((c.model.entities.first?.slots.first?.name ?? "").unicodeScalars).count == 2)
    }
  }

  @Test("a store is opened with a model that it carries, and refused with another one")
  func checksSpecifiedModels() throws {
    let folder = NSTemporaryDirectory() + "models-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try Self.makeStore(folder + "/a.plist", Self.description("name"))
    for (name, isRefused) in [("name", false), ("title", true)] {
      let model = try ManagedObjectModel(Self.description(name))
      let coordinator = PersistentStoreCoordinator(managedObjectModel: model, registry: .builtIn)
      var code: PersistentStoreError.Code?
      do throws(PersistentStoreError) {
        let store = try coordinator.addPersistentStore(at: folder + "/a.plist", isReadOnly: true)
        #expect(store.model === model)
      } catch { code = error.code }
      #expect(code == (isRefused ? .modelMismatch : nil))
    }
  }
}
