import AtomicStoreSPI
import Testing

@Suite("Differences between models") struct ModelDifferencesTests {
  private func differences(
    everything: Bool = false, _ change: (inout ModelDescription) -> Void
  ) throws -> [String] {
    var stored = smallDescription()
    change(&stored)
    return try ManagedObjectModel(smallDescription()).differences(from: stored, includingEverything: everything)
      .map(\.description)
  }

  @Test("equal models have none", arguments: [false, true])
  func none(_ everything: Bool) throws {
    #expect(try differences(everything: everything) { _ in } == [])
  }

  @Test("a type, a cardinality and an order are reported once, at the entity that declares them")
  func kinds() throws {
    #expect(
      try differences { $0.edit("Person", attribute: "age") { $0.type = .integer32 } } == [
        "Person.age: Integer 32 → Integer 16"
      ])
    #expect(
      try differences { $0.edit("Department", relationship: "staff") { $0.maximumCount = 1 } }
        == ["Department.staff: to-one Employee → to-many Employee"])
    #expect(
      try differences { $0.edit("Department", relationship: "staff") { $0.isOrdered = true } }
        == ["Department.staff: ordered to-many Employee → to-many Employee"])
  }

  @Test("entities and properties that only one side has are reported with the side")
  func sides() throws {
    let found = try differences {
      $0.entities.append(EntityDescription(name: "Course"))
      $0.edit("Person") {
        $0.properties.removeLast()
        $0.properties.append(.attribute("e\u{301}", .string))
        $0.isAbstract = false
      }
    }
    #expect(
      found == [
        "Course: only in the store", "Person: concrete → abstract", "Person.e\u{301}: only in the store",
        "Person.name: only in the model",
      ])
  }

  @Test("a moved entity is reported, with what it then lacks")
  func moved() throws {
    let found = try differences {
      let employee = $0.entities[1].subentities.removeLast()
      $0.entities.append(employee)
    }
    #expect(
      found == [
        "Employee: super-entity none → Person", "Employee.age: only in the model", "Employee.name: only in the model",
      ])
  }

  @Test("what does not affect stored data is reported only on request")
  func everything() throws {
    func change(_ stored: inout ModelDescription) {
      stored.edit("Person", attribute: "age") {
        $0.isOptional = false
        $0.defaultValue = .integer(7)
      }
      stored.edit("Person") { $0.managedObjectClassName = "Human" }
      stored.edit("Department", relationship: "staff") { $0.deleteRule = .cascade }
      stored.configurations.append(ConfigurationDescription(name: "C", entityNames: []))
    }
    #expect(try differences(change) == [])
    #expect(
      try differences(everything: true, change) == [
        "Department.staff: deleteRule Cascade → none", "Person: class Human → none",
        "Person.age: default 7 → none", "Person.age: required true → none", "model: configurations differs",
      ])
  }

  @Test("a store whose own model is invalid is reported as such")
  func invalid() throws {
    let found = try differences { $0.edit("Department", relationship: "staff") { $0.destinationEntityName = "None" } }
    #expect(found == ["model: the store's own model is not valid"])
  }
}
