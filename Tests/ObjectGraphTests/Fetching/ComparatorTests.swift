import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Testing

@Suite("Sort keys with comparators") struct ComparatorTests {
  /// Texts by length, null last.
  private static let byLength = SortComparator { one, other in
    func length(_ value: StoredValue) -> Int { if case .string(let text) = value { text.utf8.count } else { .max } }
    let (a, b) = (length(one), length(other))
    return a < b ? -1 : a > b ? 1 : 0
  }

  private func names(_ found: [ManagedObject]) -> [String?] { found.map { $0["name"] as? String } }

  @Test(
    "a comparator decides the order, with unsaved objects and without", arguments: ["InMemory", "SQLiteGraph"],
    [true, false])
  func order(_ type: String, _ isSaved: Bool) throws {
    let folder = try TestFolder()
    let coordinator = PersistentStoreCoordinator(managedObjectModel: CompanyGraph.model, registry: .builtIn)
    try coordinator.addPersistentStore(
      type: type, at: type == "InMemory" ? "memory:" : folder.file("a.sqlitegraph"))
    let context = ManagedObjectContext(coordinator)
    for name in ["Benjamin", "Ada", nil, "Cyd", "Otto"] as [String?] {
      try context.insertNewObject(forEntityName: "Person").setValue(name, forKey: "name")
    }
    if isSaved { try context.save() }
    var request = FetchRequest<ManagedObject>(
      entityName: "Person", sortKeys: [SortKey("name", comparator: Self.byLength), SortKey("name")])
    #expect(names(try context.fetch(request)) == ["Ada", "Cyd", "Otto", "Benjamin", nil])
    request.sortKeys = [SortKey("name", isAscending: false, comparator: Self.byLength), SortKey("name")]
    #expect(names(try context.fetch(request)) == [nil, "Benjamin", "Otto", "Ada", "Cyd"])
    request.fetchLimit = 2
    #expect(names(try context.fetch(request)) == [nil, "Benjamin"])
  }

  @Test("a results controller keeps to it")
  func results() throws {
    let stack = try Stack()
    for name in ["Benjamin", "Ada"] { _ = try stack.insert("Person", ["name": name]) }
    let controller = FetchedResultsController(
      fetchRequest: FetchRequest<ManagedObject>(
        entityName: "Person", sortKeys: [SortKey("name", comparator: Self.byLength)]),
      managedObjectContext: stack.context)
    try controller.performFetch()
    _ = try stack.insert("Person", ["name": "Otto"])
    stack.context.processPendingChanges()
    #expect(names(controller.fetchedObjects ?? []) == ["Ada", "Otto", "Benjamin"])
  }

  @Test("keys with the same comparator are equal, with different ones they are not")
  func equality() {
    #expect(SortKey("name", comparator: Self.byLength) == SortKey("name", comparator: Self.byLength))
    #expect(SortKey("name", comparator: Self.byLength) != SortKey("name"))
    #expect(SortKey("name", comparator: Self.byLength) != SortKey("name", comparator: SortComparator { _, _ in 0 }))
  }
}
