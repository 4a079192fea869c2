import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import ModelFiles
import StoreCodecs
import Testing

@Suite("Core Data's binary stores") struct CoreDataBinaryTests {
  static let corpus = CoreDataSQLiteCorpusTests.files("binary")
  static let samples = SQLiteSamples.root + "/SampleStores"
  let folder: CoreDataSQLiteWritingTests.Scratch
  init() throws { folder = try CoreDataSQLiteWritingTests.Scratch() }

  private func convert(_ source: String, _ name: String, allowsLoss: Bool = false) throws -> StoreConverter.Report {
    var converter = StoreConverter(registry: .builtIn)
    converter.allowsLoss = allowsLoss
    return try converter.convert(from: source, to: folder.path + "/" + name)
  }

  // MARK: Real files

  @Test(
    "a store that Core Data wrote is read without its model",
    .enabled(if: !corpus.isEmpty, CoreDataSQLiteCorpusTests.needed), arguments: corpus)
  func rawView(_ path: String) throws {
    let store = try PersistentStoreCoordinator(registry: .builtIn).addPersistentStore(at: path, isReadOnly: true)
    #expect(store.type == "CoreDataBinary" && store.model.description.isInferred)
    #expect(store.nodes.count > 0)
    #expect(VersionHashes(metadata: store.metadata.entries)?.entries.isEmpty == false)
    #expect(store.metadata.lastReference >= store.nodes.greatestIntegerReference)
    #expect(store.metadata.entries["NSStoreType"] == nil && store.metadata.entries["NSStoreUUID"] == nil)
  }

  @Test(
    "what was read converts to another type and compares equal",
    .enabled(if: !corpus.isEmpty, CoreDataSQLiteCorpusTests.needed), arguments: corpus)
  func conversion(_ path: String) throws {
    #expect(try convert(path, "copy.xml").losses.isEmpty)
  }

  @Test(
    "every known file has the header that is written", .enabled(if: !corpus.isEmpty, CoreDataSQLiteCorpusTests.needed),
    arguments: corpus)
  func header(_ path: String) throws {
    _ = try convert(Self.samples + "/FriendInfo/FriendInfo.xml", "f.binary")
    let known = try Data(contentsOf: URL(filePath: path)).prefix(64)
    let ours = try Data(contentsOf: URL(filePath: folder.path + "/f.binary")).prefix(64)
    #expect(known.prefix(16) == ours.prefix(16) && known.suffix(8) == ours.suffix(8))
    #expect(known[32..<40] == ours[32..<40])
  }

  // MARK: There and back

  @Test("a store converts there and back with nothing lost, without a model")
  func roundTrip() throws {
    let source = Self.samples + "/FriendInfo/FriendInfo.xml"
    #expect(try convert(source, "f.binary").losses.isEmpty)
    #expect(try convert(folder.path + "/f.binary", "back.xml").losses.isEmpty)
    // A conversion adds the version hashes, so that a copy is compared, not the sample.
    #expect(try convert(source, "direct.xml").losses.isEmpty)
    #expect(
      try Data(contentsOf: URL(filePath: folder.path + "/back.xml"))
        == Data(contentsOf: URL(filePath: folder.path + "/direct.xml")))
  }

  @Test("a changed store is saved in place, and equal graphs are equal bytes")
  func saving() throws {
    _ = try convert(Self.samples + "/FriendInfo/FriendInfo.xml", "f.binary")
    let path = folder.path + "/f.binary"
    let first = try Data(contentsOf: URL(filePath: path))
    for entries in [["note": "x"], [:]] as [PropertyListDictionary] {
      let coordinator = PersistentStoreCoordinator(registry: .builtIn)
      let store = try coordinator.addPersistentStore(at: path)
      var all = store.metadata.entries
      all["note"] = entries["note"]
      try store.setMetadata(all)
      try coordinator.save(store)
    }
    #expect(try Data(contentsOf: URL(filePath: path)) == first)
  }

  @Test("every value of every type comes back to the bit")
  func values() throws {
    let types: [(AttributeType, [StoredValue])] = [
      (.boolean, [.boolean(true), .boolean(false)]), (.integer16, [.integer(-32768), .integer(32767)]),
      (.integer64, [.integer(.min), .integer(.max), .integer(0)]),
      (
        .double,
        [
          .double(-0.0), .double(.infinity), .double(1), .double(Double(bitPattern: 0x7FF8_0000_0000_1234)),
          .double(0.1),
        ]
      ),
      (
        .float,
        [
          .float(-0.0), .float(.nan), .float(Float(bitPattern: 0x7F80_0001)), .float(Float(bitPattern: 0xFFC0_0123)),
          .float(1), .float(.leastNonzeroMagnitude),
        ]
      ),
      (
        .decimal,
        ["0", "1.50", "-12", "NaN", "1E+20", "0.00", "340282366920938463463374607431768211455", "1E-100"].compactMap {
          DecimalNumber($0).map { .decimal($0) }
        }
      ),
      (.string, [.string(""), .string("$null"), .string("Zoë 李\u{0}x")]), (.uri, [.uri("http://a/b%20c"), .uri("")]),
      (.uuid, [.uuid(UUID())]), (.binaryData, [.data(Data()), .data(Data([0, 255]))]),
      (
        .date,
        [
          .date(Date(timeIntervalSinceReferenceDate: -0.0)), .date(Date(timeIntervalSinceReferenceDate: 1e300)),
          .date(Date(timeIntervalSinceReferenceDate: 12.25)),
        ]
      ),
    ]
    let model = try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "All",
          properties: types.enumerated().map {
            .attribute(AttributeDescription(name: "a\($0.offset)", type: $0.element.0))
          })
      ]))
    let builder = NodeTableBuilder(model: model)
    let slots = types.indices.map { model.entity(at: 0).slot(named: "a\($0)") ?? 0 }
    for row in 0..<9 {
      try builder.beginNode(entity: 0, reference: Int64(row + 1))
      for (index, type) in types.enumerated() where row < type.1.count {
        try builder.set(type.1[row], slot: slots[index])
      }
    }
    let snapshot = StoreSnapshot(
      nodes: try builder.finish().canonical(),
      metadata: StoreMetadata(storeType: "CoreDataBinary", lastReference: 9, model: model.description))
    var format = try StoreRegistry.builtIn.storeType(named: "CoreDataBinary").init(
      StoreConfiguration(path: folder.path + "/v.binary"))
    let staged = try StagedStore(target: folder.path + "/v.binary", layout: .file, policy: .createNew)
    try format.save(snapshot, to: staged.files)
    try staged.finish()
    try staged.commit()
    let store = try PersistentStoreCoordinator(registry: .builtIn).addPersistentStore(
      at: folder.path + "/v.binary", isReadOnly: true)
    for row in 0..<9 {
      for (index, type) in types.enumerated() {
        let value = store.nodes.value(slot: slots[index], of: NodeHandle(entity: 0, row: row))
        #expect(value == (row < type.1.count ? type.1[row] : .null), "\(type.0), row \(row)")
      }
    }
  }

  @Test("what archives do not hold is listed as a loss, and keys that two hierarchies share are refused")
  func losses() throws {
    let error = try #require(throws: StoreConverter.LossError.self) {
      try convert(Self.samples + "/Company/Company.xml", "c.binary")
    }
    #expect(error.losses.allSatisfy { $0.kind == .typeUnsupported }, "\(error)")
    let model = try ManagedObjectModel(
      ModelDescription(
        entities: ["A", "B"].map {
          EntityDescription(name: $0, properties: [.attribute(AttributeDescription(name: "x", type: .string))])
        }))
    let builder = NodeTableBuilder(model: model)
    for entity in 0...1 { try builder.beginNode(entity: entity, reference: 5) }
    let snapshot = StoreSnapshot(
      nodes: try builder.finish().canonical(), metadata: StoreMetadata(storeType: "CoreDataBinary"))
    var format = try StoreRegistry.builtIn.storeType(named: "CoreDataBinary").init(
      StoreConfiguration(path: folder.path + "/k.binary"))
    let staged = try StagedStore(target: folder.path + "/k.binary", layout: .file, policy: .createNew)
    let files = staged.files
    let refusal = #expect(throws: PersistentStoreError.self) { try format.save(snapshot, to: files) }
    staged.discard()
    #expect(
      refusal?.code == .unsupportedByFormat && refusal?.message.contains("A/5") == true
        && refusal?.location.entity == "B", "\(String(describing: refusal))")
  }

  @Test(
    "an archive that Foundation wrote is kept as the same object in other bytes, which is listed; no other bytes are")
  func foundationArchives() throws {
    let model = try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "T", properties: [.attribute(AttributeDescription(name: "value", type: .transformable))])
      ]))
    let archive = try NSKeyedArchiver.archivedData(
      withRootObject: ["list": [1, 2.5, "x", "x"], "name": "n", "none": NSNull()] as NSDictionary,
      requiringSecureCoding: false)
    func write(_ values: [Data]) throws -> StoreConverter.Report {
      let builder = NodeTableBuilder(model: model)
      for (index, value) in values.enumerated() {
        try builder.beginNode(entity: 0, reference: Int64(index + 1))
        try builder.set(.data(value), slot: 0)
      }
      let path = folder.path + "/archives.xml"
      var converter = StoreConverter(registry: .builtIn)
      converter.replacesTarget = true
      _ = try converter.write(
        StoreSnapshot(
          nodes: try builder.finish().canonical(), metadata: StoreMetadata(storeType: "", model: model.description)),
        to: path)
      return try converter.convert(from: path, to: folder.path + "/archives.binary")
    }
    #expect(try write([archive]).losses.map(\.description) == ["value-encoding: T.value, 1 time, first T/1"])
    let coordinator = PersistentStoreCoordinator(registry: .builtIn)
    let store = try coordinator.addPersistentStore(at: folder.path + "/archives.binary", isReadOnly: true)
    guard case .data(let read) = store.nodes.value(slot: 0, of: NodeHandle(entity: 0, row: 0)) else {
      throw CancellationError()
    }
    #expect(read != archive)
    #expect(try KeyedArchive(Array(read)).root.isSame(as: KeyedArchive(Array(archive)).root))
    // What the store gives is read back to the byte.
    #expect(try write([read]).losses.isEmpty)
    let error = try #require(throws: StoreConverter.LossError.self) { _ = try write([archive, Data([1, 2, 3])]) }
    #expect(error.losses.map(\.kind) == [.typeUnsupported])
  }

  @Test("two archives are the same if their references meet in the same objects, wherever these are")
  func sameArchives() throws {
    func root(_ objects: [PropertyListValue]) throws -> KeyedArchive.Value {
      let list: PropertyListValue = [
        "$archiver": "NSKeyedArchiver", "$version": 100_000, "$top": ["root": .uid(1)],
        "$objects": .array([.string("$null")] + objects),
      ]
      return try KeyedArchive(try PropertyList.encodeBinary(list)).root
    }
    let one = try root([["a": .uid(2), "b": .uid(2)], ["self": .uid(1), "n": 5]])
    #expect(try one.isSame(as: root([["b": .uid(3), "a": .uid(3)], "unused", ["n": 5, "self": .uid(1)]])))
    for other: [PropertyListValue] in [
      [["a": .uid(2), "b": .uid(3)], ["self": .uid(1), "n": 5], ["self": .uid(1), "n": 5]],
      [["a": .uid(2), "b": .uid(2)], ["self": .uid(1), "n": 6]],
      [["a": .uid(2), "b": .uid(2)], ["self": .uid(2), "n": 5]],
      [["a": .uid(2), "b": .uid(0)], ["self": .uid(1), "n": 5]], [["a": .uid(2)], ["self": .uid(1), "n": 5]],
      [["a": .uid(2), "b": .uid(2)], ["self": .uid(1), "n": 5.0]],
    ] {
      #expect(try !one.isSame(as: root(other)) && !root(other).isSame(as: one))
    }
  }

  // MARK: Damage

  private func sample() throws -> [UInt8] {
    _ = try convert(Self.samples + "/FriendInfo/FriendInfo.xml", "s.binary")
    return [UInt8](try Data(contentsOf: URL(filePath: folder.path + "/s.binary")))
  }

  private func load(_ bytes: [UInt8], _ model: ManagedObjectModel? = nil) throws(PersistentStoreError) {
    let source = StoreSource(bytes: bytes, name: "store.binary")
    var format = try StoreRegistry.builtIn.storeType(named: "CoreDataBinary").init(
      StoreConfiguration(path: "store.binary"))
    let own = try format.metadata(in: source).model
    let description = if let own { own } else { try format.inferModel(from: source) }
    let frozen: ManagedObjectModel
    do { frozen = try model ?? ManagedObjectModel(description) } catch {
      throw PersistentStoreError(.invalidModel, "\(error)")
    }
    let builder = NodeTableBuilder(model: frozen, file: "store.binary")
    try format.load(source, into: builder)
    _ = try builder.finish()
  }

  @Test(
    "offsets and lengths that leave the file, or overlap, are refused", arguments: [16, 24, 32, 40],
    [0, 1, 63, 1 << 40, UInt64.max] as [UInt64])
  func header(_ offset: Int, _ number: UInt64) throws {
    var bytes = try sample()
    withUnsafeBytes(of: number.bigEndian) { bytes.replaceSubrange(offset..<offset + 8, with: $0) }
    let error = try #require(throws: PersistentStoreError.self) { try load(bytes) }
    #expect(error.code == .malformed && error.location.offset != nil, "\(error)")
  }

  @Test("a newer version is refused")
  func version() throws {
    var bytes = try sample()
    bytes[11] = 2
    #expect(try #require(throws: PersistentStoreError.self) { try load(bytes) }.code == .unsupportedVersion)
  }

  @Test("a model with another number of properties is refused before a value is set")
  func slotCount() throws {
    let bytes = try sample()
    let file = try ModelFile.read(at: Self.samples + "/FriendInfo/FriendInfo.xcdatamodeld").description
    var changed = file
    changed.entities[0].properties.append(.attribute(AttributeDescription(name: "aaa", type: .string)))
    let model = try ManagedObjectModel(changed)
    let error = try #require(throws: PersistentStoreError.self) { try load(bytes, model) }
    #expect(
      error.code == .modelMismatch && error.message.contains("values") || error.message.contains("does not have"),
      "\(error)")
  }

  @Test("any changed byte gives a store or a typed error that names the file", arguments: 0..<6)
  func changedBytes(_ part: Int) throws {
    let original = try sample()
    for offset in stride(from: part, to: original.count, by: 6 * 5) {
      var bytes = original
      bytes[offset] = offset % 2 == 0 ? ~bytes[offset] : bytes[offset] &+ 1
      do throws(PersistentStoreError) { try load(bytes) } catch {
        #expect(
          [
            .malformed, .limitExceeded, .invalidValue, .danglingReference, .duplicateReference, .modelMismatch,
            .unsupportedVersion, .invalidModel,
          ].contains(error.code), "byte \(offset): \(error)")
      }
    }
  }
}
