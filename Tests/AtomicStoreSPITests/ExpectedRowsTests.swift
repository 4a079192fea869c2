import Foundation
import Testing

@testable import AtomicStoreSPI

/// What formats say about how much is to come.
@Suite("Expected rows") struct ExpectedRowsTests {
  private static func model() throws -> ManagedObjectModel {
    try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(name: "A", properties: [.attribute("text", .string), .attribute("number", .integer64)]),
        EntityDescription(name: "B", properties: [.attribute("flag", .boolean), .toOne("one", "A")]),
      ]))
  }

  private static func fill(_ nodes: NodeTableBuilder, _ rows: Int, says: (Int, NodeTableBuilder) -> Void) throws {
    for row in 0..<rows {
      says(row, nodes)
      let isA = row % 3 > 0
      try nodes.beginNode(entity: isA ? 0 : 1, reference: Int64(row))
      if isA {
        try nodes.set(utf8: Array("text \(row)".utf8).span, slot: 0)
        if row % 2 == 0 { try nodes.set(integer: Int64(row), slot: 1) }
      } else if row % 6 == 0 {
        try nodes.set(boolean: true, slot: 0)
        try nodes.set(toOne: Int64(row + 1), slot: 1)
      }
    }
  }

  private static func values(_ table: NodeTable) -> [[StoredValue]] {
    (0..<2).flatMap { entity in
      (0..<table.reader(of: entity).count).map { row in
        [.toOne(ObjectReference(entityName: "", reference: table.reader(of: entity).reference(row: row)))]
          + (0..<2).map { table.value(slot: $0, of: NodeHandle(entity: entity, row: row)) }
      }
    }
  }

  @Test("whatever a format says, right or wrong, the rows are the same", arguments: 0..<8)
  func same(_ kind: Int) throws {
    let model = try Self.model()
    let rows = 20_000
    let plain = NodeTableBuilder(model: model)
    try Self.fill(plain, rows) { _, _ in }
    let nodes = NodeTableBuilder(model: model)
    try Self.fill(nodes, rows) { row, nodes in
      guard row % 500 == 0 else { return }
      switch kind {
      case 0: nodes.noteProgress(row + 500, of: rows)
      case 1: nodes.noteProgress(row + 500, of: rows * 50)
      case 2: nodes.noteProgress(row + 500, of: 10)
      case 3: nodes.noteProgress(1, of: .max)
      case 4: nodes.noteProgress(-5, of: -7)
      case 5: nodes.expectNodes(rows * 2 / 3, entity: 0)
      case 6: nodes.expectNodes(5, entity: 0)
      default: nodes.expectNodes(.min, entity: row % 2)
      }
    }
    #expect(try Self.values(nodes.finish()) == Self.values(plain.finish()))
  }

  @Test("with the expected number of rows, a column is allocated once and is hardly too large")
  func once() throws {
    let nodes = NodeTableBuilder(model: try Self.model())
    var sizes: Set<Int> = []
    for row in 0..<100_000 {
      if row == 1000 { nodes.expectNodes(100_000, entity: 0) }
      try nodes.beginNode(entity: 0, reference: Int64(row))
      try nodes.set(integer: 1, slot: 1)
      if row > 4000 { sizes.insert(nodes.building[0].headers[1].pointee.capacity) }
    }
    #expect(sizes.count == 1)
    #expect(sizes.allSatisfy { $0 < 105_000 })
  }

  @Test("with the share of the input that was read, columns have the size for the rest of it; fourfold at most")
  func share() throws {
    let nodes = NodeTableBuilder(model: try Self.model())
    var sizes: [Int] = []
    for row in 0..<100_000 {
      if row % 100 == 0 { nodes.noteProgress(row + 100, of: 100_000) }
      try nodes.beginNode(entity: 0, reference: Int64(row))
      let size = nodes.building[0].capacity
      #expect(size <= max(row * 4 + row / 5, 16) && size < 110_000)
      if sizes.last != size { sizes.append(size) }
    }
    // From a quarter on.
    #expect(sizes.filter { $0 > 40_000 }.count <= 2)
  }

  @Test("an entity whose rows are all at the beginning takes no more than without what was said")
  func beginning() throws {
    let nodes = NodeTableBuilder(model: try Self.model())
    for row in 0..<5000 {
      if row % 100 == 0 { nodes.noteProgress(row + 100, of: 10_000_000) }
      try nodes.beginNode(entity: 0, reference: Int64(row))
    }
    #expect(nodes.building[0].capacity <= 5000 * 3 / 2)
  }

  @Test("wrong expectations do not let a load exceed its limits", arguments: [2_500_000, 3_000_000, 8 << 20])
  func limits(_ memory: Int) throws {
    var limits = StoreLimits()
    limits.memory = memory
    limits.objects = 60_000
    let model = try Self.model()
    for says in [0, 1] {
      let nodes = NodeTableBuilder(model: model, limits: limits, inputBytes: 0)
      try Self.fill(nodes, 60_000) { row, nodes in
        guard says > 0, row % 1000 == 0 else { return }
        nodes.noteProgress(row + 1, of: .max)
        nodes.expectNodes(1 << 30, entity: 0)
      }
      #expect(try nodes.finish().count == 60_000)
    }
    let nodes = NodeTableBuilder(model: model, limits: limits, inputBytes: 0)
    #expect(throws: PersistentStoreError.self) {
      try Self.fill(nodes, 60_001) { _, nodes in nodes.expectNodes(1 << 30, entity: 0) }
      _ = try nodes.finish()
    }
  }
}
