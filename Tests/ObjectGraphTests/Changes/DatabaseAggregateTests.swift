import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import StorePredicates
import TestSupport
import Testing

@testable import AtomicStoreKit

/// Derived counts and sums that a database computes: they are what reading all members gives.
@Suite("Derived counts and sums of members that are not read") struct DatabaseAggregateTests {
  private static func model() throws -> ManagedObjectModel {
    func derived(_ name: String, _ text: String) -> PropertyDescription {
      .attribute(name, .integer64, derivationExpression: text)
    }
    return try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Group",
          properties: [
            .attribute("name", .string), .toMany("owners", "Owner", inverse: "group"),
            derived("total", "owners.@sum.total"), derived("big", "SUBQUERY(owners, $o, $o.count >= 2).@count"),
            derived("all", "owners.members.@count"),
          ]),
        EntityDescription(
          name: "Owner",
          properties: [
            .attribute("name", .string), .toOne("group", "Group", inverse: "owners"),
            .toMany("members", "Member", inverse: "owner"),
            .toMany("steps", "Step", inverse: "owner", isOrdered: true, deleteRule: .cascade),
            derived("count", "members.@count"), derived("total", "members.@sum.large"),
            derived("small", "members.small.@sum"), derived("stepCount", "steps.@count"),
            derived("open", "SUBQUERY(members, $m, $m.isOpen == YES AND $m.kind IN {'a', 'b'}).@count"),
            derived("sum", "SUBQUERY(members, $m, NOT $m.kind == 'a' OR $m.small > 2).@sum.large"),
            derived("mixed", "TERNARY(members.@count > 2, members.@sum.large + 1, 0 - members.@max.small)"),
          ]),
        EntityDescription(
          name: "Member",
          properties: [
            .attribute("kind", .string), .attribute("isOpen", .boolean), .attribute("small", .integer16),
            .attribute("large", .integer64), .toOne("owner", "Owner", inverse: "members"),
          ], subentities: [EntityDescription(name: "Special")]),
        EntityDescription(
          name: "Step",
          properties: [.attribute("name", .string), .toOne("owner", "Owner", inverse: "steps")]),
      ]))
  }

  /// Compares every derived value with what its expression gives when all members are read.
  private static func check(_ stack: Stack, _ place: String) throws {
    let reader = stack.store.type == "InMemory" ? stack : try stack.reopened()
    let context = ManagedObjectContext(reader.coordinator)
    context.retainsRegisteredObjects = true
    for name in ["Group", "Owner"] {
      for object in try context.fetch(FetchRequest<ManagedObject>(entityName: name)) {
        for property in object.entity.properties {
          guard case .attribute(let attribute) = property, let text = attribute.derivationExpression else { continue }
          let value = try FetchExpression(format: text).value(with: object)
          let expected = StoredValue(guessing: value as Any).flatMap { attribute.type.fitting($0) } ?? .null
          let found = StoredValue(guessing: object[attribute.name] as Any) ?? .null
          #expect(found == expected, "\(place): \(name).\(attribute.name) of \(object.objectID)")
        }
      }
    }
  }

  private static func change(_ context: ManagedObjectContext, _ random: inout SeededGenerator) throws {
    func one(_ entity: String) throws -> ManagedObject? {
      try context.fetch(FetchRequest<ManagedObject>(entityName: entity)).randomElement(using: &random)
    }
    func set(_ member: ManagedObject?, _ key: String) throws {
      switch key {
      case "kind": member?["kind"] = ["a", "b", "c"].randomElement(using: &random)
      case "isOpen": member?["isOpen"] = Bool.random(using: &random)
      case "small": member?["small"] = Int.random(in: -3..<9, using: &random)
      case "large": member?["large"] = Bool.random(using: &random) ? nil : Int.random(in: -9...9, using: &random) << 33
      default: member?["owner"] = Int.random(in: 0..<5, using: &random) == 0 ? nil : try one("Owner")
      }
    }
    switch Int.random(in: 0..<16, using: &random) {
    case 0: try context.insertNewObject(forEntityName: "Group")["name"] = "g"
    case 1, 2:
      let owner = try context.insertNewObject(forEntityName: "Owner")
      owner["group"] = try one("Group")
    case 3, 4, 5:
      let member = try context.insertNewObject(forEntityName: Bool.random(using: &random) ? "Member" : "Special")
      for key in ["kind", "isOpen", "small", "large", "owner"] { try set(member, key) }
    case 6: try set(try one("Member"), "kind")
    case 7: try set(try one("Member"), "isOpen")
    case 8: try set(try one("Member"), "small")
    case 9: try set(try one("Member"), "large")
    case 10, 11: try set(try one("Member"), "owner")
    case 12: try one("Owner")?["group"] = Bool.random(using: &random) ? nil : try one("Group")
    case 13: try context.insertNewObject(forEntityName: "Step")["owner"] = try one("Owner")
    case 14: try one("Owner")?["name"] = "o\(Int.random(in: 0..<9, using: &random))"
    default:
      let entity = ["Member", "Member", "Step", "Owner", "Group"].randomElement(using: &random) ?? "Member"
      if let object = try one(entity) { context.delete(object) }
    }
  }

  @Test(
    "after random changes of contexts, children and other programs they are what the members give",
    arguments: (1...26 as ClosedRange<UInt64>).share(of: "aggregates after changes"),
    ["SQLiteGraph", "InMemory"] + (Stack.server == nil ? [] : ["PostgreSQL"]))
  func randomChanges(_ seed: UInt64, _ type: String) throws {
    let stack = try Stack(type, model: try Self.model())
    try stack.context.save()
    let other = try type == "InMemory" ? stack : stack.reopened()
    let policies: [MergePolicy] = [.mergeByPropertyObjectTrump, .mergeByPropertyStoreTrump, .overwrite, .error]
    func context(_ place: Int) -> ManagedObjectContext {
      let made = ManagedObjectContext(place < 3 ? stack.coordinator : other.coordinator)
      made.undoManager = UndoHistory()
      made.mergePolicy = policies[(place + Int(seed)) % policies.count]
      return made
    }
    var contexts = (0..<5).map(context)
    var random = SeededGenerator(seed: seed)
    var saves = 0
    for step in 0..<60 {
      let place = Int.random(in: 0..<contexts.count, using: &random)
      var context = contexts[place]
      let isChild = Int.random(in: 0..<5, using: &random) == 0
      if isChild {
        try Self.change(context, &random)
        context = ManagedObjectContext(parent: context)
        context.undoManager = UndoHistory()
      }
      for _ in 0..<Int.random(in: 1...5, using: &random) {
        try Self.change(context, &random)
        context.processPendingChanges()
        if Int.random(in: 0..<6, using: &random) == 0 { context.undo() }
      }
      do {
        try context.save()
        if isChild { try contexts[place].save() }
        saves += 1
      } catch {
        // A conflict where the policy is to report it: the store is as it was.
        contexts[place].rollback()
      }
      try Self.check(stack, "seed \(seed), step \(step)")
      switch Int.random(in: 0..<6, using: &random) {
      case 0:
        if type != "InMemory" {
          let request = FetchRequest<ManagedObject>(
            entityName: "Member", predicate: try FetchPredicate(format: "small > 5"))
          _ = try contexts[place].execute(BatchDeleteRequest(fetchRequest: request))
          try Self.check(stack, "seed \(seed), batch \(step)")
        }
        contexts[place].refreshAllObjects()
      case 1, 2: contexts[place].refreshAllObjects()
      case 3: contexts[place] = ManagedObjectContext(place < 3 ? stack.coordinator : other.coordinator)
      default: continue
      }
    }
    #expect(saves > 30)
  }

  /// An owner with some hundred members.
  private static func make(_ stack: Stack, count: Int) throws -> ManagedObjectID {
    let owner = try stack.insert("Owner", ["name": "one"])
    for number in 0..<count {
      let member = try stack.insert("Member", ["kind": number % 2 == 0 ? "a" : "c", "isOpen": true, "large": number])
      try member.setValue(owner, forKey: "owner")
    }
    try stack.context.save()
    return owner.objectID
  }

  private static func owner(in context: ManagedObjectContext) throws -> ManagedObject {
    try #require(try context.fetch(FetchRequest<ManagedObject>(entityName: "Owner")).first)
  }

  @Test("a save that adds, changes or deletes a member reads no other one")
  func membersStayUnread() throws {
    let stack = try Stack("SQLiteGraph", model: try Self.modelWithoutMixed())
    _ = try Self.make(stack, count: 300)
    func change(_ body: (ManagedObjectContext, ManagedObject?) throws -> Void) throws {
      let context = ManagedObjectContext(stack.coordinator)
      context.retainsRegisteredObjects = true
      let member = try context.fetch(
        FetchRequest<ManagedObject>(entityName: "Member", predicate: try FetchPredicate(format: "large == 6"))
      ).first
      try body(context, member)
      try context.save()
      #expect(context.registeredObjects.count <= 3, "\(context.registeredObjects.map(\.objectID))")
      try Self.check(stack, "unread")
    }
    try change { context, _ in
      let new = try context.insertNewObject(forEntityName: "Member")
      new["owner"] = try Self.owner(in: context)
      new["large"] = 5
    }
    try change { _, member in member?["isOpen"] = false }
    try change { _, member in member?["owner"] = nil }
    try change { context, member in member?["owner"] = try Self.owner(in: context) }
    try change { context, member in if let member { context.delete(member) } }
    let context = ManagedObjectContext(stack.coordinator)
    let owner = try Self.owner(in: context)
    #expect(owner["count"] as? Int == 300 && owner["total"] as? Int == 300 * 299 / 2 - 6 + 5)
  }

  /// Without the attribute whose greatest value needs all members.
  private static func modelWithoutMixed() throws -> ManagedObjectModel {
    var description = try model().description
    description.entities[1].properties.removeAll { $0.name == "mixed" }
    return try ManagedObjectModel(description)
  }

  @Test("a save that changes more members than fit into one request")
  func manyChanges() throws {
    let stack = try Stack("SQLiteGraph", model: try Self.model())
    _ = try Self.make(stack, count: 450)
    let context = ManagedObjectContext(stack.coordinator)
    for member in try context.fetch(FetchRequest<ManagedObject>(entityName: "Member")) {
      switch (member["large"] as? Int ?? 0) % 5 {
      case 0: member["kind"] = "b"
      case 1: context.delete(member)
      case 2: member["owner"] = nil
      case 3: member["large"] = -1
      default: continue
      }
    }
    try context.save()
    try Self.check(stack, "many")
  }

  @Test("a member that is saved without a context is counted by the next save of its owner", arguments: [false, true])
  func savedWithoutContext(_ isOtherProgram: Bool) throws {
    let stack = try Stack("SQLiteGraph", model: try Self.modelWithoutMixed())
    let owner = try Self.make(stack, count: 5)
    func add() throws {
      let context = ManagedObjectContext(stack.coordinator)
      let new = try context.insertNewObject(forEntityName: "Member")
      new["large"] = 1
      new["owner"] = try Self.owner(in: context)
      try context.save()
    }
    // From the second save on the members of the owner are known.
    for _ in 0..<3 { try add() }
    let program = isOtherProgram ? try stack.reopened() : stack
    let entity = try #require(program.store.model.entity(named: "Member"))
    var values = SlotValues()
    values[try #require(entity.slot(named: "large"))] = .integer(1000)
    let end = ObjectReference(entityName: "Owner", reference: try #require(owner.reference))
    values[try #require(entity.slot(named: "owner"))] = .toOne(end)
    let changes = StoreChanges(inserted: [ManagedObjectSnapshot(entity: entity.index, reference: nil, values: values)])
    try program.coordinator.save(program.store, changes: changes)
    try add()
    try Self.check(stack, "without a context")
    let context = ManagedObjectContext(stack.coordinator)
    #expect(try Self.owner(in: context)["count"] as? Int == 10)
  }
}
