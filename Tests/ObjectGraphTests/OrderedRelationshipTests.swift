import AtomicStoreKit
import AtomicStoreSPI
import Foundation
import Testing

@Suite("Ordered relationships, and reading without firing") struct OrderedRelationshipTests {
  private func staff(_ type: String = "BinaryPropertyList", tasks count: Int = 4) throws -> (
    Stack, ManagedObject, [ManagedObject]
  ) {
    let stack = try Stack(type)
    let ada = try stack.insert("Person", ["name": "Ada"])
    let tasks = try (0..<count).map { try stack.insert("Task", ["title": "t\($0)"]) }
    try ada.setValue(tasks, forKey: "tasks")
    return (stack, ada, tasks)
  }

  @Test("the order is preserved by a save and a reopening", arguments: Stack.types)
  func order(_ type: String) throws {
    let (stack, ada, tasks) = try staff(type)
    try ada.setValue([tasks[2], tasks[0], tasks[3], tasks[1]], forKey: "tasks")
    try stack.context.save()
    #expect(try names(ada, "tasks", "title") == ["t2", "t0", "t3", "t1"])
    #expect(ada["tasks"] as? [ManagedObject] == [tasks[2], tasks[0], tasks[3], tasks[1]])
    let other = try stack.reopened()
    let again = try #require(try other.first("Person", "Ada"))
    #expect(try names(again, "tasks", "title") == ["t2", "t0", "t3", "t1"])
    try again.move(try #require(try other.first("Task", "t1", "title")), in: "tasks", to: 0)
    try other.context.save()
    let third = try other.reopened()
    #expect(try names(try #require(try third.first("Person", "Ada")), "tasks", "title") == ["t1", "t2", "t0", "t3"])
  }

  @Test(
    "an object is inserted at an index, which is clamped to the bounds",
    arguments: [(0, 0), (1, 1), (2, 2), (3, 2), (-5, 0), (Int.max, 2), (Int.min, 0)])
  func insertAt(_ place: Int, _ expected: Int) throws {
    let (stack, ada, _) = try staff(tasks: 2)
    try stack.context.save()
    let new = try stack.insert("Task", ["title": "new"])
    try ada.add(new, to: "tasks", at: place)
    #expect(try ada.objects(forRelationshipNamed: "tasks").firstIndex(of: new) == expected)
    #expect(try names(new, "people") == ["Ada"])
    // It is once, wherever it is added again.
    try ada.add(new, to: "tasks", at: 0)
    #expect(try ada.objects(forRelationshipNamed: "tasks").firstIndex(of: new) == expected)
    #expect(try ada.count(forRelationshipNamed: "tasks") == 3)
  }

  @Test(
    "an object is moved to an index, which is clamped to the bounds",
    arguments: [(0, [0, 1, 2, 3]), (2, [1, 2, 0, 3]), (3, [1, 2, 3, 0]), (99, [1, 2, 3, 0]), (-1, [0, 1, 2, 3])])
  func move(_ place: Int, _ expected: [Int]) throws {
    let (stack, ada, tasks) = try staff()
    try stack.context.save()
    try ada.move(tasks[0], in: "tasks", to: place)
    #expect(try names(ada, "tasks", "title") == expected.map { "t\($0)" })
    #expect(ada.hasChanges == (expected != [0, 1, 2, 3]))
    #expect(!tasks[0].hasChanges)
  }

  @Test("moving back is not a change, nor is moving an object that is not in the relationship")
  func moveBack() throws {
    let (stack, ada, tasks) = try staff()
    let unrelated = try stack.insert("Task")
    try stack.context.save()
    try ada.move(tasks[0], in: "tasks", to: 3)
    try ada.move(tasks[0], in: "tasks", to: 0)
    try ada.move(unrelated, in: "tasks", to: 0)
    #expect(!stack.context.hasChanges)
  }

  @Test("an object named twice occurs once")
  func twice() throws {
    let (stack, ada, tasks) = try staff(tasks: 2)
    try ada.setValue([tasks[1], tasks[0], tasks[1]], forKey: "tasks")
    try stack.context.save()
    #expect(try names(ada, "tasks", "title") == ["t1", "t0"])
  }

  @Test(
    "from the other end an object is appended, and removed without changing the others' order",
    arguments: EndState.allCases)
  func inverse(_ state: EndState) throws {
    let (stack, ada, tasks) = try staff()
    try state.bring(stack, tasks + [ada])
    try tasks[1].setValue(Set<ManagedObject>(), forKey: "people")
    #expect(try names(ada, "tasks", "title") == ["t0", "t2", "t3"])
    try tasks[1].add(ada, to: "people")
    #expect(try names(ada, "tasks", "title") == ["t0", "t2", "t3", "t1"])
    stack.context.delete(tasks[0])
    stack.context.processPendingChanges()
    #expect(try names(ada, "tasks", "title") == ["t2", "t3", "t1"])
  }

  @Test("a relationship's size and IDs can be read without creating its objects")
  func withoutFiring() throws {
    let (stack, ada, tasks) = try staff()
    let boss = try stack.insert("Manager", ["name": "Bob"])
    try ada.setValue(boss, forKey: "spouse")
    try stack.context.save()
    let ids = tasks.map(\.objectID)
    let context = ManagedObjectContext(stack.coordinator)
    context.retainsRegisteredObjects = true
    let again = try context.existingObject(with: ada.objectID)
    #expect(context.registeredObjects == [again])
    #expect(again.hasFault(forRelationshipNamed: "tasks"))
    #expect(again.hasFault(forRelationshipNamed: "spouse"))
    #expect(try again.count(forRelationshipNamed: "tasks") == 4)
    #expect(try again.objectIDs(forRelationshipNamed: "tasks") == ids)
    #expect(try again.count(forRelationshipNamed: "spouse") == 1)
    #expect(try again.objectIDs(forRelationshipNamed: "spouse") == [boss.objectID])
    #expect(context.registeredObjects == [again])
    _ = again["spouse"]
    #expect(context.registeredObjects.count == 2)
    #expect(again.hasFault(forRelationshipNamed: "spouse"))
    #expect((again["spouse"] as? ManagedObject)?["name"] as? String == "Bob")
    #expect(!again.hasFault(forRelationshipNamed: "spouse"))
  }

  @Test("testing whether a relationship is a fault does not fire it")
  func askingFault() throws {
    let (stack, ada, _) = try staff()
    try stack.context.save()
    stack.context.refresh(ada, mergeChanges: false)
    #expect(ada.hasFault(forRelationshipNamed: "tasks"))
    #expect(ada.isFault)
    #expect(!ada.hasFault(forRelationshipNamed: "name"))
    #expect(!ada.hasFault(forRelationshipNamed: "nothing"))
  }
}
