import TestSupport
import Testing

@testable import AtomicStoreSPI

/// References that are consecutive numbers are found by subtraction.
@Suite("Consecutive references") struct ReferenceRunTests {
  private static let model = ModelDescription(entities: [
    EntityDescription(
      name: "Thing", isAbstract: true, properties: [.toOne("other", "Thing")],
      subentities: [EntityDescription(name: "One"), EntityDescription(name: "Two")])
  ])

  /// A table with these references, one after the other; negative entities are `Two`.
  private static func table(_ references: [(entity: Int, number: Int64)]) throws -> NodeTable {
    let model = try ManagedObjectModel(model)
    let builder = NodeTableBuilder(model: model)
    let entities = [model.entity(named: "One")?.index ?? 0, model.entity(named: "Two")?.index ?? 0]
    for (entity, number) in references { try builder.beginNode(entity: entities[entity], reference: number) }
    return try builder.finish()
  }

  @Test(
    "each reference is found, and nothing beside it",
    arguments: [
      [(0, 1...300)], [(0, 1...70), (1, 71...140)], [(1, 71...140), (0, 1...70)], [(0, 5...5)],
      [(0, -3...200), (0, 300...301), (1, 400...1000)],
      [(0, Int64.max - 70...Int64.max), (1, Int64.min...Int64.min + 9)],
      [(0, 1...9), (0, 11...19), (0, 21...29), (0, 31...39), (0, 41...49), (1, 51...59), (0, 61...69), (0, 71...79)],
      [
        (0, 1...9), (0, 11...19), (0, 21...29), (0, 31...39), (0, 41...49), (1, 51...59), (0, 61...69), (0, 71...79),
        (0, 81...89),
      ],
      [(0, 100...200), (0, 1...99)],
    ] as [[(Int, ClosedRange<Int64>)]])
  func found(_ runs: [(Int, ClosedRange<Int64>)]) throws {
    let references = runs.flatMap { run in run.1.map { (entity: run.0, number: $0) } }
    let nodes = try Self.table(references)
    for (entity, number) in references {
      let node = try #require(nodes.handle(for: .integer(number), entity: 0), "\(number)")
      #expect(nodes.reference(of: node) == .integer(number))
      #expect(nodes.model.entity(at: node.entity).name == ["One", "Two"][entity])
    }
    let all = Set(references.map(\.number))
    for number in runs.flatMap({ [$0.1.lowerBound &- 1, $0.1.upperBound &+ 1] }) where !all.contains(number) {
      #expect(nodes.handle(for: .integer(number), entity: 0) == nil, "\(number)")
    }
  }

  @Test("a reference that two objects have is refused, in one run, in two, and in two entities")
  func duplicates() throws {
    for references in [
      [(0, 1), (0, 2), (0, 2)], [(0, 1), (0, 2), (0, 3), (0, 2)], [(0, 1), (0, 2), (1, 2), (1, 3)],
      [(0, 1), (0, 2), (0, 3), (1, 1)], [(0, 7), (0, 7)],
    ] as [[(entity: Int, number: Int64)]] {
      let error = #expect(throws: PersistentStoreError.self) { try Self.table(references) }
      #expect(error?.code == .duplicateReference)
    }
  }

  @Test("objects that are added and removed later are found or not, whatever the order", arguments: 0..<40)
  func changes(_ seed: Int) throws {
    var random = SeededGenerator(seed: UInt64(seed))
    func next(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &random) }
    let count = next(200) + 1
    let first = Int64(next(1000)) - 500
    let runs = ReferenceRuns.Run(first: first, count: count, node: NodeHandle(entity: 3, row: 7))
    var lookup = ReferenceLookup(try #require(ReferenceRuns([runs])))
    var known: [Int64: UInt64] = [:]
    for place in 0..<count { known[first + Int64(place)] = NodeHandle(entity: 3, row: 7 + place).bits }
    for step in 0..<300 {
      let isFar = next(20) == 0
      let number = isFar ? Int64(next(Int.max)) : first + Int64(next(count * 2)) - Int64(count / 2)
      if next(3) == 0 {
        lookup.remove(.integer(number))
        known[number] = nil
      } else {
        let node = NodeHandle(entity: 5, row: step)
        #expect(lookup.insert(number, node)?.bits == known[number])
        if known[number] == nil { known[number] = node.bits }
      }
      #expect(lookup.count == known.count)
      for other in [number - 1, number, number + 1] { #expect(lookup[other]?.bits == known[other], "\(other)") }
    }
    for number in first - 300...first + 700 { #expect(lookup[number]?.bits == known[number], "\(number)") }
  }

  @Test(
    "relationships lead to the objects with their references, and to nothing beside them",
    arguments: [
      0...30, -40 ... -1, -20...20, (1 << 61) - 31...(1 << 61) + 31, -(1 << 61) - 31 ... -(1 << 61) + 31,
      Int64.max - 40...Int64.max, Int64.min...Int64.min + 40,
    ] as [ClosedRange<Int64>])
  func relationships(_ numbers: ClosedRange<Int64>) throws {
    let model = try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(name: "Node", properties: [.toOne("one", "Node"), .toMany("many", "Node")]),
        EntityDescription(name: "Other", properties: [.toOne("node", "Node")]),
      ]))
    func table(missing: Int64?) throws -> NodeTable {
      let builder = NodeTableBuilder(model: model)
      for number in numbers {
        try builder.beginNode(entity: 0, reference: number)
        let opposite = numbers.upperBound - (number - numbers.lowerBound)
        try builder.set(toOne: opposite, slot: 0)
        for member in Set([opposite, number]) {
          try builder.append(toMany: member, slot: 1)
        }
      }
      try builder.beginNode(entity: 1, reference: 1)
      if let missing { try builder.set(toOne: missing, slot: 0) }
      return try builder.finish()
    }
    let nodes = try table(missing: nil)
    let reader = nodes.reader(of: 0)
    #expect(model.entity(at: 0).slots.map(\.name) == ["one", "many"])
    for row in 0..<reader.count {
      let opposite = reader.count - 1 - row
      #expect(reader.toOne(slot: 0, row: row)?.row == opposite)
      let rows = reader.toMany(slot: 1, row: row).rows
      #expect(rows == Set([row, opposite]).sorted())
    }
    for number in [numbers.lowerBound &- 1, numbers.upperBound &+ 1] where !numbers.contains(number) {
      let error = #expect(throws: PersistentStoreError.self) { try table(missing: number) }
      #expect(error?.code == .danglingReference)
    }
  }

  @Test("a relationship to one of two entities does not lead to an object of the other one")
  func otherEntity() throws {
    let model = try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Thing", isAbstract: true, properties: [.toOne("two", "Two"), .toMany("twos", "Two")],
          subentities: [EntityDescription(name: "One"), EntityDescription(name: "Two")])
      ]))
    let (one, two) = (try #require(model.entity(named: "One")), try #require(model.entity(named: "Two")))
    func table(_ slot: String, to reference: Int64) throws -> NodeTable {
      let builder = NodeTableBuilder(model: model)
      for number in 1...100 { try builder.beginNode(entity: one.index, reference: Int64(number)) }
      for number in 101...150 { try builder.beginNode(entity: two.index, reference: Int64(number)) }
      let index = try #require(two.slot(named: slot))
      if two.slots[index].isToMany {
        for number in [reference, 120] { try builder.append(toMany: number, slot: index) }
      } else {
        try builder.set(toOne: reference, slot: index)
      }
      return try builder.finish()
    }
    for slot in ["two", "twos"] {
      #expect(throws: Never.self) { try table(slot, to: 150) }
      let error = #expect(throws: PersistentStoreError.self) { try table(slot, to: 100) }
      #expect(error?.code == .danglingReference)
      #expect(error?.description.contains("is a One, not a Two") ?? false)
    }
  }

  @Test("the lists of several rows are one list where they follow each other, and none where one was moved")
  func lists() throws {
    let model = try ManagedObjectModel(
      ModelDescription(entities: [EntityDescription(name: "Node", properties: [.toMany("many", "Node")])]))
    let builder = NodeTableBuilder(model: model)
    for number in 0..<60 {
      try builder.beginNode(entity: 0, reference: Int64(number))
      for member in 0..<number % 4 { try builder.append(toMany: Int64((number + member) % 60), slot: 0) }
    }
    var nodes = try builder.finish()
    func expected(_ rows: Range<Int>) -> [Int] {
      let reader = nodes.reader(of: 0)
      return rows.flatMap { reader.toMany(slot: 0, row: $0).rows }
    }
    func together(_ rows: Range<Int>) -> [Int]? { nodes.reader(of: 0).toMany(slot: 0, rows: rows)?.rows }
    for rows in [0..<60, 0..<1, 3..<4, 8..<33, 59..<60] {
      #expect(together(rows) == expected(rows))
    }
    let members = (0..<30).map { ObjectReference(entityName: "Node", reference: .integer(Int64($0))) }
    try nodes.setValue(.toMany(members), forKey: "many", of: NodeHandle(entity: 0, row: 10))
    #expect(together(0..<60) == nil)
    for rows in [0..<10, 10..<11, 11..<60] {
      #expect(together(rows) == expected(rows))
    }
  }
}

extension Span where Element == NodeHandle {
  fileprivate var rows: [Int] { indices.map { self[$0].row } }
}
