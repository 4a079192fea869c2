import AtomicStoreKit
import AtomicStoreSPI
import Foundation
import Testing

@Suite("Two contexts that change relationships at random") struct RandomMergeTests {
  /// The same sequence for the same seed, everywhere.
  private struct Dice: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
      state &+= 0x9E37_79B9_7F4A_7C15
      var z = state
      z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
      z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
      return z ^ (z >> 31)
    }
  }

  private func edit(_ context: ManagedObjectContext, _ dice: inout Dice, deletes: Bool) throws {
    let people = try context.fetch(FetchRequest<ManagedObject>(entityName: "Person"))
    let departments = try context.fetch(FetchRequest<ManagedObject>(entityName: "Department"))
    let tasks = try context.fetch(FetchRequest<ManagedObject>(entityName: "Task"))
    guard let one = people.randomElement(using: &dice), let two = people.randomElement(using: &dice) else { return }
    switch Int.random(in: 0..<(deletes ? 9 : 8), using: &dice) {
    case 0: try one.setValue(departments.randomElement(using: &dice), forKey: "department")
    case 1: try one.setValue(two, forKey: "spouse")
    case 2: try one.add(two, to: "cousins")
    case 3: try one.remove(two, from: "cousins")
    case 4: try one.setValue(Set([two]), forKey: "reports")
    case 5: if let task = tasks.randomElement(using: &dice) { try one.add(task, to: "tasks", at: 0) }
    case 6: try one.setValue(tasks.shuffled(using: &dice).prefix(2).map { $0 }, forKey: "tasks")
    case 7: try departments.randomElement(using: &dice)?.setValue([one, two], forKey: "employees")
    default: context.delete(one)
    }
  }

  /// Every relationship with an inverse is mirrored at its other end.
  private func problems(_ context: ManagedObjectContext) throws -> [String] {
    var problems: [String] = []
    for entity in ["Person", "Department", "Task"] {
      for object in try context.fetch(FetchRequest<ManagedObject>(entityName: entity)) {
        for property in object.entity.properties {
          guard case .relationship(let relationship) = property, let inverse = relationship.inverseName else {
            continue
          }
          for other in try object.objects(forRelationshipNamed: relationship.name) {
            if try !other.objects(forRelationshipNamed: inverse).contains(object) {
              problems.append(
                "\(object.objectID).\(relationship.name) has \(other.objectID), which knows nothing of it")
            }
          }
        }
      }
    }
    return problems
  }

  @Test(
    "after any changes of both and with every policy, both ends of all relationships agree in the store",
    arguments: MergePolicy.allCases.filter { $0 != .error }, [(1, false), (2, false), (3, true), (4, true), (5, true)])
  func agree(_ policy: MergePolicy, _ script: (seed: UInt64, deletes: Bool)) throws {
    let stack = try Stack()
    var dice = Dice(state: script.seed)
    for index in 0..<6 { _ = try stack.insert("Person", ["name": "P\(index)"]) }
    for index in 0..<3 { _ = try stack.insert("Department", ["name": "D\(index)"]) }
    for index in 0..<4 { _ = try stack.insert("Task", ["title": "t\(index)"]) }
    try stack.context.save()
    let there = ManagedObjectContext(stack.coordinator)
    there.retainsRegisteredObjects = true
    stack.context.retainsRegisteredObjects = true
    for round in 0..<30 {
      let contexts = Bool.random(using: &dice) ? [stack.context, there] : [there, stack.context]
      for context in contexts {
        context.mergePolicy = policy
        for _ in 0..<Int.random(in: 0..<5, using: &dice) {
          try edit(context, &dice, deletes: script.deletes && round % 3 == 0)
        }
      }
      for context in contexts {
        let error = graphError { try context.save() }
        #expect(error == nil, "seed \(script.seed), round \(round): \(error.map(\.description) ?? "")")
      }
      let fresh = ManagedObjectContext(stack.coordinator)
      let found = try problems(fresh)
      #expect(found.isEmpty, "seed \(script.seed), round \(round): \(found)")
      if !found.isEmpty { return }
      if try fresh.fetch(FetchRequest<ManagedObject>(entityName: "Person")).count < 4 {
        for index in 0..<3 { _ = try stack.insert("Person", ["name": "N\(round).\(index)"]) }
        try stack.context.save()
      }
      for context in contexts { context.refreshAllObjects() }
    }
  }
}
