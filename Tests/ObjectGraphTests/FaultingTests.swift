import AtomicStoreKit
import AtomicStoreSPI
import Foundation
import Testing

@Suite("Faulting and uniquing") struct FaultingTests {
  /// Two employees of one department, seen by a context that has fetched nothing yet.
  private func marketing(_ type: String = "BinaryPropertyList") throws -> (
    Stack, ManagedObjectContext, [ManagedObjectID]
  ) {
    let stack = try Stack(type)
    let department = try stack.insert("Department", ["name": "Marketing"])
    let boss = try stack.insert("Manager", ["name": "Boss"])
    let people = try ["A", "B"].map { try stack.insert("Employee", ["name": $0, "department": department]) }
    for person in people { try person.add(boss, to: "managers") }
    try stack.context.save()
    return (stack, ManagedObjectContext(stack.coordinator), people.map(\.objectID))
  }

  @Test("a single object has faults for its relationships, and brings nothing else into memory", arguments: Stack.types)
  func relationshipsAreFaults(_ type: String) throws {
    let (stack, context, ids) = try marketing(type)
    let employee = context.object(with: ids[0])
    #expect(employee.isFault)
    #expect(employee["name"] as? String == "A")
    #expect(!employee.isFault)
    #expect(
      employee.hasFault(forRelationshipNamed: "department") && employee.hasFault(forRelationshipNamed: "managers"))
    #expect(context.registeredObjects == [employee])
    let department = try #require(employee["department"] as? ManagedObject)
    #expect(department.isFault)
    #expect(department.entity.name == "Department")
    #expect(department["name"] as? String == "Marketing")
    #expect(!department.isFault)
    #expect(stack.store.isOpen)
  }

  @Test(
    "a fault fires on access to a persistent property",
    arguments: ["name", "age", "mood", "department", "cousins", "tasks"])
  func fires(_ key: String) throws {
    let (stack, context, ids) = try marketing()
    let employee = context.object(with: ids[0])
    _ = try employee.value(forKey: key)
    #expect(!employee.isFault)
    #expect(!context.hasChanges)
    #expect(stack.store.isOpen)
  }

  @Test("an operation that needs no values fires no fault")
  func doesNotFire() throws {
    let (stack, context, ids) = try marketing()
    let employee = context.object(with: ids[0])
    _ = (
      employee.objectID, employee.entity, employee.description, employee.hashValue, employee.isUpdated,
      employee.hasChanges
    )
    #expect(try employee.primitiveValue(forKey: "name") == nil)
    #expect(employee.description.contains("not loaded"))
    #expect(employee.isFault)
    #expect(stack.store.isOpen)
  }

  @Test("the departments of two employees are the same object: uniquing")
  func uniquing() throws {
    let (stack, context, ids) = try marketing()
    let employees = try ids.map { try context.existingObject(with: $0) }
    let departments = employees.compactMap { $0["department"] as? ManagedObject }
    #expect(departments.count == 2)
    #expect(departments[0] === departments[1])
    let fetched = try context.fetch(FetchRequest<ManagedObject>(entityName: "Department"))
    #expect(fetched.count == 1 && fetched[0] === departments[0])
    #expect(context.object(with: departments[0].objectID) === departments[0])
    #expect(context.registeredObject(for: departments[0].objectID) === departments[0])
    // In another context it is another object of the same ID.
    let other = try #require(try stack.first("Department", "Marketing"))
    #expect(other !== departments[0])
    #expect(other.objectID == departments[0].objectID)
  }

  @Test("an ID that names a super-entity gives the actual object")
  func superEntityID() throws {
    let (stack, context, ids) = try marketing()
    let asPerson = ManagedObjectID(
      storeIdentifier: stack.store.identifier, entityName: "Person", reference: try #require(ids[0].reference))
    let object = try context.existingObject(with: asPerson)
    #expect(object.entity.name == "Employee")
    #expect(object === context.object(with: ids[0]))
  }

  @Test("a context cannot be relied on to keep an object without changes")
  func weakRegistration() throws {
    let (stack, context, ids) = try marketing()
    do {
      let employee = try context.existingObject(with: ids[0])
      #expect(context.registeredObject(for: ids[0]) === employee)
    }
    #expect(context.registeredObject(for: ids[0]) == nil)
    #expect(context.registeredObjects.isEmpty)
    #expect(stack.store.isOpen)
  }

  @Test(
    "a context keeps changed objects until the save, a rollback or a reset", arguments: ["insert", "update", "delete"],
    ["save", "rollback", "reset"])
  func keepsChanged(_ change: String, _ end: String) throws {
    let (stack, context, ids) = try marketing()
    weak var changed: ManagedObject?
    do {
      let object =
        change == "insert"
        ? try context.insertNewObject(forEntityName: "Task") : try context.existingObject(with: ids[0])
      if change == "update" { try object.setValue(40, forKey: "age") }
      if change == "delete" { context.delete(object) }
      changed = object
    }
    #expect(changed != nil)
    context.processPendingChanges()
    #expect(changed != nil)
    switch end {
    case "save": try context.save()
    case "rollback": context.rollback()
    default: context.reset()
    }
    #expect(changed == nil)
    #expect(!context.hasChanges)
    #expect(stack.store.isOpen)
  }

  @Test("a context keeps changed objects alive only while it lives itself")
  func endOfContext() throws {
    let (stack, context, ids) = try marketing()
    weak var changed: ManagedObject?
    var held: [ManagedObject] = []
    do {
      let temporary = ManagedObjectContext(stack.coordinator)
      let one = try temporary.existingObject(with: ids[0])
      try one.setValue(1, forKey: "age")
      changed = one
      held = [try temporary.existingObject(with: ids[1]), try temporary.insertNewObject(forEntityName: "Task")]
      try held[0].setValue(2, forKey: "age")
    }
    #expect(changed == nil)
    #expect(held.allSatisfy { $0.unavailableReason == .contextGone && $0.managedObjectContext == nil && $0.isFault })
    #expect(held[0].objectID == ids[1])
    #expect(try context.existingObject(with: ids[1])["age"] == nil)
  }

  @Test("the undo stack keeps changed objects after a save as well")
  func undoKeeps() throws {
    let (stack, context, ids) = try marketing()
    let undo = UndoHistory()
    context.undoManager = undo
    weak var changed: ManagedObject?
    do {
      let employee = try context.existingObject(with: ids[0])
      try employee.setValue(40, forKey: "age")
      changed = employee
    }
    try context.save()
    #expect(changed != nil)
    undo.removeAllActions()
    #expect(changed == nil)
    #expect(stack.store.isOpen)
  }

  @Test("undoing the change releases the object")
  func undoLetsGo() throws {
    let (stack, context, ids) = try marketing()
    let undo = UndoHistory()
    context.undoManager = undo
    let employee = try context.existingObject(with: ids[0])
    try employee.setValue(40, forKey: "age")
    context.undo()
    #expect(!context.hasChanges)
    #expect(!employee.hasChanges)
    #expect(employee["age"] == nil)
    #expect(stack.store.isOpen)
  }

  @Test("a context that retains registered objects also keeps those without changes, until the setting is reset")
  func retains() throws {
    let (stack, context, ids) = try marketing()
    context.retainsRegisteredObjects = true
    _ = try context.existingObject(with: ids[0])["department"]
    #expect(context.registeredObjects.count == 2)
    context.retainsRegisteredObjects = false
    #expect(context.registeredObjects.isEmpty)
    let kept = try context.existingObject(with: ids[1])
    context.retainsRegisteredObjects = true
    #expect(context.registeredObjects == [kept])
    #expect(stack.store.isOpen)
  }
}
