import AtomicStoreKit
import AtomicStoreSPI
import Foundation
import Testing

@Suite("Relationships that two contexts change") struct RelationshipConflictTests {
  @Test(
    "an object that another context deleted meanwhile is never written as a destination", arguments: Stack.types,
    [true, false])
  func deletedDestination(_ type: String, _ isNew: Bool) throws {
    let stack = try Stack(type)
    let room = try stack.insert("Room", ["number": 1])
    var visitor = try stack.insert("Visitor", ["name": "V"])
    try stack.context.save()
    if isNew { visitor = try stack.insert("Visitor", ["name": "W"]) }
    try visitor.setValue(room, forKey: "room")
    let there = ManagedObjectContext(stack.coordinator)
    there.delete(try there.existingObject(with: room.objectID))
    try there.save()
    let error = try #require(graphError { try stack.context.save() })
    #expect(error.code == .managedObjectMerge)
    #expect(error.conflicts.map(\.objectID) == [visitor.objectID])
    #expect(error.conflicts.map(\.keysLeadingNowhere) == [["room"]])
    #expect(visitor["room"] as? ManagedObject === room && visitor.hasChanges)
    try visitor.setValue(nil, forKey: "room")
    try stack.context.save()
    let other = try stack.reopened()
    #expect(try #require(try other.first("Visitor", isNew ? "W" : "V"))["room"] == nil)
  }

  @Test(
    "every policy except error saves, without the reference, a change that leads to an object deleted elsewhere",
    arguments: MergePolicy.allCases.filter { $0 != .error }, [true, false])
  func settledDestination(_ policy: MergePolicy, _ isNew: Bool) throws {
    let stack = try Stack()
    let rooms = try [1, 2].map { try stack.insert("Room", ["number": $0]) }
    var visitor = try stack.insert("Visitor", ["name": "V", "room": rooms[1]])
    try stack.context.save()
    if isNew { visitor = try stack.insert("Visitor") }
    try visitor.setValue("W", forKey: "name")
    try visitor.setValue(rooms[0], forKey: "room")
    let there = ManagedObjectContext(stack.coordinator)
    there.delete(try there.existingObject(with: rooms[0].objectID))
    try there.save()
    stack.context.mergePolicy = policy
    try stack.context.save()
    let other = try stack.reopened()
    let isDropped = policy == .rollback && !isNew
    let stored = try #require(try other.first("Visitor", isDropped ? "V" : "W"))
    let keepsStored = !isNew && (policy == .rollback || policy == .mergeByPropertyStoreTrump)
    #expect((stored["room"] as? ManagedObject)?["number"] as? Int == (keepsStored ? 2 : nil))
  }

  @Test(
    "an object deleted while another context added a relationship to it leaves no dangling reference",
    arguments: Stack.types)
  func deletedSource(_ type: String) throws {
    let stack = try Stack(type)
    let sales = try stack.insert("Department", ["name": "Sales"])
    try stack.context.save()
    let there = ManagedObjectContext(stack.coordinator)
    let bob = try there.insertNewObject(forEntityName: "Employee")
    bob["name"] = "Bob"
    bob["department"] = try there.existingObject(with: sales.objectID)
    try there.save()
    stack.context.delete(sales)
    let error = try #require(graphError { try stack.context.save() })
    #expect(error.code == .managedObjectMerge)
    #expect(error.conflicts.map(\.objectID) == [sales.objectID])
    stack.context.mergePolicy = .overwrite
    try stack.context.save()
    let other = try stack.reopened()
    #expect(try other.fetch("Department").isEmpty)
    #expect(try #require(try other.first("Employee", "Bob"))["department"] == nil)
    there.refresh(bob, mergeChanges: false)
    #expect(bob["department"] == nil)
  }

  @Test(
    "if two contexts set the same partner, the second conflicts, and both ends stay consistent",
    arguments: MergePolicy.allCases)
  func partners(_ policy: MergePolicy) throws {
    let stack = try Stack()
    let people = try ["A", "B", "C"].map { try stack.insert("Person", ["name": $0]) }
    try stack.context.save()
    let there = ManagedObjectContext(stack.coordinator)
    let theirs = try people.map { try there.existingObject(with: $0.objectID) }
    for person in theirs { _ = person["name"] }
    try theirs[0].setValue(theirs[2], forKey: "spouse")
    try people[1].setValue(people[2], forKey: "spouse")
    try there.save()
    stack.context.mergePolicy = policy
    let error = graphError { try stack.context.save() }
    #expect((error == nil) == (policy != .error))
    if policy == .error { #expect(error?.conflicts.map(\.objectID) == [people[2].objectID]) }
    let other = try stack.reopened()
    for person in try other.fetch("Person") {
      guard let spouse = person["spouse"] as? ManagedObject else { continue }
      #expect(spouse["spouse"] as? ManagedObject === person, "\(policy): \(person) has \(spouse)")
    }
  }

  @Test(
    "if two contexts change different members of one set, property merges keep both ends consistent",
    arguments: MergePolicy.allCases)
  func sets(_ policy: MergePolicy) throws {
    let stack = try Stack()
    let sales = try stack.insert("Department", ["name": "Sales"])
    let lab = try stack.insert("Department", ["name": "Lab"])
    let people = try (0..<4).map { try stack.insert("Person", ["name": "P\($0)", "department": sales]) }
    try stack.context.save()
    let there = ManagedObjectContext(stack.coordinator)
    let theirs = try people.map { try there.existingObject(with: $0.objectID) }
    try theirs[0].setValue(nil, forKey: "department")
    try theirs[1].setValue(try there.existingObject(with: lab.objectID), forKey: "department")
    try there.save()
    try people[1].setValue(nil, forKey: "department")
    try people[2].setValue(lab, forKey: "department")
    let new = try stack.insert("Person", ["name": "New", "department": sales])
    stack.context.mergePolicy = policy
    #expect((graphError { try stack.context.save() } == nil) == (policy != .error))
    #expect(new["name"] as? String == "New")
    let other = try stack.reopened()
    for department in try other.fetch("Department") {
      for person in try department.objects(forRelationshipNamed: "employees") {
        #expect(person["department"] as? ManagedObject === department, "\(policy)")
      }
    }
    for person in try other.fetch("Person") {
      guard let department = person["department"] as? ManagedObject else { continue }
      #expect(try department.objects(forRelationshipNamed: "employees").contains(person), "\(policy)")
    }
  }

  @Test(
    "relationships changed in a child context are changed in its parent after the save, at both ends",
    arguments: Stack.types)
  func child(_ type: String) throws {
    let stack = try Stack(type)
    let sales = try stack.insert("Department", ["name": "Sales"])
    let lab = try stack.insert("Department", ["name": "Lab"])
    let ada = try stack.insert("Person", ["name": "Ada", "department": sales])
    let bob = try stack.insert("Person", ["name": "Bob", "spouse": ada, "department": sales])
    let tasks = try (0..<3).map { try stack.insert("Task", ["title": "t\($0)"]) }
    try ada.setValue(tasks, forKey: "tasks")
    try stack.context.save()
    let child = ManagedObjectContext(parent: stack.context)
    let mine = try child.existingObject(with: ada.objectID)
    let carl = try child.insertNewObject(forEntityName: "Employee")
    try carl.setValue("Carl", forKey: "name")
    try carl.setValue(mine, forKey: "spouse")
    try mine.setValue(try child.existingObject(with: lab.objectID), forKey: "department")
    try mine.move(try child.existingObject(with: tasks[2].objectID), in: "tasks", to: 0)
    child.delete(try child.existingObject(with: tasks[1].objectID))
    #expect(ada["spouse"] as? ManagedObject === bob)
    try child.save()
    #expect((ada["spouse"] as? ManagedObject)?["name"] as? String == "Carl")
    #expect(bob["spouse"] == nil)
    #expect(try names(lab, "employees") == ["Ada"] && names(sales, "employees") == ["Bob"])
    #expect(try names(ada, "tasks", "title") == ["t2", "t0"])
    #expect(try stack.reopened().store.nodes.count == 7)
    try stack.context.save()
    let other = try stack.reopened()
    let again = try #require(try other.first("Person", "Ada"))
    #expect((again["spouse"] as? ManagedObject)?["name"] as? String == "Carl")
    #expect(try names(again, "tasks", "title") == ["t2", "t0"])
    #expect(try other.first("Person", "Bob")?["spouse"] == nil)
    // The child's objects are what the parent's now are.
    #expect((mine["spouse"] as? ManagedObject) === carl)
    #expect(!child.hasChanges)
  }
}
