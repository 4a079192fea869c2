import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import Testing

/// What random scripts found, each in as few steps as it takes.
@Suite("Combinations of failed saves, merges, undo and child contexts") struct RandomFindingTests {
  /// Two contexts on one store; each change made there comes with what its save says.
  struct Two {
    let stack: Stack
    let there: ManagedObjectContext
    var here: ManagedObjectContext { stack.context }

    init() throws {
      stack = try Stack()
      there = ManagedObjectContext(stack.coordinator)
      stack.context.undoManager = UndoHistory()
    }
    func theirs(_ object: ManagedObject) throws -> ManagedObject { try there.existingObject(with: object.objectID) }

    /// Saves there and takes it over here.
    func merge() throws {
      var changes = ObjectIDChanges()
      let observation = there.observe { if case .didSave(let saved) = $0 { changes = saved.ids } }
      try there.save()
      observation.cancel()
      here.mergeChanges(fromDidSave: changes)
    }
  }

  @Test(
    "a save that fails after a merge policy was applied leaves changes, undo and IDs as they were",
    arguments: MergePolicy.allCases.filter { $0 != .error })
  func restores(_ policy: MergePolicy) throws {
    let folder = try TestFolder()
    let coordinator = PersistentStoreCoordinator(
      managedObjectModel: CompanyGraph.model, registry: try Failures.registry())
    let store = try coordinator.addPersistentStore(type: "XML", at: folder.file("store.xml"))
    let stack = Stack(
      folder: folder, coordinator: coordinator, store: store, context: ManagedObjectContext(coordinator))
    let context = stack.context
    let ada = try stack.insert("Person", ["name": "Ada"])
    let bob = try stack.insert("Person", ["name": "Bob"])
    let gone = try stack.insert("Person", ["name": "Gone"])
    try context.save()
    let other = ManagedObjectContext(coordinator)
    for object in [ada, bob, gone] { try other.existingObject(with: object.objectID).setValue(1, forKey: "age") }
    try other.save()
    context.undoManager = UndoHistory()
    try ada.setValue("Mine", forKey: "name")
    try ada.add(bob, to: "cousins")
    context.delete(gone)
    let new = try stack.insert("Person", ["name": "New"])
    context.processPendingChanges()
    let id = new.objectID

    context.mergePolicy = policy
    Failures.arm(folder, skips: 0, .before)
    let error = graphError { try context.save() }
    Failures.disarm(folder)
    #expect(error?.code == .persistentStoreSave)
    #expect(context.updatedObjects == [ada, bob])
    #expect(context.deletedObjects == [gone])
    #expect(context.insertedObjects == [new])
    #expect(ada["name"] as? String == "Mine")
    #expect(try names(ada, "cousins") == ["Bob"])
    #expect(try names(bob, "cousins") == ["Mine"])
    #expect(new.objectID == id)
    context.undo()
    #expect(!context.hasChanges)
    #expect(ada["name"] as? String == "Ada")
    #expect(try names(bob, "cousins") == [])
  }

  @Test("what both sides changed to the same value is no longer a change once it was merged")
  func sameChange() throws {
    let two = try Two()
    let ada = try two.stack.insert("Person", ["name": "Ada"])
    let sales = try two.stack.insert("Department")
    try two.here.save()
    let theirs = try two.theirs(ada)
    theirs["name"] = "Bob"
    theirs["department"] = try two.theirs(sales)
    ada["name"] = "Bob"
    ada["department"] = sales
    try two.merge()
    #expect(!two.here.hasChanges)
    #expect(ada["name"] as? String == "Bob")
  }

  @Test("an object whose value is set and reset has no changes, also in a child")
  func setBackInChild() throws {
    let stack = try Stack()
    let ada = try stack.insert("Person", ["name": "Ada"])
    let bob = try stack.insert("Person", ["name": "Bob"])
    let task = try stack.insert("Task", ["title": "t"])
    ada["spouse"] = bob
    try ada.add(bob, to: "cousins")
    try ada.add(task, to: "tasks")
    let child = ManagedObjectContext(parent: stack.context)
    let (one, two, three) = (
      try child.existingObject(with: ada.objectID), try child.existingObject(with: bob.objectID),
      try child.existingObject(with: task.objectID)
    )
    one["name"] = "X"
    one["spouse"] = nil
    try one.remove(two, from: "cousins")
    try one.remove(three, from: "tasks")
    #expect(child.updatedObjects == [one, two, three])
    one["name"] = "Ada"
    one["spouse"] = two
    try one.add(two, to: "cousins")
    try one.add(three, to: "tasks")
    #expect(!child.hasChanges)
  }

  @Test("an object that is its own partner and is released is as it was")
  func ownPartner() throws {
    let stack = try Stack()
    let ada = try stack.insert("Person", ["name": "Ada"])
    try stack.context.save()
    ada["spouse"] = ada
    #expect(ada.isUpdated)
    ada["spouse"] = nil
    #expect(!stack.context.hasChanges)
  }

  @Test(
    "a new store can be saved after another coordinator removed the reservation that both had", arguments: Stack.types)
  func reservation(_ type: String) throws {
    let folder = try TestFolder()
    var first: Stack? = try Stack(type, folder: folder)
    #expect(first != nil)
    let second = try Stack(type, folder: folder)
    first = nil
    _ = try second.insert("Person", ["name": "Ada"])
    try second.context.save()
    #expect(try second.reread("Person").count == 1)
  }

  @Test(
    "a new store is not saved over one that was created at its path meanwhile, but added to it", arguments: Stack.types)
  func reservationTaken(_ type: String) throws {
    let folder = try TestFolder()
    let (first, second) = (try Stack(type, folder: folder), try Stack(type, folder: folder))
    _ = try first.insert("Person", ["name": "Ada"])
    try first.context.save()
    _ = try second.insert("Person", ["name": "Bob"])
    try second.context.save()
    #expect(try first.reread("Person").map { $0["name"] as? String } == ["Ada", "Bob"])
  }

  @Test("undo does not restore what another context deleted")
  func undoAfterMerge() throws {
    let two = try Two()
    let ada = try two.stack.insert("Person", ["name": "Ada"])
    let bob = try two.stack.insert("Person", ["name": "Bob"])
    try two.here.save()
    two.here.undoManager?.removeAllActions()
    bob["age"] = 1
    two.here.processPendingChanges()
    two.there.delete(try two.theirs(ada))
    try two.merge()
    two.here.undo()
    #expect(bob["age"] == nil)
    try two.here.save()
    #expect(try two.stack.reread("Person").count == 1)
  }

  @Test("what both sides deleted is removed, even if a change made here forbids it")
  func deniedTwice() throws {
    let two = try Two()
    let visitor = try two.stack.insert("Visitor", ["name": "V"])
    let room = try two.stack.insert("Room")
    try two.here.save()
    visitor["room"] = room
    two.there.delete(try two.theirs(visitor))
    try two.merge()
    try two.here.save()
    #expect(try two.stack.reread("Visitor").isEmpty)
  }

  @Test("what the store itself cut is not a conflict after the deletion was merged", arguments: [true, false])
  func cutOff(_ isReplaced: Bool) throws {
    let two = try Two()
    let room = try two.stack.insert("Room")
    let other = try two.stack.insert("Room")
    let visitor = try two.stack.insert("Visitor", ["room": room])
    try two.here.save()
    visitor["room"] = isReplaced ? other : nil
    two.there.delete(try two.theirs(room))
    try two.merge()
    try two.here.save()
    let stored = try #require(try two.stack.reread("Visitor").first)
    #expect((stored["room"] != nil) == isReplaced)
  }

  @Test("a deletion made here also affects what the other context added meanwhile, by its rules")
  func deletionMeetsMore() throws {
    let two = try Two()
    let sales = try two.stack.insert("Department")
    let other = try two.stack.insert("Department")
    let room = try two.stack.insert("Room")
    let ada = try two.stack.insert("Person")
    try two.here.save()
    two.here.processPendingChanges()
    // This room is deleted with a department that it is no longer in.
    room["department"] = sales
    two.here.delete(sales)
    two.here.processPendingChanges()
    let late = try two.there.insertNewObject(forEntityName: "Room")
    late["department"] = try two.theirs(sales)
    try two.theirs(room)["department"] = try two.theirs(other)
    try two.theirs(ada)["department"] = try two.theirs(sales)
    try two.merge()
    #expect(try other.count(forRelationshipNamed: "rooms") == 0)
    #expect(ada["department"] == nil)
    #expect(two.here.deletedObjects.count == 3)
    try two.here.save()
    #expect(try two.stack.reread("Room").isEmpty)
    #expect(try two.stack.reread("Person").count == 1)
  }

  @Test("steps on a deleted and saved object are undone before the deletion is")
  func undoOnGone() throws {
    let stack = try Stack()
    stack.context.undoManager = UndoHistory()
    let sales = try stack.insert("Department", ["name": "Sales"])
    let visitor = try stack.insert("Visitor", ["name": "V", "host": sales])
    try stack.context.save()
    stack.context.delete(sales)
    stack.context.processPendingChanges()
    visitor["host"] = nil
    try stack.context.save()
    stack.context.undo()
    stack.context.undo()
    #expect(visitor["host"] as? ManagedObject === sales)
    #expect(try names(sales, "visitors") == ["V"])
    try stack.context.save()
    let other = try stack.reopened()
    let stored = try #require(try other.first("Visitor", "V"))
    #expect((stored["host"] as? ManagedObject)?["name"] as? String == "Sales")
  }

  @Test("a temporary ID remains valid that was requested while the object was in no context", arguments: [true, false])
  func temporaryID(_ isUndone: Bool) throws {
    let stack = try Stack()
    stack.context.undoManager = UndoHistory()
    let room: ManagedObject
    let id: ManagedObjectID
    if isUndone {
      room = try stack.context.insertNewObject(forEntityName: "Room")
      stack.context.processPendingChanges()
      stack.context.undo()
      id = room.objectID
      stack.context.redo()
    } else {
      let entity = try #require(CompanyGraph.model.entity(named: "Room"))
      room = ManagedObject(entity: entity, insertInto: nil)
      id = room.objectID
      stack.context.insert(room)
    }
    #expect(stack.context.registeredObject(for: id) === room)
  }

  @Test("in a child, an object that its parent deleted does not forbid a deletion")
  func deniedByGone() throws {
    let stack = try Stack()
    let room = try stack.insert("Room")
    let visitor = try stack.insert("Visitor", ["room": room])
    try stack.context.save()
    stack.context.delete(room)
    stack.context.processPendingChanges()
    let child = ManagedObjectContext(parent: stack.context)
    child.delete(try child.existingObject(with: visitor.objectID))
    try child.save()
    try stack.context.save()
    #expect(try stack.reread("Visitor").isEmpty)
  }

  @Test("an object that forbade a deletion and was removed in a child context no longer forbids it in the parent")
  func deniedBefore() throws {
    let stack = try Stack()
    let visitor = try stack.insert("Visitor", ["room": try stack.insert("Room")])
    try stack.context.save()
    let child = ManagedObjectContext(parent: stack.context)
    let mine = try child.existingObject(with: visitor.objectID)
    mine["room"] = nil
    child.delete(mine)
    try child.save()
    try stack.context.save()
    #expect(try stack.reread("Visitor").isEmpty)
  }

  @Test("an object that was moved away before its owner was deleted elsewhere is kept", arguments: [true, false])
  func movedBeforeCascade(_ isFault: Bool) throws {
    let two = try Two()
    let sales = try two.stack.insert("Department", ["name": "Sales"])
    let other = try two.stack.insert("Department", ["name": "Other"])
    let room = try two.stack.insert("Room", ["number": 7, "department": sales])
    try two.here.save()
    if isFault { two.here.refresh(room, mergeChanges: false) }
    try two.theirs(room)["department"] = try two.theirs(other)
    two.there.delete(try two.theirs(sales))
    try two.merge()
    #expect(!room.isDeleted)
    try two.here.save()
    #expect(try two.stack.reread("Room").count == 1)
    #expect(room["department"] as? ManagedObject === other)
  }
}
