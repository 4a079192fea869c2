import AtomicStoreKit
import AtomicStoreSPI
import Foundation
import Testing

@Suite("Permanent IDs in child contexts") struct ChildPermanentIDTests {
  @Test("a child gives an object that its parent does not have the ID that it is saved with", arguments: Stack.types)
  func keepsTheID(_ type: String) throws {
    let stack = try Stack(type)
    let child = ManagedObjectContext(parent: stack.context)
    let ada = try child.insertNewObject(forEntityName: "Person")
    try ada.setValue("Ada", forKey: "name")
    let temporary = ada.objectID
    try child.obtainPermanentIDs(for: [ada])
    let id = ada.objectID
    #expect(!id.isTemporaryID)
    #expect(!stack.context.hasChanges)
    #expect(child.registeredObject(for: id) === ada)
    #expect(child.object(with: id) === ada)
    #expect(child.registeredObject(for: temporary) === ada)
    #expect(stack.context.registeredObject(for: id) == nil)

    try child.save()
    #expect(ada.objectID == id)
    #expect(child.registeredObject(for: id) === ada)
    let above = try #require(stack.context.registeredObject(for: id))
    #expect(above["name"] as? String == "Ada")
    #expect(above.objectID == id)

    try stack.context.save()
    #expect(above.objectID == id)
    #expect(ada.objectID == id)
    let stored = try #require(try stack.reopened().first("Person", "Ada"))
    #expect(stored.objectID.reference == id.reference)
  }

  @Test("a grandchild's ID comes through both contexts above it")
  func grandchild() throws {
    let stack = try Stack()
    let child = ManagedObjectContext(parent: stack.context)
    let grandchild = ManagedObjectContext(parent: child)
    let ada = try grandchild.insertNewObject(forEntityName: "Person")
    try ada.setValue("Ada", forKey: "name")
    try grandchild.obtainPermanentIDs(for: [ada])
    let id = ada.objectID
    try grandchild.save()
    #expect(child.registeredObject(for: id)?.objectID == id)
    #expect(grandchild.registeredObject(for: id) === ada)
    try child.save()
    try stack.context.save()
    #expect(stack.context.registeredObject(for: id)?["name"] as? String == "Ada")
    #expect(child.registeredObject(for: id)?.objectID == id)
  }

  @Test("objects that the parent has, new ones and saved ones may be mixed, and no two get the same ID")
  func mixed() throws {
    let stack = try Stack()
    let saved = try stack.insert("Person", ["name": "Saved"])
    try stack.context.save()
    let pending = try stack.insert("Person", ["name": "Pending"])
    let child = ManagedObjectContext(parent: stack.context)
    let new = try (0..<3).map { index in
      let person = try child.insertNewObject(forEntityName: "Person")
      try person.setValue("New \(index)", forKey: "name")
      return person
    }
    let others = try [saved, pending].map { try child.existingObject(with: $0.objectID) }
    try child.obtainPermanentIDs(for: others + new)
    let later = try stack.insert("Person", ["name": "Later"])
    try stack.context.obtainPermanentIDs(for: [later])
    let ids = (others + new).map(\.objectID) + [later.objectID]
    #expect(ids.allSatisfy { !$0.isTemporaryID })
    #expect(Set(ids).count == 6)
    try child.save()
    try stack.context.save()
    #expect((others + new).map(\.objectID) + [later.objectID] == ids)
    #expect(try stack.reread("Person").count == 6)
  }

  @Test("an object whose insertion was undone has no ID by which it is found")
  func undone() throws {
    let stack = try Stack()
    let child = ManagedObjectContext(parent: stack.context)
    let ada = try child.insertNewObject(forEntityName: "Person")
    try child.obtainPermanentIDs(for: [ada])
    let id = ada.objectID
    child.rollback()
    #expect(child.registeredObject(for: id) == nil)
    #expect(ada.managedObjectContext == nil)
    #expect(throws: ManagedObjectError.self) { try child.existingObject(with: id) }
    try child.save()
    try stack.context.save()
    #expect(try stack.reread("Person").isEmpty)
  }
}
