import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import Testing

@Suite("Fetch requests") struct FetchRequestTests {
  let stack: Stack
  /// A context that has fetched nothing.
  let context: ManagedObjectContext

  init() throws {
    let stack = try Stack()
    let marketing = try stack.insert("Department", ["name": "Marketing"])
    let sales = try stack.insert("Department", ["name": "Sales"])
    for (name, salary, department) in [("Ada", 3.0, marketing), ("Bob", 5, marketing), ("Cyd", 4, sales)] {
      _ = try stack.insert("Employee", ["name": name, "salary": salary, "department": department])
    }
    _ = try stack.insert("Manager", ["name": "Boss", "salary": 9.0, "department": marketing])
    try stack.context.save()
    self.stack = stack
    context = ManagedObjectContext(stack.coordinator)
  }

  func request(_ entity: String, _ format: String? = nil, _ keys: [SortKey] = []) throws -> FetchRequest<ManagedObject>
  {
    FetchRequest(entityName: entity, predicate: try format.map { try FetchPredicate(format: $0) }, sortKeys: keys)
  }

  func names(_ objects: [ManagedObject]) -> [String] { objects.map { $0["name"] as? String ?? "nil" } }

  @Test("a request needs an entity only: all Employees")
  func entityAlone() throws {
    let found = try context.fetch(request("Employee"))
    #expect(Set(names(found)) == ["Ada", "Bob", "Cyd", "Boss"])
    let error = try #require(throws: ManagedObjectError.self) { try context.fetch(request("Employe")) }
    #expect(error.code == .invalidFetch)
    #expect(error.message.contains("Employee"))
  }

  @Test("a predicate and sort keys: all Employees in Marketing by salary, highest first")
  func predicateAndOrder() throws {
    let keys = [SortKey("salary", isAscending: false)]
    let found = try context.fetch(request("Employee", "department.name == 'Marketing'", keys))
    #expect(names(found) == ["Boss", "Bob", "Ada"])
  }

  @Test("a fetch returns one entity's objects, including its sub-entities' unless specified otherwise")
  func oneEntity() throws {
    var request = try request("Employee")
    #expect(try context.fetch(request).map(\.entity.name).sorted() == ["Employee", "Employee", "Employee", "Manager"])
    request.includesSubentities = false
    #expect(try Set(context.fetch(request).map(\.entity.name)) == ["Employee"])
    #expect(try context.count(for: request) == 3)
  }

  @Test("a fetch without matches returns an empty list")
  func nothing() throws {
    #expect(try context.fetch(request("Employee", "salary > 100")).isEmpty)
    #expect(try context.fetch(request("Task")).isEmpty)
  }

  @Test("the objects of a fetch are registered with its context, and with no other")
  func registered() throws {
    let other = ManagedObjectContext(stack.coordinator)
    let found = try context.fetch(request("Employee", "name == 'Ada'"))
    let ada = try #require(found.first)
    #expect(ada.managedObjectContext === context)
    #expect(context.registeredObject(for: ada.objectID) === ada)
    #expect(other.registeredObject(for: ada.objectID) == nil)
  }

  @Test("an object that is already in the context is returned by a fetch, with its changes")
  func existing() throws {
    let ada = try #require(try context.fetch(request("Employee", "name == 'Ada'")).first)
    try ada.setValue("Eve", forKey: "name")
    let again = try context.fetch(request("Employee", "name == 'Eve'"))
    #expect(again.count == 1 && again.first === ada)
    #expect(try context.fetch(request("Employee", "name == 'Ada'")).isEmpty)
  }

  @Test("adding a store does not load objects into a context")
  func demandDriven() throws {
    let coordinator = PersistentStoreCoordinator(managedObjectModel: CompanyGraph.model, registry: .builtIn)
    let waiting = ManagedObjectContext(coordinator)
    #expect(try waiting.fetch(request("Employee")).isEmpty)
    let store = try coordinator.addPersistentStore(at: stack.store.path)
    #expect(waiting.registeredObjects.isEmpty)
    #expect(
      try store.nodesWithDeferredValues().count(of: try #require(store.model.entity(named: "Employee")).index) == 3)
    #expect(try waiting.fetch(request("Employee")).count == 4)
  }

  @Test("a fetch of some objects loads only those into the context; related ones are loaded when they are accessed")
  func onlyWhatWasAsked() throws {
    let found = try context.fetch(request("Employee", "salary == 4"))
    let cyd = try #require(found.first)
    #expect(found.count == 1)
    #expect(context.registeredObjects == [cyd])
    let sales = try #require(cyd["department"] as? ManagedObject)
    #expect(sales["name"] as? String == "Sales")
    #expect(Set(context.registeredObjects) == [cyd, sales])
  }

  @Test("an object that is no longer referenced is deallocated, and is still in its store")
  func letGo() throws {
    weak var ada: ManagedObject?
    let id: ManagedObjectID
    do {
      let found = try #require(try context.fetch(request("Employee", "name == 'Ada'")).first)
      ada = found
      id = found.objectID
    }
    #expect(ada == nil)
    #expect(!context.hasChanges)
    #expect(try context.existingObject(with: id)["name"] as? String == "Ada")
  }

  @Test("a model's template is fetched with its variables filled in, in its order")
  func template() throws {
    var description = CompanyGraph.description
    description.fetchRequestTemplates = [
      FetchRequestDescription(
        name: "paidMoreThan", entityName: "Employee", predicateString: "salary > $LEAST", fetchLimit: 2,
        sortOrder: [.init("salary", isAscending: false)])
    ]
    let model = try ManagedObjectModel(description)
    let template = try #require(model.fetchRequestTemplate(forName: "paidMoreThan"))
    #expect(model.fetchRequestTemplate(forName: "other") == nil)
    let least = FetchExpression.constant(.double(3.5))
    let request = try FetchRequest<ManagedObject>(template, variables: ["LEAST": least])
    #expect(names(try context.fetch(request)) == ["Boss", "Bob"])
    // A variable that was not filled in is not a value.
    #expect(throws: ManagedObjectError.self) { try context.fetch(FetchRequest<ManagedObject>(template)) }
  }

  @Test(
    "fetching in batches returns the same objects in the same order, and holds one batch",
    arguments: [1, 7, 50, 0, 1000])
  func batches(_ size: Int) throws {
    let stack = try Stack()
    for number in 0..<100 { _ = try stack.insert("Task", ["title": "\(number)"]) }
    try stack.context.save()
    let other = ManagedObjectContext(stack.coordinator)
    var request = FetchRequest<ManagedObject>(
      entityName: "Task", predicate: try FetchPredicate(format: "title != '50'"))
    request.sortKeys = [SortKey("title")]
    request.fetchBatchSize = size
    var titles: [String] = []
    var most = 0
    for batch in try other.fetchBatches(request) {
      titles += batch.map { $0["title"] as? String ?? "" }
      most = max(most, other.registeredObjects.count)
      #expect(batch.count <= (size == 0 ? 99 : size))
    }
    let all = try stack.context.fetch(request).map { $0["title"] as? String ?? "" }
    #expect(titles == all)
    if size > 0, size < 50 { #expect(most <= size * 2) }
  }
}
