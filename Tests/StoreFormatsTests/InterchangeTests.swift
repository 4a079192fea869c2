import AtomicStoreKit
import BuiltInStoreFormats
import Foundation
import TestSupport
import Testing

@Suite("Between formats nothing is lost") struct InterchangeTests {
  static let types = [("XML", "xml"), ("BinaryPropertyList", "plist"), ("CSV", "csvstore"), ("Arrow", "arrowstore")]

  private static func save(_ snapshot: StoreSnapshot, _ type: String, to path: String) throws {
    var snapshot = snapshot
    snapshot.metadata.storeType = type
    snapshot.nodes = try snapshot.nodes.canonical()
    var format: any AtomicStore = try StoreRegistry.builtIn.storeType(named: type).init(StoreConfiguration(path: path))
    let staged = try StagedStore(target: path, layout: format.layout, policy: .replaceAny)
    try format.save(snapshot, to: staged.files)
    try staged.finish()
    try staged.commit()
  }

  private static func load(_ path: String) throws -> StoreSnapshot {
    let coordinator = PersistentStoreCoordinator(registry: .builtIn)
    let store = try coordinator.addPersistentStore(at: path, isReadOnly: true)
    return StoreSnapshot(nodes: store.nodes, metadata: store.metadata)
  }

  private static func bytes(_ path: String) throws -> [String: [UInt8]] {
    let source = try StoreSource(opening: try StorePath.inspect(path))
    guard source.isFolder else { return ["": try source.bytes().withUnsafeBytes { Array($0) }] }
    var result: [String: [UInt8]] = [:]
    for name in source.memberNames { result[name] = try source.bytes(ofMember: name).withUnsafeBytes { Array($0) } }
    return result
  }

  @Test(
    "a random graph is converted through all formats and is preserved to the bit",
    arguments: [UInt64](1...40).share(of: "random graphs through all formats"))
  func roundTrip(_ seed: UInt64) throws {
    let folder = NSTemporaryDirectory() + "interchange-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let original = try RandomGraphs.make(seed: seed)
    // Each format is read by itself and written from each of the others.
    for (first, firstExtension) in Self.types {
      let one = "\(folder)/one.\(firstExtension)"
      try Self.save(original, first, to: one)
      let read = try Self.load(one)
      let differences = GraphComparison.differences(original, read)
      #expect(differences.isEmpty, "seed \(seed), \(first): \(differences.prefix(3))")
      for (second, secondExtension) in Self.types {
        let two = "\(folder)/two.\(secondExtension)"
        try Self.save(read, second, to: two)
        let again = try Self.load(two)
        let differences = GraphComparison.differences(original, again)
        #expect(differences.isEmpty, "seed \(seed), \(first) to \(second): \(differences.prefix(3))")
        try FileManager.default.removeItem(atPath: two)
      }
    }
  }

  @Test("equal graphs are equal bytes, whatever order they were made in", arguments: [UInt64](1...10))
  func deterministic(_ seed: UInt64) throws {
    let folder = NSTemporaryDirectory() + "deterministic-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    for (type, fileExtension) in Self.types {
      let path = "\(folder)/store.\(fileExtension)"
      try Self.save(try RandomGraphs.make(seed: seed), type, to: path)
      let first = try Self.bytes(path)
      try Self.save(try RandomGraphs.make(seed: seed, shuffled: true), type, to: path)
      #expect(try Self.bytes(path) == first, "seed \(seed), \(type)")
      // And a second save of what was read changes nothing.
      try Self.save(try Self.load(path), type, to: path)
      #expect(try Self.bytes(path) == first, "seed \(seed), \(type), saved again")
    }
  }
}
