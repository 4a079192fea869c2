import AtomicStoreKit
import AtomicStoreSPI
import Foundation
import Testing

@Suite("Live counts, rows, groups and sections") struct LiveValueTests {
  private func person(_ stack: Stack, _ name: String, _ age: Int) throws -> ManagedObject {
    try stack.insert("Person", ["name": name, "age": age])
  }

  private func request(_ format: String? = nil) throws -> FetchRequest<ManagedObject> {
    FetchRequest(
      entityName: "Person", predicate: try format.map { try FetchPredicate(format: $0) }, sortKeys: [SortKey("name")])
  }

  @Test(
    "a count follows insertions, changes of values, deletions and rollbacks", arguments: ["InMemory", "SQLiteGraph"])
  func counts(_ type: String) async throws {
    let stack = try Stack(type)
    let ada = try person(stack, "Ada", 30)
    try stack.context.save()
    var counts = stack.context.counts(of: try request("age > 20")).makeAsyncIterator()
    #expect(try await counts.next() == 1)
    _ = try person(stack, "Ben", 40)
    stack.context.processPendingChanges()
    #expect(try await counts.next() == 2)
    try ada.setValue(10, forKey: "age")
    stack.context.processPendingChanges()
    #expect(try await counts.next() == 1)
    _ = try person(stack, "Cyd", 50)
    stack.context.processPendingChanges()
    #expect(try await counts.next() == 2)
    stack.context.rollback()
    stack.context.processPendingChanges()
    #expect(try await counts.next() == 1)
    stack.context.delete(ada)
    try stack.context.save()
    #expect(try await counts.next() == 0)
  }

  @Test("what does not change the value is not reported, and a slow consumer gets the latest only")
  func latest() async throws {
    let stack = try Stack()
    let ada = try person(stack, "Ada", 30)
    var counts = stack.context.counts(of: try request()).makeAsyncIterator()
    #expect(try await counts.next() == 1)
    try ada.setValue(31, forKey: "age")
    _ = try stack.insert("Department", ["name": "Dev"])
    try stack.context.save()
    for name in ["Ben", "Cyd", "Dan"] {
      _ = try person(stack, name, 20)
      stack.context.processPendingChanges()
    }
    #expect(try await counts.next() == 4)
  }

  @Test(
    "after a reset, values are those of the stores, and are followed further", arguments: ["InMemory", "SQLiteGraph"])
  func reset(_ type: String) async throws {
    let stack = try Stack(type)
    _ = try person(stack, "Ada", 30)
    try stack.context.save()
    _ = try person(stack, "Ben", 40)
    stack.context.processPendingChanges()
    var counts = stack.context.counts(of: try request()).makeAsyncIterator()
    var rows = stack.context.rows(of: try request()).makeAsyncIterator()
    var sections = stack.context.sections(of: try request(), by: "age").makeAsyncIterator()
    #expect(try await counts.next() == 2)
    #expect(try await rows.next()?.count == 2)
    #expect(try await sections.next()?.sections.map(\.name) == ["30", "40"])
    stack.context.reset()
    #expect(try await counts.next() == 1)
    #expect(try await rows.next()?.map { $0["name"] as? String } == ["Ada"])
    #expect(try await sections.next()?.sections.map(\.name) == ["30"])
    _ = try person(stack, "Cyd", 50)
    stack.context.processPendingChanges()
    #expect(try await counts.next() == 2)
    #expect(try await rows.next()?.map { $0["name"] as? String } == ["Ada", "Cyd"])
    #expect(try await sections.next()?.sections.map(\.name) == ["30", "50"])
  }

  @Test("groups follow changes of other objects that their key paths lead to")
  func groups() async throws {
    let stack = try Stack()
    let dev = try stack.insert("Department", ["name": "Dev"])
    for name in ["Ada", "Ben"] { try person(stack, name, 30).setValue(dev, forKey: "department") }
    try stack.context.save()
    var grouped = FetchRequest<ManagedObject>(entityName: "Person")
    grouped.propertiesToGroupBy = ["department.name"]
    grouped.propertiesToFetch = ["department.name", try FetchColumn(format: "count:(SELF)", as: "people")]
    var groups = stack.context.rows(of: grouped).makeAsyncIterator()
    let first = try await groups.next()
    #expect(first?.map { $0["department.name"] as? String } == ["Dev"] && first?.first?["people"] as? Int == 2)
    try dev.setValue("Lab", forKey: "name")
    stack.context.processPendingChanges()
    #expect(try await groups.next()?.map { $0["department.name"] as? String } == ["Lab"])
  }

  @Test("what another context saved is seen once it is merged", arguments: ["InMemory", "SQLiteGraph"])
  func merging(_ type: String) async throws {
    let stack = try Stack(type)
    _ = try person(stack, "Ada", 30)
    try stack.context.save()
    stack.context.automaticallyMergesChangesFromParent = true
    var sections = stack.context.sections(of: try request()).makeAsyncIterator()
    #expect(try await sections.next()?.objectIDs.count == 1)
    let other = ManagedObjectContext(stack.coordinator)
    let ben = try other.insertNewObject(forEntityName: "Person")
    try ben.setValuesForKeys(["name": "Ben", "age": 40])
    try other.save()
    stack.context.processPendingChanges()
    #expect(try await sections.next()?.objectIDs.contains(ben.objectID) == true)
  }

  @Test("a request that cannot be fetched ends the stream with its error, and the end of a context ends it")
  func ends() async throws {
    let stack = try Stack()
    var wrong = stack.context.counts(of: try request("nme == 'Ada'")).makeAsyncIterator()
    await #expect(throws: ManagedObjectError.self) { try await wrong.next() }
    var context: ManagedObjectContext? = ManagedObjectContext(stack.coordinator)
    var counts = try #require(context?.counts(of: try request())).makeAsyncIterator()
    #expect(try await counts.next() == 0)
    context = nil
    #expect(try await counts.next() == nil)
  }
}
