import AtomicStoreKit
import AtomicStoreSPI
import BinaryPropertyListStoreFormat
import BuiltInStoreFormats
import Foundation
import TestSupport
import Testing

/// String references in property lists: version 1 has an object for each mention, version 2 columns.
@Suite("String references in property lists") struct PropertyListTextReferenceTests {
  /// The sample company, every second reference a string, as version 1 wrote it.
  private static let first =
    Array(#filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast())
    .joined(separator: "/") + "/Fixtures/PropertyListVersion1/Texts.plist"

  private static func renamed(_ reference: ReferenceObject) -> ReferenceObject {
    guard case .integer(let number) = reference, number % 2 == 0 else { return reference }
    return .string("key-\(number)")
  }

  /// The sample company with the references of the fixture.
  private static func expected(_ model: ManagedObjectModel) throws -> NodeTable {
    let company = try SampleStores.company().nodes
    let builder = NodeTableBuilder(model: model)
    for entity in company.model.entities {
      let target = try #require(model.entity(named: entity.name))
      for node in company.handles(of: entity.index) {
        try builder.beginNode(entity: target.index, reference: renamed(company.reference(of: node)))
        for slot in entity.slots {
          let place = try #require(target.slot(named: slot.name))
          switch company.value(slot: slot.index, of: node) {
          case .toOne(let one): try builder.set(toOne: renamed(one.reference), slot: place)
          case .toMany(let many):
            for one in many { try builder.append(toMany: renamed(one.reference), slot: place) }
          case let value: try builder.set(value, slot: place)
          }
        }
      }
    }
    return try builder.finish().canonical()
  }

  private static func opened(_ path: String) throws -> PersistentStore {
    try PersistentStoreCoordinator(managedObjectModel: nil, registry: .builtIn)
      .addPersistentStore(at: path, isReadOnly: true)
  }

  private static func withFolder(_ body: (String) throws -> Void) throws {
    let folder = NSTemporaryDirectory() + "texts-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try body(folder)
  }

  /// Saves the fixture again, with a change and back, so that it is of version 2.
  private static func withSecondVersion(_ body: (String) throws -> Void) throws {
    try withFolder { folder in
      let path = folder + "/texts.plist"
      try FileManager.default.copyItem(atPath: first, toPath: path)
      for title in ["Return", "Landing"] {
        let coordinator = PersistentStoreCoordinator(
          managedObjectModel: try SampleStores.model("Company"), registry: .builtIn)
        try coordinator.addPersistentStore(at: path)
        let context = ManagedObjectContext(coordinator)
        let request = FetchRequest(
          entityName: "Project", predicate: try FetchPredicate(format: "title == 'Landing' OR title == 'Return'"))
        try #require(try context.fetch(request).first).setValue(title, forKey: "title")
        try context.save()
      }
      try body(path)
    }
  }

  private static func version(_ path: String) throws -> Int? {
    let list = try PropertyListSerialization.propertyList(
      from: Data(contentsOf: URL(filePath: path)), format: nil)
    return (list as? [String: Any])?["version"] as? Int
  }

  @Test("a file of version 1 is read, and saved as version 2 with the same graph; saved again, it is the same bytes")
  func versions() throws {
    #expect(try Self.version(Self.first) == 1)
    let store = try Self.opened(Self.first)
    let expected = try Self.expected(store.nodes.model)
    let differences = GraphComparison.differences(
      StoreSnapshot(nodes: expected, metadata: store.metadata),
      StoreSnapshot(nodes: store.nodes, metadata: store.metadata))
    #expect(differences.isEmpty, "\(differences.prefix(5))")
    try Self.withSecondVersion { path in
      #expect(try Self.version(path) == 2)
      let second = try Self.opened(path)
      let differences = GraphComparison.differences(
        StoreSnapshot(nodes: expected, metadata: second.metadata),
        StoreSnapshot(nodes: second.nodes, metadata: second.metadata))
      #expect(differences.isEmpty, "\(differences.prefix(5))")
      let bytes = try Data(contentsOf: URL(filePath: path))
      let coordinator = PersistentStoreCoordinator(managedObjectModel: nil, registry: .builtIn)
      let open = try coordinator.addPersistentStore(at: path, isReadOnly: true)
      let copy = path + ".copy.plist"
      try coordinator.migratePersistentStore(open, to: copy, type: "BinaryPropertyList")
      #expect(try Data(contentsOf: URL(filePath: copy)) == bytes)
    }
  }

  @Test("a store without string references stays of version 1, which earlier releases read")
  func integers() throws {
    #expect(try Self.version(SampleStores.folder + "/Company/Company.plist") == 1)
    var company = try SampleStores.company()
    company.metadata.storeType = BinaryPropertyListStore.storeType
    try Self.withFolder { folder in
      let path = folder + "/company.plist"
      var store = try BinaryPropertyListStore(StoreConfiguration(path: path))
      let staged = try StagedStore(target: path, layout: .file, policy: .createNew)
      try store.save(company, to: staged.files)
      try staged.finish()
      try staged.commit()
      #expect(try Self.version(path) == 1)
    }
  }

  @Test(
    "a page of Python decodes version 2 to the same references",
    .enabled(if: DecodingScript.python != nil, "python3 is not here"))
  func script() throws {
    try Self.withSecondVersion { path in
      let nodes = try Self.opened(path).nodes
      func reference(_ any: Any?) -> ReferenceObject? {
        if let text = any as? String { return .string(text) }
        return (any as? Int).map { .integer(Int64($0)) }
      }
      var relationships = 0
      var rows = 0
      for row in try DecodingScript.rows(of: path) {
        let entityName = try #require(row["entity"] as? String)
        let entity = try #require(nodes.model.entity(named: entityName))
        let own = try #require(reference(row["reference"]))
        let node = try #require(nodes.handle(for: own, entity: entity.index))
        rows += 1
        for slot in entity.slots where slot.isRelationship {
          switch nodes.value(slot: slot.index, of: node) {
          case .toOne(let one): #expect(reference(row[slot.name]) == one.reference, "\(own).\(slot.name)")
          case .toMany(let many):
            #expect((row[slot.name] as? [Any])?.map { reference($0) } == many.map(\.reference), "\(own).\(slot.name)")
          default: #expect(row[slot.name] is NSNull, "\(own).\(slot.name)")
          }
          relationships += 1
        }
      }
      #expect(rows == nodes.count && relationships > 20)
    }
  }

  @Test("rows of many sub-entities are counted together, in the order of the entities' names", arguments: 1...4)
  func subentities(_ seed: UInt64) throws {
    var random = Random(seed: seed)
    let names = (0..<120).map { "\($0 % 2 == 0 ? "É" : "Z")\($0)" }.shuffled(using: &random)
    let model = try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Root", properties: [.toOne("one", "Root"), .toMany("list", "Root", isOrdered: true)],
          subentities: names.map { EntityDescription(name: $0) })
      ]))
    let builder = NodeTableBuilder(model: model)
    let references = (0..<400).map { ReferenceObject.string("r\($0)") }
    for reference in references {
      // Some entities have no objects.
      let name = names[Int.random(in: 0..<90, using: &random)]
      try builder.beginNode(entity: try #require(model.entity(named: name)).index, reference: reference)
      let chosen = references.shuffled(using: &random).prefix(Int.random(in: 0...4, using: &random))
      if let one = chosen.first { try builder.set(toOne: one, slot: 0) }
      for other in chosen { try builder.append(toMany: other, slot: 1) }
    }
    let nodes = try builder.finish().canonical()
    let metadata = StoreMetadata(
      storeType: BinaryPropertyListStore.storeType, uuid: UUID(), model: model.description)
    try Self.withFolder { folder in
      let path = folder + "/many.plist"
      var store = try BinaryPropertyListStore(StoreConfiguration(path: path))
      let staged = try StagedStore(target: path, layout: .file, policy: .createNew)
      try store.save(StoreSnapshot(nodes: nodes, metadata: metadata), to: staged.files)
      try staged.finish()
      try staged.commit()
      let read = try Self.opened(path)
      let differences = GraphComparison.differences(
        StoreSnapshot(nodes: nodes, metadata: read.metadata), StoreSnapshot(nodes: read.nodes, metadata: read.metadata))
      #expect(differences.isEmpty && read.nodes.count == 400, "\(differences.prefix(5))")
    }
  }

  @Test("with any byte changed, a file is read, or refused with its location", arguments: 0..<8)
  func damaged(_ bit: Int) throws {
    try Self.withSecondVersion { path in
      var bytes = try [UInt8](Data(contentsOf: URL(filePath: path)))
      var refused = 0
      var tried = 0
      for index in bytes.indices.share(of: "changed bytes of string references") where index % 8 == bit {
        bytes[index] ^= 1 << UInt8(bit)
        tried += 1
        do throws(PersistentStoreError) {
          try PropertyListSupport.open(bytes)
        } catch {
          refused += 1
          if error.location == StoreLocation() || error.code == .internalInconsistency {
            Issue.record("byte \(index): \(error.code) \(error)")
          }
        }
        bytes[index] ^= 1 << UInt8(bit)
      }
      #expect(refused > tried / 8)
    }
  }

  @Test(
    "numbers of rows that are not there are refused with the property",
    arguments: [(0, UInt32(2)), (1, 2), (0, .max), (1, 1 << 31)])
  func outOfRange(_ column: Int, _ number: UInt32) throws {
    let bytes = try PropertyListSupport.store { writer throws(PersistentStoreError) in
      let texts = try writer.entries([
        ("lengths", try writer.packed([1, 1] as [UInt32])), ("bytes", try writer.packedBytes(Array("ab".utf8))),
      ])
      let boss = try writer.entries([("rows", try writer.packed([column == 0 ? number : 1, 0] as [UInt32]))])
      let friends = try writer.entries([
        ("counts", try writer.packed([2, 0] as [UInt32])),
        ("rows", try writer.packed([0, column == 1 ? number : 1] as [UInt32])),
      ])
      let person = try writer.person(
        references: [0, 0], columns: [("boss", boss), ("friends", friends)], more: [("referenceTexts", texts)])
      return try writer.entries([("Person", person)])
    }
    let error = #expect(throws: PersistentStoreError.self) { try PropertyListSupport.open(bytes) }
    #expect(error?.code == .malformed && error?.location.property == ["boss", "friends"][column], "\(error as Any)")
  }
}
