import AtomicStoreSPI
import Foundation
import ModelFiles
import StoreCoordination
import TestSupport
import Testing

@testable import StoreMigration

/// What of a mapping model is refused, and what it loses.
extension MappingModelTests {
  struct Fault: Sendable, CustomTestStringConvertible {
    var mapping: Fixture.Mapping
    var words: String
    var testDescription: String { words }
    init(
      _ words: String, _ property: Fixture.Property? = nil, source: String = "Person", destination: String = "Person",
      filter: String? = nil, policy: String? = nil
    ) {
      self.words = words
      mapping = Fixture.Mapping(
        source: source, destination: destination, filter: filter, policy: policy,
        properties: property.map { [$0] } ?? [])
    }
  }

  private static func manager(_ selector: String, _ name: String, _ objects: String) -> String {
    "FUNCTION($manager, '\(selector):sourceInstances:', '\(name)', \(objects))"
  }

  static let faults = [
    Fault("names this entity of the source, which does not exist", source: "Persona"),
    Fault("names this entity of the destination, which does not exist", destination: "Human"),
    Fault("needs the migration policy 'App.Policy', which is code of the application", policy: "App.Policy"),
    Fault("names this property, which does not exist", .attribute("nick", "'x'")),
    Fault("Person does not have the property 'nome'; did you mean 'name'?", .attribute("name", "$source.nome")),
    Fault("the function 'shout' is code of the application", .attribute("name", "FUNCTION($source.name, 'shout')")),
    Fault(
      "'canonicalName:' of the migration policy is code of the application",
      .attribute("name", "FUNCTION($entityPolicy, 'canonicalName:', $source.name)")),
    Fault("the variable $destination does not have a value", .attribute("name", "$destination")),
    Fault("is supported only as the whole value", .attribute("name", "FUNCTION($manager, 'userInfo') + 'x'")),
    Fault("is not of type Integer 16", .attribute("age", "$source.name")),
    Fault(
      "the entity mapping 'PetToDog' does not exist",
      .relationship("pets", manager("destinationInstancesForEntityMappingNamed", "PetToDog", "$source.pets"))),
    Fault(
      "'associatedSourceMetadata:sourceInstances:' of the migration manager is not supported for a relationship",
      .relationship("pets", manager("associatedSourceMetadata", "x", "$source.pets"))),
    Fault("does not lead to objects of the destination", .relationship("pets", "$source.pets")),
    Fault("leads to something that is not an object", .relationship("pets", path: "$source.name")),
    Fault("is not valid", filter: "name =="),
    Fault("the condition 'nome == \"x\"'", filter: "nome == 'x'"),
  ]

  @Test("faults are refused by name, before anything is made", arguments: faults, bothForms)
  func refused(_ fault: Fault, _ form: Fixture.Form) throws {
    var mappings = Self.same(relationships: [])
    mappings[0] = fault.mapping
    let destination = try Self.before(and: Self.attribute("more"))
    let error = try Self.refusal(try Self.objects(Self.before()), to: destination, mappings, form, allowsLoss: true)
    #expect(error.obstacles.contains { "\($0)".contains(fault.words) }, "\(error)")
    #expect("\(error)".contains("the mapping model") && "\(error)".contains("cannot be followed"))
  }

  @Test("a hash of another version is refused with the entity", arguments: bothForms, [true, false])
  func otherVersion(_ form: Fixture.Form, _ isSource: Bool) throws {
    let model = try Self.before()
    let other = try Self.model(
      EntityDescription(name: "Person", properties: [Self.attribute("name")]),
      EntityDescription(name: "Pet", subentities: [EntityDescription(name: "Dog")]))
    let folder = try TemporaryDirectory("mapping")
    let fixture = Fixture(source: model, destination: model, mappings: Self.same())
    let path = try fixture.write(form, in: folder.path)
    var options = ModelMapping.Options()
    options.mappingModels = [(path, try #require(try MappingModel.read(at: path)))]
    let mapping = ModelMapping(from: isSource ? other : model, to: isSource ? model : other, options: options)
    let person = mapping.obstacles.first { $0.entityName == "Person" }
    #expect(
      person?.reason.contains("is for another version of this entity of the \(isSource ? "source" : "destination")")
        == true, "\(mapping.obstacles)")
  }

  @Test(
    "a to-one that several objects would fill is refused with the object",
    arguments: bothForms)
  func tooMany(_ form: Fixture.Form) throws {
    let destination = try Self.model(
      EntityDescription(name: "Person", properties: [Self.relationship("pet", to: "Pet", inverse: nil)]),
      EntityDescription(name: "Pet", properties: []))
    let mappings = [
      Fixture.Mapping(
        source: "Person", destination: "Person", properties: [.relationship("pet", path: "$source.pets")]),
      Fixture.Mapping(source: "Pet", destination: "Pet"), Fixture.Mapping(source: "Dog", destination: "Pet"),
    ]
    do {
      _ = try Self.migrated(try Self.objects(Self.before()), to: destination, mappings, form, allowsLoss: true)
      Issue.record("it was migrated")
    } catch let error as MigrationError {
      #expect("\(error)".contains("Person/1: the to-one would name 2 objects"), "\(error)")
    }
  }

  @Test("a required attribute that stays null is refused", arguments: bothForms)
  func required(_ form: Fixture.Form) throws {
    let destination = try Self.model(
      EntityDescription(name: "Person", properties: [Self.attribute("name", optional: false)]))
    let mappings = [Fixture.Mapping(source: "Person", destination: "Person", properties: [.attribute("name")])]
    do {
      _ = try Self.migrated(try Self.objects(Self.before()), to: destination, mappings, form, allowsLoss: true)
      Issue.record("it was migrated")
    } catch let error as MigrationError {
      #expect("\(error)".contains("Person.name: required, and null after the mapping (1 object)"), "\(error)")
    }
  }

  @Test(
    "losses: objects that a condition leaves out, entities without a mapping; not those that a mapping removes",
    arguments: bothForms)
  func lossesAreListed(_ form: Fixture.Form) throws {
    let destination = try Self.model(
      EntityDescription(name: "Person", properties: [Self.attribute("name"), Self.attribute("age", .integer16)]))
    let mappings = [
      Fixture.Mapping(
        source: "Person", destination: "Person", filter: "age > 10",
        properties: [.attribute("name"), .attribute("age")]),
      Fixture.Mapping(source: "Pet"),
    ]
    let error = try Self.refusal(try Self.objects(Self.before()), to: destination, mappings, form)
    #expect(
      error.losses.map { "\($0.kind.rawValue) \($0.subject) \($0.count)" } == [
        "entity-dropped Dog 1", "entity-dropped Person 2", "attribute-dropped Person.photo 1",
        "relationship-dropped Person.pets 1", "relationship-dropped Person.friends 1",
      ], "\(error.losses)")
  }

  @Test("of the mapping models of a directory the one that fits is followed; two that fit are refused")
  func directoryOfModels() throws {
    let folder = try TemporaryDirectory("mapping")
    let model = try Self.before()
    let other = try Self.model(EntityDescription(name: "Person"))
    let fitting = Fixture(source: model, destination: model, mappings: Self.same())
    try FileManager.default.createDirectory(
      atPath: folder.path + "/App.app/Resources", withIntermediateDirectories: true)
    _ = try Fixture(
      source: other, destination: other, mappings: [Fixture.Mapping(source: "Person", destination: "Person")]
    ).write(.compiled, in: folder.path + "/App.app", named: "Other")
    _ = try fitting.write(.compiled, in: folder.path + "/App.app/Resources", named: "Fits")
    var options = ModelMapping.Options()
    options.mappingModels = try MappingModel.all(in: folder.path + "/App.app")
    #expect(options.mappingModels.count == 2)
    let mapping = ModelMapping(from: model, to: model, options: options)
    #expect(mapping.obstacles.isEmpty && mapping.mappingModelPath?.hasSuffix("Fits.cdm") == true)
    _ = try fitting.write(.source, in: folder.path + "/App.app/Resources", named: "Too")
    options.mappingModels = try MappingModel.all(in: folder.path)
    let twice = ModelMapping(from: model, to: model, options: options)
    #expect(twice.obstacles.first?.reason.contains("are for the same two models") == true, "\(twice.obstacles)")
    let none = ModelMapping(from: other, to: model, options: options)
    #expect(none.obstacles.contains { $0.reason.contains("Other.cdm: ") }, "\(none.obstacles)")
  }
}
