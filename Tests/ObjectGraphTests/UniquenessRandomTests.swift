import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Testing

@Suite("Random graphs under uniqueness constraints") struct UniquenessRandomTests {
  /// The same numbers for the same seed.
  struct Dice {
    var state: UInt64
    mutating func roll(_ bound: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(state >> 33) % bound
    }
  }

  /// Changes a graph at random: numbers and addresses from few values, so that they meet.
  func change(_ stack: Stack, _ dice: inout Dice) throws {
    for _ in 0..<8 {
      let accounts = try stack.fetch("Account")
      func some() -> ManagedObject? { accounts.isEmpty ? nil : accounts[dice.roll(accounts.count)] }
      switch dice.roll(6) {
      case 0, 1:
        let account = try stack.insert("Account", ["number": dice.roll(6), "name": "a\(dice.roll(100))"])
        if dice.roll(2) == 0 { try account.setValue("m\(dice.roll(6))", forKey: "mail") }
        _ = try stack.insert("Item", ["name": "i", "account": account, "plan": some() ?? account])
        let tags = try stack.fetch("Tag")
        let tag =
          tags.isEmpty || dice.roll(2) == 0 ? try stack.insert("Tag", ["name": "t"]) : tags[dice.roll(tags.count)]
        try account.setValue(Set([tag]), forKey: "tags")
      case 2: try some()?.setValue(dice.roll(6), forKey: "number")
      case 3: try some()?.setValue("m\(dice.roll(6))", forKey: "mail")
      case 4:
        if let one = some(), let other = some() { try one.setValue(other, forKey: "parent") }
        if let one = some(), let other = some() { try one.add(other, to: "friends") }
      default:
        if let one = some() {
          _ = try stack.insert("Visit", ["account": one, "seen": [one]])
          try stack.insert("Card", ["name": "c"]).setValue(some(), forKey: "account")
        }
      }
    }
  }

  /// What is wrong with a file: keys that two have, ends that disagree, items without an account.
  func problems(_ stack: Stack) throws -> [String] {
    let other = try stack.reopened()
    var found: [String] = []
    for key in ["number", "mail"] {
      let values = try other.fetch("Account").compactMap { $0[key].map { "\($0)" } }
      if Set(values).count != values.count { found.append("\(key): \(values.sorted())") }
    }
    for entity in stack.store.model.entities {
      for object in try other.fetch(entity.name) {
        for slot in entity.slots {
          guard let relationship = slot.relationship, let inverse = relationship.inverseName else { continue }
          for end in try object.objects(forRelationshipNamed: slot.name)
          where try !end.objects(forRelationshipNamed: inverse).contains(object) {
            found.append("\(object.objectID).\(slot.name) leads to \(end.objectID), which does not lead back")
          }
        }
      }
    }
    for item in try other.fetch("Item") where item["account"] == nil { found.append("\(item.objectID) has no account") }
    return found
  }

  @Test(
    "after a save keys are unique, both ends of each relationship agree, and no relationship is lost",
    arguments: UniquenessMergeTests.resolving, 1...25)
  func saves(_ policy: MergePolicy, _ seed: Int) throws {
    let stack = try Stack(
      model: try ManagedObjectModel(UniquenessMergeTests.description(seed % 2 == 0 ? .cascade : .deny)))
    var dice = Dice(state: UInt64(seed))
    if seed % 3 == 0 { stack.context.undoManager = UndoHistory() }
    stack.context.mergePolicy = policy
    for _ in 0..<5 {
      let items = try stack.fetch("Item").count
      try change(stack, &dice)
      let before = try stack.fetch("Item").count
      try stack.context.save()
      #expect(try problems(stack) == [])
      #expect(try stack.fetch("Item").count == before)
      #expect(before >= items)
      guard stack.context.undoManager != nil else { continue }
      let saved = try stack.reread("Account").count
      stack.context.undo()
      stack.context.redo()
      try stack.context.save()
      #expect(try problems(stack) == [])
      #expect(try stack.reread("Account").count == saved)
    }
  }
}
