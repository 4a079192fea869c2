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

  @Test(
    "columns of any number of parts, some large, some small, some without values, are those of one part",
    arguments: [
      [4000], [0, 4000], [1900, 2100], [3990, 10], [10, 3990], [1300, 0, 1350, 1350], [700, 1300, 2000],
    ])
  func joined(_ counts: [Int]) throws {
    let model = try Self.model()
    let total = counts.reduce(0, +)
    let whole = NodeTableBuilder(model: model)
    try Self.load(0..<total, into: whole)
    let nodes = NodeTableBuilder(model: model)
    nodes.jobs = 2
    let starts = counts.indices.map { counts[..<$0].reduce(0, +) }
    let isLoaded = nodes.loadParts(counts.count) { part, nodes in
      let rows = starts[part]..<starts[part] + counts[part]
      return (try? Self.load(rows, into: nodes)) == nil ? nil : rows.count
    }
    #expect(isLoaded)
    let one = try whole.finish()
    var other = try nodes.finish()
    let (reader, joined) = (one.reader(of: 0), other.reader(of: 0))
    #expect(joined.count == total)
    // In the same places of the heap, too: it is compared and written as a whole.
    let data = reader.column(slot: 0)
    #expect(data.hasSameBytes(as: joined.column(slot: 0), in: 0..<total) == true)
    #expect(joined.packedBytes(slot: 0)?.count == (0..<total).reduce(0) { $0 + (Self.value($1)?.count ?? 0) })
    for row in 0..<total {
      let value = Self.value(row)
      let isSame =
        joined.isNull(slot: 0, row: row) == (value == nil)
        && joined.bytes(slot: 0, row: row).withUnsafeBufferPointer { Array($0) } == value ?? []
        && joined.isNull(slot: 1, row: row) == (row % 3 == 0)
        && joined.integer(slot: 1, row: row) == Int64(row % 3 > 0 ? row : 0)
        && joined.toOne(slot: 2, row: row)?.row == (row % 5 > 0 ? row / 2 : nil)
        && joined.toMany(slot: 3, row: row).withUnsafeBufferPointer { Set($0.map(\.row)) }
          == Set((0..<(row % 400)).map { (row + $0) % 4000 })
      #expect(isSame, "row \(row)")
    }
    // A column whose pages were moved grows like others.
    let long = Data(repeating: 7, count: 9 << 20)
    try other.set(.data(long), slot: 0, of: NodeHandle(entity: 0, row: 8))
    #expect(other.value(slot: 0, of: NodeHandle(entity: 0, row: 8)) == .data(long))
    #expect(
      other.value(slot: 0, of: NodeHandle(entity: 0, row: total - 1)) == Self.value(total - 1).map { .data(Data($0)) }
        ?? .null)
  }
}
