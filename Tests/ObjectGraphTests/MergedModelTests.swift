import AtomicStoreKit
import AtomicStoreSPI
import Testing

@Suite("Merged models") struct MergedModelTests {
  private func entity(_ name: String, _ properties: [PropertyDescription] = [.attribute("name", .string)])
    -> EntityDescription
  {
    EntityDescription(name: name, properties: properties)
  }

  @Test("entities, templates and configurations are united; what is the same in both is there once")
  func united() throws {
    let one = ModelDescription(
      entities: [entity("Person"), entity("Shared")],
      configurations: [ConfigurationDescription(name: "local", entityNames: ["Person", "Shared"])],
      fetchRequestTemplates: [FetchRequestDescription(name: "all", entityName: "Person")])
    let other = ModelDescription(
      entities: [entity("Shared"), entity("Task", [.toOne("owner", "Person")])],
      configurations: [
        ConfigurationDescription(name: "local", entityNames: ["Shared", "Task"]),
        ConfigurationDescription(name: "cloud", entityNames: ["Task"]),
      ])
    let merged = try ModelDescription(merging: [one, other])
    #expect(merged.entities.map(\.name) == ["Person", "Shared", "Task"])
    #expect(merged.configurations.map(\.name) == ["local", "cloud"])
    #expect(merged.configurations[0].entityNames == ["Person", "Shared", "Task"])
    #expect(merged.fetchRequestTemplates.map(\.name) == ["all"])
    // A relationship may lead from one to the other.
    #expect(try ManagedObjectModel(merged).entity(named: "Task")?.slots.first?.destination != nil)
    #expect(try ModelDescription(merging: [one]) == one)
    #expect(try ModelDescription(merging: []) == ModelDescription())
  }

  @Test("every name that two models describe differently is listed")
  func differences() throws {
    let one = ModelDescription(
      entities: [entity("A"), entity("B")], composites: [CompositeDescription(name: "C", attributes: [])],
      fetchRequestTemplates: [FetchRequestDescription(name: "F", entityName: "A")])
    let other = ModelDescription(
      entities: [entity("A", []), entity("B")],
      composites: [
        CompositeDescription(name: "C", attributes: [AttributeDescription(name: "street", type: .string)])
      ],
      fetchRequestTemplates: [FetchRequestDescription(name: "F", entityName: "B")])
    let error = #expect(throws: InvalidModelError.self) { try ModelDescription(merging: [one, other]) }
    #expect(error?.problems.map(\.code) == [.duplicateEntity, .duplicateComposite, .duplicateFetchRequest])
    #expect(error?.problems.first?.entityName == "A")
  }
}
