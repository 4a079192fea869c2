import AtomicStoreKit
import AtomicStoreSPI
import BinaryPropertyListStoreFormat
import BuiltInStoreFormats
import Foundation
import Testing

/// Columns in which few rows have a value: version 3 has values of those rows only.
@Suite("Columns with few values in property lists") struct PropertyListSparseTests {
  private static let types: [AttributeType] = [
    .boolean, .integer16, .integer32, .integer64, .float, .double, .date, .uuid, .string, .binaryData, .decimal,
    .undefined,
  ]

  /// How many of a hundred rows have a value, and whether references are strings.
  struct Share: Sendable, CustomTestStringConvertible {
    var percent: Int
    var rows = 1500
    var hasTexts = false
    var testDescription: String { "\(percent) % of \(rows)\(hasTexts ? ", string references" : "")" }
  }

  private static func graph(_ share: Share) throws -> StoreSnapshot {
    var properties: [PropertyDescription] = types.enumerated().map { .attribute("a\($0.offset)", $0.element) }
    properties += [.toOne("one", "Node"), .toMany("many", "Node")]
    let model = try ManagedObjectModel(
      ModelDescription(entities: [EntityDescription(name: "Node", properties: properties)]))
    let builder = NodeTableBuilder(model: model)
    func reference(_ row: Int) -> ReferenceObject {
      share.hasTexts && row % 3 > 0 ? .string("row \(row)") : .integer(Int64(row + 1))
    }
    for row in 0..<share.rows {
      try builder.beginNode(entity: 0, reference: reference(row))
      for (slot, type) in types.enumerated() where (row * 37 + slot * 11) % 100 < share.percent {
        try builder.set(value(type, row), slot: slot)
      }
      if (row * 53 + 7) % 100 < share.percent { try builder.set(toOne: reference((row * 7) % share.rows), slot: 12) }
      if (row * 29 + 3) % 100 < share.percent {
        for member in 0..<row % 4 { try builder.append(toMany: reference((row + member * 5) % share.rows), slot: 13) }
      }
    }
    let metadata = StoreMetadata(
      storeType: BinaryPropertyListStore.storeType, uuid: UUID(), entries: [:], lastReference: Int64(share.rows),
      model: model.description)
    return StoreSnapshot(nodes: try builder.finish().canonical(), metadata: metadata)
  }

  private static func value(_ type: AttributeType, _ row: Int) -> StoredValue {
    switch type {
    case .boolean: .boolean(row % 2 == 0)
    case .integer16, .integer32, .integer64: .integer(Int64(row % 3 == 0 ? 0 : row * 7 - 5000))
    case .float: .float(Float(row) / 3)
    case .double: .double(row % 5 == 0 ? -0.0 : Double(row) / 7)
    case .date: .date(Date(timeIntervalSinceReferenceDate: Double(row) * 1000.5))
    case .uuid: .uuid(UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, UInt8(row % 256), UInt8(row / 256))))
    case .string: .string(row % 4 == 0 ? "" : "text \(row) ü")
    case .binaryData: .data(Data(repeating: UInt8(row % 256), count: row % 9))
    case .decimal: .decimal(DecimalNumber(Int64(row * 3)))
    default: .integer(Int64(row))
    }
  }

  private static func saved(_ snapshot: StoreSnapshot) throws -> [UInt8] {
    let path = NSTemporaryDirectory() + "sparse-\(UUID().uuidString).plist"
    defer { try? FileManager.default.removeItem(atPath: path) }
    try PropertyListSupport.save(snapshot, to: path)
    return Array(try Data(contentsOf: URL(filePath: path)))
  }

  private static func list(_ bytes: [UInt8]) throws -> [String: Any] {
    let list = try PropertyListSerialization.propertyList(from: Data(bytes), format: nil)
    return try #require(list as? [String: Any])
  }
  private static func columns(_ list: [String: Any]) throws -> [String: [String: Any]] {
    let entities = try #require(list["entities"] as? [String: [String: Any]])
    return try #require(entities["Node"]?["columns"] as? [String: [String: Any]])
  }

  static let shares = [0, 1, 5, 49, 50, 51, 100].flatMap { percent in
    [false, true].map { Share(percent: percent, hasTexts: $0) }
  }

  @Test("whatever share of the rows has a value, the graph is read back to the bit", arguments: shares)
  func roundTrip(_ share: Share) throws {
    let snapshot = try Self.graph(share)
    let bytes = try Self.saved(snapshot)
    let read = StoreSnapshot(nodes: try PropertyListSupport.open(bytes), metadata: snapshot.metadata)
    let differences = GraphComparison.differences(snapshot, read)
    #expect(differences.isEmpty, "\(differences.prefix(5))")
    // The same bytes again, from columns that were spread.
    #expect(try Self.saved(read) == bytes)
    let list = try Self.list(bytes)
    let isSparse = try Self.columns(list).values.contains { $0["present"] != nil }
    #expect(list["version"] as? Int == (isSparse ? 3 : share.hasTexts ? 2 : 1))
    #expect(try Self.columns(list)["a3"]?["present"] == nil || share.percent < 50)
    if share.percent < 49 { #expect(isSparse) }
  }

  @Test("a store of fewer than 1,024 rows stays of version 1, which every release reads", arguments: [1, 1023, 1024])
  func small(_ rows: Int) throws {
    let bytes = try Self.saved(try Self.graph(Share(percent: 5, rows: rows)))
    #expect(try Self.list(bytes)["version"] as? Int == (rows < 1024 ? 1 : 3))
  }

  @Test("a file of rows that are almost empty is smaller than in version 1, by the cells that are not there")
  func size() throws {
    let full = try Self.saved(try Self.graph(Share(percent: 100)))
    let sparse = try Self.saved(try Self.graph(Share(percent: 5)))
    #expect(sparse.count * 4 < full.count, "\(sparse.count) and \(full.count) bytes")
  }

  @Test(
    "a page of Python decodes them to the same values",
    .enabled(if: DecodingScript.python != nil, "python3 is not here"),
    arguments: [false, true])
  func script(_ hasTexts: Bool) throws {
    let snapshot = try Self.graph(Share(percent: 5, hasTexts: hasTexts))
    let nodes = snapshot.nodes
    let path = NSTemporaryDirectory() + "sparse-\(UUID().uuidString).plist"
    try Data(try Self.saved(snapshot)).write(to: URL(filePath: path))
    defer { try? FileManager.default.removeItem(atPath: path) }
    func reference(_ any: Any?) -> ReferenceObject? {
      (any as? String).map { .string($0) } ?? (any as? Int).map { .integer(Int64($0)) }
    }
    let rows = try DecodingScript.rows(of: path)
    #expect(rows.count == nodes.count)
    for row in rows {
      let own = try #require(reference(row["reference"]))
      let node = try #require(nodes.handle(for: own, entity: 0))
      let reader = nodes.reader(of: 0)
      #expect(
        row["a3"] as? Int == (reader.isNull(slot: 3, row: node.row) ? nil : Int(reader.integer(slot: 3, row: node.row)))
      )
      #expect(
        row["a8"] as? String == (reader.isNull(slot: 8, row: node.row) ? nil : reader.string(slot: 8, row: node.row)))
      #expect((row["a7"] is NSNull) == reader.isNull(slot: 7, row: node.row))
      #expect(reference(row["one"]) == reader.toOne(slot: 12, row: node.row).map { nodes.reference(of: $0) })
      let many = try #require(row["many"] as? [Any]).map { reference($0) }
      let list = reader.toMany(slot: 13, row: node.row)
      #expect(many == (0..<list.count).map { nodes.reference(of: list[$0]) })
    }
  }

  @Test(
    "numbers that do not match the bits are refused, with the column",
    arguments: ["a0", "a3", "a7", "a8", "a10", "one", "many"])
  func damaged(_ name: String) throws {
    let list = try Self.list(try Self.saved(try Self.graph(Share(percent: 5))))
    func refused(_ what: String, _ change: (inout [String: Any]) throws -> Void) throws {
      var list = list
      var entities = try #require(list["entities"] as? [String: [String: Any]])
      var columns = try Self.columns(list)
      var column = try #require(columns[name])
      try change(&column)
      columns[name] = column
      entities["Node"]?["columns"] = columns
      list["entities"] = entities
      let data = try PropertyListSerialization.data(fromPropertyList: list, format: .binary, options: 0)
      do {
        _ = try PropertyListSupport.open(Array(data))
        Issue.record("\(what) was read")
      } catch {
        #expect(error.code == .malformed && error.location.property == name, "\(what): \(error)")
      }
    }
    let key =
      name == "many" ? "counts" : name == "one" ? "references" : ["a8", "a10"].contains(name) ? "lengths" : "cells"
    for change in [-1, 1] {
      try refused("\(change) bits") {
        var bits = try #require($0["present"] as? Data)
        let place = try #require(bits.indices.first { change < 0 ? bits[$0] != 0 : bits[$0] != 0xFF })
        if change < 0 { bits[place] &= bits[place] - 1 } else { bits[place] |= bits[place] + 1 }
        $0["present"] = bits
      }
    }
    try refused("a byte of bits more") {
      var bits = try #require($0["present"] as? Data)
      bits.append(0)
      $0["present"] = bits
    }
    try refused("no numbers") { $0[key] = Data() }
    try refused("an unknown key") { $0["values"] = Data() }
    if name == "one" || key == "cells" { try refused("bits twice") { $0["presence"] = $0["present"] } }
  }
}
