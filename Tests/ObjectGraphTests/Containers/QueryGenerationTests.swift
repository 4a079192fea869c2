import AtomicStoreKit
import AtomicStoreSPI
import Foundation
import Testing

@Suite("Query generations", .enabled(if: Stack.isLoaded, "contexts are not pinned to a state of a database"))
struct QueryGenerationTests {
  private func pinned() throws -> (stack: Stack, ada: ManagedObject, reader: ManagedObjectContext) {
    let stack = try Stack()
    let ada = try stack.insert("Person", ["name": "Ada"])
    try stack.context.save()
    let reader = ManagedObjectContext(stack.coordinator)
    try reader.setQueryGenerationFrom(.current)
    return (stack, ada, reader)
  }

  private func read(_ context: ManagedObjectContext) throws -> [String] {
    try context.fetch(FetchRequest<ManagedObject>(entityName: "Person")).map { $0["name"] as? String ?? "nil" }
  }

  @Test("a pinned context reads the state it is pinned to, by fetches and by faults")
  func reads() throws {
    let (stack, ada, reader) = try pinned()
    let fault = reader.object(with: ada.objectID)
    try ada.setValue("Eve", forKey: "name")
    _ = try stack.insert("Person", ["name": "New"])
    try stack.context.save()
    #expect(fault["name"] as? String == "Ada")
    #expect(try read(reader) == ["Ada"])
    #expect(try reader.count(for: FetchRequest<ManagedObject>(entityName: "Person")) == 1)
    stack.context.delete(ada)
    try stack.context.save()
    reader.refreshAllObjects()
    #expect(try read(reader) == ["Ada"])
    try reader.setQueryGenerationFrom(nil)
    reader.refreshAllObjects()
    #expect(try read(reader) == ["New"])
  }

  @Test("another context can be pinned to the same state")
  func shares() throws {
    let (stack, ada, reader) = try pinned()
    let token = reader.queryGenerationToken
    #expect(token == stack.coordinator.currentQueryGeneration)
    try ada.setValue("Eve", forKey: "name")
    try stack.context.save()
    let second = ManagedObjectContext(stack.coordinator)
    try second.setQueryGenerationFrom(token)
    #expect(try read(second) == ["Ada"])
    #expect(token != stack.coordinator.currentQueryGeneration)
  }

  @Test("a save of a pinned context finds conflicts with the present state, and is pinned to its own afterwards")
  func saves() throws {
    let (stack, ada, reader) = try pinned()
    let mine = try reader.existingObject(with: ada.objectID)
    try ada.setValue("Eve", forKey: "name")
    try stack.context.save()
    try mine.setValue("Mine", forKey: "name")
    let before = reader.queryGenerationToken
    #expect(throws: ManagedObjectError.self) { try reader.save() }
    #expect(reader.queryGenerationToken == before)
    #expect(try read(reader) == ["Mine"])
    reader.mergePolicy = .mergeByPropertyObjectTrump
    try reader.save()
    #expect(reader.queryGenerationToken == stack.coordinator.currentQueryGeneration)
    #expect(try stack.reread("Person").map { $0["name"] as? String } == ["Mine"])
  }

  @Test("merging a save and a reset move a pinned context on", arguments: [true, false])
  func advances(_ isMerge: Bool) throws {
    let (stack, ada, reader) = try pinned()
    #expect(try read(reader) == ["Ada"])
    try ada.setValue("Eve", forKey: "name")
    try stack.context.save()
    if isMerge { reader.mergeChanges(fromDidSave: ObjectIDChanges(updated: [ada.objectID])) } else { reader.reset() }
    #expect(try read(reader) == ["Eve"])
    try ada.setValue("Fay", forKey: "name")
    try stack.context.save()
    reader.refreshAllObjects()
    #expect(try read(reader) == ["Eve"])
  }

  @Test("a fetch without pending changes reads the pinned state")
  func withoutChanges() throws {
    let (stack, ada, reader) = try pinned()
    _ = try reader.insertNewObject(forEntityName: "Person")
    _ = try stack.insert("Person", ["name": "New"])
    try ada.setValue("Eve", forKey: "name")
    try stack.context.save()
    var request = FetchRequest<ManagedObject>(
      entityName: "Person", predicate: try FetchPredicate(format: "name != nil"))
    request.includesPendingChanges = false
    #expect(try reader.fetch(request).count == 1)
  }

  @Test("a child context cannot be pinned")
  func child() throws {
    let (stack, _, _) = try pinned()
    let child = ManagedObjectContext(parent: stack.context)
    #expect(throws: ManagedObjectError.self) { try child.setQueryGenerationFrom(.current) }
  }
}
