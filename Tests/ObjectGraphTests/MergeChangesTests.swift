import AtomicStoreKit
import AtomicStoreSPI
import Foundation
import Testing

@Suite("Merging the changes of another context, and streams of them") struct MergeChangesTests {
  /// Two contexts on one coordinator: here, and what someone else does there.
  private struct Two {
    let stack: Stack
    let there: ManagedObjectContext
    var here: ManagedObjectContext { stack.context }
    private let saves: Saves

    final class Saves { var last = ObjectIDChanges() }
    private let observation: Observation

    init() throws {
      let stack = try Stack()
      let there = ManagedObjectContext(stack.coordinator)
      let saves = Saves()
      observation = there.observe { if case .didSave(let changes) = $0 { saves.last = changes.ids } }
      self.stack = stack
      self.there = there
      self.saves = saves
    }

    func saveThere() throws -> ObjectIDChanges {
      try there.save()
      return saves.last
    }
  }

  @Test("updated objects get the newer values, changes made here are kept over them")
  func updated() throws {
    let two = try Two()
    let ada = try two.stack.insert("Person", ["name": "Ada", "age": 1])
    try two.here.save()
    let theirs = try two.there.existingObject(with: ada.objectID)
    theirs["age"] = 2
    theirs["name"] = "Theirs"
    try ada.setValue("Mine", forKey: "name")
    let changes = try two.saveThere()
    #expect(changes.updated == [ada.objectID])
    #expect(ada["age"] as? Int == 1)
    var refreshed: [ManagedObject] = []
    let observation = two.here.observe {
      if case .objectsDidChange(let changes) = $0 { refreshed += changes.refreshed }
    }
    two.here.mergeChanges(fromDidSave: changes)
    #expect(ada["age"] as? Int == 2)
    #expect(ada["name"] as? String == "Mine")
    #expect(refreshed == [ada])
    // The newer version is taken over knowingly: what was changed here is saved over it, without a conflict.
    try two.here.save()
    #expect(try two.stack.storedNodes().count == 1)
    observation.cancel()
  }

  @Test("new objects and their relationships are seen from both ends")
  func inserted() throws {
    let two = try Two()
    let sales = try two.stack.insert("Department", ["name": "Sales"])
    try two.here.save()
    #expect(try names(sales, "employees") == [])
    let bob = try two.there.insertNewObject(forEntityName: "Employee")
    bob["name"] = "Bob"
    bob["department"] = try two.there.existingObject(with: sales.objectID)
    let changes = try two.saveThere()
    #expect(changes.inserted == [bob.objectID])
    #expect(changes.updated == [sales.objectID])
    two.here.mergeChanges(fromDidSave: changes)
    #expect(try names(sales, "employees") == ["Bob"])
    let mine = try two.here.existingObject(with: bob.objectID)
    #expect(mine["department"] as? ManagedObject === sales)
    #expect(!two.here.hasChanges)
  }

  @Test("objects deleted there are deleted here, and relationships to them are updated", arguments: [true, false])
  func deleted(_ isFault: Bool) throws {
    let two = try Two()
    let sales = try two.stack.insert("Department", ["name": "Sales"])
    let ada = try two.stack.insert("Employee", ["name": "Ada", "department": sales])
    try two.here.save()
    if isFault { two.here.refresh(sales, mergeChanges: false) }
    two.there.delete(try two.there.existingObject(with: sales.objectID))
    let changes = try two.saveThere()
    #expect(changes.deleted == [sales.objectID])
    two.here.mergeChanges(fromDidSave: changes)
    #expect(ada["department"] == nil)
    #expect(sales.isDeleted || graphError { _ = try sales.value(forKey: "name") }?.reason == .notInStore)
    #expect(try two.stack.fetch("Department").isEmpty)
    try two.here.save()
    #expect(!two.here.hasChanges)
    #expect(try two.stack.storedNodes().count == 1)
  }

  @Test("a context without the changed objects merges them without creating any")
  func unknown() throws {
    let two = try Two()
    let ada = try two.there.insertNewObject(forEntityName: "Person")
    try two.there.save()
    ada["age"] = 2
    let update = try two.saveThere()
    two.here.mergeChanges(fromDidSave: update)
    #expect(two.here.registeredObjects.isEmpty)
    two.there.delete(ada)
    let deletion = try two.saveThere()
    ManagedObjectContext.mergeChanges(fromDidSave: deletion, into: [two.here, two.there])
    #expect(two.here.registeredObjects.isEmpty && !two.here.hasChanges && !two.there.hasChanges)
  }

  @Test("changes to the two ends of a relationship, one made here and one there, become consistent")
  func bothEnds() throws {
    let two = try Two()
    let sales = try two.stack.insert("Department", ["name": "Sales"])
    let people = try ["A", "B", "C"].map { try two.stack.insert("Person", ["name": $0, "department": sales]) }
    try two.here.save()
    try two.there.existingObject(with: people[0].objectID).setValue(nil, forKey: "department")
    try people[1].setValue(nil, forKey: "department")
    let new = try two.stack.insert("Person", ["name": "D", "department": sales])
    two.here.mergeChanges(fromDidSave: try two.saveThere())
    #expect(try sorted(sales, "employees") == ["C", "D"])
    #expect(people[0]["department"] == nil)
    #expect(new["department"] as? ManagedObject === sales)
    try two.here.save()
    let other = try two.stack.reopened()
    #expect(try sorted(try #require(try other.first("Department", "Sales")), "employees") == ["C", "D"])
  }

  @Test("observers are notified of new objects as inserted, of changed ones as refreshed")
  func reported() throws {
    let two = try Two()
    let sales = try two.stack.insert("Department", ["name": "Sales"])
    let ada = try two.stack.insert("Person", ["name": "Ada"])
    try two.here.save()
    let bob = try two.there.insertNewObject(forEntityName: "Person")
    bob["department"] = try two.there.existingObject(with: sales.objectID)
    try two.there.existingObject(with: ada.objectID).setValue(1, forKey: "age")
    let changes = try two.saveThere()
    var told: [ObjectIDChanges] = []
    let observation = two.here.observe { if case .objectsDidChange(let changes) = $0 { told.append(changes.ids) } }
    two.here.mergeChanges(fromDidSave: changes)
    observation.cancel()
    #expect(told.map(\.inserted) == [[bob.objectID]])
    #expect(told.map { Set($0.refreshed) } == [[sales.objectID, ada.objectID]])
    #expect(told.flatMap(\.updated).isEmpty)
    #expect(!two.here.hasChanges)
  }

  @Test("after a merge no relationship leads to an object that is deleted here", arguments: [true, false])
  func deletedHere(_ isFault: Bool) throws {
    let two = try Two()
    let ada = try two.stack.insert("Person", ["name": "Ada"])
    let sales = try two.stack.insert("Department", ["name": "Sales"])
    let task = try two.stack.insert("Task", ["title": "t"])
    try two.here.save()
    two.here.delete(ada)
    two.here.processPendingChanges()
    if isFault { two.here.refresh(ada, mergeChanges: false) }
    let theirs = try two.there.existingObject(with: ada.objectID)
    theirs["department"] = try two.there.existingObject(with: sales.objectID)
    try theirs.add(try two.there.existingObject(with: task.objectID), to: "tasks")
    two.here.mergeChanges(fromDidSave: try two.saveThere())
    #expect(try names(sales, "employees") == [])
    #expect(try names(task, "people") == [])
    try two.here.save()
    #expect(try two.stack.reread("Person").isEmpty)
  }

  @Test("an object deleted here releases what was added to it before, when it also changed there")
  func deletedBesideChange() throws {
    let two = try Two()
    let sales = try two.stack.insert("Department", ["name": "Sales"])
    let ada = try two.stack.insert("Employee", ["name": "Ada"])
    let bob = try two.stack.insert("Employee", ["name": "Bob"])
    try two.here.save()
    try two.there.existingObject(with: bob.objectID)
      .setValue(try two.there.existingObject(with: sales.objectID), forKey: "department")
    ada["department"] = sales
    two.here.delete(sales)
    two.here.mergeChanges(fromDidSave: try two.saveThere())
    #expect(sales.isDeleted)
    #expect(ada["department"] == nil)
    #expect(bob["department"] == nil)
    two.here.mergePolicy = .overwrite
    try two.here.save()
    let file = try two.stack.reopened()
    #expect(try file.fetch("Department").isEmpty)
    #expect(try file.fetch("Employee").allSatisfy { $0["department"] == nil })
  }

  @Test("an object that goes by Cascade with one deleted here is released by the object that it was given to there")
  func cascadeBesideMove() throws {
    let two = try Two()
    let sales = try two.stack.insert("Department", ["name": "Sales"])
    let dev = try two.stack.insert("Department", ["name": "Dev"])
    let room = try two.stack.insert("Room", ["number": 1])
    try two.here.save()
    try two.there.existingObject(with: room.objectID)
      .setValue(try two.there.existingObject(with: dev.objectID), forKey: "department")
    room["department"] = sales
    two.here.delete(sales)
    dev["floor"] = 3
    two.here.mergeChanges(fromDidSave: try two.saveThere())
    #expect(room.isDeleted)
    #expect(try dev.objects(forRelationshipNamed: "rooms").isEmpty)
    two.here.mergePolicy = .overwrite
    try two.here.save()
    let file = try two.stack.reopened()
    #expect(try file.fetch("Room").isEmpty)
    #expect(try file.fetch("Department").map { $0["floor"] as? Int } == [3])
  }

  @Test("an object that was deleted and restored before the deletion is merged is kept", arguments: [true, false])
  func returned(_ isFault: Bool) throws {
    let two = try Two()
    let ada = try two.stack.insert("Person", ["name": "Ada", "age": 1])
    try two.here.save()
    if isFault { two.here.refresh(ada, mergeChanges: false) }
    let third = ManagedObjectContext(two.stack.coordinator)
    third.mergePolicy = .overwrite
    try third.existingObject(with: ada.objectID).setValue(2, forKey: "age")
    two.there.delete(try two.there.existingObject(with: ada.objectID))
    let deletion = try two.saveThere()
    var saved = ObjectIDChanges()
    let observation = third.observe { if case .didSave(let changes) = $0 { saved = changes.ids } }
    try third.save()
    observation.cancel()
    two.here.mergeChanges(fromDidSave: deletion)
    two.here.mergeChanges(fromDidSave: saved)
    #expect(!ada.isDeleted)
    #expect(ada["age"] as? Int == 2)
    #expect(!two.here.hasChanges)
    let file = try two.stack.reopened()
    #expect(try file.fetch("Person").count == 1)
  }

  @Test("an object that another process deleted is deleted here once its save is merged")
  func deletedByOtherProcess() throws {
    let stack = try Stack()
    let ada = try stack.insert("Person", ["name": "Ada"])
    try stack.context.save()
    let other = try stack.reopened()
    other.context.delete(try other.context.existingObject(with: ada.objectID))
    try other.context.save()
    stack.context.mergeChanges(fromDidSave: ObjectIDChanges(deleted: [ada.objectID]))
    #expect(try stack.fetch("Person").isEmpty)
    try stack.context.save()
    #expect(try stack.reopened().fetch("Person").isEmpty)
  }

  @Test("unknown IDs are ignored", arguments: ["updated", "deleted", "inserted"])
  func unrelated(_ kind: String) throws {
    let two = try Two()
    let ids = [
      ManagedObjectID(storeIdentifier: UUID(), entityName: "Person", reference: .integer(1)),
      ManagedObjectID(storeIdentifier: two.stack.store.identifier, entityName: "Unknown", reference: .integer(1)),
      ManagedObjectID(storeIdentifier: two.stack.store.identifier, entityName: "Person", reference: .string("x")),
    ]
    switch kind {
    case "updated": two.here.mergeChanges(fromDidSave: ObjectIDChanges(updated: ids))
    case "deleted": two.here.mergeChanges(fromDidSave: ObjectIDChanges(deleted: ids))
    default: two.here.mergeChanges(fromDidSave: ObjectIDChanges(inserted: ids))
    }
    #expect(!two.here.hasChanges)
    #expect(try two.stack.fetch("Person").isEmpty)
  }

  @Test("a stream of saves gives each save's IDs, in order, and ends with its context")
  func saves() async throws {
    let (stream, expected) = try {
      let stack = try Stack()
      let stream = stack.context.saves()
      let ada = try stack.insert("Person", ["name": "Ada"])
      try stack.context.save()
      let id = ada.objectID
      ada["age"] = 1
      stack.context.processPendingChanges()
      try stack.context.save()
      stack.context.delete(ada)
      try stack.context.save()
      return (
        stream, [ObjectIDChanges(inserted: [id]), ObjectIDChanges(updated: [id]), ObjectIDChanges(deleted: [id])]
      )
    }()
    var received: [ObjectIDChanges] = []
    for await changes in stream { received.append(changes) }
    #expect(received == expected)
  }

  @Test("a stream of changes contains what observers receive, by ID")
  func changes() async throws {
    let (stream, ids) = try {
      let stack = try Stack()
      let stream = stack.context.objectIDChanges()
      let ada = try stack.insert("Person", ["name": "Ada"])
      let temporary = ada.objectID
      try stack.context.save()
      stack.context.refresh(ada, mergeChanges: false)
      stack.context.processPendingChanges()
      stack.context.reset()
      return (stream, (temporary, ada.objectID))
    }()
    var received: [ObjectIDChanges] = []
    for await changes in stream { received.append(changes) }
    #expect(
      received == [
        ObjectIDChanges(inserted: [ids.0]), ObjectIDChanges(refreshed: [ids.1]),
        ObjectIDChanges(invalidated: [ids.1], isAllInvalidated: true),
      ])
  }

  @Test("a context elsewhere can follow with the stream alone: IDs and changes cross isolation, objects do not")
  func acrossIsolation() async throws {
    let folder = try TestFolder()
    let coordinator = try Stack(folder: folder).coordinator
    let stream = try {
      let context = ManagedObjectContext(coordinator)
      let stream = context.saves()
      for index in 0..<5 {
        try context.insertNewObject(forEntityName: "Task").setValue("t\(index)", forKey: "title")
        try context.save()
      }
      return stream
    }()
    let count = try await Task.detached {
      let context = ManagedObjectContext(coordinator)
      for await changes in stream { context.mergeChanges(fromDidSave: changes) }
      return try context.count(for: FetchRequest<ManagedObject>(entityName: "Task"))
    }.value
    #expect(count == 5)
  }
}
