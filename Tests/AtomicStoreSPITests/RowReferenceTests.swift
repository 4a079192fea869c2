import AtomicStoreSPI
import Foundation
import TestSupport
import Testing

/// References that are filled as a column, and relationships that are filled by rows, against the same nodes one by
/// one.
@Suite("References and relationships as columns of rows") struct RowReferenceTests {
  private static func model() throws -> ManagedObjectModel {
    try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Node",
          properties: [.toOne("one", "Node"), .toMany("many", "Node"), .toMany("list", "Node", isOrdered: true)],
          subentities: [EntityDescription(name: "Sub")]),
        EntityDescription(name: "Zebra", properties: [.toOne("node", "Node")]),
      ]))
  }

  /// What one entity of a random graph has: a reference for each row, and the rows that relationships lead to.
  private struct Rows {
    var references: [ReferenceObject] = []
    var one: [NodeHandle?] = []
    var lists: [[NodeHandle]] = []
  }

  private static func graph(_ generator: inout SeededGenerator, mixed: Bool) -> [Rows] {
    var rows = [Rows(), Rows()]
    for entity in 0...1 {
      for number in 0..<Int.random(in: 1...60, using: &generator) {
        let isText = !mixed || Int.random(in: 0..<3, using: &generator) > 0
        let prefix = number % 2 == 0 ? "é" : "e\u{301}"
        rows[entity].references.append(
          isText ? .string("\(prefix)\(number)-\(entity)") : .integer(Int64(number * 2 + entity)))
      }
      if Bool.random(using: &generator) { rows[entity].references.sort() }
    }
    func any(_ generator: inout SeededGenerator) -> NodeHandle {
      let entity = Int.random(in: 0...1, using: &generator)
      return NodeHandle(entity: entity, row: Int.random(in: rows[entity].references.indices, using: &generator))
    }
    for entity in 0...1 {
      for _ in rows[entity].references {
        rows[entity].one.append(Bool.random(using: &generator) ? any(&generator) : nil)
        var list: [NodeHandle] = []
        for _ in 0..<Int.random(in: 0..<5, using: &generator) {
          let node = any(&generator)
          if !list.contains(node) { list.append(node) }
        }
        rows[entity].lists.append(list)
      }
    }
    return rows
  }

  private static func fill(_ builder: NodeTableBuilder, _ rows: [Rows], _ model: ManagedObjectModel) throws {
    for entity in 0...1 {
      let numbers = rows[entity].references.map { reference -> Int64 in
        if case .integer(let number) = reference { number } else { 0 }
      }
      try builder.appendRows(entity: entity, references: numbers.span)
      var lengths: [UInt32] = []
      var heap: [UInt8] = []
      for reference in rows[entity].references {
        guard case .string(let text) = reference else {
          lengths.append(.max)
          continue
        }
        lengths.append(UInt32(text.utf8.count))
        heap += Array(text.utf8)
      }
      try builder.fillReferenceTexts(entity: entity, lengths: lengths.span, heap: heap.span)
    }
    for entity in 0...1 {
      var bits = [UInt8](repeating: 0, count: (rows[entity].one.count + 7) / 8)
      for (row, one) in rows[entity].one.enumerated() where one != nil { bits[row >> 3] |= 1 << UInt8(row & 7) }
      let ones = rows[entity].one.map { $0 ?? NodeHandle(entity: 0, row: 0) }
      let lists = rows[entity].lists
      try builder.fillToOne(entity: entity, slot: 0, nodes: ones.span, presence: bits.span)
      let counts = lists.map { UInt32($0.count) }
      let all = lists.flatMap { $0 }
      try builder.fillToMany(entity: entity, slot: 1, counts: counts.span, nodes: all.span)
      try builder.fillToMany(entity: entity, slot: 2, counts: counts.span, nodes: all.span)
    }
  }

  private static func build(_ builder: NodeTableBuilder, _ rows: [Rows]) throws {
    func reference(_ node: NodeHandle) -> ReferenceObject { rows[node.entity].references[node.row] }
    for entity in 0...1 {
      for row in rows[entity].references.indices {
        try builder.beginNode(entity: entity, reference: rows[entity].references[row])
        if let one = rows[entity].one[row] { try builder.set(toOne: reference(one), slot: 0) }
        for node in rows[entity].lists[row] {
          try builder.append(toMany: reference(node), slot: 1)
          try builder.append(toMany: reference(node), slot: 2)
        }
      }
    }
  }

  @Test("a table that is filled is that which is built, and finds the same objects", arguments: 0..<60)
  func same(_ seed: Int) throws {
    var generator = SeededGenerator(seed: UInt64(seed))
    let model = try Self.model()
    try #require(model.entity(named: "Node")?.index == 0 && model.entity(named: "Sub")?.index == 1)
    var rows = Self.graph(&generator, mixed: seed % 2 == 0)
    if seed % 3 == 0 {
      // Only one entity has strings.
      rows[1].references = rows[1].references.indices.map { .integer(Int64($0) * 3 + 100_000) }
    }
    let filled = NodeTableBuilder(model: model)
    try Self.fill(filled, rows, model)
    let built = NodeTableBuilder(model: model)
    try Self.build(built, rows)
    var (one, other) = (try filled.finish(), try built.finish())
    for round in 0..<3 {
      #expect(one.count == other.count && one.isCanonical == other.isCanonical)
      for entity in 0...1 {
        #expect(one.handles(of: entity) == other.handles(of: entity))
        for node in one.handles(of: entity) {
          let reference = one.reference(of: node)
          #expect(reference == other.reference(of: node))
          #expect(one.handle(for: reference, entity: 0) == node && other.handle(for: reference, entity: 1) == node)
          for slot in 0..<3 { #expect(one.value(slot: slot, of: node) == other.value(slot: slot, of: node)) }
        }
      }
      #expect(one.handle(for: .string("none"), entity: 0) == nil)
      if round == 0 {
        // Copies that change afterwards do not change what was found.
        let before = one
        let text = ReferenceObject.string("new \(seed)")
        for reference in [text, .integer(-5)] {
          #expect(
            try one.addCacheNode(entity: 1, reference: reference) == other.addCacheNode(entity: 1, reference: reference)
          )
        }
        #expect(throws: PersistentStoreError.self) { _ = try one.addCacheNode(entity: 0, reference: text) }
        #expect(before.handle(for: text, entity: 0) == nil && one.handle(for: text, entity: 0) != nil)
        if let gone = one.handles(of: 0).first(where: { Self.isUnused($0, in: rows) }) {
          let reference = one.reference(of: gone)
          one.remove(gone)
          other.remove(gone)
          #expect(one.handle(for: reference, entity: 0) == nil && before.handle(for: reference, entity: 0) == gone)
        }
      } else {
        (one, other) = (try one.canonical(), try other.canonical())
      }
    }
  }

  private static func isUnused(_ node: NodeHandle, in rows: [Rows]) -> Bool {
    !rows.contains { $0.one.contains(node) || $0.lists.contains { $0.contains(node) } }
  }

  @Test("a reference that two rows have is refused with both", arguments: [[0, 0], [0, 1, 0], [1, 0, 0]])
  func duplicates(_ numbers: [Int]) throws {
    let builder = NodeTableBuilder(model: try Self.model(), file: "file")
    let texts = numbers.map { "text \($0)" }
    let integers = numbers.map { _ in Int64(0) }
    let lengths = texts.map { UInt32($0.utf8.count) }
    let heap = texts.flatMap { Array($0.utf8) }
    try builder.appendRows(entity: 0, references: integers.span)
    try builder.fillReferenceTexts(entity: 0, lengths: lengths.span, heap: heap.span)
    let error = #expect(throws: PersistentStoreError.self) { _ = try builder.finish() }
    #expect(error?.code == .duplicateReference && error?.location.reference == "text 0", "\(String(describing: error))")
  }

  @Test("columns that do not fit the rows are refused, and so are rows that are not there")
  func errors() throws {
    let model = try Self.model()
    let (two, one): ([Int64], [Int64]) = ([1, 2], [1])
    func code(_ body: (NodeTableBuilder) throws -> Void) throws -> PersistentStoreError.Code? {
      let builder = NodeTableBuilder(model: model)
      try builder.appendRows(entity: 0, references: two.span)
      try builder.appendRows(entity: 2, references: one.span)
      return #expect(throws: PersistentStoreError.self) { try body(builder) }?.code
    }
    func nodes(_ handles: (Int, Int)...) -> [NodeHandle] { handles.map { NodeHandle(entity: $0.0, row: $0.1) } }
    let none: [UInt8] = []
    let bothNull: [UInt32] = [.max, .max]
    let text = Array("ab".utf8)
    let ones: [UInt32] = [1, 1]
    let good = nodes((0, 0), (0, 1))
    for lengths in [[1], [1, 1, 0], [1, 2], [1, 0], [3, .max]] as [[UInt32]] {
      let found = try code { try $0.fillReferenceTexts(entity: 0, lengths: lengths.span, heap: text.span) }
      #expect(found == .malformed, "\(lengths)")
    }
    // Two bytes of one scalar; and no UTF-8 at all.
    for heap in [[0xC3, 0xA9], [0xFF, 0x61]] as [[UInt8]] {
      let found = try code { try $0.fillReferenceTexts(entity: 0, lengths: ones.span, heap: heap.span) }
      #expect(found == .malformed)
    }
    let twice = try code {
      try $0.fillReferenceTexts(entity: 0, lengths: bothNull.span, heap: none.span)
      try $0.fillReferenceTexts(entity: 0, lengths: bothNull.span, heap: none.span)
    }
    #expect(twice == .internalInconsistency)
    let both = try code {
      try $0.fillReferenceTexts(entity: 0, lengths: bothNull.span, heap: none.span)
      $0.setReference("a", entity: 0, row: 0)
      _ = try $0.finish()
    }
    #expect(both == .internalInconsistency)
    for wrong in [nodes((0, 0)), nodes((0, 0), (0, 2)), nodes((0, 0), (2, 0)), nodes((0, 0), (7, 0))] {
      #expect(try code { try $0.fillToOne(entity: 0, slot: 0, nodes: wrong.span, presence: nil) } == .malformed)
      guard wrong.count == 2 else { continue }
      #expect(try code { try $0.fillToMany(entity: 0, slot: 1, counts: ones.span, nodes: wrong.span) } == .malformed)
    }
    for counts in [[2, 1], [1, 0], [2]] as [[UInt32]] {
      let found = try code { try $0.fillToMany(entity: 0, slot: 1, counts: counts.span, nodes: good.span) }
      #expect(found == .malformed, "\(counts)")
    }
    let bits: [UInt8] = [1, 0]
    #expect(try code { try $0.fillToOne(entity: 0, slot: 0, nodes: good.span, presence: bits.span) } == .malformed)
    // A to-one is not a to-many.
    #expect(try code { try $0.fillToOne(entity: 0, slot: 1, nodes: good.span, presence: nil) } == .malformed)
    // An object twice in a list.
    let (counts, same): ([UInt32], [NodeHandle]) = ([2, 0], nodes((0, 0), (0, 0)))
    let repeated = try code {
      try $0.fillToMany(entity: 0, slot: 1, counts: counts.span, nodes: same.span)
      _ = try $0.finish()
    }
    #expect(repeated == .malformed)
  }
}
