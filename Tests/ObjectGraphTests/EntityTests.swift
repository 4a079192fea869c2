import AtomicStoreKit
import AtomicStoreSPI
import Foundation
import Testing

private class Party: ManagedObject {
  @Managed("firstName") var firstName: String
  @Managed("lastName") var lastName: String
  var fullName: String { "\(firstName) \(lastName)" }
}
private final class Clerk: Party {
  @Managed("salary") var salary: Int
}

@Suite("Entities, their classes and their objects") struct EntityTests {
  static func text(_ name: String) -> PropertyDescription {
    .attribute(name, .string)
  }

  /// The guide's example: Employee and Customer inherit the names of Person.
  static let description = ModelDescription(entities: [
    EntityDescription(
      name: "Person", isAbstract: true, managedObjectClassName: "Party",
      properties: [text("firstName"), text("lastName")],
      subentities: [
        EntityDescription(
          name: "Employee", managedObjectClassName: "Clerk",
          properties: [.attribute("salary", .integer32)]),
        EntityDescription(name: "Customer", managedObjectClassName: "Party", properties: [text("number")]),
      ]),
    EntityDescription(name: "Note", properties: [text("text")]),
  ])

  func stack(_ type: String = "XML") throws -> Stack {
    try Stack(
      type, model: try ManagedObjectModel(Self.description),
      classes: ["Person": Party.self, "Employee": Clerk.self, "Customer": Party.self])
  }

  @Test("a model that is no longer used is deallocated, with what was compiled from it; an object alone retains it")
  func ends() throws {
    weak var seen: ManagedObjectModel?
    var object: ManagedObject?
    do {
      let stack = try stack()
      seen = stack.store.model
      object = try stack.insert("Employee", ["firstName": "Ada", "lastName": "L"])
      try stack.context.save()
    }
    #expect(object?.entity.superentity?.name == "Person")
    #expect(seen != nil)
    object = nil
    #expect(seen == nil)
  }

  @Test("sub-entities have the properties of their super-entity and their own", arguments: Stack.types)
  func inherits(_ type: String) throws {
    let stack = try stack(type)
    _ = try stack.insert("Employee", ["firstName": "Ada", "lastName": "L", "salary": 5])
    _ = try stack.insert("Customer", ["firstName": "Bob", "lastName": "M", "number": "17"])
    try stack.context.save()
    let again = try stack.reopened()
    try withExtendedLifetime(again) {
      let people = try again.fetch("Person")
      #expect(people.map(\.entity.name).sorted() == ["Customer", "Employee"])
      #expect(Set(people.compactMap { $0["firstName"] as? String }) == ["Ada", "Bob"])
      let ada = try #require(people.first { $0.entity.name == "Employee" })
      #expect(ada["salary"] as? Int == 5)
      #expect(throws: ManagedObjectError.self) { try ada.value(forKey: "number") }
    }
    let employee = try #require(stack.store.model.entity(named: "Employee"))
    #expect(Set(employee.attributesByName.keys) == ["firstName", "lastName", "salary"])
    #expect(employee.declaration.properties.map(\.name) == ["salary"])
  }

  @Test("the methods of the super-entity's class are inherited by its sub-entities' classes")
  func classesInherit() throws {
    let stack = try stack()
    let ada = try #require(try stack.insert("Employee", ["firstName": "Ada", "lastName": "L"]) as? Clerk)
    let bob = try #require(try stack.insert("Customer", ["firstName": "Bob", "lastName": "M"]) as? Party)
    #expect(ada.fullName == "Ada L")
    #expect(bob.fullName == "Bob M")
    try stack.context.save()
    let everybody = try stack.context.fetch(FetchRequest<Party>(entityName: "Person"))
    #expect(Set(everybody.map(\.fullName)) == ["Ada L", "Bob M"])
  }

  @Test("a class may have another name than its entity, and may serve several entities")
  func classNames() throws {
    let stack = try stack()
    let bob = try stack.insert("Customer")
    #expect(type(of: bob) == Party.self)
    #expect(bob.entity.name == "Customer")
    #expect(bob.entity.managedObjectClassName == "Party")
    #expect(type(of: try stack.insert("Employee")) == Clerk.self)
  }

  @Test("an entity without a class has objects of class ManagedObject, which can represent any entity")
  func generic() throws {
    let stack = try stack()
    let note = try stack.insert("Note", ["text": "Hi"])
    #expect(type(of: note) == ManagedObject.self)
    let plain = try Stack(model: try ManagedObjectModel(Self.description))
    for name in ["Employee", "Customer", "Note"] {
      #expect(type(of: try plain.insert(name)) == ManagedObject.self)
    }
  }

  @Test("an object gives access to its entity's name, attributes and relationships through the entity's description")
  func metadata() throws {
    let stack = try Stack()
    let task = try stack.insert("Task")
    #expect(task.entity == CompanyGraph.model.entity(named: "Task"))
    #expect(task.entity.name == "Task")
    #expect(task.entity.attributesByName["title"]?.type == .string)
    #expect(task.entity.relationshipsByName["people"]?.destinationEntityName == "Person")
    #expect(task.entity.isKindOf(entity: task.entity))
    #expect(!task.entity.isKindOf(entity: try #require(CompanyGraph.model.entity(named: "Person"))))
  }

  @Test("a super-entity follows from the sub-entities that it was given")
  func topDown() throws {
    let model = try ManagedObjectModel(Self.description)
    let person = try #require(model.entity(named: "Person"))
    #expect(person.superentity == nil)
    #expect(person.subentities.map(\.name).sorted() == ["Customer", "Employee"])
    #expect(person.subentities.allSatisfy { $0.superentity == person && $0.isKindOf(entity: person) })
    #expect(model.entity(named: "Note")?.superentity == nil)
  }

  @Test("a to-one is an object, a to-many a set, an ordered to-many a list")
  func representations() throws {
    let stack = try Stack()
    let ada = try stack.insert("Person", ["name": "Ada"])
    let sales = try stack.insert("Department")
    let task = try stack.insert("Task")
    try ada.setValue(sales, forKey: "department")
    try ada.setValue([task], forKey: "tasks")
    #expect(try ada.value(forKey: "department") as? ManagedObject === sales)
    #expect(try sales.value(forKey: "employees") as? Set<ManagedObject> == [ada])
    #expect(try ada.value(forKey: "tasks") as? [ManagedObject] == [task])
  }

  @Test("a fault is of its entity's class and has no values yet")
  func faultClass() throws {
    let stack = try stack()
    let id = try stack.insert("Employee", ["firstName": "Ada", "lastName": "L"])
    try stack.context.save()
    let other = ManagedObjectContext(stack.coordinator)
    let fault = other.object(with: id.objectID)
    #expect(type(of: fault) == Clerk.self)
    #expect(fault.isFault)
    #expect(try fault.primitiveValue(forKey: "firstName") == nil)
    #expect((fault as? Clerk)?.firstName == "Ada")
    #expect(!fault.isFault)
  }
}
