import AtomicStoreKit
import AtomicStoreSPI
import Foundation
import Testing

@Suite("Change notifications") struct NoticeTests {
  /// What observers received, in words.
  private final class Record {
    var changes: [ObjectChanges] = []
    var events: [String] = []
    var observation: Observation?

    init(_ context: ManagedObjectContext) {
      observation = context.observe { [unowned self] event in
        switch event {
        case .objectsDidChange(let changes):
          events.append("changed")
          self.changes.append(changes)
        case .willSave: events.append("willSave")
        case .didSave(let changes):
          events.append("didSave")
          self.changes.append(changes)
        }
      }
    }
    func take() -> ObjectChanges? {
      defer { changes = [] }
      return changes.count == 1 ? changes[0] : nil
    }
  }

  @Test("changes are reported once, when pending changes are processed: an object inserted and changed was inserted")
  func inserted() throws {
    let stack = try Stack()
    let record = Record(stack.context)
    let ada = try stack.insert("Person", ["name": "Ada"])
    let bob = try stack.insert("Person", ["name": "Bob"])
    try ada.setValue(bob, forKey: "spouse")
    #expect(record.changes.isEmpty)
    stack.context.processPendingChanges()
    let changes = try #require(record.take())
    #expect(changes.inserted == [ada, bob])
    #expect(changes.updated.isEmpty && changes.deleted.isEmpty && changes.refreshed.isEmpty)
    stack.context.processPendingChanges()
    #expect(record.events == ["changed"])
  }

  @Test("both ends of a relationship are reported, and what a deletion cascades to")
  func updatedAndDeleted() throws {
    let stack = try Stack()
    let sales = try stack.insert("Department", ["name": "Sales"])
    let room = try stack.insert("Room", ["department": sales])
    let ada = try stack.insert("Person", ["name": "Ada"])
    try stack.context.save()
    let record = Record(stack.context)
    try ada.setValue(sales, forKey: "department")
    stack.context.processPendingChanges()
    #expect(Set(try #require(record.take()).updated) == [ada, sales])
    stack.context.delete(sales)
    stack.context.processPendingChanges()
    let changes = try #require(record.take())
    #expect(changes.deleted == [sales, room])
    #expect(changes.updated == [ada])
  }

  @Test("an object inserted and deleted between two notifications is not reported")
  func insertedAndDeleted() throws {
    let stack = try Stack()
    let record = Record(stack.context)
    stack.context.delete(try stack.insert("Person"))
    stack.context.processPendingChanges()
    #expect(record.events.isEmpty)
  }

  @Test("a save is reported before and after, with what it wrote; the deleted objects' IDs are those they had")
  func saving() throws {
    let stack = try Stack()
    let ada = try stack.insert("Person", ["name": "Ada"])
    let bob = try stack.insert("Person", ["name": "Bob"])
    try stack.context.save()
    let record = Record(stack.context)
    let ids = (ada.objectID, bob.objectID)
    let task = try stack.insert("Task", ["title": "t"])
    try ada.setValue(3, forKey: "age")
    stack.context.delete(bob)
    try stack.context.save()
    #expect(record.events == ["changed", "willSave", "didSave"])
    let saved = try #require(record.changes.last)
    #expect(saved.inserted == [task] && saved.updated == [ada] && saved.deleted == [bob])
    #expect(saved.ids == ObjectIDChanges(inserted: [task.objectID], updated: [ids.0], deleted: [ids.1]))
    #expect(!task.objectID.isTemporaryID)
  }

  @Test("a save that fails is reported only as begun, one without changes as an empty one")
  func failedSave() throws {
    let stack = try Stack()
    let sales = try stack.insert("Department")
    _ = try stack.insert("Contract", ["department": sales])
    try stack.context.save()
    let record = Record(stack.context)
    try stack.context.save()
    #expect(record.events == ["willSave", "didSave"])
    #expect(record.changes.allSatisfy { $0.isEmpty })
    stack.context.delete(sales)
    #expect(graphError { try stack.context.save() } != nil)
    #expect(record.events == ["willSave", "didSave", "changed", "willSave"])
  }

  @Test("refreshed, invalidated and reset objects are reported")
  func refreshed() throws {
    let stack = try Stack()
    let ada = try stack.insert("Person", ["name": "Ada"])
    try stack.context.save()
    let record = Record(stack.context)
    stack.context.refresh(ada, mergeChanges: true)
    stack.context.processPendingChanges()
    #expect(try #require(record.take()).refreshed == [ada])
    try ada.setValue(1, forKey: "age")
    let new = try stack.insert("Task")
    stack.context.rollback()
    let changes = try #require(record.take())
    #expect(changes.refreshed == [ada] && changes.invalidated == [new])
    #expect(changes.updated.isEmpty && changes.inserted.isEmpty)
    let unsaved = try stack.insert("Task")
    stack.context.processPendingChanges()
    _ = record.take()
    let ids = [ada.objectID, unsaved.objectID]
    stack.context.reset()
    let reset = try #require(record.take())
    #expect(reset.isAllInvalidated && Set(reset.ids.invalidated) == Set(ids) && reset.invalidated.count == 2)
  }

  @Test("an observer's own changes are reported in another round; it may not save, but defer a save")
  func changesInObserver() throws {
    let stack = try Stack()
    let ada = try stack.insert("Person", ["name": "Ada"])
    try stack.context.save()
    var rounds: [[ManagedObject]] = []
    var refused: ManagedObjectError?
    let context = stack.context
    let observation = context.observe { event in
      guard case .objectsDidChange(let changes) = event else { return }
      rounds.append(changes.updated)
      if rounds.count == 1 {
        ada["age"] = 9
        refused = graphError { try context.save() }
        context.perform { try? context.save() }
      }
    }
    try ada.setValue("Bob", forKey: "name")
    context.processPendingChanges()
    #expect(rounds == [[ada], [ada]])
    #expect(refused?.code == .persistentStoreOperation)
    #expect(!context.hasChanges)
    let other = try stack.reopened()
    #expect(try other.first("Person", "Bob")?["age"] as? Int == 9)
    observation.cancel()
  }

  @Test("save() inside any notification throws", arguments: ["changed", "willSave", "didSave"])
  func saveInNotice(_ which: String) throws {
    let stack = try Stack()
    let context = stack.context
    var errors: [ManagedObjectError?] = []
    let observation = context.observe { event in
      let name =
        switch event {
        case .objectsDidChange: "changed"
        case .willSave: "willSave"
        case .didSave: "didSave"
        }
      if name == which { errors.append(graphError { try context.save() }) }
    }
    _ = try stack.insert("Person")
    try context.save()
    #expect(errors.map(\.?.code) == [.persistentStoreOperation])
    observation.cancel()
  }

  @Test(
    "observers that keep making changes are stopped after a hundred rounds, which is recorded; a save fails for it")
  func endlessObserver() throws {
    let stack = try Stack()
    let ada = try stack.insert("Person", ["name": "Ada"])
    var rounds = 0
    let observation = stack.context.observe { event in
      guard case .objectsDidChange = event else { return }
      rounds += 1
      ada["age"] = rounds
    }
    stack.context.processPendingChanges()
    #expect(rounds == 100)
    #expect(stack.context.accessErrors.last?.code == .endlessChanges)
    stack.context.maximumSavePasses = 3
    let error = try #require(graphError { try stack.context.save() })
    #expect(error.code == .endlessChanges && error.message.contains("Person/new"))
    observation.cancel()
    try stack.context.save()
    #expect(try stack.storedNodes().count == 1)
  }

  @Test("an observer is notified as long as its registration is retained and not cancelled")
  func registration() throws {
    let stack = try Stack()
    var calls = [0, 0, 0]
    let first = stack.context.observe { _ in calls[0] += 1 }
    var second: Observation? = stack.context.observe { _ in calls[1] += 1 }
    let third = stack.context.observe { _ in calls[2] += 1 }
    first.cancel()
    _ = try stack.insert("Person")
    stack.context.processPendingChanges()
    #expect(calls == [0, 1, 1])
    #expect(second != nil)
    second = nil
    _ = try stack.insert("Person")
    stack.context.processPendingChanges()
    #expect(calls == [0, 1, 2])
    third.cancel()
    first.cancel()
  }
}
