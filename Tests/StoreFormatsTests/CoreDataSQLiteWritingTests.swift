import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import ModelFiles
import Testing

@Suite("Writing Core Data's SQLite stores") struct CoreDataSQLiteWritingTests {
  static let samples = SQLiteSamples.root + "/SampleStores"

  /// A folder that goes with the value.
  final class Scratch {
    let path = NSTemporaryDirectory() + "sqlite-writing-\(UUID().uuidString)"
    init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }
    deinit { try? FileManager.default.removeItem(atPath: path) }
  }
  let folder: Scratch
  init() throws { folder = try Scratch() }

  private func convert(_ source: String, _ name: String, model: ManagedObjectModel? = nil, allowsLoss: Bool = false)
    throws -> StoreConverter.Report
  {
    var converter = StoreConverter(registry: .builtIn)
    converter.model = model
    converter.allowsLoss = allowsLoss
    return try converter.convert(from: source, to: folder.path + "/" + name)
  }

  private func differences(_ one: String, _ other: String, model: ManagedObjectModel? = nil) throws -> [GraphDifference]
  {
    func snapshot(_ path: String) throws -> StoreSnapshot {
      let coordinator = PersistentStoreCoordinator(managedObjectModel: model, registry: .builtIn)
      let store = try coordinator.addPersistentStore(at: path, isReadOnly: true)
      return StoreSnapshot(nodes: try store.nodes.canonical(), metadata: store.metadata)
    }
    return GraphComparison.differences(try snapshot(one), try snapshot(other), options: .init(limit: 10))
  }

  /// What a query gives, columns separated by bars.
  private func query(_ name: String, _ sql: String) throws -> [String] {
    try SQLiteSamples.lines(folder.path + "/" + name, sql)
  }

  @Test("a store converts there and back with nothing lost, without a model")
  func roundTrip() throws {
    let source = Self.samples + "/FriendInfo/FriendInfo.xml"
    #expect(try convert(source, "f.sqlite").losses.isEmpty)
    #expect(try differences(source, folder.path + "/f.sqlite").isEmpty)
    #expect(try convert(folder.path + "/f.sqlite", "back.xml").losses.isEmpty)
    // A conversion adds the version hashes, so that a copy is compared, not the sample.
    #expect(try convert(source, "direct.xml").losses.isEmpty)
    #expect(
      try Data(contentsOf: URL(filePath: folder.path + "/back.xml"))
        == Data(contentsOf: URL(filePath: folder.path + "/direct.xml")))
  }

  @Test("equal graphs are equal bytes")
  func equalBytes() throws {
    let source = Self.samples + "/FriendInfo/FriendInfo.xml"
    _ = try convert(source, "one.sqlite")
    _ = try convert(source, "two.sqlite")
    #expect(
      try Data(contentsOf: URL(filePath: folder.path + "/one.sqlite"))
        == Data(contentsOf: URL(filePath: folder.path + "/two.sqlite")))
  }

  @Test("a decimal that only loses its spelling is listed and converted; one that becomes another number is refused")
  func decimals() throws {
    func source(_ prices: [String], _ name: String) throws -> String {
      let model = try ManagedObjectModel(
        ModelDescription(entities: [
          EntityDescription(
            name: "Item", properties: [.attribute(AttributeDescription(name: "price", type: .decimal))])
        ]))
      let builder = NodeTableBuilder(model: model)
      for (index, price) in prices.enumerated() {
        try builder.beginNode(entity: 0, reference: .integer(Int64(index) + 1))
        try builder.set(.decimal(try #require(DecimalNumber(price))), slot: 0)
      }
      let path = folder.path + "/" + name
      _ = try StoreConverter(registry: .builtIn).write(
        StoreSnapshot(nodes: try builder.finish(), metadata: StoreMetadata(storeType: "XML")), to: path)
      return path
    }
    let prices = try source(["19.90", "9.5", "7.00", "3"], "prices.xml")
    let report = try convert(prices, "prices.sqlite")
    #expect(report.losses.map(\.description) == ["decimal-spelling: Item.price, 2 times, first Item/1"])
    #expect(report.losses.allSatisfy { $0.kind.lossClass == .spelling })
    #expect(try query("prices.sqlite", "SELECT ZPRICE FROM ZITEM ORDER BY Z_PK") == ["19.9", "9.5", "7", "3"])
    let long = try source(["19.90", "0.12345678901234567890123"], "long.xml")
    let error = try #require(throws: StoreConverter.LossError.self) { try convert(long, "long.sqlite") }
    #expect(error.losses.map(\.description) == ["decimal-precision: Item.price, 1 time, first Item/2"])
    #expect(
      try convert(long, "long.sqlite", allowsLoss: true).losses.map(\.kind) == [.decimalPrecision, .decimalSpelling])
  }

  @Test("what columns lose is listed and refused: special floats, digits of decimals, values without a type")
  func losses() throws {
    let source = Self.samples + "/Company/Company.xml"
    let error = try #require(throws: StoreConverter.LossError.self) { try convert(source, "c.sqlite") }
    #expect(Set(error.losses.map(\.kind)).isSuperset(of: [.specialFloat, .decimalPrecision]), "\(error)")
    #expect(!FileManager.default.fileExists(atPath: folder.path + "/c.sqlite"))
    // With permission all the rest is there.
    #expect(try convert(source, "c.sqlite", allowsLoss: true).counts.count > 0)
  }

  @Test(
    "an existing store is not replaced by a save, and a log that was left beside the target is not applied to the new one"
  )
  func leftOverLog() throws {
    try Data(repeating: 1, count: 40).write(to: URL(filePath: folder.path + "/f.sqlite-wal"))
    let error = try #require(throws: PersistentStoreError.self) {
      try convert(Self.samples + "/FriendInfo/FriendInfo.xml", "f.sqlite")
    }
    #expect(error.code == .alreadyExists && error.location.file?.hasSuffix("f.sqlite-wal") == true, "\(error)")
  }

  // MARK: As Core Data writes it

  @Test("every relationship and type comes back", .enabled(if: SQLiteSamples.program != nil, SQLiteSamples.needed))
  func people() throws {
    let samples = try SQLiteSamples()
    _ = try convert(samples.path("Plain.sqlite"), "p.sqlite", model: samples.model)
    #expect(try differences(samples.path("Plain.sqlite"), folder.path + "/p.sqlite", model: samples.model).isEmpty)
    #expect(try query("p.sqlite", "PRAGMA integrity_check") == ["ok"])
    #expect(
      try query("p.sqlite", "SELECT sql FROM sqlite_master WHERE name = 'ZPERSON'") == [
        "CREATE TABLE ZPERSON ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZACTIVE INTEGER, ZAGE INTEGER, ZMANAGER INTEGER, Z1_MANAGER INTEGER, ZTEAM INTEGER, ZNOTE1 INTEGER, Z_FOK_TEAM INTEGER, ZJOINED TIMESTAMP, ZRATIO FLOAT, ZSCORE FLOAT, ZSALARY DECIMAL, ZNAME VARCHAR, ZNOTE VARCHAR, ZTITLE VARCHAR, ZSITE VARCHAR, ZIDENT BLOB, ZBLOB BLOB, ZPHOTO BLOB )"
      ])
    #expect(
      try query("p.sqlite", "SELECT sql FROM sqlite_master WHERE name = 'Z_1TAGS'") == [
        "CREATE TABLE Z_1TAGS ( Z_1PEOPLE INTEGER, Z_4TAGS INTEGER, Z_FOK_4TAGS INTEGER, PRIMARY KEY (Z_1PEOPLE, Z_4TAGS) )"
      ])
    #expect(
      try query("p.sqlite", "SELECT Z_ENT, Z_NAME, Z_SUPER, Z_MAX FROM Z_PRIMARYKEY") == [
        "1|Person|0|9", "2|Employee|1|0", "3|Guest|1|0", "4|Tag|0|9", "5|Team|0|9",
      ])
    #expect(
      try query("p.sqlite", "SELECT Z_PK, Z_ENT, Z_OPT, Z1_MANAGER, Z_FOK_TEAM, hex(ZPHOTO) FROM ZPERSON") == [
        "1|1|1||3072|01CAFE", "2|2|1|1|2048|", "4|3|1|2|4096|01", "9|1|1|||",
      ])
    #expect(try query("p.sqlite", "SELECT * FROM Z_1TAGS ORDER BY 1, 3") == ["1|2|2048", "1|1|3072", "2|2|2048"])
    #expect(
      try query("p.sqlite", "SELECT Z_VERSION, Z_UUID FROM Z_METADATA") == ["1|3F0A7B6E-52C4-4E0B-9C7A-0D8C1B7A9E11"])
    #expect(
      try query("p.sqlite", "SELECT sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL") == [
        "CREATE INDEX ZPERSON_ZMANAGER_INDEX ON ZPERSON (ZMANAGER)",
        "CREATE INDEX ZPERSON_ZTEAM_INDEX ON ZPERSON (ZTEAM)",
        "CREATE INDEX ZPERSON_Z_ENT_INDEX ON ZPERSON (Z_ENT)",
        "CREATE INDEX Z_1TAGS_Z_4TAGS_INDEX ON Z_1TAGS (Z_4TAGS, Z_1PEOPLE)",
      ])
  }

  // MARK: Odd models

  private func model(_ entities: [EntityDescription]) throws -> ManagedObjectModel {
    try ManagedObjectModel(ModelDescription(entities: entities))
  }

  private func save(_ model: ManagedObjectModel, _ name: String, _ fill: (NodeTableBuilder) throws -> Void) throws
    -> StoreSnapshot
  {
    let builder = NodeTableBuilder(model: model)
    try fill(builder)
    let snapshot = StoreSnapshot(
      nodes: try builder.finish().canonical(),
      metadata: StoreMetadata(storeType: "CoreDataSQLite", lastReference: 0, model: model.description))
    var format = try StoreRegistry.builtIn.storeType(named: "CoreDataSQLite").init(
      StoreConfiguration(path: folder.path + "/" + name))
    let staged = try StagedStore(target: folder.path + "/" + name, layout: .file, policy: .createNew)
    try format.save(snapshot, to: staged.files)
    try staged.finish()
    try staged.commit()
    return snapshot
  }

  private func reread(_ name: String, as snapshot: StoreSnapshot) throws -> [GraphDifference] {
    let coordinator = PersistentStoreCoordinator(registry: .builtIn)
    let store = try coordinator.addPersistentStore(at: folder.path + "/" + name, isReadOnly: true)
    return GraphComparison.differences(
      snapshot, StoreSnapshot(nodes: try store.nodes.canonical(), metadata: store.metadata),
      options: .init(comparesIdentity: true, comparesMetadata: true, limit: 10))
  }

  private func relationship(
    _ name: String, to entity: String, inverse: String?, many: Bool = true, ordered: Bool = false
  ) -> PropertyDescription {
    .relationship(
      RelationshipDescription(
        name: name, destinationEntityName: entity, inverseName: inverse, maximumCount: many ? 0 : 1, isOrdered: ordered)
    )
  }

  @Test("a relationship that is its own inverse, and two between the same entities, keep their members")
  func reflexive() throws {
    let model = try model([
      EntityDescription(
        name: "Person",
        properties: [
          relationship("friends", to: "Person", inverse: "friends"),
          relationship("children", to: "Person", inverse: "parents", ordered: true),
          relationship("parents", to: "Person", inverse: "children"),
        ])
    ])
    let entity = try #require(model.entity(named: "Person"))
    let snapshot = try save(model, "r.sqlite") { builder in
      for key in 1...4 {
        try builder.beginNode(entity: 0, reference: Int64(key))
        let friends = [1: [2, 3], 2: [1, 2], 3: [1]][key] ?? []
        for friend in friends {
          try builder.append(toMany: Int64(friend), slot: try #require(entity.slot(named: "friends")))
        }
        for child in key == 1 ? [4, 2, 3] : [] {
          try builder.append(toMany: Int64(child), slot: try #require(entity.slot(named: "children")))
        }
        if key > 1 { try builder.append(toMany: 1, slot: try #require(entity.slot(named: "parents"))) }
      }
    }
    #expect(try reread("r.sqlite", as: snapshot).isEmpty)
  }

  @Test("a to-many without an inverse keeps its members and their order; an object in two of them is refused")
  func withoutInverse() throws {
    let model = try model([
      EntityDescription(name: "List", properties: [relationship("items", to: "Item", inverse: nil, ordered: true)]),
      EntityDescription(name: "Item", properties: [.attribute(AttributeDescription(name: "name", type: .string))]),
    ])
    let list = try #require(model.entity(named: "List")).index
    let item = try #require(model.entity(named: "Item")).index
    func fill(_ second: [Int64]) -> (NodeTableBuilder) throws -> Void {
      { builder in
        for (key, members) in [(Int64(1), [Int64(3), 1, 2]), (2, second)] {
          try builder.beginNode(entity: list, reference: key)
          for member in members { try builder.append(toMany: member, slot: 0) }
        }
        for key in 1...5 { try builder.beginNode(entity: item, reference: Int64(key)) }
      }
    }
    #expect(try reread("l.sqlite", as: try save(model, "l.sqlite", fill([5, 4]))).isEmpty)
    let error = try #require(throws: PersistentStoreError.self) { try save(model, "m.sqlite", fill([5, 1])) }
    #expect(error.code == .unsupportedByFormat && error.location.property == "items", "\(error)")
  }

  @Test("keys that a store cannot have are refused", arguments: [0, -3] as [Int64])
  func keys(_ key: Int64) throws {
    let model = try model([
      EntityDescription(name: "Item", properties: [.attribute(AttributeDescription(name: "name", type: .string))])
    ])
    let error = try #require(throws: PersistentStoreError.self) {
      try save(model, "k.sqlite") { try $0.beginNode(entity: 0, reference: key) }
    }
    #expect(error.code == .unsupportedByFormat && error.location.reference == String(key), "\(error)")
  }

  @Test("names that need quotes, and properties that differ in case only, have their own columns")
  func oddNames() throws {
    let model = try model([
      EntityDescription(
        name: "Größe",
        properties: [
          .attribute(AttributeDescription(name: "önly", type: .string)),
          .attribute(AttributeDescription(name: "only", type: .string)),
          .attribute(AttributeDescription(name: "Only", type: .string)),
          .attribute(AttributeDescription(name: "only1", type: .string)),
        ])
    ])
    let snapshot = try save(model, "n.sqlite") { builder in
      try builder.beginNode(entity: 0, reference: 1)
      for slot in 0..<4 { try builder.set(.string("value \(slot)"), slot: slot) }
    }
    #expect(try reread("n.sqlite", as: snapshot).isEmpty)
  }

  @Test(
    "a decimal survives, or a save refuses it and a conversion forecasts the loss",
    arguments: [
      "0", "12", "-7", "3.25", "0.1", "9223372036854775807", "1E+20", "NaN", "1.50", "0.00", "1E+5",
      "0.1000000000000000055511151231257827", "123456789012345678901234567890", "3.3333333332999993",
    ])
  func decimals(_ text: String) throws {
    let model = try model([
      EntityDescription(name: "Item", properties: [.attribute(AttributeDescription(name: "price", type: .decimal))])
    ])
    let number = try #require(DecimalNumber(text))
    func fill(_ builder: NodeTableBuilder) throws {
      try builder.beginNode(entity: 0, reference: 1)
      try builder.set(.decimal(number), slot: 0)
    }
    let builder = NodeTableBuilder(model: model)
    try fill(builder)
    let nodes = try builder.finish()
    let traits = try StoreRegistry.builtIn.storeType(named: "CoreDataSQLite").traits
    if traits.losses(for: StoreSnapshot(nodes: nodes, metadata: StoreMetadata(storeType: "CoreDataSQLite"))).isEmpty {
      #expect(try reread("d.sqlite", as: try save(model, "d.sqlite", fill)).isEmpty)
    } else {
      let error = try #require(throws: PersistentStoreError.self) { try save(model, "d.sqlite", fill) }
      #expect(error.code == .unsupportedByFormat && error.location.property == "price", "\(error)")
    }
  }

  @Test(
    "a save refuses numbers that a column changes, with their object; the sign of zero is one",
    arguments: [Double.nan, .infinity, -.infinity, -0.0])
  func specialNumbers(_ number: Double) throws {
    let model = try model([
      EntityDescription(name: "Item", properties: [.attribute(AttributeDescription(name: "size", type: .double))])
    ])
    let error = try #require(throws: PersistentStoreError.self) {
      try save(model, "s.sqlite") { builder in
        try builder.beginNode(entity: 0, reference: 7)
        try builder.set(.double(number), slot: 0)
      }
    }
    #expect(
      error.code == .unsupportedByFormat && error.location.property == "size" && error.location.reference == "7",
      "\(error)")
  }

  @Test(
    "indexes are those of the model, and those of one name are one",
    .enabled(if: SQLiteSamples.program != nil, SQLiteSamples.needed))
  func indexes() throws {
    func element(_ name: String) -> FetchIndexDescription.Element { FetchIndexDescription.Element(propertyName: name) }
    let model = try model([
      EntityDescription(
        name: "Item",
        properties: [
          .attribute(AttributeDescription(name: "name", type: .string, isIndexed: true)),
          .attribute(AttributeDescription(name: "size", type: .integer64, isIndexed: true)), .toOne("parent", "Item"),
        ],
        fetchIndexes: [
          FetchIndexDescription(name: "NAME", elements: [element("name")]),
          FetchIndexDescription(name: "name", elements: [element("size")]),
          FetchIndexDescription(name: "large", elements: [element("size")], partialIndexPredicate: "size > 0"),
          FetchIndexDescription(name: "odd", elements: [element("size")], partialIndexPredicate: "name BEGINSWITH 'a'"),
          FetchIndexDescription(name: "parent", elements: [element("parent")]),
        ]),
      EntityDescription(
        name: "Item_a", properties: [.attribute(AttributeDescription(name: "b", type: .string, isIndexed: true))]),
    ])
    _ = try save(model, "i.sqlite") { try $0.beginNode(entity: 0, reference: 1) }
    #expect(
      try query("i.sqlite", "SELECT sql FROM sqlite_master WHERE type = 'index' ORDER BY name") == [
        "CREATE INDEX ZITEM_ZPARENT_INDEX ON ZITEM (ZPARENT)",
        "CREATE INDEX Z_Item_NAME ON ZITEM (ZNAME COLLATE BINARY ASC)",
        "CREATE INDEX Z_Item_a_b ON ZITEM_A (ZB COLLATE BINARY ASC)",
        "CREATE INDEX Z_Item_large ON ZITEM (ZSIZE COLLATE BINARY ASC) WHERE ZSIZE > 0",
      ])
  }

  @Test("objects that a uniqueness constraint forbids are refused with entity and property")
  func constraint() throws {
    let model = try model([
      EntityDescription(
        name: "Item", properties: [.attribute(AttributeDescription(name: "code", type: .string))],
        uniquenessConstraints: [["code"]])
    ])
    let error = try #require(throws: PersistentStoreError.self) {
      try save(model, "u.sqlite") { builder in
        for key in 1...2 {
          try builder.beginNode(entity: 0, reference: Int64(key))
          try builder.set(.string("same"), slot: 0)
        }
      }
    }
    #expect(error.code == .invalidValue && error.message.contains("uniqueness constraint"), "\(error)")
    #expect(error.location.entity == "Item" && error.location.property == "code", "\(error)")
  }

  // MARK: External data

  private static let photo = Data((0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) })

  /// A store one of whose values is large.
  private func withPhoto() throws -> SQLiteSamples {
    let samples = try SQLiteSamples()
    try (Data([1]) + Self.photo).write(to: URL(filePath: samples.path("cell")))
    try samples.edit(
      "Plain.sqlite", "UPDATE ZPERSON SET ZPHOTO = readfile('\(samples.path("cell"))') WHERE Z_PK = 1")
    return samples
  }

  @Test(
    "large values go into files beside the store, whose names are in the cells",
    .enabled(if: SQLiteSamples.program != nil, SQLiteSamples.needed))
  func externalFiles() throws {
    let samples = try withPhoto()
    _ = try convert(samples.path("Plain.sqlite"), "p.sqlite", model: samples.model)
    let cells = try query(
      "p.sqlite", "SELECT Z_PK, length(ZPHOTO), hex(substr(ZPHOTO, 1, 1)) FROM ZPERSON WHERE ZPHOTO IS NOT NULL")
    #expect(cells == ["1|38|02", "4|1|01"])
    let directory = folder.path + "/.p_SUPPORT/_EXTERNAL_DATA"
    let names = try FileManager.default.contentsOfDirectory(atPath: directory)
    #expect(try query("p.sqlite", "SELECT substr(CAST(ZPHOTO AS TEXT), 2, 36) FROM ZPERSON WHERE Z_PK = 1") == names)
    #expect(try Data(contentsOf: URL(filePath: directory + "/" + (names.first ?? ""))) == Self.photo)
    #expect(try differences(samples.path("Plain.sqlite"), folder.path + "/p.sqlite", model: samples.model).isEmpty)
    // The same names each time.
    _ = try convert(samples.path("Plain.sqlite"), "q.sqlite", model: samples.model)
    #expect(
      try Data(contentsOf: URL(filePath: folder.path + "/p.sqlite"))
        == Data(contentsOf: URL(filePath: folder.path + "/q.sqlite")))
    // What a dry run makes is nowhere.
    var dry = StoreConverter(registry: .builtIn)
    dry.model = samples.model
    dry.isDryRun = true
    _ = try dry.convert(from: samples.path("Plain.sqlite"), to: folder.path + "/r.sqlite")
    let all = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    #expect(all == [".p_SUPPORT", ".q_SUPPORT", "p.sqlite", "q.sqlite"])
  }

  @Test(
    "with the option all values are in the store; another store's external data are not touched",
    .enabled(if: SQLiteSamples.program != nil, SQLiteSamples.needed))
  func inlineData() throws {
    let samples = try withPhoto()
    try FileManager.default.createDirectory(atPath: folder.path + "/.p_SUPPORT", withIntermediateDirectories: true)
    let error = try #require(throws: PersistentStoreError.self) {
      try convert(samples.path("Plain.sqlite"), "p.sqlite", model: samples.model)
    }
    #expect(error.code == .alreadyExists && error.location.file?.hasSuffix(".p_SUPPORT") == true, "\(error)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [".p_SUPPORT"])
    var converter = StoreConverter(registry: .builtIn)
    converter.model = samples.model
    converter.writeOptions = ["external": "inline"]
    _ = try converter.convert(from: samples.path("Plain.sqlite"), to: folder.path + "/p.sqlite")
    #expect(try query("p.sqlite", "SELECT length(ZPHOTO) FROM ZPERSON WHERE Z_PK = 1") == ["200001"])
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path + "/.p_SUPPORT").isEmpty)
  }
}
