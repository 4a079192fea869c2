import AtomicStoreKit
import AtomicStoreSPI
import Foundation
import ModelFiles
import StoreContainers
import Synchronization
import Testing

@Suite("Containers") struct ContainerTests {
  private func container(_ folder: TestFolder, types: [String] = ["XML"]) throws -> PersistentContainer {
    let container = PersistentContainer(name: "Company", managedObjectModel: CompanyGraph.model)
    container.persistentStoreDescriptions = types.map {
      PersistentStoreDescription(path: folder.file("new/" + Stack.fileName($0)), type: $0)
    }
    return container
  }

  private static var people: FetchRequest<ManagedObject> { FetchRequest(entityName: "Person") }

  @Test("a container opens its stores and creates their directories")
  @MainActor func opens() throws {
    let folder = try TestFolder()
    let container = try container(folder)
    try container.loadPersistentStores()
    #expect(container.persistentStoreCoordinator.persistentStores.count == 1)
    try container.viewContext.insertNewObject(forEntityName: "Person").setValue("Ada", forKey: "name")
    try container.viewContext.save()
    let again = try self.container(folder)
    try again.loadPersistentStores()
    #expect(try again.viewContext.count(for: Self.people) == 1)
    #expect(again.viewContext === again.viewContext)
  }

  @Test("stores are opened beside each other, and the first error is thrown")
  func loadsAsynchronously() async throws {
    let folder = try TestFolder()
    let container = try container(folder)
    container.persistentStoreDescriptions += [
      PersistentStoreDescription(path: folder.file("other.plist"), type: "BinaryPropertyList")
    ]
    try await container.loadPersistentStores()
    #expect(container.persistentStoreCoordinator.persistentStores.count == 2)
    let broken = try self.container(folder)
    try Data("no store".utf8).write(to: URL(fileURLWithPath: folder.file("broken.xml")))
    broken.persistentStoreDescriptions = [
      PersistentStoreDescription(path: folder.file("broken.xml"), type: "XML"),
      PersistentStoreDescription(path: folder.file("fine.xml"), type: "XML"),
    ]
    await #expect(throws: PersistentStoreError.self) { try await broken.loadPersistentStores() }
    #expect(broken.persistentStoreCoordinator.persistentStores.map(\.path) == [folder.file("fine.xml")])
  }

  @Test("the completion handler gets each store once, with its error")
  func completion() async throws {
    let folder = try TestFolder()
    let container = try container(folder, types: ["XML", "CSV"])
    container.persistentStoreDescriptions[1].loadsAsynchronously = true
    container.persistentStoreDescriptions.append(PersistentStoreDescription(path: folder.file("x"), type: "Unknown"))
    let (stream, continuation) = AsyncStream.makeStream(of: (String, Bool).self)
    container.loadPersistentStores { description, error in
      continuation.yield((description.type ?? "", error == nil))
    }
    var seen: [String: Bool] = [:]
    for await (type, isOpen) in stream {
      seen[type] = isOpen
      if seen.count == 3 { break }
    }
    #expect(seen == ["XML": true, "CSV": true, "Unknown": false])
  }

  @Test("a model is found by name, and an unknown name lists where was searched")
  func modelByName() throws {
    let folder = try TestFolder()
    _ = try ModelFile.write(CompanyGraph.description, to: folder.file("Company.xcdatamodel"))
    let container = try PersistentContainer(name: "Company", modelDirectories: [folder.path])
    #expect(container.managedObjectModel.entity(named: "Person") != nil)
    #expect(container.modelPath == folder.file("Company.xcdatamodel"))
    let error = #expect(throws: PersistentStoreError.self) {
      try PersistentContainer(name: "Nothing", modelDirectories: [folder.path])
    }
    #expect(error?.code == .notFound)
    #expect(error?.message.contains(folder.path) == true)
  }

  @Test("a store of an older version of the model is migrated, unless the description forbids it")
  func migrates() throws {
    let folder = try TestFolder()
    let path = folder.file("library.xml")
    func model(_ more: [PropertyDescription]) throws -> ManagedObjectModel {
      try ManagedObjectModel(
        ModelDescription(entities: [EntityDescription(name: "Book", properties: [.attribute("title", .string)] + more)])
      )
    }
    let old = PersistentContainer(name: "L", managedObjectModel: try model([]))
    old.persistentStoreDescriptions = [PersistentStoreDescription(path: path, type: "XML")]
    try old.loadPersistentStores()
    let context = old.newContext()
    try context.insertNewObject(forEntityName: "Book").setValue("Emma", forKey: "title")
    try context.save()
    let new = PersistentContainer(name: "L", managedObjectModel: try model([.attribute("pages", .integer32)]))
    new.persistentStoreDescriptions = [PersistentStoreDescription(path: path, type: "XML")]
    new.persistentStoreDescriptions[0].migration = .never
    #expect(throws: PersistentStoreError.self) { try new.loadPersistentStores() }
    new.persistentStoreDescriptions[0].migration = .versions
    try new.loadPersistentStores()
    let books = try new.newContext().fetchRows(FetchRequest<ManagedObject>(entityName: "Book"))
    #expect(books.map { $0["title"] as? String } == ["Emma"])
  }

  @Test("a store described as read-only is not changed")
  func readOnly() throws {
    let folder = try TestFolder()
    let container = try container(folder)
    try container.loadPersistentStores()
    let first = container.newContext()
    try first.insertNewObject(forEntityName: "Person").setValue("Ada", forKey: "name")
    try first.save()
    let again = try self.container(folder)
    again.persistentStoreDescriptions[0].isReadOnly = true
    try again.loadPersistentStores()
    let context = again.newContext()
    try context.insertNewObject(forEntityName: "Person").setValue("Eve", forKey: "name")
    #expect(throws: ManagedObjectError.self) { try context.save() }
    #expect(try context.count(for: Self.people) == 2)
  }

  @Test("background work returns a result and does not run on the caller's context")
  @MainActor func background() async throws {
    let folder = try TestFolder()
    let container = try container(folder)
    try await container.loadPersistentStores()
    let id = try await container.performBackgroundTask { context in
      let object = try context.insertNewObject(forEntityName: "Person")
      try object.setValue("Ada", forKey: "name")
      try context.save()
      return object.objectID
    }
    #expect(try container.viewContext.existingObject(with: id)["name"] as? String == "Ada")
  }

  @Test("an error of background work keeps its type")
  func typedErrors() async throws {
    let folder = try TestFolder()
    let container = try container(folder)
    try await container.loadPersistentStores()
    do throws(ManagedObjectError) {
      try await container.performBackgroundTask { context throws(ManagedObjectError) in
        _ = try context.insertNewObject(forEntityName: "Unknown")
      }
      Issue.record("nothing was thrown")
    } catch {
      #expect(error.code == .undefinedKey)
    }
  }

  @Test("blocks of one background context run one after the other")
  func oneAtATime() async throws {
    let folder = try TestFolder()
    let container = try container(folder)
    try await container.loadPersistentStores()
    let background = container.newBackgroundContext()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<50 {
        group.addTask {
          try await background.perform { context in
            try context.insertNewObject(forEntityName: "Person").setValue(number, forKey: "age")
            try context.save()
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try container.newContext().count(for: Self.people) == 50)
  }

  @Test("the view context merges background saves without being used")
  @MainActor func merges() async throws {
    let folder = try TestFolder()
    let container = try container(folder)
    try await container.loadPersistentStores()
    let view = container.viewContext
    let ada = try view.insertNewObject(forEntityName: "Person")
    try ada.setValue("Ada", forKey: "name")
    try view.save()
    container.setAutomaticallyMergesChangesFromParent(true)
    let id = ada.objectID
    let changes = view.objectIDChanges()
    try await container.performBackgroundTask { context in
      context.transactionAuthor = "import"
      try context.existingObject(with: id).setValue("Eve", forKey: "name")
      try context.save()
    }
    for await change in changes where change.refreshed.contains(id) { break }
    #expect(ada["name"] as? String == "Eve")
  }

  @Test("a context that merges automatically keeps its own changes, and others do not merge")
  func mergesWhenUsed() throws {
    let stack = try Stack()
    let ada = try stack.insert("Person", ["name": "Ada", "age": 1])
    try stack.context.save()
    let following = ManagedObjectContext(stack.coordinator)
    following.automaticallyMergesChangesFromParent = true
    let followed = try following.existingObject(with: ada.objectID)
    let alone = ManagedObjectContext(stack.coordinator)
    let unmerged = try alone.existingObject(with: ada.objectID)
    try followed.setValue(7, forKey: "age")
    try ada.setValue("Eve", forKey: "name")
    try stack.context.save()
    following.processPendingChanges()
    #expect(followed["name"] as? String == "Eve" && followed["age"] as? Int == 7)
    alone.processPendingChanges()
    #expect(unmerged["name"] as? String == "Ada")
    following.automaticallyMergesChangesFromParent = false
    try ada.setValue("Fay", forKey: "name")
    try stack.context.save()
    following.processPendingChanges()
    #expect(followed["name"] as? String == "Eve")
  }

  @Test("a child context that merges automatically follows its parent, also what a sibling saves")
  func childMerges() throws {
    let stack = try Stack()
    let ada = try stack.insert("Person", ["name": "Ada", "age": 1])
    try stack.context.save()
    let child = ManagedObjectContext(parent: stack.context)
    child.automaticallyMergesChangesFromParent = true
    let below = try child.existingObject(with: ada.objectID)
    #expect(below["name"] as? String == "Ada")
    let sibling = ManagedObjectContext(parent: stack.context)
    try sibling.existingObject(with: ada.objectID).setValue("Eve", forKey: "name")
    try sibling.save()
    child.processPendingChanges()
    #expect(below["name"] as? String == "Eve")
    #expect(!child.hasChanges)
  }

  @Test("a save carries the author of its context")
  func author() async throws {
    let stack = try Stack()
    stack.context.transactionAuthor = "import"
    stack.context.userInfo["limit"] = 3
    let saves = stack.context.saves()
    _ = try stack.insert("Person", ["name": "Ada"])
    try stack.context.save()
    for await save in saves {
      #expect(save.transactionAuthor == "import")
      break
    }
    #expect(stack.context.userInfo["limit"] as? Int == 3)
  }
}
