import AtomicStoreKit
import AtomicStoreSPI
import Foundation
import Testing

@Suite("Child contexts") struct ChildContextTests {
  @Test("a child sees its parent's unsaved changes")
  func seesUnsaved() throws {
    let stack = try Stack()
    let ada = try stack.insert("Person", ["name": "Ada"])
    try stack.context.save()
    try ada.setValue("Bob", forKey: "name")
    let task = try stack.insert("Task", ["title": "t"])
    try ada.add(task, to: "tasks")
    let child = ManagedObjectContext(parent: stack.context)
    let mine = try child.existingObject(with: ada.objectID)
    #expect(mine !== ada)
    #expect(mine["name"] as? String == "Bob")
    #expect(try names(mine, "tasks", "title") == ["t"])
    #expect(!child.hasChanges)
  }

  @Test("a child saves into its parent; the file changes only when the parent saves", arguments: Stack.types)
  func savesIntoParent(_ type: String) throws {
    let stack = try Stack(type)
    let ada = try stack.insert("Person", ["name": "Ada"])
    try stack.context.save()
    let child = ManagedObjectContext(parent: stack.context)
    let mine = try child.existingObject(with: ada.objectID)
    try mine.setValue("Bob", forKey: "name")
    let new = try child.insertNewObject(forEntityName: "Department")
    try new.setValue("Sales", forKey: "name")
    try mine.setValue(new, forKey: "department")
    #expect(ada["name"] as? String == "Ada")
    #expect(!stack.context.hasChanges)

    try child.save()
    #expect(!child.hasChanges)
    #expect(ada["name"] as? String == "Bob")
    #expect((ada["department"] as? ManagedObject)?["name"] as? String == "Sales")
    #expect(ada.isUpdated)
    #expect(try stack.reread("Person").map { $0["name"] as? String } == ["Ada"])
    #expect(try stack.reread("Department").isEmpty)

    try stack.context.save()
    let other = try stack.reopened()
    let stored = try #require(try other.first("Person", "Bob"))
    #expect((stored["department"] as? ManagedObject)?["name"] as? String == "Sales")
  }

  @Test("deletions are passed to the parent, with what they propagate to")
  func deletions() throws {
    let stack = try Stack()
    let sales = try stack.insert("Department", ["name": "Sales"])
    let ada = try stack.insert("Person", ["name": "Ada", "department": sales])
    let room = try stack.insert("Room", ["department": sales])
    try stack.context.save()
    let child = ManagedObjectContext(parent: stack.context)
    child.delete(try child.existingObject(with: sales.objectID))
    child.processPendingChanges()
    #expect(!sales.isDeleted)
    try child.save()
    #expect(sales.isDeleted)
    #expect(room.isDeleted)
    #expect(ada["department"] == nil)
    #expect(try stack.reread("Department").count == 1)
    try stack.context.save()
    #expect(try stack.reread("Department").isEmpty)
    #expect(try stack.reread("Room").isEmpty)
  }

  @Test("the order of an ordered relationship is passed to the parent")
  func ordered() throws {
    let stack = try Stack()
    let ada = try stack.insert("Person", ["name": "Ada"])
    for title in ["a", "b"] { try ada.add(try stack.insert("Task", ["title": title]), to: "tasks") }
    try stack.context.save()
    let child = ManagedObjectContext(parent: stack.context)
    let mine = try child.existingObject(with: ada.objectID)
    let new = try child.insertNewObject(forEntityName: "Task")
    try new.setValue("c", forKey: "title")
    try mine.setValue([new] + (try mine.objects(forRelationshipNamed: "tasks")).reversed(), forKey: "tasks")
    try child.save()
    #expect(try names(ada, "tasks", "title") == ["c", "b", "a"])
    try stack.context.save()
    let other = try stack.reopened()
    let stored = try #require(try other.first("Person", "Ada"))
    #expect(try names(stored, "tasks", "title") == ["c", "b", "a"])
  }

  @Test("a temporary ID from a child remains valid after the saves")
  func temporaryID() throws {
    let stack = try Stack()
    let child = ManagedObjectContext(parent: stack.context)
    let new = try child.insertNewObject(forEntityName: "Person")
    try new.setValue("Ada", forKey: "name")
    let id = new.objectID
    #expect(id.isTemporaryID)
    try child.save()
    let above = try #require(stack.context.registeredObject(for: id))
    #expect(above["name"] as? String == "Ada")
    try stack.context.save()
    #expect(!above.objectID.isTemporaryID)
    #expect(stack.context.registeredObject(for: id) === above)
    #expect(child.registeredObject(for: id) === new)
    #expect(new.objectID == above.objectID)
  }

  @Test("a rollback in a child undoes only its own changes")
  func rollback() throws {
    let stack = try Stack()
    let ada = try stack.insert("Person", ["name": "Ada", "age": 1])
    try stack.context.save()
    try ada.setValue(2, forKey: "age")
    let child = ManagedObjectContext(parent: stack.context)
    let mine = try child.existingObject(with: ada.objectID)
    try mine.setValue("Bob", forKey: "name")
    _ = try child.insertNewObject(forEntityName: "Person")
    child.rollback()
    #expect(!child.hasChanges)
    #expect(mine["name"] as? String == "Ada")
    #expect(mine["age"] as? Int == 2)
    #expect(stack.context.updatedObjects == [ada])
  }

  @Test("a refresh in a child fetches the parent's current values", arguments: [true, false])
  func refresh(_ merges: Bool) throws {
    let stack = try Stack()
    let ada = try stack.insert("Person", ["name": "Ada", "age": 1])
    try stack.context.save()
    let child = ManagedObjectContext(parent: stack.context)
    let mine = try child.existingObject(with: ada.objectID)
    try mine.setValue("Bob", forKey: "name")
    try ada.setValue(2, forKey: "age")
    #expect(mine["age"] as? Int == 1)
    child.refresh(mine, mergeChanges: merges)
    #expect(mine["age"] as? Int == 2)
    #expect(mine["name"] as? String == (merges ? "Bob" : "Ada"))
    #expect(child.hasChanges == merges)
  }

  @Test("a grandchild's changes move up one context with each save", arguments: Stack.types)
  func grandchild(_ type: String) throws {
    let stack = try Stack(type)
    let child = ManagedObjectContext(parent: stack.context)
    let grandchild = ManagedObjectContext(parent: child)
    let new = try grandchild.insertNewObject(forEntityName: "Person")
    try new.setValue("Ada", forKey: "name")
    try grandchild.save()
    #expect(child.insertedObjects.map { $0["name"] as? String } == ["Ada"])
    #expect(!stack.context.hasChanges)
    try child.save()
    #expect(stack.context.insertedObjects.map { $0["name"] as? String } == ["Ada"])
    try stack.context.save()
    #expect(try stack.reread("Person").map { $0["name"] as? String } == ["Ada"])
    #expect(!new.objectID.isTemporaryID)
  }

  @Test("an object that was removed from the parent makes the child's save fail, and nothing is passed on")
  func goneFromParent() throws {
    let stack = try Stack()
    let ada = try stack.insert("Person", ["name": "Ada"])
    let bob = try stack.insert("Person", ["name": "Bob"])
    try stack.context.save()
    let child = ManagedObjectContext(parent: stack.context)
    try child.existingObject(with: ada.objectID).setValue("changed", forKey: "name")
    let mine = try child.existingObject(with: bob.objectID)
    try mine.setValue("changed", forKey: "name")
    stack.context.delete(bob)
    stack.context.processPendingChanges()
    let error = #expect(throws: ManagedObjectError.self) { try child.save() }
    #expect(error?.code == .managedObjectMerge)
    #expect(error?.objectID == mine.objectID)
    #expect(ada["name"] as? String == "Ada")
    #expect(child.updatedObjects.count == 2)
  }
}
