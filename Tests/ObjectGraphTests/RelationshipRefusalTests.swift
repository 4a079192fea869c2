import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import Testing

/// The error that a body throws, which must be the graph's.
func graphError(_ body: () throws -> Void) -> ManagedObjectError? {
  do {
    try body()
    return nil
  } catch {
    return error as? ManagedObjectError
  }
}

@Suite("Relationships refuse invalid destinations") struct RelationshipRefusalTests {
  /// A model with two configurations, and a store for each.
  struct TwoStores {
    let folder: TestFolder
    let context: ManagedObjectContext
    let one: PersistentStore
    let two: PersistentStore

    init(both configurations: [String] = ["One", "Two"]) throws {
      folder = try TestFolder()
      let model = try ManagedObjectModel(
        ModelDescription(
          entities: [
            EntityDescription(
              name: "Person",
              properties: [
                .attribute("name", .string),
                .toMany("pets", "Pet", inverse: "owner"),
                .toOne("friend", "Person", inverse: "friend"),
                .toOne("guest", "Pet", isTransient: true),
              ]),
            EntityDescription(
              name: "Pet",
              properties: [
                .attribute("name", .string),
                .toOne("owner", "Person", inverse: "pets"),
              ]),
          ],
          configurations: [
            ConfigurationDescription(name: "One", entityNames: ["Person"]),
            ConfigurationDescription(name: "Two", entityNames: ["Pet"]),
            ConfigurationDescription(name: "All", entityNames: ["Person", "Pet"]),
          ]))
      let coordinator = PersistentStoreCoordinator(managedObjectModel: model, registry: .builtIn)
      one = try coordinator.addPersistentStore(
        type: "XML", configurationName: configurations[0], at: folder.file("one.xml"))
      two = try coordinator.addPersistentStore(
        type: "BinaryPropertyList", configurationName: configurations[1], at: folder.file("two.plist"))
      context = ManagedObjectContext(coordinator)
    }
  }

  @Test("a relationship across stores is refused at assignment, from either end, and names both stores and the remedy")
  func crossStore() throws {
    let stores = try TwoStores()
    let ada = try stores.context.insertNewObject(forEntityName: "Person")
    let cat = try stores.context.insertNewObject(forEntityName: "Pet")
    for attempt in [
      { try cat.setValue(ada, forKey: "owner") }, { try ada.add(cat, to: "pets") },
      { try ada.setValue([cat], forKey: "pets") },
    ] {
      let error = try #require(graphError(attempt))
      #expect(error.code == .managedObjectExternalRelationship)
      #expect(error.message.contains(stores.one.path) && error.message.contains(stores.two.path))
      #expect(error.message.contains("URI") && error.message.contains("fetched property"))
    }
    #expect(cat["owner"] == nil)
    #expect(try ada.count(forRelationshipNamed: "pets") == 0)
    try stores.context.save()
    #expect(graphError { try cat.setValue(ada, forKey: "owner") }?.code == .managedObjectExternalRelationship)
    #expect(!stores.context.hasChanges)
  }

  @Test("objects of one entity in two stores are refused too, and so is assigning related ones to different stores")
  func crossStoreOfOneEntity() throws {
    let stores = try TwoStores(both: ["All", "All"])
    let context = stores.context
    let ada = try context.insertNewObject(forEntityName: "Person")
    let bob = try context.insertNewObject(forEntityName: "Person")
    try context.assign(ada, to: stores.one)
    try context.assign(bob, to: stores.two)
    #expect(graphError { try ada.setValue(bob, forKey: "friend") }?.code == .managedObjectExternalRelationship)
    let cat = try context.insertNewObject(forEntityName: "Pet")
    try cat.setValue(ada, forKey: "owner")
    #expect(graphError { try context.assign(cat, to: stores.two) }?.code == .managedObjectExternalRelationship)
    try context.assign(cat, to: stores.one)
    try context.save()
    #expect(stores.one.nodes.count == 2)
    #expect(stores.two.nodes.count == 1)
  }

  @Test("objects related before their stores are known are refused by the save, and nothing is written")
  func crossStoreAtSave() throws {
    let stores = try TwoStores(both: ["All", "All"])
    let context = stores.context
    let ada = try context.insertNewObject(forEntityName: "Person")
    let cat = try context.insertNewObject(forEntityName: "Pet")
    try cat.setValue(ada, forKey: "owner")
    try context.assign(cat, to: stores.two)
    #expect(graphError { try context.assign(ada, to: stores.one) }?.code == .managedObjectExternalRelationship)
    let error = try #require(graphError { try context.save() })
    #expect(error.code == .storeAssignment)
    #expect(error.message.contains(stores.one.path) && error.message.contains(stores.two.path))
    #expect(context.insertedObjects == [ada, cat])
    #expect(stores.two.nodes.count == 0)
  }

  @Test("a transient relationship may lead to another store")
  func transientAcrossStores() throws {
    let stores = try TwoStores()
    let ada = try stores.context.insertNewObject(forEntityName: "Person")
    let cat = try stores.context.insertNewObject(forEntityName: "Pet")
    try ada.setValue(cat, forKey: "guest")
    try stores.context.save()
    #expect(ada["guest"] as? ManagedObject === cat)
  }

  @Test("an object of the wrong entity is refused, which a sub-entity's is not")
  func wrongEntity() throws {
    let stack = try Stack()
    let ada = try stack.insert("Person", ["name": "Ada"])
    let room = try stack.insert("Room")
    let task = try stack.insert("Task")
    let error = try #require(graphError { try ada.setValue(room, forKey: "department") })
    #expect(error.code == .invalidValue)
    #expect(error.key == "department")
    #expect(error.message == "Person.department: Room is not Department")
    #expect(graphError { try ada.add(room, to: "cousins") }?.code == .invalidValue)
    // One wrong object among right ones: nothing is changed.
    try ada.setValue([task], forKey: "tasks")
    let second = try stack.insert("Task")
    #expect(graphError { try ada.setValue([second, room], forKey: "tasks") }?.code == .invalidValue)
    #expect(try ada.objects(forRelationshipNamed: "tasks") == [task])
    #expect(try second.count(forRelationshipNamed: "people") == 0)
    try ada.setValue(try stack.insert("Manager", ["name": "M"]), forKey: "spouse")
    #expect((ada["spouse"] as? ManagedObject)?["name"] as? String == "M")
  }

  @Test("a value that is not an object is refused", arguments: ["department", "cousins", "tasks"])
  func noObject(_ key: String) throws {
    let stack = try Stack()
    let ada = try stack.insert("Person")
    #expect(graphError { try ada.setValue("Sales", forKey: key) }?.code == .invalidValue)
    #expect(graphError { try ada.setValue(["Sales"], forKey: key) }?.code == .invalidValue)
    #expect(graphError { try ada.add(ada, to: "department") }?.code == .undefinedKey)
    #expect(graphError { try ada.add(ada, to: "name") }?.code == .undefinedKey)
    #expect(graphError { try ada.move(ada, in: "depratment", to: 0) }?.message.contains("'department'") == true)
  }

  @Test("an object of another context, of none, or that is being deleted is refused")
  func otherContext() throws {
    let stack = try Stack()
    let other = ManagedObjectContext(stack.coordinator)
    let ada = try stack.insert("Person", ["name": "Ada"])
    let bob = try other.insertNewObject(forEntityName: "Person")
    #expect(graphError { try ada.setValue(bob, forKey: "spouse") }?.message.contains("different contexts") == true)
    let alone = ManagedObject(entity: ada.entity, insertInto: nil)
    #expect(graphError { try ada.setValue(alone, forKey: "spouse") }?.message.contains("different contexts") == true)
    #expect(graphError { try alone.setValue(ada, forKey: "spouse") }?.message.contains("insert it first") == true)
    let carl = try stack.insert("Person")
    try stack.context.save()
    stack.context.delete(carl)
    let error = try #require(graphError { try ada.setValue(carl, forKey: "spouse") })
    #expect(error.message.contains("being deleted"))
    #expect(graphError { try carl.setValue(ada, forKey: "spouse") }?.reason == .deletedHere)
    #expect(ada["spouse"] == nil)
    #expect(!ada.hasChanges)
  }

  @Test("a refused assignment through the subscript is recorded, and makes the next save fail until it is discarded")
  func refusedSubscript() throws {
    let stack = try Stack()
    let ada = try stack.insert("Person", ["name": "Ada"])
    let room = try stack.insert("Room")
    ada["spouse"] = room
    #expect(ada.accessError?.code == .invalidValue)
    let error = try #require(graphError { try stack.context.save() })
    #expect(error.allErrors.map(\.key) == ["spouse"])
    #expect(ada.isInserted)
    stack.context.discardAccessErrors()
    try stack.context.save()
    #expect(try stack.reopened().storedNodes().count == 2)
  }
}
