import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import Observation
import StoreContainers
import Testing

/// What programs written for Core Data do and expect, in the form in which they do it: each test is one claim that did
/// not hold, or was not documented, when such programs were first ported.
@Suite("Claims of ported programs") struct PortedProgramTests {
  private static func code(_ number: Int, _ context: ManagedObjectContext) throws -> Country {
    let country = Country(context: context)
    country.code = number
    return country
  }

  private static var countries: FetchRequest<Country> {
    FetchRequest(entityName: "Country", sortKeys: [SortKey("code")])
  }

  // MARK: What changed

  @Test("committedValues(forKeys:) has what is stored, also when another context has saved since")
  func committedValues() throws {
    let stack = try DiaryModel.stack()
    let swiss = try Self.code(41, stack.context)
    try stack.context.save()
    let other = ManagedObjectContext(stack.coordinator)
    try other.existingObject(with: swiss.objectID).setValue(43, forKey: "code")
    try other.save()
    swiss.code = 44
    #expect(swiss.committedValues(forKeys: ["code"])["code"] as? Int == 41)
    #expect(swiss.changedValues()["code"] as? Int == 44)
    #expect(swiss.changedValues().keys.sorted() == ["code"])
  }

  @Test("an object that is marked for deletion by a hook is found by its mark and deleted in a batch")
  func delayedDeletion() throws {
    let stack = try DiaryModel.stack()
    let swiss = try Self.code(41, stack.context)
    let entry = Entry(context: stack.context)
    entry.country = swiss
    try stack.context.save()
    #expect(!swiss.pendingDeletion)
    stack.context.delete(entry)
    try stack.context.save()
    #expect(swiss.pendingDeletion)
    let marked = FetchRequest<ManagedObject>(
      entityName: "Country", predicate: try FetchPredicate(format: "pendingDeletion == YES"))
    let result = try stack.context.execute(BatchDeleteRequest(fetchRequest: marked))
    ManagedObjectContext.mergeChanges(fromRemoteContextSave: result.changes, into: [stack.context])
    #expect(try stack.context.count(for: Self.countries) == 0)
  }

  // MARK: Merge policies

  /// Adds what the built-in policy does not know: the counts of both sides.
  private struct DiaryPolicy: ConflictResolver {
    func resolve(_ conflict: ObjectConflict) throws -> ConflictResolution { .by(.mergeByPropertyStoreTrump) }
    func resolve(_ conflict: ConstraintConflict) throws -> ConstraintResolution { .by(.mergeByPropertyStoreTrump) }
    func didResolve(_ objects: [ManagedObject], in context: ManagedObjectContext) throws {
      for case let country as Country in objects { country.entryCount = country.entries.count }
    }
  }

  @Test("a policy of the program's own repairs the counts of countries that two contexts created with one code")
  func constraintPolicy() throws {
    let stack = try DiaryModel.stack()
    let other = ManagedObjectContext(stack.coordinator)
    for context in [stack.context, other] {
      context.conflictResolver = DiaryPolicy()
      let entry = Entry(context: context)
      entry.country = try Self.code(41, context)
      #expect(entry.country?.entries.count == 1)
    }
    try stack.context.save()
    try other.save()
    let saved = try stack.reopened()
    #expect(try saved.fetch("Country").map { $0["entryCount"] as? Int } == [2])
    let ids = try saved.fetch("Entry").map { ($0["country"] as? ManagedObject)?.objectID }
    #expect(ids.count == 2 && ids[0] != nil && ids[0] == ids[1])
  }

  @Test("an import that finds or creates by code, twice and under a constraint, has each object once")
  func findOrCreate() throws {
    let stack = try DiaryModel.stack()
    for round in 0..<2 {
      for number in 0..<300 {
        let country = try Country.findOrCreate(number % 100, in: stack.context)
        country.updatedAt = Date(timeIntervalSinceReferenceDate: Double(round))
      }
      try stack.context.save()
    }
    #expect(try stack.context.fetch(Self.countries).map(\.code) == Array(0..<100))
  }

  // MARK: Live results, observation

  @Test("a results controller with sections reports what a list has to insert, delete, move and update")
  func resultsController() throws {
    let stack = try DiaryModel.stack()
    let (swiss, french) = (try Self.code(41, stack.context), try Self.code(33, stack.context))
    let controller = FetchedResultsController(
      fetchRequest: Self.countries, managedObjectContext: stack.context, sectionNameKeyPath: "pendingDeletion")
    try controller.performFetch()
    var list = try #require(controller.sections)
    controller.didChangeContent = { list = $0.applied(to: list) }
    func shown() -> [[Int]] { list.map { $0.objects.map(\.code) } }
    #expect(shown() == [[33, 41]])
    _ = try Self.code(39, stack.context)
    stack.context.processPendingChanges()
    #expect(shown() == [[33, 39, 41]])
    french.code = 99
    stack.context.processPendingChanges()
    #expect(shown() == [[39, 41, 99]])
    stack.context.delete(swiss)
    stack.context.processPendingChanges()
    #expect(shown() == [[39, 99]])
    #expect(shown() == controller.sections?.map { $0.objects.map(\.code) })
  }

  @Test("an object is observed: a change by another context is reported once it is merged")
  func observation() throws {
    let stack = try DiaryModel.stack()
    let swiss = try Self.code(41, stack.context)
    try stack.context.save()
    let other = ManagedObjectContext(stack.coordinator)
    other.automaticallyMergesChangesFromParent = true
    let theirs = try #require(try other.existingObject(with: swiss.objectID) as? Country)
    let calls = Calls()
    withObservationTracking {
      _ = theirs.code
    } onChange: {
      calls.count += 1
    }
    swiss.code = 42
    try stack.context.save()
    other.processPendingChanges()
    #expect(calls.count == 1 && theirs.code == 42)
  }

  private final class Calls: @unchecked Sendable {
    // Counted by the one thread of its test.
    nonisolated(unsafe) var count = 0
  }

  // MARK: Stacks

  @Test("a test of the program opens its container in memory, works in the background and shows it in the view context")
  @MainActor func container() async throws {
    let container = PersistentContainer(name: "Diary", managedObjectModel: DiaryModel.model)
    for (name, type) in DiaryModel.classes {
      container.persistentStoreCoordinator.setManagedObjectClass(type, forEntityName: name)
    }
    container.persistentStoreDescriptions = [PersistentStoreDescription(path: "memory:", type: "InMemory")]
    try await container.loadPersistentStores()
    container.viewContext.automaticallyMergesChangesFromParent = true
    let id = try await container.performBackgroundTask { context in
      let country = try Self.code(41, context)
      try context.save()
      return country.objectID
    }
    let shown = try #require(try container.viewContext.existingObject(with: id) as? Country)
    #expect(shown.code == 41 && shown.managedObjectContext === container.viewContext)
  }

  @Test("a context carries the program's own cache in userInfo; a child context has a separate one")
  func userInfo() throws {
    let stack = try DiaryModel.stack()
    stack.context.userInfo["cache"] = [41: try Self.code(41, stack.context)]
    let cache = try #require(stack.context.userInfo["cache"] as? [Int: Country])
    #expect(cache[41]?.code == 41)
    #expect(ManagedObjectContext(parent: stack.context).userInfo["cache"] == nil)
  }

  @Test("perform awaits a result, with the error's own type")
  func perform() async throws {
    let stack = try DiaryModel.stack()
    let context = stack.context
    let sum = await context.perform { () -> Int in
      for number in 1...3 { Country(context: context).code = number }
      return (try? context.fetch(Self.countries))?.reduce(0) { $0 + $1.code } ?? -1
    }
    #expect(sum == 6)
    do throws(ManagedObjectError) {
      try await context.perform { () throws(ManagedObjectError) in
        _ = try context.insertNewObject(forEntityName: "Nowhere")
      }
      Issue.record("nothing was thrown")
    } catch { #expect(error.code == .undefinedKey) }
  }

  @Test("undo of a change and of the program's own action come back in one step, also after a save")
  func undo() throws {
    let stack = try DiaryModel.stack()
    let history = UndoHistory()
    stack.context.undoManager = history
    let swiss = try Self.code(41, stack.context)
    stack.context.processPendingChanges()
    var selected: Int? = 41
    swiss.code = 42
    history.registerUndo { selected = 41 }
    selected = 42
    try stack.context.save()
    history.undo()
    #expect(swiss.code == 41 && selected == 41)
    #expect(stack.context.hasChanges)
  }
}
