import Foundation
import Testing

@testable import AtomicStoreSPI

/// Columns of parts that were loaded at the same time: large ones are moved to the end of the first, others copied.
@Suite("Joining columns") struct ColumnJoinTests {
  private static func model() throws -> ManagedObjectModel {
    try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Node",
          properties: [
            .attribute("data", .binaryData), .attribute("number", .integer32), .toOne("one", "Node"),
            .toMany("many", "Node"),
          ])
      ]))
  }

  /// The bytes of a row's value; nil for none. About a kilobyte and a half on average.
  private static func value(_ row: Int) -> [UInt8]? {
    if row % 11 == 3 { return nil }
    return (0..<(row &* 7919 % 3001)).map { UInt8(truncatingIfNeeded: row &* 31 &+ $0) }
  }

  private static func load(_ rows: Range<Int>, into nodes: NodeTableBuilder) throws {
    for row in rows {
      try nodes.beginNode(entity: 0, reference: Int64(row), line: row - rows.lowerBound + 1)
      if let value = value(row) { try nodes.set(bytes: value.span, slot: 0) }
      if row % 3 > 0 { try nodes.set(integer: Int64(row), slot: 1) }
      if row % 5 > 0 { try nodes.set(toOne: Int64(row / 2), slot: 2) }
      for other in 0..<(row % 400) { try nodes.append(toMany: Int64((row + other) % 4000), slot: 3) }
    }
  }

  /// The rows as one part.
  private static let whole = Result { () throws -> NodeTable in
    let nodes = NodeTableBuilder(model: try model())
    try load(0..<4000, into: nodes)
    return try nodes.finish()
  }

  /// The bytes of a list: comparing its elements one by one takes hundreds of times as long in a debug build.
  private static func memory(_ nodes: Span<NodeHandle>) -> Data { nodes.withUnsafeBytes { Data($0) } }

  @Test("columns of one part have the values that were set")
  func whole() throws {
    let reader = try Self.whole.get().reader(of: 0)
    let wrong = (0..<4000).filter { row in
      let value = Self.value(row)
      return reader.isNull(slot: 0, row: row) != (value == nil)
        || reader.bytes(slot: 0, row: row).withUnsafeBufferPointer { Data($0) } != Data(value ?? [])
        || reader.isNull(slot: 1, row: row) != (row % 3 == 0)
        || reader.integer(slot: 1, row: row) != Int64(row % 3 > 0 ? row : 0)
        || reader.toOne(slot: 2, row: row)?.row != (row % 5 > 0 ? row / 2 : nil)
        || reader.toMany(slot: 3, row: row).withUnsafeBufferPointer { Set($0.map(\.row)) }
          != Set((0..<(row % 400)).map { (row + $0) % 4000 })
    }
    #expect(wrong.isEmpty)
  }

  @Test(
    "columns of any number of parts, some large, some small, some without values, are those of one part",
    arguments: [
      [4000], [0, 4000], [1900, 2100], [3990, 10], [10, 3990], [1300, 0, 1350, 1350], [700, 1300, 2000],
    ])
  func joined(_ counts: [Int]) throws {
    let total = counts.reduce(0, +)
    let one = try Self.whole.get()
    let nodes = NodeTableBuilder(model: one.model)
    nodes.jobs = 2
    let starts = counts.indices.map { counts[..<$0].reduce(0, +) }
    let isLoaded = nodes.loadParts(counts.count) { part, nodes in
      let rows = starts[part]..<starts[part] + counts[part]
      return (try? Self.load(rows, into: nodes)) == nil ? nil : rows.count
    }
    #expect(isLoaded)
    var other = try nodes.finish()
    let (reader, joined) = (one.reader(of: 0), other.reader(of: 0))
    #expect(joined.count == total)
    // In the same places of the heap, too: it is compared and written as a whole.
    let data = reader.column(slot: 0)
    #expect(data.hasSameBytes(as: joined.column(slot: 0), in: 0..<total) == true)
    #expect(joined.packedBytes(slot: 0)?.count == (0..<total).reduce(0) { $0 + (Self.value($1)?.count ?? 0) })
    let wrong = (0..<total).filter { row in
      joined.isNull(slot: 0, row: row) != reader.isNull(slot: 0, row: row)
        || joined.isNull(slot: 1, row: row) != reader.isNull(slot: 1, row: row)
        || joined.integer(slot: 1, row: row) != reader.integer(slot: 1, row: row)
        || joined.toOne(slot: 2, row: row) != reader.toOne(slot: 2, row: row)
        || Self.memory(joined.toMany(slot: 3, row: row)) != Self.memory(reader.toMany(slot: 3, row: row))
    }
    #expect(wrong.isEmpty)
    // A column whose pages were moved grows like others.
    let long = Data(repeating: 7, count: 9 << 20)
    try other.set(.data(long), slot: 0, of: NodeHandle(entity: 0, row: 8))
    #expect(other.value(slot: 0, of: NodeHandle(entity: 0, row: 8)) == .data(long))
    #expect(
      other.value(slot: 0, of: NodeHandle(entity: 0, row: total - 1)) == Self.value(total - 1).map { .data(Data($0)) }
        ?? .null)
  }
}
