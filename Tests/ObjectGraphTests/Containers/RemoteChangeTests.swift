import AtomicStoreKit
import AtomicStoreSPI
import Foundation
import StoreContainers
import Synchronization
import Testing

@Suite("Notices of other processes") struct RemoteChangeTests {
  /// What a coordinator reports, in order; the notices come on other threads.
  private final class Notices: Sendable {
    private let state = Mutex<[StoreEvent]>([])
    private let observation = Mutex<StoreObservation?>(nil)

    init(_ coordinator: PersistentStoreCoordinator) {
      observation.withLock { $0 = coordinator.observe { [weak self] event in self?.add(event) } }
    }
    private func add(_ event: StoreEvent) { state.withLock { $0.append(event) } }

    var changes: [RemoteStoreChange] {
      state.withLock { $0.compactMap { if case .didChangeRemotely(let change) = $0 { change } else { nil } } }
    }
    var failures: [PersistentStoreError] {
      state.withLock { $0.compactMap { if case .remoteChangeFailed(_, let error) = $0 { error } else { nil } } }
    }

    /// Waits until something is so: up to a minute, since the machine may be busy.
    func wait(until isDone: () -> Bool) {
      for _ in 0..<6000 where !isDone() { usleep(10_000) }
    }
  }

  private func insertPerson(_ name: String, _ context: ManagedObjectContext) throws -> ManagedObject {
    let person = try context.insertNewObject(forEntityName: "Person")
    try person.setValue(name, forKey: "name")
    return person
  }

  @Test("what another coordinator saved is read and reported, by kind, and once", arguments: Stack.types)
  func kinds(_ type: String) throws {
    let stack = try Stack(type)
    let (ada, ben) = (try insertPerson("Ada", stack.context), try insertPerson("Ben", stack.context))
    _ = try insertPerson("Cyd", stack.context)
    try stack.context.save()
    let notices = Notices(stack.coordinator)
    let other = try stack.reopened()
    try other.context.existingObject(with: ada.objectID).setValue("Eve", forKey: "name")
    other.context.delete(try other.context.existingObject(with: ben.objectID))
    let dan = try insertPerson("Dan", other.context)
    try other.context.save()
    let found = stack.coordinator.checkForRemoteChanges()
    #expect(found.count == 1)
    #expect(found[0].inserted == [dan.objectID])
    #expect(found[0].updated == [ada.objectID])
    #expect(found[0].deleted == [ben.objectID])
    #expect(found[0].store === stack.store && found[0].transactions.isEmpty)
    #expect(notices.changes.count == 1)
    #expect(stack.coordinator.checkForRemoteChanges().isEmpty)
    // Its own saves are not reported.
    _ = try insertPerson("Fay", stack.context)
    try stack.context.save()
    #expect(stack.coordinator.checkForRemoteChanges().isEmpty)
    stack.context.mergeChanges(fromDidSave: ObjectIDChanges(found[0]))
    #expect(ada["name"] as? String == "Eve")
  }

  @Test("both ends of a relationship that changed are updated")
  func relationships() throws {
    let stack = try Stack("XML")
    let ada = try insertPerson("Ada", stack.context)
    let dev = try stack.insert("Department", ["name": "Dev"])
    try stack.context.save()
    let other = try stack.reopened()
    try other.context.existingObject(with: ada.objectID).setValue(
      try other.context.existingObject(with: dev.objectID), forKey: "department")
    try other.context.save()
    let change = try #require(stack.coordinator.checkForRemoteChanges().first)
    #expect(Set(change.updated) == [ada.objectID, dev.objectID])
  }

  @Test("the coordinator notices a save of a file or a directory without being asked", arguments: Stack.types)
  func noticing(_ type: String) throws {
    let stack = try Stack(type)
    let ada = try insertPerson("Ada", stack.context)
    try stack.context.save()
    let notices = Notices(stack.coordinator)
    // Only what the system reports: the interval is too long.
    stack.coordinator.remoteChangeInterval = 3600
    stack.coordinator.noticesRemoteChanges = true
    #expect(stack.coordinator.noticesRemoteChanges)
    let other = try stack.reopened()
    for name in ["Eve", "Fay"] {
      let count = notices.changes.count
      try other.context.existingObject(with: ada.objectID).setValue(name, forKey: "name")
      try other.context.save()
      notices.wait { notices.changes.count > count }
      #expect(notices.changes.last?.updated == [ada.objectID])
    }
    stack.coordinator.noticesRemoteChanges = false
    let count = notices.changes.count
    try other.context.existingObject(with: ada.objectID).setValue("Gus", forKey: "name")
    try other.context.save()
    usleep(300_000)
    #expect(notices.changes.count == count)
  }

  @Test("a store in memory is noticed when another coordinator saves it, and a store that is added later")
  func inMemory() throws {
    let path = "memory:noticed-\(UUID())"
    let (one, other) = (
      PersistentStoreCoordinator(managedObjectModel: CompanyGraph.model, registry: .builtIn),
      PersistentStoreCoordinator(managedObjectModel: CompanyGraph.model, registry: .builtIn)
    )
    one.noticesRemoteChanges = true
    one.remoteChangeInterval = 3600
    try one.addPersistentStore(at: path)
    try other.addPersistentStore(at: path)
    let notices = Notices(one)
    // The watcher looks at the new store first.
    usleep(200_000)
    let context = ManagedObjectContext(other)
    let ada = try insertPerson("Ada", context)
    try context.save()
    notices.wait { !notices.changes.isEmpty }
    #expect(notices.changes.first?.inserted == [ada.objectID])
  }

  @Test("saves that follow each other are reported together, and nothing is lost")
  func coalesced() throws {
    let stack = try Stack("XML")
    _ = try insertPerson("Ada", stack.context)
    try stack.context.save()
    let notices = Notices(stack.coordinator)
    stack.coordinator.noticesRemoteChanges = true
    let other = try stack.reopened()
    var ids: Set<ManagedObjectID> = []
    for number in 0..<30 {
      let new = try insertPerson("\(number)", other.context)
      try other.context.save()
      ids.insert(new.objectID)
    }
    notices.wait { Set(notices.changes.flatMap(\.inserted)) == ids }
    #expect(Set(notices.changes.flatMap(\.inserted)) == ids)
    #expect(notices.changes.flatMap(\.inserted).count == ids.count)
  }

  @Test("contexts that merge automatically follow another process; the others do not")
  func merging() throws {
    let stack = try Stack("XML")
    let ada = try insertPerson("Ada", stack.context)
    try stack.context.save()
    let following = ManagedObjectContext(stack.coordinator)
    following.automaticallyMergesChangesFromParent = true
    let followed = try following.existingObject(with: ada.objectID)
    try followed.setValue(7, forKey: "age")
    let other = try stack.reopened()
    try other.context.existingObject(with: ada.objectID).setValue("Eve", forKey: "name")
    try other.context.save()
    stack.coordinator.checkForRemoteChanges()
    following.processPendingChanges()
    #expect(followed["name"] as? String == "Eve" && followed["age"] as? Int == 7)
    #expect(ada["name"] as? String == "Ada")
  }

  @Test("the main actor's context of a container follows another process without being used")
  @MainActor func container() async throws {
    let folder = try TestFolder()
    func container() throws -> PersistentContainer {
      let container = PersistentContainer(name: "Company", managedObjectModel: CompanyGraph.model)
      container.persistentStoreDescriptions = [PersistentStoreDescription(path: folder.file("a.xml"), type: "XML")]
      try container.loadPersistentStores()
      return container
    }
    let one = try container()
    let ada = try insertPerson("Ada", one.viewContext)
    try one.viewContext.save()
    one.noticesRemoteChanges = true
    one.setAutomaticallyMergesChangesFromParent(true)
    let changes = one.viewContext.objectIDChanges()
    let other = try container()
    try other.viewContext.existingObject(with: ada.objectID).setValue("Eve", forKey: "name")
    try other.viewContext.save()
    for await change in changes where change.refreshed.contains(ada.objectID) { break }
    #expect(ada["name"] as? String == "Eve")
    for store in one.persistentStoreCoordinator.persistentStores { try one.persistentStoreCoordinator.remove(store) }
  }

  @Test("a file that another program damaged is reported once, and the content stays")
  func damage() throws {
    let stack = try Stack("XML")
    _ = try insertPerson("Ada", stack.context)
    try stack.context.save()
    let notices = Notices(stack.coordinator)
    try Data("<damaged".utf8).write(to: URL(fileURLWithPath: stack.store.path))
    for _ in 0..<3 { #expect(stack.coordinator.checkForRemoteChanges().isEmpty) }
    #expect(notices.failures.count == 1)
    #expect(notices.failures.first?.location.file == stack.store.path)
    #expect(try stack.fetch("Person").count == 1)
  }

  @Test("a coordinator that notices changes is released like any other")
  func released() throws {
    var stack: Stack? = try Stack("XML")
    stack?.coordinator.noticesRemoteChanges = true
    weak let coordinator = stack?.coordinator
    stack = nil
    for _ in 0..<1000 where coordinator != nil { usleep(10_000) }
    #expect(coordinator == nil)
  }

  @Test("a database's history is public, by token, and another connection's saves are noticed from it")
  func history() throws {
    let folder = try TestFolder()
    func coordinator() throws -> PersistentStoreCoordinator {
      let coordinator = PersistentStoreCoordinator(managedObjectModel: CompanyGraph.model, registry: .builtIn)
      try coordinator.addPersistentStore(type: "SQLiteGraph", at: folder.file("a.sqlitegraph"))
      return coordinator
    }
    let one = try coordinator()
    let store = one.persistentStores[0]
    let context = ManagedObjectContext(one)
    let ada = try insertPerson("Ada", context)
    try context.save()
    #expect(store.hasHistory)
    let token = try #require(try one.currentHistoryToken(of: store))
    #expect(try one.changes(since: token, in: store).isEmpty)
    let notices = Notices(one)
    one.remoteChangeInterval = 3600
    one.noticesRemoteChanges = true
    let other = try coordinator()
    let theirs = ManagedObjectContext(other)
    theirs.transactionAuthor = "import"
    try theirs.existingObject(with: ada.objectID).setValue("Eve", forKey: "name")
    try theirs.save()
    // Its own save is not reported.
    let ben = try insertPerson("Ben", context)
    try context.save()
    notices.wait { !notices.changes.isEmpty }
    one.noticesRemoteChanges = false
    #expect(notices.changes.flatMap(\.updated) == [ada.objectID])
    #expect(notices.changes.flatMap(\.inserted) == [])
    #expect(notices.changes.first?.transactions.map(\.author) == ["import"])
    let since = try one.changes(since: token, in: store)
    #expect(since.map(\.author) == ["import", nil])
    #expect(since.last?.changes.map { store.objectID(for: $0.object) } == [ben.objectID])
    context.mergeChanges(fromDidSave: ObjectIDChanges(try #require(notices.changes.first)))
    #expect(ada["name"] as? String == "Eve")
    try one.deleteHistory(before: try #require(since.last).token, in: store)
    #expect(try one.changes(since: nil, in: store).count == 1)
  }

  @Test(
    "the first look at a database finds what others saved since it was opened, whatever it saved itself between",
    arguments: [0, 1, 2], [true, false])
  func firstLook(_ before: Int, _ isEmpty: Bool) throws {
    let folder = try TestFolder()
    func context(_ author: String) throws -> ManagedObjectContext {
      let coordinator = PersistentStoreCoordinator(managedObjectModel: CompanyGraph.model, registry: .builtIn)
      try coordinator.addPersistentStore(type: "SQLiteGraph", at: folder.file("a.sqlitegraph"))
      let context = ManagedObjectContext(coordinator)
      context.transactionAuthor = author
      return context
    }
    if !isEmpty {
      let first = try context("first")
      _ = try insertPerson("Zoe", first)
      try first.save()
    }
    let (mine, theirs) = (try context("mine"), try context("theirs"))
    let own = try (0..<before).map { index in
      let person = try insertPerson("\(index)", mine)
      try mine.save()
      return person
    }
    let ada = try insertPerson("Ada", theirs)
    try theirs.save()
    // The same object, by both.
    let ben = try mine.existingObject(with: ada.objectID)
    try ben.setValue("Ben", forKey: "name")
    try mine.save()
    theirs.refreshAllObjects()
    try ada.setValue("Eve", forKey: "name")
    try theirs.save()
    mine.refreshAllObjects()
    try ben.setValue(7, forKey: "age")
    for person in own { try person.setValue(8, forKey: "age") }
    try mine.save()
    let coordinator = mine.persistentStoreCoordinator
    let found = coordinator.checkForRemoteChanges()
    #expect(found.flatMap(\.transactions).map(\.author) == ["theirs", "theirs"])
    #expect(found.flatMap(\.inserted) == [ada.objectID])
    #expect(found.allSatisfy { $0.isComplete })
    #expect(coordinator.checkForRemoteChanges().isEmpty)
    theirs.refreshAllObjects()
    try ada.setValue("Fay", forKey: "name")
    try theirs.save()
    #expect(coordinator.checkForRemoteChanges().flatMap(\.updated) == [ada.objectID])
  }

  @Test("an atomic store does not have a history")
  func noHistory() throws {
    let stack = try Stack("XML")
    #expect(!stack.store.hasHistory)
    let error = #expect(throws: PersistentStoreError.self) {
      try stack.coordinator.changes(since: nil, in: stack.store)
    }
    #expect(error?.code == .notSupported)
  }
}
