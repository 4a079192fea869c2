import AtomicStoreConformance
import AtomicStoreKit
import AtomicStoreSPI
import Foundation
import Testing

@Suite("The format in the documentation of AtomicStore works") struct DocumentedStoreTests {
  @Test("the example in the protocol's doc comment is the file that is compiled here, line for line")
  func example() throws {
    let source = try DocumentationTests.text("Sources/SPI/AtomicStoreSPI/Store/AtomicStore.swift")
    let comment = source.split(separator: "\n", omittingEmptySubsequences: false)
      .drop { $0 != "/// ```swift" }.dropFirst().prefix { $0 != "/// ```" }
    let shown = comment.map { $0 == "///" ? "" : String($0.dropFirst("/// ".count)) }
    let compiled = try DocumentationTests.text("Tests/ConformanceTests/TabbedStore.swift")
    #expect(shown.joined(separator: "\n") + "\n" == compiled)
    #expect(shown.count > 50)
  }

  @Test("it passes the checks of the smoke test", arguments: Conformance.smoke(for: TabbedStore.self))
  func conforms(_ check: ConformanceCheck) throws { try check.run() }

  /// A store with one object.
  private static func snapshot(_ reference: ReferenceObject) throws -> StoreSnapshot {
    let model = try ManagedObjectModel(
      ModelDescription(entities: [EntityDescription(name: "Note", properties: [.attribute("text", .string)])]))
    let builder = NodeTableBuilder(model: model)
    try builder.beginNode(entity: 0, reference: reference)
    return StoreSnapshot(nodes: try builder.finish(), metadata: StoreMetadata(storeType: "XML"))
  }

  @Test("it keeps the UUID and no metadata entries: only the loss of entries is predicted")
  func losses() throws {
    var snapshot = try Self.snapshot(.integer(1))
    #expect(TabbedStore.traits.losses(for: snapshot).isEmpty)
    snapshot.metadata.entries["note"] = .string("x")
    #expect(TabbedStore.traits.losses(for: snapshot).map(\.subject) == ["note"])
    var traits = TabbedStore.traits
    traits.keepsIdentity = false
    #expect(traits.losses(for: snapshot).map(\.subject) == ["note", "UUID"])
  }

  @Test("it refuses references that are texts, before anything is published")
  func refuses() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "Tabbed-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    var registry = StoreRegistry()
    try registry.register(TabbedStore.self)
    var converter = StoreConverter(registry: registry)
    converter.targetType = "Tabbed"
    converter.allowsLoss = true
    let error = #expect(throws: (any Error).self) {
      try converter.write(try Self.snapshot(.string("a")), to: folder.path + "/a.tabbed")
    }
    #expect("\(String(describing: error))".contains("must be an integer, not 'a'"), "\(String(describing: error))")
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
  }
}
