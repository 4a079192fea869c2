import AtomicStoreKit
import AtomicStoreSPI
import Foundation
import StoreContainers
import Testing

@Suite("Stores in memory") struct InMemoryStoreTests {
  private func coordinator(_ model: ManagedObjectModel? = CompanyGraph.model) -> PersistentStoreCoordinator {
    PersistentStoreCoordinator(managedObjectModel: model, registry: .builtIn)
  }

  private func insertPerson(_ name: String, _ coordinator: PersistentStoreCoordinator) throws -> ManagedObjectID {
    let context = ManagedObjectContext(coordinator)
    let person = try context.insertNewObject(forEntityName: "Person")
    try person.setValue(name, forKey: "name")
    try context.save()
    return person.objectID
  }

  private func names(_ coordinator: PersistentStoreCoordinator) throws -> [String?] {
    let request = FetchRequest<ManagedObject>(entityName: "Person", sortKeys: [SortKey("name")])
    return try ManagedObjectContext(coordinator).fetchRows(request).map { $0["name"] as? String }
  }

  @Test("stores without a name are private", arguments: ["memory:", "/dev/null"])
  func privateStores(_ path: String) throws {
    let (one, other) = (coordinator(), coordinator())
    let store = try one.addPersistentStore(type: "InMemory", at: path)
    try other.addPersistentStore(type: "InMemory", at: path)
    _ = try insertPerson("Ada", one)
    #expect(try names(one) == ["Ada"] && names(other) == [])
    #expect(store.isInProcess && store.path == "memory:" && store.type == "InMemory")
  }

  @Test("one name is one store for all coordinators of the process, by type and path or by URL")
  func shared() throws {
    let name = "shared-\(UUID())"
    let (one, other) = (coordinator(), coordinator())
    let store = try one.addPersistentStore(type: "InMemory", at: name)
    let same = try other.addPersistentStore(at: #require(URL(string: "memory:\(name)")))
    #expect(store.identifier == same.identifier)
    let id = try insertPerson("Ada", one)
    _ = try insertPerson("Ben", other)
    // As with a file, what another coordinator saved is seen when it is looked for, or at the next save.
    #expect(try names(one) == ["Ada"] && names(other) == ["Ada", "Ben"])
    one.checkForRemoteChanges()
    #expect(try names(one) == ["Ada", "Ben"])
    let context = ManagedObjectContext(other)
    #expect(try context.existingObject(with: id)["name"] as? String == "Ada")
    #expect(throws: PersistentStoreError.self) { try one.addPersistentStore(type: "InMemory", at: name) }
  }

  @Test("a store ends with the last coordinator that has it open")
  func ends() throws {
    let path = "memory:ends-\(UUID())"
    let one = coordinator()
    let store = try one.addPersistentStore(at: path)
    _ = try insertPerson("Ada", one)
    let other = coordinator()
    try other.addPersistentStore(at: path)
    try one.remove(store)
    #expect(try names(other) == ["Ada"])
    try other.remove(other.persistentStores[0])
    let third = coordinator()
    try third.addPersistentStore(at: path)
    #expect(try names(third) == [])
  }

  @Test("changes of two coordinators to one object are a conflict; to different objects they are not")
  func conflicts() throws {
    let path = "memory:conflicts-\(UUID())"
    let (one, other) = (coordinator(), coordinator())
    try one.addPersistentStore(at: path)
    try other.addPersistentStore(at: path)
    let id = try insertPerson("Ada", one)
    other.checkForRemoteChanges()
    let (mine, theirs) = (ManagedObjectContext(one), ManagedObjectContext(other))
    let ada = try mine.existingObject(with: id)
    try theirs.existingObject(with: id).setValue("Eve", forKey: "name")
    try theirs.save()
    _ = try mine.insertNewObject(forEntityName: "Task")
    try mine.save()
    try ada.setValue("Fay", forKey: "name")
    let error = #expect(throws: ManagedObjectError.self) { try mine.save() }
    #expect(error?.code == .managedObjectMerge)
    mine.mergePolicy = .mergeByPropertyObjectTrump
    try mine.save()
    #expect(try names(other) == ["Eve"])
    #expect(try names(one) == ["Fay"])
  }

  @Test("another instance of the same model opens the store, another model is refused")
  func models() throws {
    let path = "memory:models-\(UUID())"
    let one = coordinator()
    try one.addPersistentStore(at: path)
    let id = try insertPerson("Ada", one)
    let again = coordinator(try ManagedObjectModel(CompanyGraph.description))
    let store = try again.addPersistentStore(at: path)
    #expect(store.model === again.managedObjectModel)
    let context = ManagedObjectContext(again)
    try context.existingObject(with: id).setValue("Eve", forKey: "name")
    try context.save()
    #expect(one.checkForRemoteChanges().map(\.updated) == [[id]])
    let mine = ManagedObjectContext(one)
    #expect(try mine.existingObject(with: id)["name"] as? String == "Eve")
    let different = ModelDescription(entities: [EntityDescription(name: "Book", properties: [.attribute("t", .string)])]
    )
    let error = #expect(throws: PersistentStoreError.self) {
      try coordinator(try ManagedObjectModel(different)).addPersistentStore(at: path)
    }
    #expect(error?.code == .modelMismatch && error?.message.contains("Book") == true)
  }

  @Test("a save of a store in memory and a file that cannot be written changes neither")
  func rollback() throws {
    let folder = try TestFolder()
    let coordinator = coordinator()
    let memory = try coordinator.addPersistentStore(at: "memory:")
    let file = try coordinator.addPersistentStore(type: "XML", at: folder.file("a.xml"))
    let context = ManagedObjectContext(coordinator)
    let person = try context.insertNewObject(forEntityName: "Person")
    try person.setValue("Ada", forKey: "name")
    try context.assign(person, to: memory)
    let task = try context.insertNewObject(forEntityName: "Task")
    try context.assign(task, to: file)
    try context.save()
    // Another program replaces the file by something else.
    try Data("no store".utf8).write(to: URL(fileURLWithPath: folder.file("a.xml")))
    try person.setValue("Eve", forKey: "name")
    try task.setValue("t", forKey: "title")
    #expect(throws: ManagedObjectError.self) { try context.save() }
    #expect(try names(coordinator) == ["Ada"])
  }

  @Test("what a save that fails would have put in memory is never seen, whatever other coordinators save meanwhile")
  func neverSeen() async throws {
    let path = "memory:\(UUID())"
    let folder = try TestFolder()
    let coordinator = PersistentStoreCoordinator(
      managedObjectModel: CompanyGraph.model, registry: try Failures.registry())
    let memory = try coordinator.addPersistentStore(type: "InMemory", at: path)
    let file = try coordinator.addPersistentStore(type: "XML", at: folder.file("a.xml"))
    func insertBoth(_ name: String) throws -> ManagedObjectContext {
      let context = ManagedObjectContext(coordinator)
      for (entity, key, store) in [("Person", "name", memory), ("Task", "title", file)] {
        let object = try context.insertNewObject(forEntityName: entity)
        try object.setValue(name, forKey: key)
        try context.assign(object, to: store)
      }
      return context
    }
    try insertBoth("first").save()
    let other = self.coordinator()
    _ = try other.addPersistentStore(type: "InMemory", at: path)
    let others = Task.detached {
      for number in 0..<150 {
        let context = ManagedObjectContext(other)
        try context.insertNewObject(forEntityName: "Person").setValue("other \(number)", forKey: "name")
        try context.save()
        let failed = FetchRequest<ManagedObject>(
          entityName: "Person", predicate: try FetchPredicate(format: "name BEGINSWITH 'failed'"))
        other.checkForRemoteChanges()
        #expect(try ManagedObjectContext(other).count(for: failed) == 0)
      }
    }
    Failures.arm(folder, skips: 0, .overtaken)
    // A context tries a hundred times before it gives up.
    let failed = try insertBoth("failed")
    #expect(throws: ManagedObjectError.self) { try failed.save() }
    try await others.value
    Failures.disarm(folder)
    try insertBoth("last").save()
    other.checkForRemoteChanges()
    #expect(try Set(names(other)) == Set(["first", "last"] + (0..<150).map { "other \($0)" }))
    #expect(try ManagedObjectContext(coordinator).count(for: FetchRequest<ManagedObject>(entityName: "Task")) == 2)
  }

  @Test("a save within a change that is repeated, too, has one bound with it: a hundred attempts, not ten thousand")
  func oneBound() throws {
    let folder = try TestFolder()
    let coordinator = PersistentStoreCoordinator(
      managedObjectModel: CompanyGraph.model, registry: try Failures.registry())
    _ = try coordinator.addPersistentStore(type: "XML", at: folder.file("a.xml"))
    let context = ManagedObjectContext(coordinator)
    try context.insertNewObject(forEntityName: "Person").setValue("Ada", forKey: "name")
    Failures.arm(folder, skips: 0, .overtaken)
    var changes = 0
    #expect(throws: ManagedObjectError.self) {
      try RepeatedSave.run(where: { _ in true }) {
        changes += 1
        try context.save()
      }
    }
    #expect(changes == 1)
    var attempts = 0
    #expect(throws: ManagedObjectError.self) {
      try RepeatedSave.run(where: { _ in true }) {
        try RepeatedSave.run(where: { _ in true }) {
          attempts += 1
          throw ManagedObjectError(.managedObjectMerge, "changed by both")
        }
      }
    }
    #expect(attempts == 100)
  }

  @Test("a new store needs a model, and one that does not exist cannot be opened read-only")
  func refusals() throws {
    func code(_ body: () throws -> Void) -> PersistentStoreError.Code? {
      do { try body() } catch { return (error as? PersistentStoreError)?.code }
      return nil
    }
    #expect(code { try coordinator(nil).addPersistentStore(at: "memory:x") } == .modelNeeded)
    #expect(code { try coordinator().addPersistentStore(at: "memory:none-\(UUID())", isReadOnly: true) } == .notFound)
    #expect(
      code { try coordinator().addPersistentStore(at: "memory:", options: ["indent": "yes"]) } == .invalidOption)
    #expect(
      code {
        let empty = StoreRegistry()
        try PersistentStoreCoordinator(managedObjectModel: CompanyGraph.model, registry: empty).addPersistentStore(
          type: "InMemory", at: "memory:")
      } == .unknownStoreType)
    #expect(
      code {
        _ = try PersistentStoreCoordinator.metadataForPersistentStore(at: "memory:none-\(UUID())", registry: .builtIn)
      } == .notFound)
  }

  @Test("metadata is kept with the store, and read by name")
  func metadata() throws {
    let path = "memory:metadata-\(UUID())"
    let one = coordinator()
    let store = try one.addPersistentStore(at: path)
    try store.setMetadata(["author": .string("Ada")])
    try one.save(store)
    let metadata = try PersistentStoreCoordinator.metadataForPersistentStore(at: path, registry: .builtIn)
    #expect(metadata.entries["author"]?.stringValue == "Ada" && metadata.uuid == store.identifier)
  }

  @Test("Save As writes a store in memory to a file with the same IDs, and nothing is converted to memory")
  func saveAs() throws {
    let folder = try TestFolder()
    let coordinator = coordinator()
    let store = try coordinator.addPersistentStore(at: "memory:")
    let id = try insertPerson("Ada", coordinator)
    let file = try coordinator.migratePersistentStore(store, to: folder.file("a.xml"))
    #expect(file.type == "XML")
    #expect(try names(coordinator) == ["Ada"])
    let context = ManagedObjectContext(coordinator)
    #expect(try context.existingObject(with: id)["name"] as? String == "Ada")
    let error = #expect(throws: PersistentStoreError.self) {
      try coordinator.migratePersistentStore(file, to: folder.file("b"), type: "InMemory")
    }
    #expect(error?.code == .notSupported)
    #expect(FileManager.default.fileExists(atPath: folder.file("b")) == false)
  }

  @Test("a store is destroyed by name when it is not open here; who has it open keeps it")
  func destroying() throws {
    let path = "memory:destroyed-\(UUID())"
    let (one, other) = (coordinator(), coordinator())
    try one.addPersistentStore(at: path)
    _ = try insertPerson("Ada", one)
    #expect(throws: PersistentStoreError.self) { try one.destroyPersistentStore(at: path) }
    try other.destroyPersistentStore(at: path)
    try other.addPersistentStore(at: path)
    #expect(try names(one) == ["Ada"] && names(other) == [])
  }

  @Test("a container opens described stores in memory, and writes nothing to disk")
  @MainActor func containers() throws {
    let container = PersistentContainer(name: "Company", managedObjectModel: CompanyGraph.model)
    let name = "container-\(UUID())"
    container.persistentStoreDescriptions = [.inMemory(named: name)]
    try container.loadPersistentStores()
    try container.viewContext.insertNewObject(forEntityName: "Person").setValue("Ada", forKey: "name")
    try container.viewContext.save()
    let again = PersistentContainer(name: "Company", managedObjectModel: CompanyGraph.model)
    again.persistentStoreDescriptions = [.inMemory(named: name)]
    try again.loadPersistentStores()
    #expect(try names(again.persistentStoreCoordinator) == ["Ada"])
  }
}
