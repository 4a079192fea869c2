import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import TestSupport
import Testing

@testable import CoreDataSQLiteStoreFormat

/// The parts of a large table are read at the same time. The result is that of one pass, in every value, in the order
/// of rows and in every error.
@Suite("Reading the parts of a table of Core Data at the same time") struct CoreDataSQLitePartsTests {
  private static let description = ModelDescription(entities: [
    EntityDescription(
      name: "Person",
      properties: [
        .attribute("name", .string), .attribute("age", .integer16), .attribute("born", .date),
        .attribute("token", .uuid), .attribute("picture", .binaryData),
        .relationship(
          RelationshipDescription(
            name: "boss", destinationEntityName: "Person", inverseName: "staff", maximumCount: 1)),
        .relationship(
          RelationshipDescription(
            name: "staff", destinationEntityName: "Person", inverseName: "boss", maximumCount: 0, isOrdered: true)),
        .relationship(
          RelationshipDescription(name: "tags", destinationEntityName: "Tag", inverseName: "people", maximumCount: 0)),
      ],
      subentities: [EntityDescription(name: "Employee", properties: [.attribute("salary", .double)])]),
    EntityDescription(
      name: "Tag",
      properties: [
        .attribute("title", .string),
        .relationship(
          RelationshipDescription(name: "people", destinationEntityName: "Person", inverseName: "tags", maximumCount: 0)
        ),
      ]),
  ])

  /// The bytes of a store, and its model. Keys have gaps.
  private static func written(_ seed: UInt64) throws -> (bytes: [UInt8], model: ManagedObjectModel) {
    let model = try ManagedObjectModel(description)
    var random = Random(seed: seed)
    let builder = NodeTableBuilder(model: model)
    builder.compareEnds(by: .asStored)
    let keys = (1...900).filter { _ in Int.random(in: 0..<4, using: &random) > 0 }.map { Int64($0) }
    let (person, tag) = (try #require(model.entity(named: "Person")), try #require(model.entity(named: "Tag")))
    let employee = try #require(model.entity(named: "Employee"))
    for (entity, name) in [(person, "staff"), (employee, "staff"), (tag, "people")] {
      builder.markAbsent(slot: try #require(entity.slot(named: name)), entity: entity.index)
    }
    func reference(_ entity: Entity, _ key: Int64) -> ObjectReference {
      ObjectReference(entityName: entity.name, reference: .integer(key))
    }
    func set(_ name: String, _ value: StoredValue, _ entity: Entity, _ row: Int) throws {
      try builder.set(value, entity: entity.index, row: row, slot: try #require(entity.slot(named: name)))
    }
    for key in 1...40 as ClosedRange<Int64> {
      try builder.beginNode(entity: tag.index, reference: .integer(key))
      try set("title", .string("Tag \(key)"), tag, Int(key) - 1)
    }
    var entities: [Int64: Entity] = [:]
    for key in keys { entities[key] = Bool.random(using: &random) ? person : employee }
    for key in keys {
      let entity = entities[key] ?? person
      try builder.beginNode(entity: entity.index, reference: .integer(key))
      let row = builder.count(of: entity.index) - 1
      try set("name", .string(String(repeating: "Ü\(key)", count: Int(key) % 7)), entity, row)
      if key % 3 > 0 { try set("age", .integer(key % 90), entity, row) }
      try set("born", .date(Date(timeIntervalSinceReferenceDate: Double(key) * 1.5)), entity, row)
      try set("picture", .data(Data(repeating: UInt8(key % 256), count: Int(key) % 50)), entity, row)
      if entity.index == employee.index { try set("salary", .double(Double(key) / 3), entity, row) }
      let boss = try #require(keys.randomElement(using: &random))
      if key % 4 > 0 { try set("boss", .toOne(reference(entities[boss] ?? person, boss)), entity, row) }
      let tags = (1...40).filter { _ in Int.random(in: 0..<20, using: &random) == 0 }.map { reference(tag, Int64($0)) }
      try set("tags", .toMany(tags), entity, row)
    }
    let path = NSTemporaryDirectory() + "parts-\(UUID().uuidString).sqlite"
    defer { try? FileManager.default.removeItem(atPath: path) }
    let nodes = try builder.finish().canonical()
    var metadata = StoreMetadata(
      storeType: CoreDataSQLiteStore.storeType, lastReference: nodes.greatestIntegerReference)
    metadata.model = model.description
    var store = try CoreDataSQLiteStore(StoreConfiguration(path: path))
    let staged = try StagedStore(target: path, layout: .file, policy: .createNew)
    try store.save(StoreSnapshot(nodes: nodes, metadata: metadata), to: staged.files)
    try staged.finish()
    try staged.commit()
    return (Array(try Data(contentsOf: URL(filePath: path))), model)
  }

  private static func load(_ source: StoreSource, _ builder: NodeTableBuilder) throws {
    var store = try CoreDataSQLiteStore(StoreConfiguration(path: source.name))
    try store.load(source, into: builder)
  }

  /// How many tables are read in parts.
  private static func dividedCount(_ bytes: [UInt8], _ model: ManagedObjectModel, jobs: Int) throws -> Int {
    let source = StoreSource(bytes: bytes, name: "test.sqlite")
    let builder = NodeTableBuilder(model: model, file: source.name)
    builder.jobs = jobs
    builder.leastPart = 2000
    let limits = StoreLimits()
    let database = try SQLiteDatabase(try SQLiteImage.read(source, limits), file: source.name, limits: limits)
    return try StoreLoader(database, source: source, nodes: builder, strayRows: .refuse).load().dividedCount
  }

  @Test("a store is the same in parts: inheritance, ordered lists, join tables, keys with gaps", arguments: 1...6)
  func parts(_ seed: UInt64) throws {
    let (bytes, model) = try Self.written(seed)
    #expect(try Self.dividedCount(bytes, model, jobs: 1) == 0)
    #expect(try Self.dividedCount(bytes, model, jobs: 4) >= 1)
    let source = StoreSource(bytes: bytes, name: "test.sqlite")
    ParallelLoadTests.expectSame(source, model, leastPart: 2000, "seed \(seed)", Self.load)
  }

  @Test(
    "a damaged store gives the same objects or the same error in parts",
    arguments: (1..<121).share(of: "damaged stores in parts"))
  func damaged(_ seed: Int) throws {
    var (bytes, model) = try Self.written(UInt64(seed % 3 + 1))
    var random = Random(seed: UInt64(seed))
    for _ in 0...(seed % 4) {
      let place = Int.random(in: 100..<bytes.count, using: &random)
      // The heads of pages are where trees are damaged.
      let head = place / 4096 * 4096 + Int.random(in: 0..<40, using: &random)
      bytes[seed % 2 == 0 ? place : max(head, 100)] = UInt8.random(in: 0...255, using: &random)
    }
    let source = StoreSource(bytes: bytes, name: "test.sqlite")
    ParallelLoadTests.expectSame(source, model, leastPart: 2000, "seed \(seed)", Self.load)
  }
}
