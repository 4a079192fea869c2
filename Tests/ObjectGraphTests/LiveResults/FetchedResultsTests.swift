import AtomicStoreKit
import AtomicStoreSPI
import Foundation
import Testing

@Suite("Fetched results controllers") struct FetchedResultsTests {
  private func people(_ stack: Stack, _ names: [String]) throws -> [ManagedObject] {
    try names.map { try stack.insert("Person", ["name": $0, "age": $0.utf8.count]) }
  }

  private func controller(
    _ stack: Stack, _ format: String? = nil, section: String? = nil
  ) throws -> FetchedResultsController<ManagedObject> {
    let keys = (section.map { [SortKey($0)] } ?? []) + [SortKey("name")]
    let controller = FetchedResultsController(
      fetchRequest: FetchRequest<ManagedObject>(
        entityName: "Person", predicate: try format.map { try FetchPredicate(format: $0) }, sortKeys: keys),
      managedObjectContext: stack.context, sectionNameKeyPath: section)
    try controller.performFetch()
    return controller
  }

  private func names(_ controller: FetchedResultsController<ManagedObject>) -> [String] {
    controller.fetchedObjects?.map { $0["name"] as? String ?? "nil" } ?? []
  }

  @Test("results are nil before the fetch, and sorted after it")
  func fetching() throws {
    let stack = try Stack()
    _ = try people(stack, ["Cyd", "Ada", "Ben"])
    let controller = FetchedResultsController(
      fetchRequest: FetchRequest<ManagedObject>(entityName: "Person", sortKeys: [SortKey("name")]),
      managedObjectContext: stack.context)
    #expect(controller.fetchedObjects == nil && controller.sections == nil)
    try controller.performFetch()
    #expect(names(controller) == ["Ada", "Ben", "Cyd"])
    #expect(controller.sections?.count == 1)
    #expect(controller.object(at: FetchedResultsIndex(item: 3)) == nil)
    #expect(controller.object(at: FetchedResultsIndex(section: 1, item: 0)) == nil)
    #expect(controller.object(at: FetchedResultsIndex(item: -1)) == nil)
  }

  @Test("an insertion, a deletion, a move and an update are reported as such")
  func kinds() throws {
    let stack = try Stack()
    let all = try people(stack, ["Ada", "Ben", "Cyd"])
    let controller = try controller(stack)
    var log: [String] = []
    controller.didChangeContent = { changes in
      for change in changes.changes {
        switch change {
        case .insert(_, let to): log.append("insert \(to)")
        case .delete(_, let from): log.append("delete \(from)")
        case .move(_, let from, let to): log.append("move \(from) \(to)")
        case .update(_, let from, let to): log.append("update \(from) \(to)")
        }
      }
    }
    func after(_ change: () throws -> Void) rethrows -> [String] {
      log = []
      try change()
      stack.context.processPendingChanges()
      return log
    }
    #expect(try after { _ = try stack.insert("Person", ["name": "Bob"]) } == ["insert 0.2"])
    #expect(try after { try all[0].setValue(40, forKey: "age") } == ["update 0.0 0.0"])
    #expect(try after { try all[0].setValue("Zoe", forKey: "name") } == ["move 0.0 0.3"])
    #expect(after { stack.context.delete(all[1]) } == ["delete 0.0"])
    #expect(names(controller) == ["Bob", "Cyd", "Zoe"])
    #expect(try after { _ = try stack.insert("Task", ["title": "other"]) } == [])
  }

  @Test("an object that no longer fulfils the predicate leaves, and comes back")
  func predicate() throws {
    let stack = try Stack()
    let all = try people(stack, ["Ada", "Benjamin"])
    let controller = try controller(stack, "age > 5")
    #expect(names(controller) == ["Benjamin"])
    try all[1].setValue(1, forKey: "age")
    try all[0].setValue(9, forKey: "age")
    stack.context.processPendingChanges()
    #expect(names(controller) == ["Ada"])
  }

  @Test("sections come and go, with names and index titles")
  func sections() throws {
    let stack = try Stack()
    let all = try people(stack, ["Ada", "Ben", "Otto"])
    let controller = try controller(stack, section: "age")
    #expect(controller.sections?.map(\.name) == ["3", "4"])
    #expect(controller.sections?.map(\.numberOfObjects) == [2, 1])
    #expect(controller.sectionIndexTitles == ["3", "4"])
    #expect(controller.section(forSectionIndexTitle: "4") == 1)
    #expect(controller.index(of: all[2]) == FetchedResultsIndex(section: 1, item: 0))
    var seen: FetchedResultsChanges<ManagedObject>?
    controller.didChangeContent = { seen = $0 }
    try all[2].setValue(1, forKey: "age")
    stack.context.processPendingChanges()
    #expect(controller.sections?.map(\.name) == ["1", "3"])
    #expect(seen?.deletedSections == [1])
    #expect(seen?.insertedSections.map(\.index) == [0])
    #expect(seen?.insertedSections.map(\.name) == ["1"])
  }

  @Test("a section key path that leads to objects is refused")
  func sectionOfObjects() throws {
    let stack = try Stack()
    let ada = try people(stack, ["Ada"])[0]
    try ada.setValue(try stack.insert("Department", ["name": "Dev"]), forKey: "department")
    let controller = FetchedResultsController(
      fetchRequest: FetchRequest<ManagedObject>(entityName: "Person"), managedObjectContext: stack.context,
      sectionNameKeyPath: "department")
    #expect(throws: ManagedObjectError.self) { try controller.performFetch() }
  }

  @Test("results sorted over a relationship follow changes of the object at its other end")
  func overRelationship() throws {
    let stack = try Stack()
    let all = try people(stack, ["Ada", "Ben"])
    let dev = try stack.insert("Department", ["name": "Dev"])
    let sales = try stack.insert("Department", ["name": "Sales"])
    try all[0].setValue(dev, forKey: "department")
    try all[1].setValue(sales, forKey: "department")
    let controller = try controller(stack, section: "department.name")
    #expect(names(controller) == ["Ada", "Ben"])
    try dev.setValue("Zoo", forKey: "name")
    stack.context.processPendingChanges()
    #expect(controller.sections?.map(\.name) == ["Sales", "Zoo"])
    #expect(names(controller) == ["Ben", "Ada"])
  }

  @Test("what another context saved appears when it is merged, and everything goes when the context is reset")
  func merging() throws {
    let stack = try Stack()
    _ = try people(stack, ["Ada"])
    try stack.context.save()
    let controller = try controller(stack)
    let other = ManagedObjectContext(stack.coordinator)
    var saved: ObjectIDChanges?
    let observation = other.observe { if case .didSave(let changes) = $0 { saved = changes.ids } }
    try other.insertNewObject(forEntityName: "Person").setValue("Ben", forKey: "name")
    try other.save()
    observation.cancel()
    stack.context.mergeChanges(fromDidSave: try #require(saved))
    #expect(names(controller) == ["Ada", "Ben"])
    // After a reset it reports nothing until it fetches again.
    var reports = 0
    controller.didChangeContent = { _ in reports += 1 }
    stack.context.reset()
    try stack.insert("Person").setValue("Cyd", forKey: "name")
    stack.context.processPendingChanges()
    #expect(reports == 0 && controller.fetchedObjects == nil && controller.sections == nil && controller.count == 0)
    try controller.performFetch()
    #expect(names(controller) == ["Ada", "Ben", "Cyd"])
    #expect(controller.fetchedObjects?.allSatisfy { $0.managedObjectContext === stack.context } == true)
  }

  @Test("a request with a limit is kept to it")
  func limit() throws {
    let stack = try Stack()
    _ = try people(stack, ["Ben", "Cyd", "Dan"])
    var request = FetchRequest<ManagedObject>(entityName: "Person", sortKeys: [SortKey("name")])
    request.fetchLimit = 2
    let controller = FetchedResultsController(fetchRequest: request, managedObjectContext: stack.context)
    try controller.performFetch()
    _ = try people(stack, ["Ada"])
    stack.context.processPendingChanges()
    #expect(names(controller) == ["Ada", "Ben"])
  }

  @Test("snapshots are those of now and after each change, and end with the controller")
  func snapshots() async throws {
    let stack = try Stack()
    let ada = try people(stack, ["Ada"])[0]
    try stack.context.save()
    var made: FetchedResultsController<ManagedObject>? = try controller(stack)
    var iterator = try #require(made).snapshots().makeAsyncIterator()
    #expect(await iterator.next()?.objectIDs == [ada.objectID])
    let ben = try people(stack, ["Ben"])[0]
    try stack.context.save()
    #expect(await iterator.next()?.objectIDs == [ada.objectID, ben.objectID])
    made = nil
    #expect(await iterator.next() == nil)
  }

  @Test("prefetching reads the objects of relationships, and refuses other paths")
  func prefetching() throws {
    let stack = try Stack()
    let dev = try stack.insert("Department", ["name": "Dev"])
    for person in try people(stack, ["Ada", "Ben"]) { try person.setValue(dev, forKey: "department") }
    try stack.context.save()
    let context = ManagedObjectContext(stack.coordinator)
    var request = FetchRequest<ManagedObject>(entityName: "Person")
    request.relationshipKeyPathsForPrefetching = ["department.rooms"]
    let found = try context.fetch(request)
    #expect(!found[0].hasFault(forRelationshipNamed: "department"))
    request.relationshipKeyPathsForPrefetching = ["departmet"]
    #expect { try context.fetch(request) } throws: { "\($0)".contains("did you mean 'department'") }
    request.relationshipKeyPathsForPrefetching = ["name"]
    #expect(throws: ManagedObjectError.self) { try context.fetch(request) }
  }

  @Test("a fetch that refreshes finds objects by what the store holds now", arguments: ["InMemory", "SQLiteGraph"])
  func refreshing(_ type: String) throws {
    let stack = try Stack(type)
    let ada = try people(stack, ["Ada"])[0]
    try stack.context.save()
    let other = ManagedObjectContext(stack.coordinator)
    try (other.existingObject(with: ada.objectID)).setValue("Eve", forKey: "name")
    try other.save()
    try ada.setValue(7, forKey: "age")
    var request = FetchRequest<ManagedObject>(
      entityName: "Person", predicate: try FetchPredicate(format: "name == 'Eve'"))
    if type == "InMemory" { #expect(try stack.context.fetch(request).isEmpty) }
    request.shouldRefreshRefetchedObjects = true
    #expect(try stack.context.fetch(request) == [ada])
    #expect(ada["name"] as? String == "Eve" && ada["age"] as? Int == 7)
  }

  @Test("one change is followed by comparing few objects, however many there are", arguments: [2_000, 20_000])
  func comparesFew(_ count: Int) throws {
    let stack = try Stack()
    for number in 0..<count { _ = try stack.insert("Person", ["age": number * 2, "name": "\(number % 10)"]) }
    let calls = Calls()
    let byAge = SortComparator { one, other in
      calls.count += 1
      guard case .integer(let a) = one, case .integer(let b) = other else { return 0 }
      return a < b ? -1 : a > b ? 1 : 0
    }
    let controller = FetchedResultsController(
      fetchRequest: FetchRequest<ManagedObject>(entityName: "Person", sortKeys: [SortKey("age", comparator: byAge)]),
      managedObjectContext: stack.context)
    try controller.performFetch()
    var reported = 0
    controller.didChangeContent = { reported += $0.changes.count }
    calls.count = 0
    let object = try #require(controller.object(at: FetchedResultsIndex(item: 5)))
    try object.setValue(count + 1, forKey: "age")
    stack.context.processPendingChanges()
    #expect(reported == 1 && calls.count < 100)
    #expect(controller.index(of: object) == FetchedResultsIndex(item: count / 2))
  }

  private final class Calls: @unchecked Sendable {
    // Counted by the one thread of its test.
    nonisolated(unsafe) var count = 0
  }

  @Test("objects that exist are found by their IDs in order, others are left out")
  func byIDs() throws {
    let stack = try Stack()
    let all = try people(stack, ["Ada", "Ben", "Cyd"])
    try stack.context.save()
    let ids = [all[2], all[0], all[1]].map(\.objectID)
    stack.context.delete(all[0])
    #expect(stack.context.existingObjects(with: ids) == [all[2], all[1]])
  }

  @Test("an object that matches because another context saved it comes into the results, read before or not")
  func savedElsewhere() throws {
    let stack = try Stack()
    let ids: [ManagedObjectID] = try {
      let all = try people(stack, ["Ada", "Ben"])
      try stack.context.save()
      return all.map(\.objectID)
    }()
    let controller = try controller(stack, "age > 10")
    #expect(names(controller) == [])
    let other = ManagedObjectContext(stack.coordinator)
    try other.existingObject(with: ids[1]).setValue(99, forKey: "age")
    try other.save()
    stack.context.mergeChanges(fromDidSave: ObjectIDChanges(updated: [ids[1]]))
    stack.context.processPendingChanges()
    #expect(names(controller) == ["Ben"])
  }
}

extension FetchedResultsTests {
  @Test(
    "a request without pending changes has the order and sections of the stored values, until they are saved",
    arguments: ["InMemory", "SQLiteGraph"])
  func withoutPendingChanges(_ type: String) throws {
    let stack = try Stack(type)
    for (name, age) in [("Ada", 1), ("Ben", 1), ("Cyd", 2), ("Dan", 2)] {
      _ = try stack.insert("Person", ["name": name, "age": age])
    }
    try stack.context.save()
    var request = FetchRequest<ManagedObject>(
      entityName: "Person", sortKeys: [SortKey("age"), SortKey("name", isAscending: false)])
    request.includesPendingChanges = false
    func made(_ context: ManagedObjectContext) throws -> FetchedResultsController<ManagedObject> {
      let controller = FetchedResultsController(
        fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: "age")
      try controller.performFetch()
      return controller
    }
    let followed = try made(stack.context)
    func expectSame(_ place: SourceLocation = #_sourceLocation) throws {
      let (fresh, stored) = (try made(stack.context), try made(ManagedObjectContext(stack.coordinator)))
      for controller in [fresh, followed] {
        #expect(controller.snapshot == stored.snapshot, sourceLocation: place)
        #expect(controller.sections?.map(\.name) == stored.sections?.map(\.name), sourceLocation: place)
        for (place, object) in (controller.fetchedObjects ?? []).enumerated() {
          let index = try #require(controller.index(of: object))
          let before = (controller.sections ?? []).prefix(index.section).reduce(0) { $0 + $1.numberOfObjects }
          #expect(before + index.item == place && controller.object(at: index) === object)
        }
      }
    }
    try #require(try stack.first("Person", "Ada")).setValue(9, forKey: "age")
    try #require(try stack.first("Person", "Dan")).setValue("Aaa", forKey: "name")
    _ = try stack.insert("Person", ["name": "Eve", "age": 0])
    stack.context.processPendingChanges()
    #expect(followed.sections?.map(\.name) == ["1", "2"])
    try expectSame()
    try stack.context.save()
    #expect(followed.sections?.map(\.name) == ["0", "1", "2", "9"])
    try expectSame()
  }
}
