import AtomicStoreSPI
import Foundation
import ModelFiles
import StoreCoordination
import TestSupport
import Testing

@testable import StoreMigration

@Suite("Following Xcode's mapping models") struct MappingModelTests {
  typealias Fixture = MappingModelFixture
  static let bothForms = Fixture.Form.allCases

  // MARK: Models and objects

  static func attribute(
    _ name: String, _ type: AttributeType = .string, optional: Bool = true, value: StoredValue? = nil
  ) -> PropertyDescription {
    .attribute(AttributeDescription(name: name, type: type, isOptional: optional, defaultValue: value))
  }

  static func relationship(
    _ name: String, to destination: String, inverse: String?, many: Bool = false, ordered: Bool = false,
    optional: Bool = true
  ) -> PropertyDescription {
    .relationship(
      RelationshipDescription(
        name: name, destinationEntityName: destination, inverseName: inverse, isOptional: optional,
        maximumCount: many ? 0 : 1, isOrdered: ordered))
  }

  static func model(_ entities: EntityDescription...) throws -> ManagedObjectModel {
    try ManagedObjectModel(ModelDescription(entities: entities))
  }

  /// People with an ordered list of pets, and friends on both sides; dogs are pets.
  static func before(and more: PropertyDescription...) throws -> ManagedObjectModel {
    try model(
      EntityDescription(
        name: "Person",
        properties: more + [
          attribute("name"), attribute("age", .integer16), attribute("photo", .binaryData),
          relationship("pets", to: "Pet", inverse: "owner", many: true, ordered: true),
          relationship("friends", to: "Person", inverse: "friends", many: true),
        ]),
      EntityDescription(
        name: "Pet", properties: [attribute("name"), relationship("owner", to: "Person", inverse: "pets")],
        subentities: [EntityDescription(name: "Dog", properties: [attribute("breed")])]))
  }

  static func reference(_ entity: String, _ number: Int64) -> ObjectReference {
    ObjectReference(entityName: entity, reference: .integer(number))
  }

  static func objects(_ model: ManagedObjectModel) throws -> NodeTable {
    var nodes = NodeTable(model: model)
    let rows: [(String, Int64, [String: StoredValue])] = [
      ("Person", 1, ["name": .string("Ada"), "age": .integer(36), "photo": .data(Data([1, 2]))]),
      ("Person", 2, ["name": .string("Bob"), "age": .integer(7)]), ("Person", 3, [:]),
      ("Pet", 1, ["name": .string("Tom"), "owner": .toOne(reference("Person", 1))]),
      ("Dog", 2, ["name": .string("Rex"), "breed": .string("Pug"), "owner": .toOne(reference("Person", 1))]),
      ("Pet", 3, ["name": .string("Kim")]),
    ]
    for (entity, number, values) in rows {
      let index = try #require(model.entity(named: entity)).index
      let node = try nodes.addCacheNode(entity: index, reference: .integer(number))
      for (key, value) in values { try nodes.setValue(value, forKey: key, of: node) }
    }
    func set(_ number: Int64, _ key: String, _ value: StoredValue) throws {
      try nodes.setValue(value, forKey: key, of: try #require(nodes.handle(for: reference("Person", number))))
    }
    try set(1, "pets", .toMany([reference("Dog", 2), reference("Pet", 1)]))
    try set(1, "friends", .toMany([reference("Person", 2), reference("Person", 3)]))
    try set(2, "friends", .toMany([reference("Person", 1)]))
    try set(3, "friends", .toMany([reference("Person", 1)]))
    return nodes
  }

  static func value(_ nodes: NodeTable, _ entity: String, _ number: Int64, _ key: String) throws -> StoredValue {
    let node = try #require(nodes.handle(for: reference(entity, number)), "\(entity)/\(number)")
    return try #require(nodes.value(forKey: key, of: node), "\(key)")
  }

  /// Writes the mapping model in a form, reads it, and follows it.
  static func migrated(
    _ nodes: NodeTable, to destination: ManagedObjectModel, _ mappings: [Fixture.Mapping], _ form: Fixture.Form,
    allowsLoss: Bool = false, converts: Bool = false
  ) throws -> NodeTable {
    let folder = try TemporaryDirectory("mapping")
    let fixture = Fixture(source: nodes.model, destination: destination, mappings: mappings)
    let path = try fixture.write(form, in: folder.path)
    var stage = MigrationPlan.Stage.inferred(to: destination)
    stage.options.mappingModels = [(path, try #require(try MappingModel.read(at: path)))]
    stage.options.convertsTypes = converts
    var plan = MigrationPlan([stage])
    plan.allowsLoss = allowsLoss
    let result = try StoreMigrator(plan).migrate(nodes, store: UUID())
    #expect(result.steps.count == 1)
    return result.nodes
  }

  static func refusal(
    _ nodes: NodeTable, to destination: ManagedObjectModel, _ mappings: [Fixture.Mapping], _ form: Fixture.Form,
    allowsLoss: Bool = false
  ) throws -> MigrationError {
    do {
      _ = try migrated(nodes, to: destination, mappings, form, allowsLoss: allowsLoss)
    } catch let error as MigrationError {
      return error
    }
    Issue.record("the mapping model was followed")
    return MigrationError(obstacles: [], losses: [])
  }

  /// Mappings of everything in ``before()`` to the same names, with what Xcode generates.
  static func same(
    person: [Fixture.Property] = [.attribute("name"), .attribute("age"), .attribute("photo")],
    pet: [Fixture.Property] = [.attribute("name")],
    relationships: [Fixture.Property] = [.relationship("pets"), .relationship("friends")]
  ) -> [Fixture.Mapping] {
    [
      Fixture.Mapping(source: "Person", destination: "Person", properties: person + relationships),
      Fixture.Mapping(source: "Pet", destination: "Pet", properties: pet + [.relationship("owner")]),
      Fixture.Mapping(
        source: "Dog", destination: "Dog", properties: pet + [.attribute("breed"), .relationship("owner")]),
    ]
  }

  // MARK: What is followed

  @Test(
    "what Xcode generates keeps attributes, order, to-ones, both sides of many-to-many, and sub-entities",
    arguments: bothForms)
  func generated(_ form: Fixture.Form) throws {
    let nodes = try Self.objects(Self.before())
    let destination = try Self.model(
      EntityDescription(
        name: "Person",
        properties: [
          Self.attribute("name"), Self.attribute("age", .integer16), Self.attribute("photo", .binaryData),
          Self.attribute("rank", .integer16, optional: false, value: .integer(4)),
          Self.relationship("pets", to: "Pet", inverse: "owner", many: true, ordered: true),
          Self.relationship("friends", to: "Person", inverse: "friends", many: true),
        ]),
      EntityDescription(
        name: "Pet", properties: [Self.attribute("name"), Self.relationship("owner", to: "Person", inverse: "pets")],
        subentities: [EntityDescription(name: "Dog", properties: [Self.attribute("breed")])]))
    var mappings = Self.same()
    mappings[0].properties.append(.attribute("rank"))
    let result = try Self.migrated(nodes, to: destination, mappings, form)
    #expect(try Self.value(result, "Person", 1, "photo") == .data(Data([1, 2])))
    #expect(try Self.value(result, "Person", 1, "rank") == .integer(4))
    #expect(
      try Self.value(result, "Person", 1, "pets")
        == .toMany([Self.reference("Dog", 2), Self.reference("Pet", 1)]))
    #expect(try Self.value(result, "Dog", 2, "owner") == .toOne(Self.reference("Person", 1)))
    #expect(try Self.value(result, "Dog", 2, "breed") == .string("Pug"))
    #expect(try Self.value(result, "Pet", 3, "owner") == .null)
    #expect(try Self.value(result, "Person", 3, "friends") == .toMany([Self.reference("Person", 1)]))
  }

  static let expressions: [(text: String, type: AttributeType, value: StoredValue)] = [
    ("$source.name", .string, .string("Ada")), ("$source.age", .integer32, .integer(36)),
    ("$source.age", .double, .double(36)), ("'x' + $source.name", .string, .string("xAda")),
    ("($source.age + 1) * 2", .integer16, .integer(74)), ("$source.age - (10 - 4)", .integer16, .integer(30)),
    ("(2 ** 3) ** 2", .integer16, .integer(64)), ("7", .integer16, .integer(7)), ("'fixed'", .string, .string("fixed")),
    ("YES", .boolean, .boolean(true)), ("1", .boolean, .boolean(true)), ("NO", .integer16, .integer(0)),
    ("nil", .string, .null), ("uppercase($source.name)", .string, .string("ADA")),
    ("FUNCTION($source.name, 'uppercaseString')", .string, .string("ADA")),
    ("FUNCTION($source, 'valueForKeyPath:', 'pets.@count')", .integer16, .integer(2)),
    ("FUNCTION($source.name, 'stringByAppendingString:', '!')", .string, .string("Ada!")),
    ("SUBQUERY($source.friends, $f, $f.age < $source.age).@count", .integer16, .integer(1)),
    ("$entityMapping.name", .string, .string("PersonToHuman")), ("$propertyMapping.name", .string, .string("new")),
    ("$entityMapping.userInfo.origin", .string, .string("import")),
  ]

  @Test("value expressions", arguments: expressions.indices, bothForms)
  func expression(_ index: Int, _ form: Fixture.Form) throws {
    let (text, type, value) = Self.expressions[index]
    let destination = try Self.model(EntityDescription(name: "Human", properties: [Self.attribute("new", type)]))
    let mapping = Fixture.Mapping(
      source: "Person", destination: "Human", filter: "age == 36", userInfo: ["origin": "import"],
      properties: [.attribute("new", text)])
    let nodes = try Self.migrated(
      try Self.objects(Self.before()), to: destination, [mapping], form, allowsLoss: true)
    #expect(try Self.value(nodes, "Human", 1, "new") == value, "\(text)")
    #expect(nodes.count(of: 0) == 1)
  }

  @Test(
    "one object becomes two: the second mapping has a condition, and its relationship leads to the first",
    arguments: bothForms)
  func split(_ form: Fixture.Form) throws {
    let destination = try Self.model(
      EntityDescription(
        name: "Person",
        properties: [
          Self.attribute("name"), Self.relationship("pictures", to: "Picture", inverse: "person", many: true),
        ]),
      EntityDescription(
        name: "Picture",
        properties: [
          Self.attribute("photo", .binaryData),
          Self.relationship("person", to: "Person", inverse: "pictures", optional: false),
        ]))
    let mappings = [
      Fixture.Mapping(
        source: "Person", destination: "Person", properties: [.attribute("name"), .relationship("pictures")]),
      Fixture.Mapping(
        name: "PersonToPicture", source: "Person", destination: "Picture", filter: "photo != nil",
        properties: [.attribute("photo"), .relationship("person", path: "$source", by: "PersonToPerson")]),
      Fixture.Mapping(source: "Pet"), Fixture.Mapping(source: "Dog"),
    ]
    let nodes = try Self.objects(Self.before())
    let refused = try Self.refusal(nodes, to: destination, mappings, form)
    #expect(refused.losses.map(\.subject) == ["Person.age", "Person.pets", "Person.friends"])
    let result = try Self.migrated(nodes, to: destination, mappings, form, allowsLoss: true)
    #expect(result.handles(ofEntity: "Person").count == 3 && result.handles(ofEntity: "Picture").count == 1)
    #expect(try Self.value(result, "Picture", 1, "photo") == .data(Data([1, 2])))
    #expect(try Self.value(result, "Picture", 1, "person") == .toOne(Self.reference("Person", 1)))
    #expect(try Self.value(result, "Person", 1, "pictures") == .toMany([Self.reference("Picture", 1)]))
    #expect(try Self.value(result, "Person", 2, "pictures") == .toMany([]))
  }

  @Test(
    "two entities become one: the objects of the second get new references, which relationships follow",
    arguments: bothForms)
  func merge(_ form: Fixture.Form) throws {
    let destination = try Self.model(
      EntityDescription(
        name: "Being",
        properties: [
          Self.attribute("name"), Self.relationship("owner", to: "Being", inverse: "owned"),
          Self.relationship("owned", to: "Being", inverse: "owner", many: true, ordered: true),
        ]))
    let owner =
      "FUNCTION($manager, 'destinationInstancesForSourceRelationshipNamed:sourceInstances:', 'owner', $source.owner)"
    let mappings = [
      Fixture.Mapping(source: "Person", destination: "Being", properties: [.attribute("name")]),
      Fixture.Mapping(
        source: "Pet", destination: "Being", properties: [.attribute("name"), .relationship("owner", owner)]),
      Fixture.Mapping(source: "Dog", destination: "Being", properties: [.attribute("name")]),
    ]
    // The first mapping does not fill the relationship that the second one fills.
    let result = try Self.migrated(
      try Self.objects(Self.before()), to: destination, mappings, form, allowsLoss: true)
    #expect(result.handles(ofEntity: "Being").count == 6)
    let names = try (1...6).map { try Self.value(result, "Being", Int64($0), "name") }
    #expect(names == ["Ada", "Bob", nil, "Tom", "Kim", "Rex"].map { $0.map { .string($0) } ?? .null })
    #expect(try Self.value(result, "Being", 4, "owner") == .toOne(Self.reference("Being", 1)))
    #expect(try Self.value(result, "Being", 1, "owned") == .toMany([Self.reference("Being", 4)]))
  }

  @Test(
    "a path over two relationships, a distinct union, and a relationship that only its other end maps",
    arguments: bothForms)
  func paths(_ form: Fixture.Form) throws {
    let destination = try Self.model(
      EntityDescription(
        name: "Person",
        properties: [
          Self.attribute("name"), Self.relationship("pets", to: "Pet", inverse: "owner", many: true),
          Self.relationship("petsOfFriends", to: "Pet", inverse: nil, many: true),
        ]),
      EntityDescription(
        name: "Pet",
        properties: [
          Self.attribute("name"), Self.relationship("owner", to: "Person", inverse: "pets"),
          Self.relationship("contacts", to: "Person", inverse: nil, many: true),
        ]))
    let mappings = [
      Fixture.Mapping(
        source: "Person", destination: "Person",
        properties: [
          .attribute("name"),
          .relationship("petsOfFriends", path: "$source.friends.@distinctUnionOfSets.pets", by: "PetToPet"),
        ]),
      Fixture.Mapping(
        source: "Pet", destination: "Pet",
        properties: [
          .attribute("name"), .relationship("owner"),
          .relationship("contacts", path: "$source.owner.friends", by: "PersonToPerson"),
        ]),
      Fixture.Mapping(source: "Dog"),
    ]
    let nodes = try Self.migrated(
      try Self.objects(Self.before()), to: destination, mappings, form, allowsLoss: true)
    #expect(try Self.value(nodes, "Person", 2, "petsOfFriends") == .toMany([Self.reference("Pet", 1)]))
    #expect(
      try Self.value(nodes, "Pet", 1, "contacts")
        == .toMany([Self.reference("Person", 2), Self.reference("Person", 3)]))
    #expect(try Self.value(nodes, "Person", 1, "pets") == .toMany([Self.reference("Pet", 1)]))
  }

  @Test("both forms are read equal", arguments: [false, true])
  func equalForms(_ hasFilter: Bool) throws {
    let folder = try TemporaryDirectory("mapping")
    let model = try Self.before()
    var mappings = Self.same(person: [.attribute("name", "'a' + $source.name"), .attribute("age")])
    if hasFilter { mappings[1].filter = "name LIKE \"K*\" AND owner == nil" }
    mappings.append(Fixture.Mapping(destination: "Person", userInfo: ["key": "value"]))
    let fixture = Fixture(source: model, destination: model, mappings: mappings)
    let source = try #require(try MappingModel.read(at: try fixture.write(.source, in: folder.path, named: "a")))
    let compiled = try #require(try MappingModel.read(at: try fixture.write(.compiled, in: folder.path, named: "b")))
    #expect(source.entityMappings == compiled.entityMappings)
    #expect(source.entityMappings.map(\.name) == ["PersonToPerson", "PetToPet", "DogToDog", "Person"])
  }

  // MARK: The corpus

  static let corpus: [String] = {
    let folder = MigrationPairs.shared + "/corpus/xmlstores"
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return names.filter { $0.hasSuffix("xcmapping.xml") }.sorted().map { folder + "/" + $0 }
  }()

  @Test(
    "each mapping model of the corpus is followed between its own models, or its policies are named",
    arguments: corpus)
  func followsCorpus(_ path: String) throws {
    let mapping = try #require(try MappingModel.read(at: path))
    let (from, to) = try #require(mapping.models)
    var options = ModelMapping.Options()
    options.mappingModels = [(path, mapping)]
    let result = ModelMapping(from: from, to: to, options: options)
    let policies = mapping.entityMappings.compactMap(\.policyClassName)
    #expect(result.obstacles.count == policies.count, "\(result.obstacles)")
    for policy in policies { #expect(result.obstacles.contains { $0.reason.contains("'\(policy)'") }) }
    guard policies.isEmpty else { return }
    // An object of each entity, without values: each mapping is applied.
    var nodes = NodeTable(model: from)
    for entity in from.entities where !entity.isAbstract {
      _ = try nodes.addCacheNode(entity: entity.index, reference: .integer(Int64(entity.index)))
    }
    let made = try result.apply(to: nodes)
    #expect(made.model.entities.contains { made.count(of: $0.index) > 0 })
  }
}
