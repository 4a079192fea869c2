import Foundation
import StoreFiles
import Testing

@testable import AtomicStoreSPI

/// Columns in which few rows have a value, and columns that change between that and a cell for each row.
@Suite("Sparse columns") struct SparseColumnTests {
  private static let kinds: [AttributeType] = [
    .boolean, .integer16, .integer32, .integer64, .float, .double, .date, .uuid, .string, .decimal, .undefined,
  ]

  private static func model() throws -> ManagedObjectModel {
    var properties: [PropertyDescription] = kinds.enumerated().map { .attribute("a\($0.offset)", $0.element) }
    properties += [.toOne("one", "Node"), .toMany("many", "Node")]
    return try ManagedObjectModel(ModelDescription(entities: [EntityDescription(name: "Node", properties: properties)]))
  }

  private static func value(_ type: AttributeType, _ number: Int) -> StoredValue {
    switch type {
    case .boolean: .boolean(number % 2 == 1)
    case .integer16, .integer32, .integer64: .integer(Int64(number % 30_000) - 7)
    case .float: .float(Float(number) / 4)
    case .double: .double(Double(number) / 8)
    case .date: .date(Date(timeIntervalSinceReferenceDate: Double(number)))
    case .uuid:
      .uuid(
        UUID(
          uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, UInt8(number & 255), UInt8(number >> 8 & 255))))
    case .decimal: .decimal(DecimalNumber(Int64(number)))
    case .undefined: .integer(Int64(number))
    default: .string("value \(number)")
    }
  }

  /// Rows with a value, in the order of rows: nearly none, some in one place, few everywhere, and columns that are full
  /// at first or at last only.
  private static let patterns: [(name: String, has: @Sendable (Int, Int) -> Bool)] = [
    ("none", { _, _ in false }), ("the last", { row, rows in row == rows - 1 }),
    ("the first", { row, _ in row == 0 }), ("every hundredth", { row, _ in row % 100 == 7 }),
    ("every ninth", { row, _ in row % 9 == 0 }), ("every seventh", { row, _ in row % 7 == 0 }),
    ("the first ones", { row, rows in row < rows / 20 }), ("the last ones", { row, rows in row >= rows - rows / 3 }),
    ("the first, and then few", { row, rows in row < 64 || row % 500 == 0 }), ("all", { _, _ in true }),
  ]

  private static func fill(
    _ rows: Range<Int>, of all: Int, into nodes: NodeTableBuilder, _ has: (Int, Int) -> Bool
  ) throws {
    for row in rows {
      try nodes.beginNode(entity: 0, reference: Int64(row))
      guard has(row, all) else { continue }
      for slot in nodes.model.entities[0].slots {
        switch slot.kind {
        case .attribute(let type): try nodes.set(value(type, row), slot: slot.index)
        case .toOne: try nodes.set(toOne: Int64(all - 1 - row), slot: slot.index)
        case .toMany: for other in [0, row] { try nodes.append(toMany: Int64(other), slot: slot.index) }
        }
        if row == 0, slot.isToMany { try nodes.set(.null, slot: slot.index) }
      }
    }
  }

  private static func check(
    _ table: NodeTable, _ rows: Int, row place: (Int) -> Int? = { $0 }, _ has: (Int, Int) -> Bool
  ) {
    let reader = table.reader(of: 0)
    // One expectation for all rows: each takes longer than what it looks at.
    var wrong: [String] = []
    for slot in table.model.entities[0].slots {
      let bits = reader.valueBits(slot: slot.index)
      let few = reader.sparseRows(slot: slot.index)
      #expect((few != nil) == reader.isSparse(slot: slot.index))
      if let few {
        let wanted = (0..<reader.count).filter { (row: Int) -> Bool in bits[row >> 3] & (1 << UInt8(row & 7)) != 0 }
        #expect(few == wanted)
      }
      let cells = reader.fixedCells(slot: slot.index)
      for old in 0..<rows {
        guard let row = place(old) else { continue }
        let hasValue = has(old, rows) && !(slot.isToMany && old == 0)
        var isRight =
          reader.isNull(slot: slot.index, row: row) == !hasValue
          && (bits[row >> 3] >> UInt8(row & 7) & 1 == 1) == hasValue
        switch slot.kind {
        case .attribute(let type):
          let wanted = hasValue ? value(type, old) : .null
          let cell = reader.fixedCell(slot: slot.index, row: row)
          isRight = isRight && reader.value(slot: slot.index, row: row) == wanted
          for byte in 0..<cell.count where cell[byte] != cells[row * cell.count + byte] { isRight = false }
        case .toOne:
          let wanted = hasValue ? place(rows - 1 - old).map { NodeHandle(entity: 0, row: $0) } : nil
          isRight = isRight && reader.toOne(slot: slot.index, row: row) == wanted
        case .toMany: isRight = isRight && reader.toMany(slot: slot.index, row: row).count == (hasValue ? 2 : 0)
        }
        if !isRight { wrong.append("\(slot.name), row \(row)") }
      }
    }
    #expect(wrong.isEmpty)
  }

  @Test("a column whose values are cleared one by one, from the first, has the others at each step")
  func clearing() throws {
    let (rows, step) = (60_000, 10)
    let builder = NodeTableBuilder(model: try Self.model())
    try Self.fill(0..<rows, of: rows, into: builder) { row, _ in row % step == 0 }
    var table = try builder.finish()
    let slots = table.model.entities[0].slots.filter { !$0.isToMany }
    for slot in slots { #expect(table.reader(of: 0).isSparse(slot: slot.index), "\(slot.name)") }
    for row in stride(from: 0, to: rows / 2, by: step) {
      for slot in slots { try table.set(.null, slot: slot.index, of: NodeHandle(entity: 0, row: row)) }
    }
    // Moving all cells each time would take quadratic time.
    for slot in slots { #expect(!table.reader(of: 0).isSparse(slot: slot.index), "\(slot.name)") }
    let reader = table.reader(of: 0)
    for slot in slots {
      for row in 0..<rows {
        #expect(reader.isNull(slot: slot.index, row: row) == (row % step != 0 || row < rows / 2))
      }
    }
    // Of few cells, each may be moved.
    let small = NodeTableBuilder(model: try Self.model())
    try Self.fill(0..<1000, of: 1000, into: small) { row, _ in row % step == 0 }
    table = try small.finish()
    for slot in slots { try table.set(.null, slot: slot.index, of: NodeHandle(entity: 0, row: 0)) }
    for slot in slots { #expect(table.reader(of: 0).isSparse(slot: slot.index), "\(slot.name)") }
    Self.check(table, 1000) { row, _ in row % step == 0 && row > 0 }
  }

  @Test("columns have the values that were set, whichever rows have one", arguments: patterns.indices, [40, 3000])
  func values(_ pattern: Int, _ rows: Int) throws {
    let has = Self.patterns[pattern].has
    let nodes = NodeTableBuilder(model: try Self.model())
    try Self.fill(0..<rows, of: rows, into: nodes, has)
    let table = try nodes.finish()
    Self.check(table, rows, has)
    let few = (0..<rows).count { has($0, rows) } < rows / 20
    for slot in table.model.entities[0].slots where rows > 1000 && few {
      #expect(table.reader(of: 0).isSparse(slot: slot.index), "\(slot.name)")
    }
  }

  @Test("parts of a file with few values and with many are joined", arguments: patterns.indices)
  func joined(_ pattern: Int) throws {
    let has = Self.patterns[pattern].has
    let rows = 4000
    for borders in [[0, 4000], [0, 100, 4000], [0, 1990, 1990, 4000], [0, 3900, 4000], [0, 1, 1000, 4000]] {
      let nodes = NodeTableBuilder(model: try Self.model())
      nodes.jobs = 2
      let isLoaded = nodes.loadParts(borders.count - 1) { part, nodes in
        (try? Self.fill(borders[part]..<borders[part + 1], of: rows, into: nodes, has)) == nil ? nil : 1
      }
      #expect(isLoaded)
      Self.check(try nodes.finish(), rows, has)
    }
  }

  @Test("rows in another order keep their values", arguments: patterns.indices)
  func reordered(_ pattern: Int) throws {
    let has = Self.patterns[pattern].has
    let rows = 3000
    let nodes = NodeTableBuilder(model: try Self.model())
    try Self.fill(0..<rows, of: rows, into: nodes, has)
    var table = try nodes.finish()
    // Something that leads to an object would be in its way.
    let added = try table.addCacheNode(entity: 0, reference: .integer(-5))
    table = try table.canonical()
    #expect(table.reference(of: NodeHandle(entity: 0, row: 0)) == .integer(-5) && added.row == rows)
    Self.check(table, rows, row: { $0 + 1 }, has)
  }

  @Test("values that are set, replaced and removed in any order are those of a dictionary")
  func edits() throws {
    let model = try Self.model()
    var generator = SeededGenerator(state: 11)
    for rows in [50, 6000] {
      let nodes = NodeTableBuilder(model: model)
      for row in 0..<rows { try nodes.beginNode(entity: 0, reference: Int64(row)) }
      var table = try nodes.finish()
      var copies: [(NodeTable, [[Int: StoredValue]])] = []
      var wanted: [[Int: StoredValue]] = Self.kinds.map { _ in [:] }
      for step in 0..<20_000 {
        let slot = Int.random(in: Self.kinds.indices, using: &generator)
        // One of the columns becomes dense.
        let row = Int.random(in: 0..<(slot == 3 ? rows : max(rows / 50, 1)), using: &generator)
        let node = NodeHandle(entity: 0, row: row)
        if step % 5 == 0 {
          try table.set(.null, slot: slot, of: node)
          wanted[slot][row] = nil
        } else {
          let value = Self.value(Self.kinds[slot], step)
          try table.set(value, slot: slot, of: node)
          wanted[slot][row] = value
        }
        if step % 7000 == 0 { copies.append((table, wanted)) }
      }
      copies.append((table, wanted))
      for (table, wanted) in copies {
        for slot in Self.kinds.indices {
          for row in 0..<rows {
            let found = table.value(slot: slot, of: NodeHandle(entity: 0, row: row))
            #expect(found == wanted[slot][row] ?? .null, "\(Self.kinds[slot]), row \(row)")
          }
        }
      }
    }
  }

  @Test("columns that are filled as a whole are sparse if few rows have a value")
  func filled() throws {
    let model = try Self.model()
    let nodes = NodeTableBuilder(model: model)
    let rows = 5000
    let references = (0..<rows).map { Int64($0) }
    try nodes.appendRows(entity: 0, references: references.span)
    var bits = [UInt8](repeating: 0, count: (rows + 7) / 8)
    let present = stride(from: 3, to: rows, by: 41).map { $0 }
    for row in present { bits[row >> 3] |= 1 << UInt8(row & 7) }
    var cells = [UInt8](repeating: 9, count: rows * 4)
    for row in present { for byte in 0..<4 { cells[row * 4 + byte] = UInt8(row >> (byte * 8) & 255) } }
    try nodes.fillFixed(entity: 0, slot: 2, cells: cells.span, presence: bits.span)
    let few = present.flatMap { row in (0..<8).map { UInt8(row >> ($0 * 8) & 255) } }
    try nodes.fillFixed(entity: 0, slot: 3, presentCells: few.span, presence: bits.span)
    var lengths = [UInt32](repeating: .max, count: rows)
    for row in present { lengths[row] = 4 }
    let heap = present.flatMap { Array("\($0 + 1000)".utf8.prefix(4)) }
    try nodes.fillBytes(entity: 0, slot: 8, lengths: lengths.span, heap: heap.span)
    let one = try #require(model.entities[0].slot(named: "one"))
    let many = try #require(model.entities[0].slot(named: "many"))
    try nodes.fillToOne(entity: 0, slot: one, references: references.span, presence: bits.span)
    let counts = lengths.map { $0 == .max ? UInt32(0) : 1 }
    let members = present.map { Int64($0) }
    try nodes.fillToMany(entity: 0, slot: many, counts: counts.span, references: members.span)
    // A value by itself is set in a column that was filled.
    try nodes.set(.integer(77), entity: 0, row: 4, slot: 3)
    let table = try nodes.finish()
    let reader = table.reader(of: 0)
    for slot in [2, 3, 8, one, many] { #expect(reader.isSparse(slot: slot)) }
    for row in 0..<rows {
      let has = bits[row >> 3] >> UInt8(row & 7) & 1 == 1
      #expect(reader.value(slot: 2, row: row) == (has ? .integer(Int64(row)) : .null))
      #expect(reader.value(slot: 3, row: row) == (has ? .integer(Int64(row)) : row == 4 ? .integer(77) : .null))
      #expect(reader.string(slot: 8, row: row) == (has ? String("\(row + 1000)".prefix(4)) : ""))
      #expect(reader.toOne(slot: one, row: row)?.row == (has ? row : nil))
      #expect(reader.toMany(slot: many, row: row).count == (has ? 1 : 0))
    }
  }

  @Test("rows without a value take next to no memory, in a load, in its parts, and where objects are added")
  func memory() throws {
    let properties: [PropertyDescription] = (0..<1000).map { .attribute("a\($0)", $0 % 2 == 0 ? .integer64 : .string) }
    let model = try ManagedObjectModel(
      ModelDescription(entities: [EntityDescription(name: "Row", properties: properties)]))
    let rows = 20_000
    @Sendable func load(_ range: Range<Int>, _ nodes: NodeTableBuilder) throws {
      for row in range {
        try nodes.beginNode(entity: 0, reference: Int64(row))
        for offset in 0..<3 {
          let slot = (row * 7 + offset * 401) % 1000
          try nodes.set(slot % 2 == 0 ? .integer(Int64(row)) : .string("\(row)"), slot: slot)
        }
      }
    }
    func taken(_ table: NodeTable) -> Int {
      table.entities[0].columns.reduce(0) { $0 + $1.header.pointee.byteCount }
    }
    let whole = NodeTableBuilder(model: model, inputBytes: 0)
    try load(0..<rows, whole)
    var table = try whole.finish()
    let parts = NodeTableBuilder(model: model, inputBytes: 16 << 20)
    parts.jobs = 2
    let areLoaded = parts.loadParts(4) { part, nodes in
      (try? load(rows / 4 * part..<rows / 4 * (part + 1), nodes)) == nil ? nil : 1
    }
    #expect(areLoaded)
    // 60,000 values of 8 bytes, and the digits of half of them: 160 MB for a cell of each row.
    #expect(taken(table) < 4 << 20, "\(taken(table))")
    let joined = try parts.finish()
    #expect(taken(joined) < 4 << 20, "\(taken(joined))")
    for number in 0..<2000 {
      let node = try table.addCacheNode(entity: 0, reference: .integer(Int64(-number - 1)))
      try table.set(.integer(1), slot: number % 500 * 2, of: node)
    }
    let ordered = try table.canonical()
    #expect(taken(table) < 4 << 20 && taken(ordered) < 4 << 20)
    #expect(ordered.value(slot: 0, of: NodeHandle(entity: 0, row: 1999)) == .integer(1))
  }

  @Test("a limit counts values, not what is reserved for them or rows without one")
  func limit() throws {
    let properties: [PropertyDescription] = (0..<100).map { .attribute("a\($0)", .integer64) }
    let model = try ManagedObjectModel(
      ModelDescription(entities: [EntityDescription(name: "Row", properties: properties)]))
    let rows = 5000
    // A reference and two values for each row.
    for (memory, isRefused) in [(rows * 24, false), (rows * 24 - 1, true)] {
      var limits = StoreLimits()
      limits.memory = memory
      let nodes = NodeTableBuilder(model: model, limits: limits, inputBytes: 1)
      func load() throws {
        for row in 0..<rows {
          try nodes.beginNode(entity: 0, reference: Int64(row))
          for offset in 0..<2 { try nodes.set(integer: 1, slot: (row + offset * 50) % 100) }
        }
        _ = try nodes.finish()
      }
      if isRefused {
        let error = #expect(throws: PersistentStoreError.self) { try load() }
        #expect(error?.code == .limitExceeded && error?.message.contains("maximumMemory") == true)
      } else {
        try load()
      }
    }
  }
}

private struct SeededGenerator: RandomNumberGenerator {
  var state: UInt64
  mutating func next() -> UInt64 {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return state ^ state >> 29
  }
}
