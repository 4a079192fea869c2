import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import Testing

@Suite("Saves that fail after a merge policy was applied") struct FailedResolutionTests {
  /// A stack whose format can be told to fail, with a change that no policy drops.
  func stack() throws -> (stack: Stack, there: ManagedObjectContext, visitor: ManagedObject, people: [ManagedObject]) {
    let folder = try TestFolder()
    let coordinator = PersistentStoreCoordinator(
      managedObjectModel: CompanyGraph.model, registry: try Failures.registry())
    let store = try coordinator.addPersistentStore(type: "XML", at: folder.file("store.xml"))
    let stack = Stack(
      folder: folder, coordinator: coordinator, store: store, context: ManagedObjectContext(coordinator))
    let visitor = try stack.insert("Visitor", ["name": "V"])
    let people = try ["A", "B", "C"].map { try stack.insert("Employee", ["name": $0, "age": 1]) }
    try stack.context.save()
    try visitor.setValue("W", forKey: "name")
    return (stack, ManagedObjectContext(stack.coordinator), visitor, people)
  }

  static let deciding: [MergePolicy] = [.mergeByPropertyStoreTrump, .mergeByPropertyObjectTrump, .overwrite, .rollback]

  @Test(
    "the context keeps every change that the policy had dropped, and detects the same conflicts again",
    arguments: deciding)
  func restores(_ policy: MergePolicy) throws {
    let (stack, there, visitor, people) = try stack()
    let (a, b, c) = (people[0], people[1], people[2])
    try a.setValue(2, forKey: "age")
    try a.setValue(b, forKey: "spouse")
    try b.setValue(5, forKey: "age")
    stack.context.delete(c)
    stack.context.processPendingChanges()
    let theirA = try there.existingObject(with: a.objectID)
    try theirA.setValue(3, forKey: "age")
    try theirA.setValue("Anna", forKey: "name")
    there.delete(try there.existingObject(with: b.objectID))
    try there.existingObject(with: c.objectID).setValue("Carl", forKey: "name")
    try there.save()

    let before = stack.context.conflicts().map(\.keysChangedHere)
    stack.context.mergePolicy = policy
    Failures.arm(stack.folder, skips: 0, .before)
    let error = graphError { try stack.context.save() }
    Failures.disarm(stack.folder)
    #expect(error?.code == .persistentStoreSave)
    #expect(a["age"] as? Int == 2)
    #expect(a["name"] as? String == "A")
    #expect(a["spouse"] as? ManagedObject === b)
    #expect(b["age"] as? Int == 5)
    #expect(b["spouse"] as? ManagedObject === a)
    #expect(b.managedObjectContext === stack.context)
    #expect(stack.context.updatedObjects == [a, b, visitor])
    #expect(stack.context.deletedObjects == [c])
    #expect(stack.context.insertedObjects.isEmpty)
    #expect(stack.context.conflicts().map(\.keysChangedHere) == before)

    // The cause repaired, the same save succeeds.
    try stack.context.save()
    #expect(!stack.context.hasChanges)
    let other = try stack.reopened()
    let age = try #require(try other.fetch("Employee").first)["age"] as? Int
    let isOurs = policy == .mergeByPropertyObjectTrump || policy == .overwrite
    #expect(age == (isOurs ? 2 : 3))
    #expect(try other.first("Employee", "B") != nil || !isOurs)
  }

  @Test(
    "objects that a uniqueness constraint would have merged are as before when the result is not valid",
    arguments: [true, false])
  func invalidMerge(_ withUndo: Bool) throws {
    var description = UniquenessChainTests.unique
    guard case .relationship(var notes) = description.entities[0].properties[2] else { return #expect(Bool(false)) }
    notes.maximumCount = 2
    description.entities[0].properties[2] = .relationship(notes)
    let stack = try Stack("XML", model: try ManagedObjectModel(description))
    let old = try stack.insert("Code", ["code": 1, "name": "old"])
    for name in ["a", "b"] { try stack.insert("Note", ["name": name]).setValue(old, forKey: "code") }
    try stack.context.save()
    if withUndo { stack.context.undoManager = UndoHistory() }
    stack.context.mergePolicy = .overwrite
    let new = try stack.insert("Code", ["code": 1, "name": "new"])
    let note = try stack.insert("Note", ["name": "c"])
    try note.setValue(new, forKey: "code")
    let error = try #require(graphError { try stack.context.save() })
    #expect(error.code == .validationRelationshipExceedsMaximumCount)
    #expect(error.message.contains("Code/1, Code/new were merged, since they have the same code"))
    #expect(!old.isDeleted)
    #expect(stack.context.deletedObjects.isEmpty)
    #expect(stack.context.insertedObjects == [new, note])
    #expect(new.unavailableReason == nil)
    #expect(try names(new, "notes") == ["c"])
    #expect(try sorted(old, "notes") == ["a", "b"])
    stack.context.undo()
    #expect(stack.context.hasChanges == !withUndo)
    #expect(old["name"] as? String == "old")
  }
}
