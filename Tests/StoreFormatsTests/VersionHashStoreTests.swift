import AtomicStoreKit
import BuiltInStoreFormats
import Foundation
import Testing

/// Version hashes in stores: written with a model that is known whole, checked when a store is opened with a given one.
@Suite("Version hashes of stores") struct VersionHashStoreTests {
  private final class Scratch {
    let path: String
    init() throws {
      path = NSTemporaryDirectory() + "version-hashes-\(UUID().uuidString)"
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }
    deinit { try? FileManager.default.removeItem(atPath: path) }
    func callAsFunction(_ name: String) -> String { path + "/" + name }
  }

  private static let people = ModelDescription(
    versionIdentifiers: ["1.0"],
    entities: [
      EntityDescription(name: "Person", properties: [.attribute("name", .string)]),
      EntityDescription(name: "Town", properties: [.attribute("name", .string)]),
    ], configurations: [ConfigurationDescription(name: "Small", entityNames: ["Person"])])
  /// The same for stored data, another for Core Data.
  private static var stricter: ModelDescription {
    var model = people
    model.entities[0].properties = [.attribute("name", .string, isOptional: false)]
    return model
  }
  private static let types = [("XML", "xml"), ("BinaryPropertyList", "plist"), ("CSV", "csvstore")]

  private static func make(
    _ path: String, _ type: String, model: ModelDescription = people, configuration: String? = nil,
    entries: PropertyListDictionary = [:]
  ) throws -> StoreMetadata {
    let coordinator = PersistentStoreCoordinator(managedObjectModel: try ManagedObjectModel(model), registry: .builtIn)
    let store = try coordinator.addPersistentStore(type: type, configurationName: configuration, at: path)
    try store.setMetadata(entries)
    let name = ManagedObjectSnapshot(entity: 0, values: [0: .string("Ada")])
    try coordinator.save(store, changes: StoreChanges(inserted: [name]))
    let metadata = store.metadata
    try coordinator.remove(store)
    return metadata
  }
  private static func metadata(_ path: String) throws -> StoreMetadata {
    try PersistentStoreCoordinator.metadataForPersistentStore(at: path, registry: .builtIn)
  }
  private static func open(
    _ path: String, _ model: ModelDescription?, _ options: StoreOptions = [:], configuration: String? = nil
  ) throws {
    let coordinator = PersistentStoreCoordinator(
      managedObjectModel: try model.map { try ManagedObjectModel($0) }, registry: .builtIn)
    try coordinator.addPersistentStore(configurationName: configuration, at: path, options: options, isReadOnly: true)
  }
  private static func error(_ body: () throws -> Void) throws -> PersistentStoreError {
    do { try body() } catch let error as PersistentStoreError { return error }
    throw PersistentStoreError(.internalInconsistency, "no error was thrown")
  }

  @Test("a save writes the hashes of the model, its identifiers, and the version of the rules", arguments: types)
  func saved(_ type: String, _ fileExtension: String) throws {
    let scratch = try Scratch()
    let saved = try Self.make(scratch("a." + fileExtension), type)
    let read = try Self.metadata(scratch("a." + fileExtension))
    let model = try ManagedObjectModel(Self.people)
    #expect(VersionHashes(metadata: read.entries) == model.versionHashes)
    #expect(read.entries[VersionHashes.versionMetadataKey] == 3)
    #expect(read.entries[VersionHashes.identifiersMetadataKey] == ["1.0"])
    #expect(
      read.entries[VersionHashes.digestMetadataKey] == nil && read.entries[VersionHashes.checksumMetadataKey] == nil)
    #expect(saved.entries == read.entries)
  }

  @Test(
    "digest and checksum are kept true where a store has them, and identifiers that came with the same hashes are kept")
  func kept() throws {
    let scratch = try Scratch()
    let model = try ManagedObjectModel(Self.people)
    let entries: PropertyListDictionary = [
      VersionHashes.digestMetadataKey: "old", VersionHashes.checksumMetadataKey: "old",
      VersionHashes.identifiersMetadataKey: ["mine"],
      VersionHashes.metadataKey: model.versionHashes.propertyList,
    ]
    let read = try Self.make(scratch("a.xml"), "XML", entries: entries)
    #expect(read.entries[VersionHashes.digestMetadataKey] == .string(model.versionHashes.digest))
    #expect(read.entries[VersionHashes.checksumMetadataKey] == .string(model.versionHashes.checksum))
    #expect(read.entries[VersionHashes.identifiersMetadataKey] == ["mine"])
    var stale = entries
    stale[VersionHashes.metadataKey] = ["Person": .data(Data(repeating: 1, count: 32))]
    let renewed = try Self.make(scratch("b.xml"), "XML", entries: stale)
    #expect(renewed.entries[VersionHashes.identifiersMetadataKey] == ["1.0"])
    #expect(VersionHashes(metadata: renewed.entries) == model.versionHashes)
  }

  @Test("a store of a configuration has the hashes of its entities, and opens with it and with the whole model")
  func configuration() throws {
    let scratch = try Scratch()
    let read = try Self.make(scratch("a.xml"), "XML", configuration: "Small")
    #expect(VersionHashes(metadata: read.entries)?.entries.map(\.entityName) == ["Person"])
    try Self.open(scratch("a.xml"), Self.people, configuration: "Small")
    try Self.open(scratch("a.xml"), Self.people)
  }

  @Test(
    "a store is refused with a model of other hashes, with the property that differs, unless they are to be ignored",
    arguments: types)
  func refused(_ type: String, _ fileExtension: String) throws {
    let scratch = try Scratch()
    let path = scratch("a." + fileExtension)
    _ = try Self.make(path, type)
    let error = try Self.error { try Self.open(path, Self.stricter) }
    #expect(error.code == .modelMismatch && error.message.contains("Person.name: optional → required"), "\(error)")
    #expect("\(error)".contains("ignoreVersionHashes=yes") && !error.message.contains("Town"))
    try Self.open(path, Self.people)
    try Self.open(path, nil)
    try Self.open(path, Self.stricter, ["ignoreVersionHashes": "yes"])
    #expect(try Self.error { try Self.open(path, Self.stricter, ["ignoreVersionHashes": "no"]) }.code == .modelMismatch)
    #expect(
      try Self.error { try Self.open(path, Self.stricter, ["ignoreVersionHashes": "perhaps"]) }.code == .invalidOption)
  }

  @Test("without the model of the store only the entity is named")
  func refusedByHash() throws {
    let scratch = try Scratch()
    try Self.file(hashes: ["PERSON": Data(repeating: 7, count: 32)]).write(to: URL(filePath: scratch("a.xml")))
    let model = ModelDescription(entities: [
      EntityDescription(name: "PERSON", properties: [.attribute("name", .string)])
    ])
    let error = try Self.error { try Self.open(scratch("a.xml"), model) }
    #expect(error.code == .modelMismatch && error.message.contains("PERSON: the hash differs"), "\(error)")
    var other = model
    other.entities[0].name = "HUMAN"
    #expect(
      try Self.error { try Self.open(scratch("a.xml"), other) }.message.contains(
        "HUMAN: only in the model; PERSON: only in the store"))
  }

  /// A store as Core Data writes it: no model, and hashes of a model that is not there.
  private static func file(hashes: [String: Data]) -> Data {
    let list = hashes.map { "<key>\($0.key)</key>\n<data>\n\($0.value.base64EncodedString())\n</data>\n" }.joined()
    return Data(
      """
      <?xml version="1.0" standalone="yes"?>
      <!DOCTYPE database SYSTEM "file:///System/Library/DTDs/CoreData.dtd">

      <database>
          <databaseInfo>
              <version>134481920</version>
              <UUID>0F7D2C1A-6A31-4D0B-8E57-F21E2D1F0A11</UUID>
              <nextObjectID>1</nextObjectID>
              <metadata>
                  <plist version="1.0">
                      <dict>
                          <key>NSStoreModelVersionHashes</key>
                          <dict>
      \(list)</dict>
                      </dict>
                  </plist>
              </metadata>
          </databaseInfo>
          <object type="PERSON" id="z1">
              <attribute name="name" type="string">Ada</attribute>
          </object>
      </database>
      """.utf8)
  }

  @Test("a store whose model is inferred keeps the hashes that it has, and gets none", arguments: types)
  func inferred(_ type: String, _ fileExtension: String) throws {
    let scratch = try Scratch()
    let hash = Data((0..<32).map { UInt8($0) })
    for (name, hashes) in [("with", ["PERSON": hash]), ("without", [:])] {
      try Self.file(hashes: hashes).write(to: URL(filePath: scratch(name + ".xml")))
      let result = scratch("\(name)-result.\(fileExtension)")
      var converter = StoreConverter(registry: .builtIn)
      converter.targetType = type
      _ = try converter.convert(from: scratch(name + ".xml"), to: result)
      let entries = try Self.metadata(result).entries
      #expect(VersionHashes(metadata: entries)?["PERSON"] == hashes["PERSON"])
      #expect(entries[VersionHashes.versionMetadataKey] == nil)
    }
  }

  @Test(
    "a conversion with a given model writes its hashes, though the source had others that were ignored",
    arguments: types)
  func converted(_ type: String, _ fileExtension: String) throws {
    let scratch = try Scratch()
    try Self.file(hashes: ["PERSON": Data(repeating: 7, count: 32)]).write(to: URL(filePath: scratch("a.xml")))
    let model = try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(name: "Person", properties: [.attribute("name", .string)])
      ]))
    var converter = StoreConverter(registry: .builtIn)
    converter.model = model
    converter.targetType = type
    let result = scratch("b." + fileExtension)
    #expect(try Self.error { _ = try converter.convert(from: scratch("a.xml"), to: result) }.code == .modelMismatch)
    converter.readOptions = ["ignoreVersionHashes": "yes"]
    _ = try converter.convert(from: scratch("a.xml"), to: result)
    #expect(VersionHashes(metadata: try Self.metadata(result).entries) == model.versionHashes)
  }

  @Test("a format without metadata loses no hashes that follow from the model")
  func withoutMetadata() throws {
    let scratch = try Scratch()
    _ = try Self.make(scratch("a.xml"), "XML")
    var converter = StoreConverter(registry: .builtIn)
    converter.targetType = "CSV"
    converter.writeOptions = ["layout": "file"]
    do {
      let report = try converter.convert(from: scratch("a.xml"), to: scratch("b.csv"))
      #expect(!report.losses.contains { $0.kind == .metadataKey })
    } catch let error as StoreConverter.LossError {
      #expect(!error.losses.contains { $0.kind == .metadataKey }, "\(error)")
    }
  }

  @Test("a comparison skips hashes that one store lacks, and finds those that differ")
  func compared() throws {
    let model = try ManagedObjectModel(Self.people)
    let nodes = NodeTable(model: model)
    func snapshot(_ entries: PropertyListDictionary) -> StoreSnapshot {
      StoreSnapshot(
        nodes: nodes,
        metadata: StoreMetadata(
          storeType: "XML", uuid: UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1)), entries: entries))
    }
    let mine = snapshot([VersionHashes.metadataKey: model.versionHashes.propertyList])
    let other = snapshot([VersionHashes.metadataKey: try ManagedObjectModel(Self.stricter).versionHashes.propertyList])
    #expect(GraphComparison.differences(mine, snapshot([:])) == [])
    #expect(GraphComparison.differences(snapshot([:]), mine) == [])
    #expect(GraphComparison.differences(mine, other).map(\.key) == [VersionHashes.metadataKey])
    let strict = GraphComparison.Options(comparesMissingDerivedMetadata: true)
    #expect(GraphComparison.differences(mine, snapshot([:]), options: strict).count == 1)
  }
}
