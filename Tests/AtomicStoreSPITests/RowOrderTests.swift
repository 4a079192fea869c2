import TestSupport
import Testing

@testable import AtomicStoreSPI

@Suite("The order of rows") struct RowOrderTests {
  @Test("rows sorted by numbers are as a stable sort has them", arguments: 1...20)
  func numbers(_ seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let count = [0, 1, 2, 50, 255, 256, 257, 3000][Int(seed) % 8]
    let range: ClosedRange<Int64> =
      [.min ... .max, 0...9, -300...300, (.max - 70_000)...(.max), -1...0][Int(seed) % 5]
    let numbers = (0..<count).map { _ in Int64.random(in: range, using: &random) }
    var rows = (0..<UInt32(count)).shuffled(using: &random)
    let places = Dictionary(uniqueKeysWithValues: rows.enumerated().map { ($1, $0) })
    let right = rows.sorted { (numbers[Int($0)], places[$0] ?? 0) < (numbers[Int($1)], places[$1] ?? 0) }
    NumberSort.sort(&rows) { numbers[Int($0)] }
    #expect(rows == right)
  }

  @Test("in canonical order, all objects have the values and references that they had", arguments: 1...24)
  func canonical(_ seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let model = try everything()
    let builder = NodeTableBuilder(model: model)
    let base = try #require(model.entity(named: "Base"))
    let slots = try ["integer64", "string", "boolean", "one", "list"].map { try #require(base.slot(named: $0)) }
    let references = Set((0..<Int.random(in: 1...400, using: &random)).map { Int64($0) * 7 % 1009 - 300 })
      .map { number in seed % 3 == 0 && number % 4 == 0 ? .string("text \(number)") : ReferenceObject.integer(number) }
      .shuffled(using: &random)
    let derived = try #require(model.entity(named: "Derived"))
    let entities = Dictionary(
      uniqueKeysWithValues: references.map { ($0, Bool.random(using: &random) ? base : derived) })
    let ordered: [ReferenceObject] =
      switch seed % 4 {
      case 0: references
      // Rows in long runs, as after a few insertions.
      case 1: Array(references.sorted().dropFirst(2) + references.sorted().prefix(2))
      // One entity is in order, the other one is not.
      case 2:
        references.sorted().filter { entities[$0]?.index == base.index }
          + references.filter { entities[$0]?.index != base.index }
      default: references.sorted()
      }
    for reference in ordered {
      let entity = try #require(entities[reference])
      try builder.beginNode(entity: entity.index, reference: reference)
      if Bool.random(using: &random) { try builder.set(integer: .random(in: -9...9, using: &random), slot: slots[0]) }
      if Bool.random(using: &random) { try builder.set(.string("value \(reference)"), slot: slots[1]) }
      if Bool.random(using: &random) { try builder.set(boolean: .random(using: &random), slot: slots[2]) }
      if Bool.random(using: &random), let other = references.randomElement(using: &random) {
        try builder.set(toOne: other, slot: slots[3])
      }
      for other in references.shuffled(using: &random).prefix(Int.random(in: 0...3, using: &random)) {
        try builder.append(toMany: other, slot: slots[4])
      }
    }
    let table = try builder.finish()
    let sorted = try table.canonical()
    #expect(sorted.isCanonical && sorted.count == references.count)
    for entity in [base.index, derived.index] where table.entities[entity].isCanonical {
      let (old, new) = (table.entities[entity], sorted.entities[entity])
      #expect(slots[0...2].allSatisfy { old.columns[$0] === new.columns[$0] }, "columns without handles are shared")
    }
    for entity in model.entities {
      let order = sorted.handles(of: entity.index).map { sorted.reference(of: $0) }
      #expect(order == table.handles(of: entity.index).map { table.reference(of: $0) }.sorted())
      for node in sorted.handles(of: entity.index) {
        let old = try #require(table.handle(for: sorted.reference(of: node), entity: entity.index))
        #expect(sorted.handle(for: sorted.reference(of: node), entity: entity.index) == node)
        for slot in entity.slots {
          #expect(sorted.value(slot: slot.index, of: node) == table.value(slot: slot.index, of: old))
        }
      }
    }
  }
}
