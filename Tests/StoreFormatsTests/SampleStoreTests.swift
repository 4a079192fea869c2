import AtomicStoreKit
import BuiltInStoreFormats
import Foundation
import Testing

/// The committed samples are what the code says, byte for byte: so a change of a format shows in a diff.
/// `ATOMICSTORE_REGENERATE=1 swift test --filter SampleStoreTests` writes them again.
@Suite("Sample stores", .serialized) struct SampleStoreTests {
  static let cases = ["Company", "FriendInfo"].flatMap { name in
    [("XML", "xml"), ("BinaryPropertyList", "plist"), ("CSV", "csvstore"), ("Arrow", "arrowstore")].map {
      (name, $0.0, $0.1)
    }
  }
  static let regenerates = ProcessInfo.processInfo.environment["ATOMICSTORE_REGENERATE"] == "1"

  private static func snapshot(_ name: String) throws -> StoreSnapshot {
    name == "Company" ? try SampleStores.company() : try SampleStores.friendInfo()
  }

  private static func write(_ name: String, _ type: String, to path: String) throws {
    var snapshot = try snapshot(name)
    snapshot.metadata.storeType = type
    snapshot.nodes = try snapshot.nodes.canonical()
    let formatType = try StoreRegistry.builtIn.storeType(named: type)
    var format: any AtomicStore = try formatType.init(StoreConfiguration(path: path))
    let staged = try StagedStore(target: path, layout: format.layout, policy: .replaceAny)
    try format.save(snapshot, to: staged.files)
    try staged.finish()
    try staged.commit()
  }

  private static func files(_ path: String) throws -> [String: Data] {
    let source = try StoreSource(opening: try StorePath.inspect(path))
    guard source.isFolder else { return ["": try Data(contentsOf: URL(filePath: path))] }
    return try Dictionary(
      uniqueKeysWithValues: source.memberNames.map { ($0, try Data(contentsOf: URL(filePath: path + "/" + $0))) })
  }

  @Test("a sample is what its code says, byte for byte", arguments: cases)
  func bytes(_ name: String, _ type: String, _ fileExtension: String) throws {
    let committed = "\(SampleStores.folder)/\(name)/\(name).\(fileExtension)"
    if Self.regenerates { try Self.write(name, type, to: committed) }
    let folder = NSTemporaryDirectory() + "samples-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let fresh = "\(folder)/\(name).\(fileExtension)"
    try Self.write(name, type, to: fresh)
    #expect(try Self.files(committed) == Self.files(fresh))
  }

  @Test("a sample opens with its model and without one, to the same graph", arguments: cases)
  func opens(_ name: String, _ type: String, _ fileExtension: String) throws {
    let path = "\(SampleStores.folder)/\(name)/\(name).\(fileExtension)"
    let expected = try Self.snapshot(name)
    for model in [nil, try SampleStores.model(name)] {
      let coordinator = PersistentStoreCoordinator(managedObjectModel: model, registry: .builtIn)
      let store = try coordinator.addPersistentStore(at: path, isReadOnly: true)
      #expect(store.type == type)
      let differences = GraphComparison.differences(
        expected, StoreSnapshot(nodes: store.nodes, metadata: store.metadata))
      #expect(differences.isEmpty, "\(differences.prefix(5))")
      #expect(store.metadata.lastReference == expected.metadata.lastReference)
    }
  }
}
