import AtomicStoreKit
import AtomicStoreSPI
import Testing

/// What programs that wrap objects in classes often have, and what the kit's property wrapper is called too.
private protocol Managed: ManagedObject {
  static var entityName: String { get }
}

private final class NamedPerson: ManagedObject, Managed {
  static let entityName = "Person"
  @AtomicStoreKit.Managed("name") var name: String
}

@Suite("Names of a program's own beside the kit's") struct ManagedNameTests {
  @Test("a class uses the property wrapper although its module has a protocol Managed")
  func ownProtocol() throws {
    let stack = try Stack()
    stack.coordinator.setManagedObjectClass(NamedPerson.self, forEntityName: NamedPerson.entityName)
    let person = NamedPerson(context: ManagedObjectContext(stack.coordinator))
    person.name = "Ada"
    #expect(try person.value(forKey: "name") as? String == "Ada")
  }
}
