import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import Testing

@Suite("Models at their bounds") struct DeepModelTests {
  @Test(
    "the deepest model is carried by every format",
    arguments: [("XML", "xml"), ("BinaryPropertyList", "plist"), ("CSV", "csvstore")])
  func deepest(_ type: String, _ fileExtension: String) throws {
    let depth = ModelDescription.maximumInheritanceDepth
    var entity = EntityDescription(
      name: "E\(depth)",
      properties: [.attribute("a", .double, defaultValue: .double(1))])
    for level in (0..<depth).reversed() { entity = EntityDescription(name: "E\(level)", subentities: [entity]) }
    let model = try ManagedObjectModel(ModelDescription(entities: [entity]))
    let builder = NodeTableBuilder(model: model)
    let deepest = try #require(model.entity(named: "E\(depth)"))
    try builder.beginNode(entity: deepest.index, reference: 1)
    try builder.set(.double(0.5), slot: try #require(deepest.slot(named: "a")))
    let path = FileManager.default.temporaryDirectory.appending(path: "deep-\(UUID().uuidString).\(fileExtension)").path
    defer { try? FileManager.default.removeItem(atPath: path) }
    let snapshot = StoreSnapshot(
      nodes: try builder.finish(), metadata: StoreMetadata(storeType: type, model: model.description))
    var format: any AtomicStore = try StoreRegistry.builtIn.storeType(named: type).init(StoreConfiguration(path: path))
    let staged = try StagedStore(target: path, layout: format.layout, policy: .createNew)
    try format.save(snapshot, to: staged.files)
    try staged.finish()
    try staged.commit()
    let store = try PersistentStoreCoordinator(registry: .builtIn).addPersistentStore(at: path, isReadOnly: true)
    #expect(store.model.description == model.description)
    #expect(store.nodes.count == 1)
  }
}
