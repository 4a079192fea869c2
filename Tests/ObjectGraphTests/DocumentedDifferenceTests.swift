import AtomicStoreKit
import AtomicStoreSPI
import Testing

@Suite("Documented differences from Core Data") struct DocumentedDifferenceTests {
  @Test("a value for a key is the model's property; only typed access sees a Swift property of that name")
  func accessors() throws {
    final class Shouting: ManagedObject { var name: String { "LOUD" } }
    let stack = try Stack(classes: ["Person": Shouting.self])
    let person = Shouting(context: stack.context)
    try person.setValue("quiet", forKey: "name")
    #expect(try person.value(forKey: "name") as? String == "quiet")
    #expect(person["name"] as? String == "quiet")
    #expect(person.name == "LOUD")
  }

  @Test(
    "a fetch goes by the values that the context's objects have, until they are refreshed",
    .enabled(if: Stack.isLoaded, "a database answers by the values that it holds"))
  func staleObjects() throws {
    let stack = try Stack()
    let ada = try stack.insert("Person", ["name": "old"])
    try stack.context.save()
    let other = ManagedObjectContext(stack.coordinator)
    try other.existingObject(with: ada.objectID).setValue("new", forKey: "name")
    try other.save()
    func found(_ name: String) throws -> [ManagedObject] {
      try stack.context.fetch(
        FetchRequest<ManagedObject>(entityName: "Person", predicate: try FetchPredicate(format: "name == %@", name)))
    }
    #expect(try found("old") == [ada])
    #expect(try found("new").isEmpty)
    stack.context.refresh(ada, mergeChanges: true)
    #expect(try found("old").isEmpty)
    #expect(try found("new") == [ada])
  }

  @Test("a context uses the classes that were registered before it was created")
  func lateClasses() throws {
    final class Late: ManagedObject {}
    let stack = try Stack()
    stack.coordinator.setManagedObjectClass(Late.self, forEntityName: "Person")
    #expect(!(try stack.context.insertNewObject(forEntityName: "Person") is Late))
    let later = ManagedObjectContext(stack.coordinator)
    #expect(try later.insertNewObject(forEntityName: "Person") is Late)
  }

  @Test("a refresh without merging leaves a new object as it is", arguments: ["InMemory", "SQLiteGraph"])
  func refreshOfNewObject(_ type: String) throws {
    let stack = try Stack(type)
    let ada = try stack.insert("Person", ["name": "Ada"])
    stack.context.refresh(ada, mergeChanges: false)
    #expect(!ada.isFault && ada.isInserted && ada["name"] as? String == "Ada")
  }

  @Test(
    "a text is not equal to a number, in columns, in changed objects and in databases",
    arguments: ["name IN {9, 10}", "name == 9", "name BETWEEN {8, 10}"], ["InMemory", "SQLiteGraph"])
  func textsAndNumbers(_ text: String, _ type: String) throws {
    let stack = try Stack(type)
    _ = try stack.insert("Person", ["name": "9"])
    let request = FetchRequest<ManagedObject>(entityName: "Person", predicate: try FetchPredicate(format: text))
    #expect(try stack.context.fetch(request).isEmpty)
    try stack.context.save()
    #expect(try stack.context.fetch(request).isEmpty)
    #expect(try ManagedObjectContext(stack.coordinator).count(for: request) == 0)
    let person = try #require(stack.store.model.entity(named: "Person"))
    #expect(throws: PredicateFormatError.self) { try request.predicate?.check(against: person) }
  }

  @Test("an object that only a fetch returned is released at once; a context that retains its objects keeps it")
  func lifetimes() throws {
    let stack = try Stack()
    _ = try stack.insert("Person", ["name": "Ada"])
    try stack.context.save()
    let request = FetchRequest<ManagedObject>(entityName: "Person")
    #expect(stack.context.registeredObjects.isEmpty)
    _ = try stack.context.fetch(request)
    #expect(stack.context.registeredObjects.isEmpty)
    stack.context.retainsRegisteredObjects = true
    _ = try stack.context.fetch(request)
    #expect(stack.context.registeredObjects.count == 1)
  }

  @Test("a refresh reads what the store has, not what it had", arguments: ["InMemory", "SQLiteGraph"])
  func staleness(_ type: String) throws {
    let stack = try Stack(type)
    let ada = try stack.insert("Person", ["name": "Ada"])
    try stack.context.save()
    for (name, refresh) in [
      ("Eve", { stack.context.refresh(ada, mergeChanges: true) }), ("Fay", stack.context.refreshAllObjects),
    ] {
      try ManagedObjectContext(stack.coordinator).execute(
        BatchUpdateRequest(entityName: "Person", propertiesToUpdate: ["name": name]))
      refresh()
      #expect(ada["name"] as? String == name)
    }
  }

  @Test("objects that are fetched again are refreshed before the fetch", arguments: ["InMemory", "SQLiteGraph"])
  func refetching(_ type: String) throws {
    let stack = try Stack(type)
    let ada = try stack.insert("Person", ["name": "Ada"])
    try stack.context.save()
    let other = ManagedObjectContext(stack.coordinator)
    let copy = try other.existingObject(with: ada.objectID)
    try ada.setValue("Eve", forKey: "name")
    try stack.context.save()
    var request = FetchRequest<ManagedObject>(entityName: "Person")
    request.predicate = try FetchPredicate(format: "name == 'Eve'")
    request.shouldRefreshRefetchedObjects = true
    #expect(try other.fetch(request) == [copy])
    #expect(copy["name"] as? String == "Eve")
  }

  @Test("an object that is not available reads as nil, says why, and remains a fault")
  func unavailableObjects() throws {
    let stack = try Stack()
    let ada = try stack.insert("Person", ["name": "Ada"])
    try stack.context.save()
    stack.context.reset()
    #expect(ada["name"] == nil)
    #expect(ada.isFault && ada.managedObjectContext == nil && ada.unavailableReason == .contextReset)
  }

  @Test("null is printed as in the format language")
  func null() throws {
    #expect("\(try FetchPredicate(format: "name == %@", arguments: [nil]))" == "name == nil")
  }
}
