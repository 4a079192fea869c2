import AtomicStoreKit
import AtomicStoreSPI
import Testing

@Suite("How a fetch is executed", .enabled(if: Stack.isLoaded, "a database executes fetches itself"))
struct FetchPlanTests {
  let stack: Stack

  init() throws {
    stack = try Stack()
    let sales = try stack.insert("Department", ["name": "Sales"])
    for (name, age) in [("Ada", 36), ("Bob", 20), ("Cyd", 50)] {
      _ = try stack.insert("Person", ["name": name, "age": age, "department": sales])
    }
    try stack.context.save()
  }

  func request(_ format: String? = nil, _ keys: [SortKey] = []) throws -> FetchRequest<ManagedObject> {
    FetchRequest(entityName: "Person", predicate: try format.map { try FetchPredicate(format: $0) }, sortKeys: keys)
  }

  /// The explanation of a request, after checking that fetching, counting and fetching IDs agree on it.
  func explain(_ request: FetchRequest<ManagedObject>, _ context: ManagedObjectContext? = nil) throws
    -> FetchExplanation
  {
    let context = context ?? stack.context
    let found = try context.fetch(request)
    #expect(try context.count(for: request) == found.count)
    #expect(try context.fetchObjectIDs(request) == found.map(\.objectID))
    return try context.explain(request)
  }

  @Test("no object is examined if all objects are wanted in any order")
  func all() throws {
    #expect(try explain(request()).description == "all")
    #expect(try explain(request("age > 0")).method != .all)
    #expect(try explain(request(nil, [SortKey("age")])).method != .all)
  }

  @Test(
    "a predicate and an order on columns run over columns",
    arguments: [
      ("name == 'Ada'", nil), ("department.name == 'Sales' AND age < 40", nil), (nil, "age"), ("age > 20", "name"),
      ("uppercase:(name) == 'ADA'", nil), ("department.employees.@count > 2", "age"),
    ] as [(String?, String?)])
  func columns(_ format: String?, _ key: String?) throws {
    let explanation = try explain(request(format, key.map { [SortKey($0)] } ?? []))
    #expect(explanation.method == .columns && explanation.reason == nil)
  }

  @Test("with unsaved changes, the objects that have some are evaluated one by one")
  func changes() throws {
    let request = try request("age > 30")
    _ = try stack.insert("Person", ["name": "Dan", "age": 40])
    #expect(try explain(request).method == .columnsAndChanges)
    try stack.context.save()
    #expect(try explain(request).method == .columns)
  }

  @Test("changes that a request excludes are excluded by another context")
  func withoutChanges() throws {
    var request = try request("age > 30")
    request.includesPendingChanges = false
    #expect(try explain(request).method == .columns)
    _ = try stack.insert("Person", ["name": "Dan", "age": 40])
    #expect(try explain(request).method == .withoutChanges)
    #expect(try stack.context.count(for: request) == 2)
  }

  @Test(
    "a predicate that columns cannot answer is evaluated on each object, and the explanation says why",
    arguments: [("FUNCTION(name, 'uppercase') == 'ADA'", nil, "uppercase"), (nil, "name", "'name'")]
      as [(String?, String?, String)])
  func objects(_ format: String?, _ key: String?, _ word: String) throws {
    let keys = key.map { [SortKey($0, comparator: SortComparator { _, _ in 0 })] } ?? []
    let explanation = try explain(request(format, keys))
    #expect(explanation.method == .objects)
    #expect(try #require(explanation.reason).contains(word))
  }

  @Test("a closure, a child context, and changes behind a relationship are reasons to evaluate each object")
  func reasons() throws {
    var closure = try request("age > 30")
    closure.filter = { $0["name"] as? String != "Ada" }
    #expect(try explain(closure).reason?.contains("closure") == true)

    let child = ManagedObjectContext(parent: stack.context)
    #expect(try explain(request("age > 30"), child).reason?.contains("child context") == true)

    let department = try #require(try stack.first("Department", "Sales"))
    try department.setValue("Sails", forKey: "name")
    let related = try explain(request("department.name == 'Sails'"))
    #expect(related.method == .objects && related.reason?.contains("through a relationship") == true)
  }

  @Test("the explanation of an invalid request is the error of the fetch")
  func wrong() throws {
    let error = try #require(throws: ManagedObjectError.self) { try stack.context.explain(request("nmae == 1")) }
    #expect(error.code == .invalidFetch && error.message.contains("did you mean 'name'"))
  }
}
