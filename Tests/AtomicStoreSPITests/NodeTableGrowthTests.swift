import AtomicStoreSPI
import Foundation
import Testing

@Suite("Node tables that grow and are refilled") struct NodeTableGrowthTests {
  private static func model() throws -> ManagedObjectModel {
    try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Node",
          properties: [
            .attribute("name", .string),
            .attribute("worth", .decimal),
            .toOne("one", "Node"),
            .toMany("many", "Node"),
          ])
      ]))
  }

  @Test(
    "adding two hundred thousand string references does not copy the earlier ones each time", .timeLimit(.minutes(60)))
  func manyStringReferences() throws {
    var table = NodeTable(model: try Self.model())
    for row in 0..<200_000 { _ = try table.addCacheNode(entity: 0, reference: .string("reference \(row)")) }
    #expect(table.count == 200_000)
    #expect(table.handle(for: .string("reference 199999"), entity: 0)?.row == 199_999)
    #expect(table.reference(of: NodeHandle(entity: 0, row: 7)) == .string("reference 7"))
  }

  @Test("a string reference added to a copy leaves the original as it was")
  func copies() throws {
    var table = NodeTable(model: try Self.model())
    _ = try table.addCacheNode(entity: 0, reference: .string("a"))
    var copy = table
    _ = try copy.addCacheNode(entity: 0, reference: .string("b"))
    _ = try table.addCacheNode(entity: 0, reference: .integer(5))
    #expect(copy.reference(of: NodeHandle(entity: 0, row: 1)) == .string("b"))
    #expect(table.reference(of: NodeHandle(entity: 0, row: 1)) == .integer(5))
    #expect(table.reference(of: NodeHandle(entity: 0, row: 0)) == .string("a"))
    #expect(copy.reference(of: NodeHandle(entity: 0, row: 0)) == .string("a"))
  }

  @Test("a refilled column contains only the second fill")
  func filledTwice() throws {
    let model = try Self.model()
    let builder = NodeTableBuilder(model: model)
    let entity = model.entities[0]
    let name = try #require(entity.slot(named: "name"))
    let one = try #require(entity.slot(named: "one"))
    let many = try #require(entity.slot(named: "many"))
    try builder.appendRows(entity: 0, references: ([1, 2] as [Int64]).span)
    try builder.fillBytes(entity: 0, slot: name, lengths: ([1, 3] as [UInt32]).span, heap: Array("abcd".utf8).span)
    try builder.fillBytes(entity: 0, slot: name, lengths: ([2, .max] as [UInt32]).span, heap: Array("xy".utf8).span)
    try builder.fillToOne(entity: 0, slot: one, references: ([2, 1] as [Int64]).span, presence: nil)
    try builder.fillToOne(entity: 0, slot: one, references: ([1, 0] as [Int64]).span, presence: ([1] as [UInt8]).span)
    try builder.fillToMany(
      entity: 0, slot: many, counts: ([0, 2] as [UInt32]).span, references: ([1, 2] as [Int64]).span)
    try builder.fillToMany(entity: 0, slot: many, counts: ([1, 0] as [UInt32]).span, references: ([2] as [Int64]).span)
    let table = try builder.finish()
    let first = NodeHandle(entity: 0, row: 0)
    let second = NodeHandle(entity: 0, row: 1)
    #expect(table.value(slot: name, of: first) == .string("xy"))
    #expect(table.value(slot: name, of: second) == .null)
    #expect(table.value(slot: one, of: first) == .toOne(ObjectReference(entityName: "Node", reference: .integer(1))))
    #expect(table.value(slot: one, of: second) == .null)
    #expect(
      table.value(slot: many, of: first) == .toMany([ObjectReference(entityName: "Node", reference: .integer(2))]))
    #expect(table.value(slot: many, of: second) == .toMany([]))
  }

  @Test("replacing a value repeatedly does not use more and more memory", .timeLimit(.minutes(60)))
  func replaced() throws {
    var table = NodeTable(model: try Self.model())
    let entity = table.model.entities[0]
    let name = try #require(entity.slot(named: "name"))
    let many = try #require(entity.slot(named: "many"))
    let nodes = try (1...300).map { try table.addCacheNode(entity: 0, reference: .integer($0)) }
    let all = nodes.map { ObjectReference(entityName: "Node", reference: table.reference(of: $0)) }
    try table.set(.string("first"), slot: name, of: nodes[0])
    try table.set(.string("last"), slot: name, of: nodes[299])
    // Five gigabytes in all, where a column holds four.
    let text = String(repeating: "a", count: 1 << 20)
    for _ in 0..<5000 { try table.set(.string(text), slot: name, of: nodes[7]) }
    for turn in 0..<1000 { try table.set(.toMany(Array(all.prefix(turn % 301))), slot: many, of: nodes[turn % 5]) }
    try table.set(.null, slot: name, of: nodes[7])
    #expect(table.value(slot: name, of: nodes[0]) == .string("first"))
    #expect(table.value(slot: name, of: nodes[7]) == .null)
    #expect(table.value(slot: name, of: nodes[299]) == .string("last"))
    for turn in 995..<1000 {
      #expect(table.value(slot: many, of: nodes[turn % 5]) == .toMany(Array(all.prefix(turn % 301))))
    }
  }
}
