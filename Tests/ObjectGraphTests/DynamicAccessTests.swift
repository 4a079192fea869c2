import AtomicStoreKit
import AtomicStoreSPI
import Foundation
import Testing

private final class TypedPerson: ManagedObject {
  enum Age: Int, AttributeValue {
    case young = 20
    case old = 80
    static var atomicStoreValueForNull: Age { .young }
  }
  @Managed("name") var name: String
  @Managed("age") var age: Age?
  @Managed("department") var department: ManagedObject?
  @Managed("cousins") var cousins: Set<TypedPerson>
  @Managed("tasks") var tasks: [ManagedObject]
}

@Suite("Access by key and by class") struct DynamicAccessTests {
  @Test("a value that the property cannot hold is refused, not converted", arguments: ["name", "age", "department"])
  func strict(_ key: String) throws {
    let stack = try Stack()
    let ada = try stack.insert("Person")
    let error = #expect(throws: ManagedObjectError.self) { try ada.setValue(1.5, forKey: key) }
    #expect(error?.code == .invalidValue)
    #expect(error?.key == key)
    #expect(ada[key] == nil)
  }

  @Test(
    "an object of an unregistered class is refused by the next save, which names the class and the remedy"
  )
  func unregistered() throws {
    let stack = try Stack()
    let unrelated = TypedPerson(context: stack.context)
    #expect(unrelated.managedObjectContext == nil && unrelated.entity.name == "Unknown")
    unrelated.name = "Ada"
    #expect(unrelated.name == "" && unrelated.accessError != nil)
    let known = try stack.insert("Person", ["name": "Bob"])
    let error = #expect(throws: ManagedObjectError.self) { try stack.context.save() }
    #expect(error?.allErrors.map(\.code) == [.managedObjectValidation])
    #expect(error?.allErrors.first?.message.contains("setManagedObjectClass(TypedPerson.self, forEntityName:)") == true)
    stack.context.rollback()
    #expect(known.isDeleted || known.managedObjectContext == nil)
    // Once it is registered, the same line makes a person.
    stack.coordinator.setManagedObjectClass(TypedPerson.self, forEntityName: "Person")
    let context = ManagedObjectContext(stack.coordinator)
    TypedPerson(context: context).name = "Ada"
    try context.save()
    #expect(try context.count(for: FetchRequest(entityName: "Person")) == 1)
  }

  @Test("a misspelt key is refused with a suggestion")
  func suggestion() throws {
    let stack = try Stack()
    let ada = try stack.insert("Person")
    let error = #expect(throws: ManagedObjectError.self) { try ada.value(forKey: "nmae") }
    #expect(error?.code == .undefinedKey)
    #expect(error?.message.contains("'name'") == true)
  }

  @Test("a refused assignment by subscript makes the next save fail, until it is discarded")
  func subscripts() throws {
    let stack = try Stack()
    let ada = try stack.insert("Person", ["name": "Ada"])
    ada["age"] = "old"
    #expect(ada.accessError?.code == .invalidValue)
    let error = #expect(throws: ManagedObjectError.self) { try stack.context.save() }
    #expect(error?.allErrors.map(\.code) == [.invalidValue])
    stack.context.discardAccessErrors()
    try stack.context.save()
    #expect(try stack.reread("Person").count == 1)
  }

  @Test("typed properties read and write attributes, raw values, objects, sets and lists")
  func typed() throws {
    let stack = try Stack(classes: ["Person": TypedPerson.self])
    let ada = try #require(try stack.insert("Person") as? TypedPerson)
    let bob = try #require(try stack.insert("Person") as? TypedPerson)
    let sales = try stack.insert("Department")
    let tasks = [try stack.insert("Task"), try stack.insert("Task")]
    #expect(ada.name == "")
    #expect(ada.age == nil)
    ada.name = "Ada"
    ada.age = .old
    ada.department = sales
    ada.cousins = [bob]
    ada.tasks = tasks
    #expect(ada["age"] as? Int == 80)
    #expect(ada.department === sales)
    #expect(bob.cousins == [ada])
    #expect(ada.tasks == tasks)
    try ada.setValue(7, forKey: "age")
    #expect(ada.age == nil)
  }
}
