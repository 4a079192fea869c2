import AtomicStoreSPI
import Foundation
import Testing

@testable import AtomicStoreKit

@Suite("Indexes") struct RowIndexTests {
  static let model: ManagedObjectModel = {
    let item = EntityDescription(
      name: "Item",
      properties: [
        .attribute("name", .string),
        .attribute("number", .integer32),
        .attribute("weight", .double),
        .attribute("made", .date),
        .attribute("plain", .integer64),
      ],
      subentities: [EntityDescription(name: "Special")], uniquenessConstraints: [["name"]],
      fetchIndexes: ["number", "weight", "made"].map { name in
        FetchIndexDescription(name: "by" + name, elements: [.init(propertyName: name)])
      })
    do { return try ManagedObjectModel(ModelDescription(entities: [item])) } catch { preconditionFailure("\(error)") }
  }()

  static let texts = [
    "number == 7", "number >= 10 AND number < 20", "number BETWEEN {10, 20}", "number IN {3, 5, 900, -1}", "number < 0",
    "number > 2147483647", "weight == 2.5", "weight > 40 AND weight <= 44.5", "weight < -1", "weight == 0",
    "made > CAST(10, 'NSDate')",
    "name == 'item 5'", "name BEGINSWITH 'item 1'", "name IN {'item 3', 'item 4', 'é'}", "name > 'item 9'",
    "name <= 'item 10'",
    "name BEGINSWITH ''", "name == ''", "number == 7 AND plain > 3", "name BEGINSWITH 'item' AND number == 9",
    "number != 7", "number == nil",
    "NOT number == 7", "number == 7 OR number == 8", "name ==[c] 'ITEM 5'",
  ]

  static func fill(_ stack: Stack, _ numbers: Range<Int>) throws {
    for number in numbers {
      let item = try stack.insert(number % 5 == 0 ? "Special" : "Item", ["name": "item \(number)", "plain": number])
      if number % 7 != 0 { try item.setValue(number % 50, forKey: "number") }
      try item.setValue(number % 11 == 0 ? Double.nan : number % 13 == 0 ? -0.0 : Double(number) / 2, forKey: "weight")
      try item.setValue(Date(timeIntervalSinceReferenceDate: Double(number % 30)), forKey: "made")
    }
  }

  /// What a predicate finds, and what it finds by asking each object.
  static func compare(_ stack: Stack, _ note: String) throws {
    let all = try stack.fetch("Item")
    for text in texts {
      let predicate = try FetchPredicate(format: text)
      let request = FetchRequest<ManagedObject>(entityName: "Item", predicate: predicate)
      let expected = try all.filter { try predicate.evaluate(with: $0) }
      #expect(try stack.context.fetch(request) == expected, "\(note): \(text)")
      #expect(try stack.context.count(for: request) == expected.count, "\(note): \(text)")
    }
  }

  @Test(
    "a fetch finds the same with an index as without, through changes, saves and deletions", arguments: Stack.types)
  func sameAnswers(_ type: String) throws {
    let stack = try Stack(type, model: Self.model)
    try Self.fill(stack, 0..<300)
    try stack.context.save()
    try Self.compare(stack, "saved")
    for _ in 0...RowIndexes.patience { try Self.compare(stack, "again") }
    let entity = try #require(Self.model.entity(named: "Item"))
    let slots = ModelPlan.plan(of: Self.model).entities[entity.index].indexedSlots
    #expect(slots.count == 4)
    func indexed() -> [Bool] {
      slots.sorted().map { RowIndexes.of(stack.store.version).has(entity: entity.index, slot: $0) }
    }
    #expect(indexed() == [true, true, true, true])

    // Changes that are not saved lie over the columns.
    let all = try stack.fetch("Item")
    try all[3].setValue(7, forKey: "number")
    try all[5].setValue("item 5", forKey: "name")
    try all[6].setValue("renamed", forKey: "name")
    stack.context.delete(all[7])
    stack.context.delete(all[299])
    try Self.fill(stack, 300..<320)
    try Self.compare(stack, "changed")
    try all[5].setValue("other", forKey: "name")
    try stack.context.save()
    #expect(indexed() == [true, true, true, true])
    try Self.compare(stack, "saved again")

    // A value alone, in place.
    try all[10].setValue(-5, forKey: "number")
    try all[11].setValue(nil, forKey: "weight")
    try stack.context.save()
    #expect(indexed() == [true, true, true, true])
    try Self.compare(stack, "saved in place")
    for object in try stack.fetch("Item").prefix(200) { stack.context.delete(object) }
    try Self.compare(stack, "many deleted")
    try stack.context.save()
    try Self.compare(stack, "many deleted and saved")
    for object in try stack.fetch("Item") { stack.context.delete(object) }
    try stack.context.save()
    try Self.compare(stack, "all deleted")
    try Self.fill(stack, 0..<20)
    try stack.context.save()
    try Self.compare(stack, "filled again")
  }

  @Test("a single query does not pay for an index", .enabled(if: Stack.isLoaded, "a database has its own indexes"))
  func patience() throws {
    let stack = try Stack(model: Self.model)
    try Self.fill(stack, 0..<50)
    try stack.context.save()
    let request = FetchRequest<ManagedObject>(entityName: "Item", predicate: try FetchPredicate(format: "number == 7"))
    let entity = try #require(Self.model.entity(named: "Item"))
    let slot = try #require(entity.slots.first { $0.name == "number" }).index
    _ = try stack.context.fetch(request)
    #expect(!RowIndexes.of(stack.store.version).has(entity: entity.index, slot: slot))
    for _ in 0..<RowIndexes.patience { _ = try stack.context.fetch(request) }
    #expect(RowIndexes.of(stack.store.version).has(entity: entity.index, slot: slot))
  }

  @Test("an attribute that the model does not index gets no index")
  func plainAttribute() throws {
    let entity = try #require(Self.model.entity(named: "Special"))
    let plan = ModelPlan.plan(of: Self.model).entities[entity.index]
    let names = plan.indexedSlots.map { plan.properties[plan.propertyOfSlot[$0]].name }
    #expect(names.sorted() == ["made", "name", "number", "weight"])
  }

  @Test("an index that a save carries over equals a new one")
  func carried() throws {
    let stack = try Stack(model: Self.model)
    try Self.fill(stack, 0..<200)
    try stack.context.save()
    let entity = try #require(Self.model.entity(named: "Item"))
    let plan = ModelPlan.plan(of: Self.model).entities[entity.index]
    func made(_ slot: Int) throws -> [UInt32] {
      let type = try #require(plan.properties[plan.propertyOfSlot[slot]].attributeType)
      return try #require(RowIndex(stack.store.version.column(entity: entity.index, slot: slot), type)).rows
    }
    for slot in plan.indexedSlots {
      let type = try #require(plan.properties[plan.propertyOfSlot[slot]].attributeType)
      for _ in 0...RowIndexes.patience {
        _ = RowIndexes.of(stack.store.version).index(stack.store.version, entity: entity.index, slot: slot, type)
      }
    }
    for round in 0..<6 {
      for (place, object) in try stack.fetch("Item").enumerated() {
        if (place + round) % 9 == 0 { try object.setValue((place * 31 + round) % 60, forKey: "number") }
        if (place + round) % 17 == 0 { stack.context.delete(object) }
      }
      try Self.fill(stack, 1000 + round * 10..<1000 + round * 10 + 7)
      try stack.context.save()
      for slot in plan.indexedSlots {
        let type = try #require(plan.properties[plan.propertyOfSlot[slot]].attributeType)
        let index = try #require(
          RowIndexes.of(stack.store.version).index(stack.store.version, entity: entity.index, slot: slot, type))
        #expect(try index.rows == made(slot))
      }
    }
  }
}
