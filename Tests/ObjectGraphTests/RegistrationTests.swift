import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import Testing

@Suite("Registration of objects") struct RegistrationTests {
  @Test("a new object with a permanent ID whose insertion is undone is no longer registered", arguments: [true, false])
  func undoneInsertion(_ byUndo: Bool) throws {
    let stack = try Stack("XML")
    let undo = UndoHistory()
    stack.context.undoManager = undo
    var ada: ManagedObject? = try stack.insert("Employee", ["name": "Ada"])
    try stack.context.obtainPermanentIDs(for: [try #require(ada)])
    stack.context.processPendingChanges()
    let id = try #require(ada).objectID
    if byUndo { stack.context.undo() } else { stack.context.delete(try #require(ada)) }
    stack.context.processPendingChanges()
    #expect(stack.context.registeredObject(for: id) == nil)
    #expect(stack.context.registeredObjects.isEmpty)
    // Brought back, it has the ID that it was given.
    if byUndo { stack.context.redo() } else { stack.context.undo() }
    #expect(try #require(ada).objectID == id)
    #expect(stack.context.registeredObject(for: id) === ada)
    if byUndo { stack.context.undo() } else { stack.context.redo() }
    undo.removeAllActions()
    weak let gone = ada
    ada = nil
    #expect(gone == nil)
    #expect(stack.context.registeredObject(for: id) == nil)
  }

  @Test(
    "a fault for a reference that a new object gets later is replaced by it", arguments: Stack.types, [true, false])
  func guessedReference(_ type: String, _ obtains: Bool) throws {
    let stack = try Stack(type)
    let id = ManagedObjectID(storeIdentifier: stack.store.identifier, entityName: "Employee", reference: .integer(1))
    let guess = stack.context.object(with: id)
    #expect(throws: ManagedObjectError.self) { try guess.value(forKey: "name") }
    let ada = try stack.insert("Employee", ["name": "Ada"])
    if obtains { try stack.context.obtainPermanentIDs(for: [ada]) }
    try stack.context.save()
    #expect(ada.objectID == id)
    #expect(stack.context.registeredObject(for: id) === ada)
    #expect(stack.context.object(with: id) === ada)
    #expect(guess.managedObjectContext == nil)
    #expect(guess.unavailableReason == .notInStore)
    #expect(try stack.fetch("Employee") == [ada])
  }

  @Test("objects whose insertion was undone are not retained by a context that retains registered objects")
  func retained() throws {
    let stack = try Stack("XML")
    let context = stack.context
    weak var gone: ManagedObject?
    do {
      let ada = try stack.insert("Employee", ["name": "Ada"])
      gone = ada
      context.retainsRegisteredObjects = true
      context.delete(ada)
      context.processPendingChanges()
    }
    #expect(gone == nil)
  }

  @Test("each store's entities are separate if stores have their own models")
  func models() throws {
    func model(_ name: String, _ attribute: String) throws -> ManagedObjectModel {
      try ManagedObjectModel(
        ModelDescription(entities: [
          EntityDescription(name: name, properties: [.attribute(attribute, .string)])
        ]))
    }
    let folder = try TestFolder()
    let coordinator = PersistentStoreCoordinator(registry: .builtIn)
    let one = try coordinator.addPersistentStore(type: "XML", at: folder.file("one.xml"), model: try model("One", "a"))
    let two = try coordinator.addPersistentStore(type: "XML", at: folder.file("two.xml"), model: try model("Two", "b"))
    let context = ManagedObjectContext(coordinator)
    let first = ManagedObject(entity: one.model.entity(at: 0), insertInto: context)
    let second = ManagedObject(entity: two.model.entity(at: 0), insertInto: context)
    try first.setValue("x", forKey: "a")
    try second.setValue("y", forKey: "b")
    try context.save()
    #expect(first.objectID.storeIdentifier == one.identifier)
    #expect(second.objectID.storeIdentifier == two.identifier)
    #expect(two.nodes.count(of: 0) == 1)
  }

  @Test("a store that is added again with a new instance of its model is fetched from again")
  func modelReadAgain() throws {
    let folder = try TestFolder()
    do {
      let stack = try Stack("XML", folder: folder)
      _ = try stack.insert("Employee", ["name": "Ada"])
      try stack.context.save()
    }
    let path = folder.file("store.xml")
    let coordinator = PersistentStoreCoordinator(registry: .builtIn)
    let store = try coordinator.addPersistentStore(at: path)
    let context = ManagedObjectContext(coordinator)
    let before = try #require(try context.fetch(FetchRequest<ManagedObject>(entityName: "Employee")).first)
    try coordinator.remove(store)
    try coordinator.addPersistentStore(at: path)
    let after = try context.fetch(FetchRequest<ManagedObject>(entityName: "Employee"))
    #expect(after.map { $0["name"] as? String } == ["Ada"])
    #expect(context.object(with: before.objectID)["name"] as? String == "Ada")
  }

  @Test(
    "objects deleted together are released when the undo history that could restore them is",
    arguments: ["trimmed", "emptied", "redo"])
  func cyclesInHistory(_ way: String) throws {
    let stack = try Stack("XML")
    let undo = UndoHistory()
    weak var one: ManagedObject?
    weak var two: ManagedObject?
    do {
      let a = try stack.insert("Employee", ["name": "A"])
      let b = try stack.insert("Employee", ["name": "B"])
      try a.setValue(b, forKey: "spouse")
      try stack.context.save()
      (one, two) = (a, b)
      stack.context.undoManager = undo
      stack.context.delete(a)
      stack.context.delete(b)
      try stack.context.save()
    }
    #expect(one != nil)
    switch way {
    case "trimmed":
      undo.levelsOfUndo = 1
      _ = try stack.insert("Employee")
      stack.context.processPendingChanges()
    case "redo":
      stack.context.undo()
      stack.context.redo()
      undo.removeAllActions()
    default: undo.removeAllActions()
    }
    #expect(one == nil)
    #expect(two == nil)
  }
}
