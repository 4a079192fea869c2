import AtomicStoreSPI
import Testing

/// To-many relationships that are added to several objects at a time.
@Suite("Lists that are appended as a whole") struct AppendedListTests {
  private static let rows: Int64 = 60

  private static func table(
    _ append: (NodeTableBuilder, _ row: Int64, _ references: [Int64]) throws -> Void
  ) throws -> NodeTable {
    let model = try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Node",
          properties: [
            .relationship(
              RelationshipDescription(
                name: "list", destinationEntityName: "Node", maximumCount: 0, isOrdered: true))
          ])
      ]))
    let builder = NodeTableBuilder(model: model)
    // References that fit in a cell, and some that do not.
    func reference(_ row: Int64) -> Int64 { row % 7 == 0 ? Int64.max - row : row }
    for row in 0..<rows {
      try builder.beginNode(entity: 0, reference: reference(row))
      try append(builder, row, (0..<row % 13).map { reference((row * 5 + $0 * 3) % rows) })
    }
    return try builder.finish()
  }

  @Test("they are as those that are appended one by one, in any pieces", arguments: [1, 2, 5, 100])
  func pieces(_ size: Int) throws {
    let one = try Self.table { builder, _, references in
      for reference in references { try builder.append(toMany: reference, slot: 0) }
    }
    let other = try Self.table { builder, row, references in
      let none: [Int64] = []
      try builder.append(toMany: none.span, slot: 0)
      var next = 0
      while next < references.count {
        let piece = Array(references[next..<min(next + size, references.count)])
        if row % 3 == 0, next > 0, piece.count == 1 {
          try builder.append(toMany: piece[0], slot: 0)
        } else {
          try builder.append(toMany: piece.span, slot: 0)
        }
        next += size
      }
    }
    for row in 0..<Int(Self.rows) {
      let node = NodeHandle(entity: 0, row: row)
      #expect(one.reference(of: node) == other.reference(of: node))
      #expect(one.value(slot: 0, of: node) == other.value(slot: 0, of: node))
    }
  }
}
