import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import StoreCodecs
import Testing

@testable import ArrowStoreFormat
@testable import BinaryPropertyListStoreFormat
@testable import CSVStoreFormat

/// Columns that are filled, and rows that are encoded, on several threads, against one.
@Suite("Columns and rows on several threads") struct ParallelColumnTests {
  /// The bytes of a random graph as a property list, and its model.
  private static func written(_ seed: UInt64) throws -> (bytes: [UInt8], model: ManagedObjectModel) {
    var snapshot = try RandomGraphs.make(seed: seed)
    snapshot.metadata.storeType = BinaryPropertyListStore.storeType
    snapshot.nodes = try snapshot.nodes.canonical()
    let path = NSTemporaryDirectory() + "columns-\(UUID().uuidString).plist"
    defer { try? FileManager.default.removeItem(atPath: path) }
    try PropertyListSupport.save(snapshot, to: path)
    return (try Array(Data(contentsOf: URL(filePath: path))), snapshot.nodes.model)
  }

  private static func load(_ source: StoreSource, _ builder: NodeTableBuilder) throws {
    var store = try BinaryPropertyListStore(StoreConfiguration(path: source.name))
    try store.load(source, into: builder)
  }

  @Test("a property list is the same whether its columns are filled at the same time or not", arguments: 1...25)
  func propertyList(_ seed: UInt64) throws {
    let (bytes, model) = try Self.written(seed)
    let source = StoreSource(bytes: bytes, name: "test.plist")
    ParallelLoadTests.expectSame(
      source, model, leastPart: max(bytes.count / 9, 1), "seed \(seed)"
    ) { try Self.load($0, $1) }
  }

  @Test("a damaged property list gives the same error on several threads", arguments: 1...80)
  func damaged(_ seed: Int) throws {
    var (bytes, model) = try Self.written(UInt64(seed % 5 + 1))
    var random = Random(seed: UInt64(seed))
    for _ in 0...(seed % 3) {
      bytes[Int.random(in: 8..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
    }
    let source = StoreSource(bytes: bytes, name: "test.plist")
    ParallelLoadTests.expectSame(
      source, model, leastPart: max(bytes.count / 9, 1), "seed \(seed)"
    ) { try Self.load($0, $1) }
  }

  // MARK: Arrow

  /// The members of a random graph as an Arrow store, and its model.
  private static func arrow(
    _ seed: UInt64, leastParallelValues: Int = .max
  ) throws -> (members: [(name: String, bytes: [UInt8])], model: ManagedObjectModel) {
    var snapshot = try RandomGraphs.make(seed: seed)
    snapshot.metadata.storeType = ArrowStore.storeType
    snapshot.nodes = try snapshot.nodes.canonical()
    let path = NSTemporaryDirectory() + "columns-\(UUID().uuidString)"
    var store = try ArrowStore(StoreConfiguration(path: path))
    store.leastParallelValues = leastParallelValues
    let staged = try StagedStore(target: path, layout: .folder, policy: .createNew)
    try store.save(snapshot, to: staged.files)
    try staged.finish()
    let source = try staged.sourceForVerification(name: "Store.arrowstore")
    let members = try source.memberNames.map { name in
      (name, try source.bytes(ofMember: name).withUnsafeBytes { Array($0) })
    }
    return (members, snapshot.nodes.model)
  }

  private static func loadArrow(_ source: StoreSource, _ builder: NodeTableBuilder) throws {
    var store = try ArrowStore(StoreConfiguration(path: source.name))
    try store.load(source, into: builder)
  }

  @Test("an Arrow store is the same whether its columns are filled at the same time or not", arguments: 1...25)
  func arrow(_ seed: UInt64) throws {
    let (members, model) = try Self.arrow(seed)
    let source = StoreSource(members: members, name: "test.arrowstore")
    guard case .nodes = ParallelLoadTests.outcome(source, model, jobs: 1, leastPart: 100, Self.loadArrow) else {
      Issue.record("the store does not load")
      return
    }
    ParallelLoadTests.expectSame(source, model, leastPart: 100, "seed \(seed)", Self.loadArrow)
  }

  @Test("a damaged Arrow store gives the same error on several threads", arguments: 1...80)
  func damagedArrow(_ seed: Int) throws {
    var (members, model) = try Self.arrow(UInt64(seed % 5 + 1))
    var random = Random(seed: UInt64(seed))
    let tables = members.indices.filter { members[$0].name.hasSuffix(".arrow") }
    let member = try #require(tables.randomElement(using: &random))
    for _ in 0...(seed % 3) {
      let place = Int.random(in: 8..<members[member].bytes.count, using: &random)
      members[member].bytes[place] = UInt8.random(in: 0...255, using: &random)
    }
    let source = StoreSource(members: members, name: "test.arrowstore")
    ParallelLoadTests.expectSame(source, model, leastPart: 100, "seed \(seed)", Self.loadArrow)
  }

  @Test("an Arrow store is the same bytes whether its columns are encoded at the same time or not", arguments: 1...20)
  func arrowBytes(_ seed: UInt64) throws {
    let one = try Self.arrow(seed).members
    let other = try Self.arrow(seed, leastParallelValues: 0).members
    #expect(one.map(\.name) == other.map(\.name))
    #expect(one.map(\.bytes) == other.map(\.bytes))
  }

  @Test("columns are filled at the same time only of large inputs, and if all of them can be")
  func fallback() throws {
    let model = try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Node", properties: [.attribute("a", .integer16), .attribute("b", .integer16), .toOne("next", "Node")])
      ]))
    let slots = try ["a", "b", "next"].map { try #require(model.entities[0].slot(named: $0)) }
    func filled(_ slots: [Int], bytes: Int, _ body: @escaping @Sendable (Int, NodeTableBuilder) -> Bool) throws -> Bool
    {
      let builder = NodeTableBuilder(model: model)
      builder.jobs = 2
      builder.leastPart = 100
      try builder.appendRows(entity: 0, references: ([1, 2] as [Int64]).span)
      return builder.fillColumns(slots.map { (0, $0) }, fromInput: bytes, body)
    }
    @Sendable func fill(_ slot: Int, _ nodes: NodeTableBuilder) -> Bool {
      (try? nodes.fillFixed(entity: 0, slot: slot, cells: ([1, 0, 2, 0] as [UInt8]).span, presence: nil)) != nil
    }
    #expect(try filled([slots[0], slots[1]], bytes: 200) { fill(slots[$0], $1) })
    #expect(try !filled([slots[0], slots[1]], bytes: 199) { fill(slots[$0], $1) }, "a small input")
    #expect(try !filled([slots[0], slots[1]], bytes: 200) { number, nodes in number == 0 && fill(slots[0], nodes) })
    // A reference that does not fit in a cell is in a list of the builder.
    #expect(
      try !filled([slots[0], slots[2]], bytes: 200) { number, nodes in
        if number == 0 { return fill(slots[0], nodes) }
        return
          (try? nodes.fillToOne(
            entity: 0, slot: slots[2], references: ([.max, 1] as [Int64]).span, presence: nil)) != nil
      })
  }

  @Test("rows of CSV are the same bytes in pieces of any size", arguments: 1...12)
  func rows(_ seed: UInt64) throws {
    let nodes = try RandomGraphs.make(seed: seed).nodes.canonical()
    let references = nodes.references
    var style = SheetStyle()
    style.isDefused = seed % 2 == 0
    style.hasDecimalComma = seed % 3 == 0
    for entity in nodes.model.entities {
      let encoder = RowEncoder(
        reader: nodes.reader(of: entity.index), columns: entity.slots.map { CSVStore.column($0) },
        references: references, dialect: .comma, style: style)
      func bytes(_ pieceRows: Int?, pieceBytes: Int = .max) throws -> [UInt8] {
        let writer = ByteWriter()
        try encoder.write(to: writer, pieceRows: pieceRows, pieceBytes: pieceBytes)
        return writer.takeBytes()
      }
      let whole = try bytes(nil)
      for size in [1, 3, 1000] {
        #expect(try bytes(size) == whole)
        // Rows that do not fit in a piece are written after it.
        for limit in [0, 1, 100] { #expect(try bytes(size, pieceBytes: limit) == whole) }
      }
    }
  }

  @Test("rows with string references that exceed the caches are written like others")
  func largeReferences() throws {
    let model = try ManagedObjectModel(
      ModelDescription(entities: [EntityDescription(name: "Node", properties: [.toOne("next", "Node")])]))
    let slot = try #require(model.entities[0].slot(named: "next"))
    let texts = (0..<40).map { "\($0) " + String(repeating: "k", count: $0 % 4 == 0 ? 700_000 : $0) }
    let builder = NodeTableBuilder(model: model)
    for (row, text) in texts.enumerated() {
      try builder.beginNode(entity: 0, reference: row == 7 ? .integer(7) : .string(text))
      // Some rows have no object, some one with an integer.
      if row % 5 > 0 {
        let other = row * 17 % 40
        try builder.set(toOne: other == 7 ? .integer(7) : .string(texts[other]), slot: slot)
      }
    }
    let nodes = try builder.finish()
    #expect(nodes.references.exceedCaches && nodes.references.hasTexts)
    let encoder = RowEncoder(
      reader: nodes.reader(of: 0), columns: [CSVStore.column(model.entities[0].slots[slot])],
      references: nodes.references, dialect: .comma, style: SheetStyle())
    let writer = ByteWriter()
    try encoder.write(to: writer)
    func cell(_ row: Int) -> String { row == 7 ? "7" : "s:" + texts[row].replacing(" ", with: "%20") }
    let right = (0..<40).map { "\(cell($0)),\($0 % 5 > 0 ? cell($0 * 17 % 40) : "")\n" }.joined()
    #expect(writer.takeBytes() == Array(right.utf8))
  }
}
