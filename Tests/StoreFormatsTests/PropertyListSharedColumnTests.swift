import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import StoreCodecs
import Testing

@testable import BinaryPropertyListStoreFormat

/// A property list that is read where a graph is known that it most probably equals: columns that are the same are
/// shared, and everything else is as without that graph.
@Suite("Property lists whose columns are compared while they are read") struct PropertyListSharedColumnTests {
  private static let folder = NSTemporaryDirectory()
  private static let identifier = UUID()

  private static func withFile<Result>(_ bytes: [UInt8], _ body: (String) throws -> Result) throws -> Result {
    let path = folder + "shared-\(UUID().uuidString).plist"
    defer { try? FileManager.default.removeItem(atPath: path) }
    try Data(bytes).write(to: URL(filePath: path))
    return try body(path)
  }

  private static func bytes(of snapshot: StoreSnapshot) throws -> [UInt8] {
    let path = folder + "shared-\(UUID().uuidString).plist"
    defer { try? FileManager.default.removeItem(atPath: path) }
    try PropertyListSupport.save(snapshot, to: path)
    return Array(try Data(contentsOf: URL(filePath: path)))
  }

  /// Loads with columns of any size read later.
  ///
  /// - Parameter known: The graph to share columns with; nil to load as usual.
  private static func load(
    _ path: String, _ model: ManagedObjectModel, sharing known: NodeTable?, jobs: Int = 1
  ) throws(PersistentStoreError) -> NodeTable {
    var store = try BinaryPropertyListStore(StoreConfiguration(path: path))
    store.sizes = (file: 0, column: 1)
    let builder = NodeTableBuilder(model: model, file: "test.plist")
    builder.inverseHandling = .enforce
    builder.jobs = jobs
    builder.leastPart = 1
    if let known { builder.share(known) }
    try store.load(try StoreSource(opening: try StorePath.inspect(path)), into: builder)
    return try builder.finish()
  }

  private static func snapshot(_ nodes: NodeTable) -> StoreSnapshot {
    StoreSnapshot(
      nodes: nodes,
      metadata: StoreMetadata(
        storeType: BinaryPropertyListStore.storeType, uuid: identifier, model: nodes.model.description))
  }

  /// The slots whose columns two graphs share.
  private static func shared(_ one: NodeTable, _ other: NodeTable) -> Set<String> {
    var found: Set<String> = []
    for entity in one.model.entities where one.count(of: entity.index) > 0 {
      let (left, right) = (one.reader(of: entity.index), other.reader(of: entity.index))
      for slot in entity.slots where left.column(slot: slot.index).isSame(as: right.column(slot: slot.index)) {
        found.insert("\(entity.name).\(slot.name)")
      }
    }
    return found
  }

  private static func differences(_ one: NodeTable, _ other: NodeTable) -> [GraphDifference] {
    GraphComparison.differences(snapshot(one), snapshot(other), options: .init(comparesUnknownOrder: true))
  }

  @Test("a string reference that only the file has leads relationships where the file says", arguments: [false, true])
  func textsInTheFile(_ isToMany: Bool) throws {
    func bytes(hasText: Bool) throws -> [UInt8] {
      try PropertyListSupport.store { (writer) throws(PersistentStoreError) in
        let links: [Int64] = [3, 3, 1]
        var column = [("references", try writer.packed(links))]
        if isToMany { column.append(("counts", try writer.packed([1, 1, 1] as [UInt32]))) }
        var more: [(String, PropertyListSupport.Writer.Reference)] = []
        if hasText {
          let texts = try writer.entries([
            ("lengths", try writer.packed([.max, .max, 3] as [UInt32])),
            ("bytes", try writer.packedBytes(Array("abc".utf8))),
          ])
          more = [("referenceTexts", texts)]
        }
        let person = try writer.person(
          references: [1, 2, 3], columns: [(isToMany ? "friends" : "boss", try writer.entries(column))], more: more)
        return try writer.entries([("Person", person)])
      }
    }
    let known = try PropertyListSupport.open(try bytes(hasText: false))
    try Self.withFile(try bytes(hasText: false)) { path in
      let slot = isToMany ? "Person.friends" : "Person.boss"
      let read = try Self.load(path, known.model, sharing: known)
      #expect(Self.shared(known, read).contains(slot))
    }
    try Self.withFile(try bytes(hasText: true)) { path in
      for other in [known, nil] {
        let error = #expect(throws: PersistentStoreError.self) { try Self.load(path, known.model, sharing: other) }
        #expect(error?.code == .danglingReference, "\(error as Any)")
      }
    }
  }

  @Test("both ends of a relationship are compared again once a graph that they are shared with was changed")
  func changedEnds() throws {
    let model = try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Person",
          properties: [
            .toMany("friends", "Person", inverse: "friendOf"), .toMany("friendOf", "Person", inverse: "friends"),
          ])
      ]))
    let builder = NodeTableBuilder(model: model)
    let (friendOf, friends) = (
      try #require(model.entity(at: 0).slot(named: "friendOf")),
      try #require(model.entity(at: 0).slot(named: "friends"))
    )
    for person in 1...9 as ClosedRange<Int64> {
      try builder.beginNode(entity: 0, reference: person)
      if person > 1 { try builder.append(toMany: person - 1, slot: friends) }
      if person < 9 { try builder.append(toMany: person + 1, slot: friendOf) }
    }
    let written = try Self.bytes(of: Self.snapshot(try builder.finish().canonical()))
    try Self.withFile(written) { path in
      let known = try Self.load(path, model, sharing: nil)
      let again = try Self.load(path, model, sharing: known)
      #expect(Self.shared(known, again) == ["Person.friends", "Person.friendOf"])
      #expect(Self.differences(known, again).isEmpty)
      var changed = known
      try changed.set(.toMany([]), slot: friends, of: NodeHandle(entity: 0, row: 4))
      try Self.withFile(try Self.bytes(of: Self.snapshot(changed))) { path in
        let error = #expect(throws: PersistentStoreError.self) { try Self.load(path, model, sharing: changed) }
        #expect(error?.code == .inverseMismatch, "\(error as Any)")
      }
    }
  }

  // MARK: A graph with a column of each kind

  private static let rows = 200

  private static func graph(
    changed: Int? = nil, row changedRow: Int = 0, lastReference: Int64 = Int64(rows * 3 - 2)
  ) throws -> NodeTable {
    let model = try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Node",
          properties: [
            .attribute("number", .integer64), .attribute("small", .integer16), .attribute("flag", .boolean),
            .attribute("real", .double), .attribute("uuid", .uuid), .attribute("text", .string),
            .attribute("amount", .decimal), .attribute("data", .binaryData), .toOne("next", "Node"),
            .toMany("others", "Node"),
            .relationship(
              RelationshipDescription(
                name: "list", destinationEntityName: "Node", maximumCount: 0, isOrdered: true)),
          ])
      ]))
    let builder = NodeTableBuilder(model: model)
    for row in 0..<rows {
      try builder.beginNode(entity: 0, reference: row == rows - 1 ? lastReference : Int64(row * 3 + 1))
      for slot in 0..<8 {
        let more = slot == changed && row == changedRow ? 1 : 0
        if (row + slot) % 7 != 0 || more > 0 { try builder.set(value(slot, row + more * 1001), slot: slot) }
      }
      func reference(_ slot: Int, _ number: Int) -> Int64 {
        let other = (number + (slot == changed && row == changedRow ? 1 : 0)) % rows
        return other == rows - 1 ? lastReference : Int64(other * 3 + 1)
      }
      if row % 5 != 0 || changed == 8 { try builder.set(toOne: reference(8, row * 31), slot: 8) }
      for number in 0..<row % 4 { try builder.append(toMany: reference(9, row + number * 2), slot: 9) }
      for number in 0..<row % 3 { try builder.append(toMany: reference(10, row * 5 - number + 7), slot: 10) }
    }
    return try builder.finish().canonical()
  }

  private static func value(_ slot: Int, _ row: Int) -> StoredValue {
    switch slot {
    case 0: .integer(Int64(row) * 1_000_003)
    case 1: .integer(Int64(row % 30_000))
    case 2: .boolean(row % 2 == 0)
    case 3: .double(Double(row) / 8)
    case 4: .uuid(UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, UInt8(row / 256), UInt8(row % 256))))
    case 5: .string("text \(row)")
    case 6: .decimal(DecimalNumber(Int64(row)))
    default: .data(Data([UInt8(row % 256), UInt8(row / 256), 3]))
    }
  }

  @Test("columns that are the same are shared, and take no additional memory", arguments: [1, 3])
  func all(_ jobs: Int) throws {
    let nodes = try Self.graph()
    try Self.withFile(try Self.bytes(of: Self.snapshot(nodes))) { path in
      let read = try Self.load(path, nodes.model, sharing: nodes, jobs: jobs)
      #expect(Self.shared(nodes, read).count == 11)
      #expect(nodes.reader(of: 0).references.numbers == read.reader(of: 0).references.numbers)
      #expect(Self.differences(nodes, read).isEmpty)
      #expect(Self.shared(nodes, try Self.load(path, nodes.model, sharing: nil)).isEmpty)
    }
  }

  @Test("objects are found by their references, one of which is far from the others, as without a known graph")
  func found() throws {
    let nodes = try Self.graph(lastReference: 1 << 50)
    try Self.withFile(try Self.bytes(of: Self.snapshot(nodes))) { path in
      for read in try [Self.load(path, nodes.model, sharing: nodes), Self.load(path, nodes.model, sharing: nil)] {
        for node in read.handles(of: 0) { #expect(read.handle(for: read.reference(of: node), entity: 0) == node) }
        #expect(read.handle(for: .integer(2), entity: 0) == nil)
        #expect(read.handle(for: .integer((1 << 50) + 1), entity: 0) == nil)
      }
    }
    // A row with another reference is found by this one only.
    try Self.withFile(try Self.bytes(of: Self.snapshot(try Self.graph(lastReference: 1 << 51)))) { path in
      let read = try Self.load(path, nodes.model, sharing: nodes)
      #expect(read.handle(for: .integer(1 << 51), entity: 0) != nil)
      #expect(read.handle(for: .integer(1 << 50), entity: 0) == nil)
    }
  }

  @Test(
    "a column that is not the same is the file's, wherever the difference is", arguments: 0..<11, [10, 107, rows - 1])
  func different(_ slot: Int, _ row: Int) throws {
    let nodes = try Self.graph()
    let known = try Self.graph(changed: slot, row: row)
    try Self.withFile(try Self.bytes(of: Self.snapshot(nodes))) { path in
      for jobs in [1, 3] {
        let read = try Self.load(path, nodes.model, sharing: known, jobs: jobs)
        #expect(Self.differences(nodes, read).isEmpty)
        let found = Self.differences(known, read)
        #expect(!found.isEmpty && found.allSatisfy { $0.key == nodes.model.entities[0].slots[slot].name })
        #expect(Self.shared(known, read).count == 10)
      }
    }
  }

  @Test("what is shared stays as it is in one graph if the other is changed")
  func changes() throws {
    let nodes = try Self.graph()
    let untouched = try Self.graph()
    try Self.withFile(try Self.bytes(of: Self.snapshot(nodes))) { path in
      var read = try Self.load(path, nodes.model, sharing: nodes)
      let node = NodeHandle(entity: 0, row: 9)
      try read.set(.integer(-1), slot: 0, of: node)
      try read.set(.string("another"), slot: 5, of: node)
      try read.set(.null, slot: 8, of: node)
      try read.set(.toMany([]), slot: 9, of: node)
      let added = try read.addCacheNode(entity: 0, reference: .integer(5000))
      try read.set(.boolean(true), slot: 2, of: added)
      #expect(Self.differences(untouched, nodes).isEmpty)
      #expect(Self.differences(nodes, read).count >= 4)
    }
  }

  @Test("rows with another reference share no relationship: equal numbers could be other objects")
  func otherReferences() throws {
    let nodes = try Self.graph()
    let known = try Self.graph(lastReference: 5000)
    try Self.withFile(try Self.bytes(of: Self.snapshot(nodes))) { path in
      let read = try Self.load(path, nodes.model, sharing: known)
      #expect(Self.shared(known, read).count == 8)
      #expect(Self.shared(known, read).isDisjoint(with: ["Node.next", "Node.others", "Node.list"]))
      #expect(Self.differences(nodes, read).isEmpty)
    }
  }

  @Test("a value that may be a decimal or a text is shared with one of the same type only")
  func types() throws {
    func nodes(_ type: AttributeType) throws -> NodeTable {
      let model = try ManagedObjectModel(
        ModelDescription(entities: [EntityDescription(name: "Node", properties: [.attribute("value", type)])]))
      let builder = NodeTableBuilder(model: model)
      for row in 0..<40 {
        try builder.beginNode(entity: 0, reference: Int64(row))
        try builder.set(type == .decimal ? .decimal(DecimalNumber(17)) : .string("17"), slot: 0)
      }
      return try builder.finish()
    }
    let texts = try nodes(.string)
    let decimals = try nodes(.decimal)
    try Self.withFile(try Self.bytes(of: Self.snapshot(texts))) { path in
      let read = try Self.load(path, decimals.model, sharing: texts)
      #expect(read.value(slot: 0, of: NodeHandle(entity: 0, row: 3)) == .decimal(DecimalNumber(17)))
      #expect(Self.differences(decimals, read).isEmpty)
    }
  }

  // MARK: As without a known graph

  @Test("any graph is read as without a known one", arguments: 1...20)
  func random(_ seed: UInt64) throws {
    let nodes = try RandomGraphs.make(seed: seed).nodes.canonical()
    let other = try RandomGraphs.make(seed: seed + 100).nodes.canonical()
    try Self.withFile(try Self.bytes(of: Self.snapshot(nodes))) { path in
      for known in [nodes, other] {
        for jobs in [1, 3] {
          let read = try Self.load(path, nodes.model, sharing: known, jobs: jobs)
          #expect(Self.differences(nodes, read).isEmpty)
        }
      }
    }
  }

  @Test("a file with a changed byte is read, or refused, as without a known graph", arguments: 0..<8)
  func damaged(_ part: Int) throws {
    let nodes = try Self.graph()
    var bytes = try Self.bytes(of: Self.snapshot(nodes))
    func outcome(_ path: String, _ known: NodeTable?) -> (NodeTable?, String) {
      do throws(PersistentStoreError) {
        return (try Self.load(path, nodes.model, sharing: known), "")
      } catch { return (nil, "\(error)") }
    }
    for place in stride(from: part, to: bytes.count, by: 8 * 23) {
      let byte = bytes[place]
      for change in [1, 0x80] as [UInt8] {
        bytes[place] = byte ^ change
        try Self.withFile(bytes) { path in
          let (plain, error) = outcome(path, nil)
          let (read, other) = outcome(path, nodes)
          #expect(error.replacing(path, with: "") == other.replacing(path, with: ""), "byte \(place)")
          if let plain, let read { #expect(Self.differences(plain, read).isEmpty, "byte \(place)") }
        }
      }
      bytes[place] = byte
    }
  }

  @Test("a conversion notices each wrong value that a format writes into a large column", arguments: 0..<11)
  func verification(_ slot: Int) throws {
    let folder = Self.folder + "verified-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let nodes = try Self.graph()
    try PropertyListSupport.save(Self.snapshot(nodes), to: folder + "/source.plist")
    var registry = StoreRegistry()
    try registry.register(BinaryPropertyListStore.self)
    try registry.register(WrongValueStore.self)
    var converter = StoreConverter(registry: registry)
    converter.sourceType = BinaryPropertyListStore.storeType
    converter.targetType = WrongValueStore.storeType
    converter.writeOptions = ["slot": "\(slot)"]
    #expect(throws: StoreConverter.VerificationError.self) {
      try converter.convert(from: folder + "/source.plist", to: folder + "/target.wrong")
    }
    #expect(!FileManager.default.fileExists(atPath: folder + "/target.wrong"))
    converter.writeOptions = [:]
    #expect(try converter.convert(from: folder + "/source.plist", to: folder + "/target.wrong").isVerified)
  }
}

/// A property list with a wrong value in one column of its last row but one, whose columns are compared while they are
/// read, whatever their size.
private struct WrongValueStore: AtomicStore {
  static let storeType = "WrongValue"
  static let traits = StoreTraits(
    summary: "Writes a wrong value, for tests", fileExtensions: ["wrong"],
    writeOptions: [StoreOption(name: "slot", help: "The slot of the wrong value.")])
  private var base: BinaryPropertyListStore
  private let slot: Int?

  static func recognize(_ probe: StoreProbe) -> Recognition { .no }
  init(_ configuration: StoreConfiguration) throws(PersistentStoreError) {
    slot = configuration.options["slot"].flatMap { Int($0) }
    base = try BinaryPropertyListStore(StoreConfiguration(path: configuration.path))
    base.sizes = (file: 0, column: 1)
  }
  mutating func metadata(in source: StoreSource) throws(PersistentStoreError) -> StoreMetadata {
    var metadata = try base.metadata(in: source)
    metadata.storeType = Self.storeType
    return metadata
  }
  mutating func load(_ source: StoreSource, into nodes: NodeTableBuilder) throws(PersistentStoreError) {
    try base.load(source, into: nodes)
  }
  mutating func save(_ snapshot: StoreSnapshot, to staged: StagedFiles) throws(PersistentStoreError) {
    var wrong = snapshot
    if let slot {
      let count = snapshot.nodes.count(of: 0)
      let (node, other) = (NodeHandle(entity: 0, row: count - 2), NodeHandle(entity: 0, row: count - 10))
      var value = snapshot.nodes.value(slot: slot, of: other)
      if value == snapshot.nodes.value(slot: slot, of: node) { value = slot < 9 ? .null : .toMany([]) }
      try wrong.nodes.set(value, slot: slot, of: node)
    }
    try base.save(wrong, to: staged)
  }
}
