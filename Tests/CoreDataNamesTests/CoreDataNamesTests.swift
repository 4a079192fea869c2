import AtomicStoreKit
import AtomicStoreSPI
import CoreDataNames
import Synchronization
import Testing

private final class Person: NSManagedObject {
  @Managed("name") var name: String
  @Managed("age") var age: Int
}

@Suite("Core Data's names") struct CoreDataNamesTests {
  private static func coordinator() throws -> NSPersistentStoreCoordinator {
    let properties: [NSPropertyDescription] = [.attribute("name", .string), .attribute("age", .integer64)]
    let model = try NSManagedObjectModel(
      ModelDescription(entities: [EntityDescription(name: "Person", properties: properties)]))
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    coordinator.setManagedObjectClass(Person.self, forEntityName: "Person")
    try coordinator.addPersistentStore(ofType: NSInMemoryStoreType, configurationName: nil, at: nil, options: nil)
    return coordinator
  }

  private static func context() throws -> NSManagedObjectContext {
    let context = NSManagedObjectContext(try coordinator())
    for (name, age) in [("Ada", 36), ("Ben", 12), ("Cyd", 50)] {
      let person = Person(context: context)
      person.name = name
      person.age = age
    }
    try context.save()
    return context
  }

  @Test(
    "conditions made with Core Data's initializers are those of the format language",
    arguments: [
      (NSPredicate(format: "age > %@", NSNumber(value: 20)), "age > 20"),
      (NSPredicate(format: "name == %@ AND age IN %@", "Ada", [NSNumber(value: 1)]), "name == 'Ada' AND age IN {1}"),
      (NSPredicate(format: "name == %@", argumentArray: [NSNull()]), "name == nil"),
      (NSPredicate(value: true), "TRUEPREDICATE"),
      (
        NSCompoundPredicate(
          type: .not,
          subpredicates: [
            NSCompoundPredicate(andPredicateWithSubpredicates: [
              NSPredicate(format: "age > 1"), NSPredicate(format: "age < 2"),
            ])
          ]), "NOT (age > 1 AND age < 2)"
      ),
      (
        NSComparisonPredicate(
          leftExpression: NSExpression(forKeyPath: \Person.age),
          rightExpression: NSExpression(forConstantValue: NSNumber(value: 2.5)), modifier: .direct,
          type: .greaterThanOrEqualTo), "age >= 2.5"
      ),
      (
        NSComparisonPredicate(
          leftExpression: NSExpression(forFunction: "lowercase:", arguments: [NSExpression(forKeyPath: "name")]),
          rightExpression: NSExpression(forAggregate: ["a", "b"]), modifier: .any, type: .in,
          options: [.caseInsensitive]), "ANY lowercase:(name) IN[c] {'a', 'b'}"
      ),
    ])
  func predicates(_ made: NSPredicate, _ text: String) throws {
    #expect(made == (try FetchPredicate(format: text, arguments: [])))
  }

  @Test("a mistake in a format, and a constant of a strange type, are errors of the fetch that name them")
  func mistakes() throws {
    struct Strange {}
    let context = try Self.context()
    var request = NSFetchRequest<Person>(entityName: "Person")
    for (predicate, message) in [
      (NSPredicate(format: "age >"), "age >"), (NSPredicate(format: "age > %@ AND", 1), "age > %@ AND"),
      (
        NSComparisonPredicate(
          leftExpression: NSExpression(forKeyPath: "age"), rightExpression: NSExpression(forConstantValue: Strange()),
          modifier: .direct, type: .equalTo), "Strange"
      ),
    ] {
      request.predicate = predicate
      #expect { try context.fetch(request) } throws: { "\($0)".contains(message) }
    }
  }

  @Test("requests have sort descriptors, of texts and key paths")
  func requests() throws {
    let context = try Self.context()
    var request = Person.fetchRequest()
    request.sortDescriptors = [NSSortDescriptor(key: "age", ascending: false)]
    #expect(try context.fetch(request).map(\.name) == ["Cyd", "Ada", "Ben"])
    request.sortDescriptors = [NSSortDescriptor(keyPath: \Person.name, ascending: true)]
    #expect(request.sortKeys == [SortKey("name")] && request.sortDescriptors?.first?.key == "name")
    let results = NSFetchedResultsController(
      fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: nil, cacheName: nil)
    try results.performFetch()
    #expect(results.fetchedObjects?.map(\.name) == ["Ada", "Ben", "Cyd"])
  }

  @Test("access without a key fires a fault", arguments: [nil, "name"])
  func access(_ key: String?) throws {
    let context = try Self.context()
    let ada = try #require(try context.fetch(NSFetchRequest<Person>(\.name == "Ada")).first)
    context.refresh(ada, mergeChanges: false)
    #expect(ada.isFault)
    ada.willAccessValue(forKey: key)
    ada.didAccessValue(forKey: key)
    #expect(!ada.isFault && ada.name == "Ada")
  }

  @Test("events of contexts are notifications, and that of a save can be merged into another context")
  func notifications() throws {
    let coordinator = try Self.coordinator()
    let context = NSManagedObjectContext(coordinator)
    let other = NSManagedObjectContext(coordinator)
    nonisolated(unsafe) let seen = other
    let log = Mutex<[String]>([])
    let names: [Notification.Name] = [
      .NSManagedObjectContextWillSave, .NSManagedObjectContextDidSave, .NSManagedObjectContextObjectsDidChange,
      NSManagedObjectContext.didSaveObjectIDsNotification,
    ]
    let observers = names.map { name in
      NotificationCenter.default.addObserver(forName: name, object: context, queue: nil) { notification in
        let count = (notification.userInfo?[NSInsertedObjectsKey] as? Set<NSManagedObject>)?.count
        let ids = (notification.userInfo?[NSInsertedObjectIDsKey] as? Set<NSManagedObjectID>)?.count
        log.withLock { $0.append("\(name.rawValue.count) \(count ?? 0) \(ids ?? 0)") }
        if name == .NSManagedObjectContextDidSave { seen.mergeChanges(fromContextDidSave: notification) }
      }
    }
    let ada = Person(context: context)
    ada.name = "Ada"
    try context.save()
    let expected = [(names[0], 0, 0), (names[2], 1, 0), (names[1], 1, 0), (names[3], 0, 1)].map {
      "\($0.0.rawValue.count) \($0.1) \($0.2)"
    }
    #expect(Set(log.withLock { $0 }) == Set(expected))
    let copy = try #require(try other.existingObject(with: ada.objectID) as? Person)
    #expect(copy.name == "Ada")
    ada.name = "Eve"
    try context.save()
    #expect(copy.name == "Eve")
    for observer in observers { NotificationCenter.default.removeObserver(observer) }
    ada.name = "Zoe"
    try context.save()
    #expect(copy.name == "Eve")
    NSManagedObjectContext.mergeChanges(fromRemoteContextSave: [NSUpdatedObjectsKey: [ada.objectID]], into: [other])
    #expect(copy.name == "Zoe")
  }

  @Test("transient values go from a child context to its parent, and not back; fetches by them find what the child has")
  func transientValues() throws {
    let properties: [NSPropertyDescription] = [
      .attribute("name", .string), .attribute("speed", .integer64, isTransient: true),
    ]
    let coordinator = NSPersistentStoreCoordinator(
      managedObjectModel: try NSManagedObjectModel(
        ModelDescription(entities: [EntityDescription(name: "Car", properties: properties)])))
    try coordinator.addPersistentStore(ofType: NSInMemoryStoreType, configurationName: nil, at: nil)
    let parent = NSManagedObjectContext(coordinator)
    let car = try parent.insertNewObject(forEntityName: "Car")
    try car.setValuesForKeys(["name": "Clio", "speed": 50])
    try parent.save()
    let child = NSManagedObjectContext(parent: parent)
    let fast = NSFetchRequest<NSManagedObject>(entityName: "Car", predicate: NSPredicate(format: "speed > 40"))
    #expect(try parent.count(for: fast) == 1 && child.count(for: fast) == 0)
    let mine = try child.existingObject(with: car.objectID)
    #expect(mine["speed"] == nil)
    mine["name"] = "Twingo"
    try child.save()
    #expect(car["speed"] as? Int == 50)
    mine["speed"] = 60
    try child.save()
    #expect(car["speed"] as? Int == 60 && mine["speed"] as? Int == 60)
    car["speed"] = 70
    child.refresh(mine, mergeChanges: true)
    #expect(mine["speed"] as? Int == 60 && !child.hasChanges)
    #expect(try child.fetch(fast) == [mine])
    child.refresh(mine, mergeChanges: false)
    #expect(mine["speed"] == nil && car["speed"] as? Int == 70)
  }

  @Test("a block of a context that merges automatically sees what was saved before it; a reset's notification has IDs")
  func blocks() throws {
    let context = try Self.context()
    let other = NSManagedObjectContext(context.persistentStoreCoordinator)
    let ada = try #require(try context.fetch(NSFetchRequest<Person>(\.name == "Ada")).first)
    let copy = try #require(try other.existingObject(with: ada.objectID) as? Person)
    for (isOn, name) in [(false, "Ada"), (true, "Eve")] {
      other.automaticallyMergesChangesFromParent = isOn
      ada.name = isOn ? "Eve" : "Eva"
      try context.save()
      #expect(other.performAndWait { copy.name } == name)
    }
    ada.name = "Zoe"
    try context.save()
    other.perform { #expect(copy.name == "Zoe") }
    let ids = Mutex<[NSManagedObjectID]>([])
    let observer = NotificationCenter.default.addObserver(
      forName: .NSManagedObjectContextObjectsDidChange, object: other, queue: nil
    ) { notification in
      let found = notification.userInfo?[NSInvalidatedAllObjectsKey] as? [NSManagedObjectID]
      ids.withLock { $0 = found ?? [] }
    }
    other.reset()
    NotificationCenter.default.removeObserver(observer)
    #expect(ids.withLock { $0 } == [ada.objectID])
  }

  @Test(
    "a store of another version is migrated as it is opened, if the option says so: a file, and what a URL names",
    arguments: [
      (NSXMLStoreType, "file://", ".xml"), ("SQLiteGraph", "file://", ".sqlgraph"),
      ("SQLiteGraph", "sqlite://", ".sqlgraph"),
    ])
  func migration(_ type: String, _ scheme: String, _ suffix: String) throws {
    let path = FileManager.default.temporaryDirectory.path + "/names-\(UUID().uuidString)\(suffix)"
    defer { for end in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + end) } }
    let url = try #require(URL(string: scheme + path))
    let first = try Self.coordinator(["name"])
    try first.addPersistentStore(ofType: type, configurationName: nil, at: url)
    let context = NSManagedObjectContext(first)
    try context.insertNewObject(forEntityName: "Person").setValue("Ada", forKey: "name")
    try context.save()
    for store in first.persistentStores { try first.remove(store) }
    let second = try Self.coordinator(["name", "nickname"])
    for isOn in [false, true] {
      let options = [NSMigratePersistentStoresAutomaticallyOption: isOn]
      let store = try? second.addPersistentStore(ofType: type, configurationName: nil, at: url, options: options)
      #expect((store != nil) == isOn)
    }
    let other = NSManagedObjectContext(second)
    let people = try other.fetch(NSFetchRequest<NSManagedObject>(entityName: "Person"))
    #expect(people.map { $0["name"] as? String } == ["Ada"] && people.allSatisfy { $0["nickname"] == nil })
    // An open store is closed before it is deleted, and what was never saved leaves nothing to delete.
    for _ in 0..<2 {
      try second.destroyPersistentStore(at: url, ofType: type)
      #expect(second.persistentStores.isEmpty && !FileManager.default.fileExists(atPath: path))
      try second.addPersistentStore(ofType: type, configurationName: nil, at: url)
    }
    for store in second.persistentStores { try second.remove(store) }
  }

  @Test("a model is read from its file; what cannot be read is nil, as in Core Data")
  func models() throws {
    let url = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../SampleStores/Library/Library.xcdatamodeld")
    #expect(NSManagedObjectModel(contentsOf: url)?.entity(named: "Book") != nil)
    #expect(NSManagedObjectModel(contentsOf: URL(filePath: "/none.xcdatamodeld")) == nil)
  }

  private static func coordinator(_ names: [String]) throws -> NSPersistentStoreCoordinator {
    let entity = EntityDescription(name: "Person", properties: names.map { .attribute($0, .string) })
    let model = try NSManagedObjectModel(ModelDescription(entities: [entity]))
    return NSPersistentStoreCoordinator(managedObjectModel: model)
  }

  @Test("an option of Core Data that is not supported is refused by name")
  func options() throws {
    let coordinator = try Self.coordinator()
    #expect {
      try coordinator.addPersistentStore(
        ofType: NSXMLStoreType, configurationName: nil, at: URL(filePath: "/tmp/none.xml"),
        options: ["NSSQLitePragmasOption": true])
    } throws: {
      "\($0)".contains("NSSQLitePragmasOption")
    }
  }
}
