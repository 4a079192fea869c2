import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import Testing

@Suite("Unavailable objects give the reason") struct UnavailableObjectTests {
  final class Employee: ManagedObject {
    @Managed("name") var name: String
    @Managed("age") var age: Int
    @Managed("salary") var salary: Double?
    @Managed("department") var department: ManagedObject?
    @Managed("cousins") var cousins: Set<ManagedObject>
    @Managed("tasks") var tasks: [ManagedObject]
  }

  /// An object that is gone for a reason, and what keeps its surroundings alive.
  private struct Gone {
    let stack: Stack
    let context: ManagedObjectContext?
    let object: Employee
    let id: ManagedObjectID

    init(_ reason: ManagedObjectError.UnavailableReason) throws {
      stack = try Stack(classes: ["Employee": Employee.self])
      let saved = Employee(context: stack.context)
      saved.name = "Ada"
      saved.tasks = [try stack.insert("Task")]
      try stack.context.save()
      var context: ManagedObjectContext? = ManagedObjectContext(stack.coordinator)
      let made: ManagedObject?
      switch reason {
      case .deletedHere:
        made = try context?.existingObject(with: saved.objectID)
        if let made { context?.delete(made) }
        try context?.save()
      case .notInStore:
        let id = ManagedObjectID(
          storeIdentifier: stack.store.identifier, entityName: "Employee", reference: .integer(99))
        made = context?.object(with: id)
      case .storeRemoved:
        made = context?.object(with: saved.objectID)
        try stack.coordinator.remove(stack.store)
      case .merged:
        // It takes a uniqueness constraint: see UniquenessMergeTests.
        made = nil
      case .neverSaved:
        made = try context?.insertNewObject(forEntityName: "Employee")
        context?.rollback()
      case .contextReset:
        made = try context?.existingObject(with: saved.objectID)
        context?.reset()
      case .contextGone:
        made = try context?.existingObject(with: saved.objectID)
        context = nil
      }
      self.context = context
      object = try #require(made as? Employee)
      id =
        reason == .deletedHere || reason == .storeRemoved || reason == .contextReset || reason == .contextGone
        ? saved.objectID : object.objectID
    }
  }

  static let reasons: [(ManagedObjectError.UnavailableReason, String)] = [
    (.deletedHere, "Employee/1 was deleted"), (.notInStore, "Employee/99 is not in its store"),
    (.storeRemoved, "Employee/1 is in a store that is not open"),
    (.neverSaved, "Employee/new was never saved; its insertion was undone"),
    (.contextReset, "Employee/1 belongs to a context that was reset"),
    (.contextGone, "Employee/1 was used after its context was released"),
  ]

  @Test("access by key throws an error with the object and the reason", arguments: reasons)
  func throwing(_ reason: ManagedObjectError.UnavailableReason, _ message: String) throws {
    let gone = try Gone(reason)
    for attempt in [
      { _ = try gone.object.value(forKey: "name") }, { _ = try gone.object.value(forKeyPath: "department.name") },
      { _ = try gone.object.objects(forRelationshipNamed: "tasks") },
      { try gone.object.setValue("Bob", forKey: "name") },
      { try gone.object.setPrimitiveValue("Bob", forKey: "name") },
      { _ = try gone.object.count(forRelationshipNamed: "tasks") },
    ] {
      let error = try #require(graphError(attempt))
      #expect(error.code == .managedObjectReferentialIntegrity)
      #expect(error.reason == reason)
      #expect(error.message == message)
      #expect(error.objectID == gone.id)
      #expect(error.entityName == "Employee")
    }
  }

  @Test("property access returns a default value and records the error, and never traps", arguments: reasons)
  func tombstone(_ reason: ManagedObjectError.UnavailableReason, _ message: String) throws {
    let gone = try Gone(reason)
    let object = gone.object
    #expect(object.name == "" && object.age == 0 && object.salary == nil && object.department == nil)
    #expect(object.cousins.isEmpty && object.tasks.isEmpty)
    #expect(object["name"] == nil)
    let error = try #require(object.accessError)
    #expect(error.reason == reason && error.message == message)
    object.name = "Bob"
    object.tasks = []
    object.department = object
    #expect(object.name == "")
    #expect(object.isFault)
    #expect(!object.hasChanges && !object.isInserted && !object.isDeleted)
    #expect(object.description.contains("Employee"))
    #expect(object.objectID == gone.id)
  }

  @Test(
    "every operation of a context on an unavailable object has no effect, and the context stays consistent",
    arguments: reasons
  )
  func contextOperations(_ reason: ManagedObjectError.UnavailableReason, _ message: String) throws {
    let gone = try Gone(reason)
    let context = gone.context ?? ManagedObjectContext(gone.stack.coordinator)
    context.delete(gone.object)
    context.insert(gone.object)
    context.refresh(gone.object, mergeChanges: true)
    context.refresh(gone.object, mergeChanges: false)
    try context.obtainPermanentIDs(for: [gone.object])
    _ = context.deletionPlan(for: gone.object)
    #expect(!context.hasChanges)
    #expect(graphError { _ = try gone.object.value(forKey: "name") }?.reason == reason)
    try context.save()
    if reason != .storeRemoved {
      let bob = try context.insertNewObject(forEntityName: "Employee")
      #expect(graphError { try bob.setValue(gone.object, forKey: "spouse") } != nil)
      #expect(graphError { try bob.add(gone.object, to: "cousins") } != nil)
      #expect(bob["spouse"] == nil)
      try context.save()
    }
  }

  @Test("object(with:) always gives an object, existingObject(with:) only one that is there")
  func existing() throws {
    let stack = try Stack()
    let ada = try stack.insert("Person", ["name": "Ada"])
    let temporary = ada.objectID
    #expect(try stack.context.existingObject(with: temporary) === ada)
    try stack.context.save()
    #expect(try stack.context.existingObject(with: ada.objectID) === ada)
    // The ID of before the save is still understood here, and means nothing elsewhere.
    #expect(stack.context.object(with: temporary) === ada)
    let other = ManagedObjectContext(stack.coordinator)
    #expect(graphError { _ = try other.existingObject(with: temporary) }?.reason == .neverSaved)
    #expect(other.object(with: temporary).objectID == temporary)
    #expect(!(try other.existingObject(with: ada.objectID)).isFault)

    let strange = ManagedObjectID(storeIdentifier: UUID(), entityName: "Person", reference: .integer(1))
    #expect(graphError { _ = try other.existingObject(with: strange) }?.reason == .storeRemoved)
    #expect(other.object(with: strange).objectID == strange)
    let unknown = ManagedObjectID(
      storeIdentifier: stack.store.identifier, entityName: "Unknown", reference: .string("x"))
    let error = graphError { _ = try other.existingObject(with: unknown) }
    #expect(error?.reason == .notInStore)
    #expect(error?.message == "Unknown/x is not in its store")
    #expect(other.object(with: unknown).objectID == unknown)
    stack.context.delete(ada)
    #expect(graphError { _ = try stack.context.existingObject(with: ada.objectID) }?.reason == .deletedHere)
  }

  @Test("an object that another context deleted reports it once its fault fires, and how it was reached")
  func deletedElsewhere() throws {
    let stack = try Stack()
    let room = try stack.insert("Room", ["number": 7])
    _ = try stack.insert("Visitor", ["name": "V", "room": room])
    try stack.context.save()
    let other = ManagedObjectContext(stack.coordinator)
    let visitor = try #require(try other.fetch(FetchRequest<ManagedObject>(entityName: "Visitor")).first)
    let fault = try #require(visitor["room"] as? ManagedObject)
    stack.context.delete(room)
    try stack.context.save()
    let error = try #require(graphError { _ = try fault.value(forKey: "number") })
    #expect(error.reason == .notInStore)
    #expect(error.objectID == fault.objectID)
    #expect(fault["number"] == nil)
    #expect(other.accessErrors.map(\.reason) == [.notInStore])
    other.discardAccessErrors()
    #expect(other.accessErrors.isEmpty)
  }

  @Test("an object whose values were fetched keeps them when its store is removed, but cannot be saved")
  func storeRemovedUnderChanges() throws {
    let stack = try Stack()
    let ada = try stack.insert("Person", ["name": "Ada"])
    try stack.context.save()
    try ada.setValue("Bob", forKey: "name")
    try stack.coordinator.remove(stack.store)
    #expect(ada["name"] as? String == "Bob")
    let error = try #require(graphError { try stack.context.save() })
    #expect(error.code == .persistentStoreSave)
    #expect((error.underlying as? PersistentStoreError)?.code == .storeNotAdded)
    #expect(stack.context.updatedObjects == [ada])
    stack.context.refresh(ada, mergeChanges: false)
    #expect(graphError { _ = try ada.value(forKey: "name") }?.reason == .storeRemoved)
  }
}
