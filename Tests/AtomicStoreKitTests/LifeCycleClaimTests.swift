import AtomicStoreKit
import Foundation
import Testing

@Suite("Claims about the life of a store") struct LifeCycleClaimTests {
  func plainCoordinator() throws -> PersistentStoreCoordinator {
    var registry = StoreRegistry()
    try registry.register(PlainStore.self)
    return PersistentStoreCoordinator(managedObjectModel: try ManagedObjectModel(peopleModel), registry: registry)
  }

  @Test("a type is unknown until its format is registered")
  func registration() throws {
    let folder = try Folder()
    let model = try ManagedObjectModel(peopleModel)
    let without = PersistentStoreCoordinator(managedObjectModel: model, registry: StoreRegistry())
    #expect(code { try without.addPersistentStore(type: "Plain", at: folder("a.plain")) } == .unknownStoreType)
    #expect(folder.names.isEmpty)
    let store = try plainCoordinator().addPersistentStore(type: "Plain", at: folder("a.plain"))
    #expect(store.type == "Plain")
  }

  @Test("a format's init is called for a new store and for an existing one")
  func initialized() throws {
    let folder = try Folder()
    let journal = LinesStore.Journal()
    try LinesStore.$journal.withValue(journal) {
      let coordinator = try coordinator()
      let store = try coordinator.addPersistentStore(type: "Lines", at: folder("a.lines"))
      #expect(journal.all == ["init"])
      try coordinator.save(store)
      try coordinator.remove(store)
      try coordinator.addPersistentStore(type: "Lines", at: folder("a.lines"))
      #expect(journal.all.suffix(3) == ["init", "metadata", "load"])
      #expect(coordinator.persistentStores.count == 1)
    }
  }

  @Test("a new store's metadata are correct before its first save, and afterwards")
  func newMetadata() throws {
    let folder = try Folder()
    let coordinator = try plainCoordinator()
    let store = try coordinator.addPersistentStore(type: "Plain", at: folder("a.plain"))
    let before = store.metadata
    #expect(before.storeType == "Plain")
    #expect(before.uuid == store.identifier)
    #expect(coordinator.persistentStore(identifier: before.uuid) === store)
    try coordinator.save(store)
    #expect(store.metadata.uuid == before.uuid)
    #expect(try plainCoordinator().addPersistentStore(at: folder("a.plain")).identifier == before.uuid)
  }

  @Test("an object's ID consists of its store, its entity and its node's reference, and identifies the node")
  func identity() throws {
    let folder = try Folder()
    let coordinator = try plainCoordinator()
    let store = try coordinator.addPersistentStore(type: "Plain", at: folder("a.plain"))
    try coordinator.save(
      store, changes: StoreChanges(inserted: [person("Ada", 1, friends: [2]), person("Bob", 2, friend: 1)]))
    let context = ManagedObjectContext(coordinator)
    let people = try context.fetch(FetchRequest<ManagedObject>(entityName: "Person"))
    for object in people {
      let node = try #require(store.node(for: object.objectID))
      #expect(store.objectID(for: store.nodes.objectReference(of: node)) == object.objectID)
      #expect(store.nodes.value(forKey: "name", of: node) == .string(object["name"] as? String ?? ""))
      #expect(object.objectID.storeIdentifier == store.identifier)
    }
    #expect(people.map(\.objectID.reference) == [.integer(1), .integer(2)])
  }

  @Test("a format that implements only the required methods stores a graph: inserted, updated, deleted, related")
  func defaults() throws {
    let folder = try Folder()
    do {
      let coordinator = try plainCoordinator()
      try coordinator.addPersistentStore(type: "Plain", at: folder("a.plain"))
      let context = ManagedObjectContext(coordinator)
      let people = try ["Ada", "Bob", "Cyd"].map { name in
        let person = try context.insertNewObject(forEntityName: "Person")
        try person.setValue(name, forKey: "name")
        return person
      }
      try people[1].setValue(people[0], forKey: "friend")
      try context.save()
      try people[0].setValue("Eve", forKey: "name")
      context.delete(people[2])
      try context.save()
    }
    let coordinator = try plainCoordinator()
    let store = try coordinator.addPersistentStore(at: folder("a.plain"))
    let context = ManagedObjectContext(coordinator)
    let people = try context.fetch(FetchRequest<ManagedObject>(entityName: "Person"))
    #expect(people.map { $0["name"] as? String } == ["Eve", "Bob"])
    #expect(try people[1].value(forKeyPath: "friend.name") as? String == "Eve")
    #expect(try people[0].value(forKey: "friends") as? Set<ManagedObject> == [people[1]])
    #expect(store.metadata.lastReference == 3)
  }

  @Test("an update reaches the node that has the object's ID, and no other")
  func update() throws {
    let folder = try Folder()
    let coordinator = try plainCoordinator()
    let store = try coordinator.addPersistentStore(type: "Plain", at: folder("a.plain"))
    try coordinator.save(store, changes: StoreChanges(inserted: [person("Ada"), person("Bob")]))
    let context = ManagedObjectContext(coordinator)
    let bob = try #require(try context.fetch(FetchRequest<ManagedObject>(entityName: "Person")).last)
    try bob.setValue("Eve", forKey: "name")
    try context.save()
    let node = try #require(store.node(for: bob.objectID))
    #expect(store.nodes.value(forKey: "name", of: node) == .string("Eve"))
    let names = store.nodes.handles(of: 0).map { store.nodes.value(forKey: "name", of: $0) }
    #expect(names == [.string("Ada"), .string("Eve")])
  }

  @Test("once the nodes are registered the format is not called: the kit fetches and creates objects")
  func fetchesAreTheKits() throws {
    let folder = try Folder()
    let journal = LinesStore.Journal()
    try LinesStore.$journal.withValue(journal) {
      let coordinator = try coordinator()
      let store = try coordinator.addPersistentStore(type: "Lines", at: folder("a.lines"))
      try coordinator.save(
        store, changes: StoreChanges(inserted: [person("Ada", 1, friends: [2]), person("Bob", 2, friend: 1)]))
      try coordinator.remove(store)
      try coordinator.addPersistentStore(at: folder("a.lines"))
      let calls = journal.all
      let context = ManagedObjectContext(coordinator)
      let people = try context.fetch(
        FetchRequest<ManagedObject>(entityName: "Person", predicate: try FetchPredicate(format: "friend.name == 'Ada'"))
      )
      #expect(people.map { $0["name"] as? String } == ["Bob"])
      #expect(try people.first?.value(forKeyPath: "friend.name") as? String == "Ada")
      #expect(journal.all == calls)
    }
  }

  @Test("the payload of a node is released with the node")
  func payload() throws {
    let folder = try Folder()
    let coordinator = try plainCoordinator()
    let new = try coordinator.addPersistentStore(type: "Plain", at: folder("a.plain"))
    try coordinator.save(new, changes: StoreChanges(inserted: [person("Ada"), person("Bob")]))
    try coordinator.remove(new)
    let store = try coordinator.addPersistentStore(at: folder("a.plain"))
    weak var adas: PlainStore.Payload?
    weak var bobs: PlainStore.Payload?
    do {
      let nodes = store.nodes
      adas = nodes.payload(of: NodeHandle(entity: 0, row: 0)) as? PlainStore.Payload
      bobs = nodes.payload(of: NodeHandle(entity: 0, row: 1)) as? PlainStore.Payload
    }
    #expect(adas != nil && bobs != nil)
    let ada = ObjectReference(entityName: "Person", reference: .integer(1))
    try coordinator.save(store, changes: StoreChanges(deleted: [ada]))
    #expect(adas == nil)
    #expect(bobs != nil)
  }
}
