import AtomicStoreKit
import AtomicStoreSPI
import Foundation
import StoreCodecs
import StoreCoordination
import TestSupport
import Testing

@testable import AtomicStoreCommand

@Suite("Rows as JSON") struct RowPrinterTests {
  private static let types: [AttributeType] = [
    .undefined, .integer16, .integer32, .integer64, .decimal, .double, .float, .string, .boolean, .date, .binaryData,
    .uuid, .uri, .transformable,
  ]
  private static let texts = [
    "", "plain", "\"\\", "a\nb\tc\r", "é", "e\u{301}", "\u{1B}[31m", "\u{85}", "\u{202E}x", "\u{2028}\u{2029}", "😀",
    "\u{7F}",
  ]
  private static let doubles = [
    0, -0.0, 1, 0.1, 1.5, 1e15, 1e16, 123_456_789.125, 9_007_199_254_740_992, 1e300, .leastNonzeroMagnitude, 0.001,
    0.0001, 1e-5, .nan, Double(bitPattern: 0x7FF8_0000_0000_0001), .infinity, -.infinity, -1234.567,
  ]
  private static let decimals = ["0", "-1.50", "1E+40", "0.000001", "12345678901234567890123456789012345678", "NaN"]

  private static func value(_ type: AttributeType, _ generator: inout SeededGenerator) throws -> StoredValue {
    func pick<Element>(_ list: [Element]) throws -> Element { try #require(list.randomElement(using: &generator)) }
    return switch type {
    case .integer16, .integer32: .integer(try pick([0, -1, 300]))
    case .integer64: .integer(try pick([0, .min, .max, 1 << 53]))
    case .decimal: .decimal(try #require(DecimalNumber(try pick(decimals))))
    case .double: .double(try pick(doubles))
    case .float: .float(try pick([0, -0.0, 0.1, .nan, .infinity]))
    case .string: .string(try pick(texts))
    case .boolean: .boolean(try pick([true, false]))
    case .date: .date(Date(timeIntervalSinceReferenceDate: try pick(doubles)))
    case .binaryData, .transformable: .data(try pick([Data(), Data([0, 255])]))
    case .uuid: .uuid(UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)))
    case .uri: .uri(try pick(texts))
    default: try pick([.integer(1), .double(.nan), .string("1"), .date(Date(timeIntervalSinceReferenceDate: 0.5))])
    }
  }

  private static func graph(_ generator: inout SeededGenerator) throws -> NodeTable {
    var properties = types.map { PropertyDescription.attribute("\($0)\"", $0) }
    properties += [.toOne("one", "Thing"), .toMany("many", "Thing")]
    var nodes = NodeTable(
      model: try ManagedObjectModel(
        ModelDescription(entities: [
          EntityDescription(name: "Thing", properties: properties, subentities: [EntityDescription(name: "Süb")])
        ])))
    for entity in nodes.model.entities {
      for number in 0..<20 {
        let reference: ReferenceObject =
          number % 3 == 0
          ? .string("\(entity.name) \(texts[number % texts.count])\(number)")
          : .integer(
            Int64(entity.index * 100 + number))
        _ = try nodes.addCacheNode(entity: entity.index, reference: reference)
      }
    }
    let all = nodes.model.entities.flatMap { nodes.handles(of: $0.index) }
    for node in all {
      for slot in nodes.model.entity(at: node.entity).slots where Int.random(in: 0..<6, using: &generator) > 0 {
        let others = Set((0..<3).compactMap { _ in all.randomElement(using: &generator) }).map {
          nodes.objectReference(of: $0)
        }
        let value: StoredValue =
          if let type = slot.attributeType {
            try value(type, &generator)
          } else {
            slot.isToMany ? .toMany(others) : .toOne(try #require(others.first))
          }
        try nodes.set(value, slot: slot.index, of: node)
      }
    }
    return nodes
  }

  @Test(
    "rows from columns are printed as rows of values are, to the byte",
    arguments: (0..<20).share(of: "rows as JSON"), [false, true])
  func columns(_ seed: Int, _ quotesDecimals: Bool) throws {
    var generator = SeededGenerator(seed: UInt64(seed))
    let nodes = try Self.graph(&generator)
    let coordinator = PersistentStoreCoordinator(managedObjectModel: nodes.model, registry: StoreRegistry())
    _ = try coordinator.addStoreInMemory(
      holding: StoreSnapshot(nodes: nodes, metadata: StoreMetadata(storeType: "InMemory")))
    var request = FetchRequest<ManagedObject>(entityName: "Thing")
    let names = try #require(nodes.model.entity(named: "Thing")).slots.map(\.name)
    request.propertiesToFetch =
      [FetchColumn("object", .evaluatedObject)]
      + names.map { FetchColumn($0, .keyPath([$0])) } + [
        FetchColumn("path", .keyPath(["one", "\(AttributeType.string)\""]))
      ]
    let context = ManagedObjectContext(coordinator)
    let rows = try context.fetchedRows(request)
    guard case .columns = rows else {
      Issue.record("the rows are not read from columns")
      return
    }
    let values = FetchedRows.computed(ComputedRows(try context.fetchRows(request)))
    let titles = request.propertiesToFetch.map(\.name)
    func printed(_ rows: FetchedRows, _ print: (RowPrinter, ByteWriter) throws -> Void) rethrows -> String {
      let writer = ByteWriter()
      try print(
        RowPrinter(titles, rows, quotesDecimals: quotesDecimals, undeclared: ["\(AttributeType.undefined)\""]), writer)
      return String(decoding: writer.takeBytes(), as: UTF8.self)
    }
    #expect(try printed(rows) { try $0.jsonLines(to: $1) } == printed(values) { try $0.jsonLines(to: $1) })
    #expect(try printed(rows) { try $0.json(to: $1) } == printed(values) { try $0.json(to: $1) })
  }
}
