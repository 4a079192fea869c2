import AtomicStoreSPI
import Foundation
import StoreCoordination
import Testing

@testable import StoreMigration

/// What a migration says before it changes anything is what it does, however many steps it takes.
@Suite("Reports of migrations") struct MigrationReportTests {
  private static func model(_ entities: [EntityDescription], composites: [CompositeDescription] = []) throws
    -> ManagedObjectModel
  {
    try ManagedObjectModel(ModelDescription(entities: entities, composites: composites))
  }

  private static func nodes(_ model: ManagedObjectModel, _ objects: [(Int64, [String: StoredValue])]) throws
    -> NodeTable
  {
    var nodes = NodeTable(model: model)
    for (number, values) in objects {
      let node = try nodes.addCacheNode(entity: 0, reference: .integer(number))
      for (key, value) in values { try nodes.setValue(value, forKey: key, of: node) }
    }
    return nodes
  }

  private static func migrated(
    _ nodes: NodeTable, _ models: [ManagedObjectModel], allowsLoss: Bool = false, file: String? = nil
  ) throws -> StoreMigrator.Result {
    var stages = models.map { MigrationPlan.Stage.inferred(to: $0) }
    for index in stages.indices { stages[index].name = "version \(index + 2)" }
    if let file { stages[stages.count - 1].options.file = try MappingFile(json: Array(file.utf8), name: "m.json") }
    var plan = MigrationPlan(stages)
    plan.allowsLoss = allowsLoss
    return try StoreMigrator(plan).migrate(nodes, store: UUID())
  }

  private static func person(_ names: String...) -> [EntityDescription] {
    [EntityDescription(name: "Person", properties: names.map { .attribute($0, .string) })]
  }

  @Test("the losses of all steps are listed at once, and are those that happen")
  func losses() throws {
    let models = try [Self.person("a", "b", "c"), Self.person("b", "c"), Self.person("b", "c", "d"), Self.person("b")]
      .map { try Self.model($0) }
    let nodes = try Self.nodes(models[0], [(1, ["a": .string("1"), "b": .string("2"), "c": .string("3")])])
    let steps = Array(models.dropFirst())
    let refused = try #require(throws: MigrationError.self) { _ = try Self.migrated(nodes, steps) }
    let taken = try Self.migrated(nodes, steps, allowsLoss: true)
    #expect(refused.losses.map(\.subject) == ["Person.a", "Person.c"] && refused.step == nil)
    #expect(taken.steps.flatMap(\.losses) == refused.losses)
    let direct = try #require(throws: MigrationError.self) { _ = try Self.migrated(nodes, [models[3]]) }
    #expect(direct.losses == refused.losses)
    // What cannot be inferred later does not hide what was lost before.
    let impossible = try Self.model([
      EntityDescription(
        name: "Person", properties: [.attribute("b", .string), .attribute("x", .string, isOptional: false)])
    ])
    let error = try #require(throws: MigrationError.self) { _ = try Self.migrated(nodes, [models[1], impossible]) }
    #expect(error.obstacles.map(\.propertyName) == ["x"] && error.losses.map(\.subject) == ["Person.a", "Person.c"])
  }

  @Test(
    "a default in a mapping file fills what is null, with and without the name of the source",
    arguments: [#"{"default": "FR"}"#, #"{"default": "FR", "from": "country"}"#])
  func defaults(_ rule: String) throws {
    func model(_ isOptional: Bool) throws -> ManagedObjectModel {
      try Self.model([
        EntityDescription(name: "Person", properties: [.attribute("country", .string, isOptional: isOptional)])
      ])
    }
    let nodes = try Self.nodes(try model(true), [(1, ["country": .string("UK")]), (2, [:])])
    let file = #"{"entities": {"Person": {"properties": {"country": \#(rule)}}}}"#
    let new = try Self.migrated(nodes, [model(false)], file: file).nodes
    #expect(new.handles(of: 0).map { new.value(slot: 0, of: $0) } == [.string("UK"), .string("FR")])
  }

  @Test("renaming identifiers of composite attributes, of their parts, and of both are followed")
  func composites() throws {
    func model(_ name: String, _ part: String, _ was: String?, _ partWas: String?) throws -> ManagedObjectModel {
      try Self.model(
        [
          EntityDescription(
            name: "Person",
            properties: [
              .attribute(AttributeDescription(name: name, type: .composite("Place"), renamingIdentifier: was))
            ])
        ],
        composites: [
          CompositeDescription(
            name: "Place",
            attributes: [AttributeDescription(name: part, type: .string, renamingIdentifier: partWas)])
        ])
    }
    let old = try model("address", "city", nil, nil)
    let nodes = try Self.nodes(old, [(1, ["address.city": .string("Rome")])])
    for (new, key) in [
      (try model("home", "city", "address", nil), "home.city"),
      (try model("address", "town", nil, "city"), "address.town"),
      (try model("home", "town", "address", "city"), "home.town"),
    ] {
      let migrated = try Self.migrated(nodes, [new]).nodes
      let node = try #require(migrated.handles(of: 0).first)
      #expect(migrated.value(forKey: key, of: node) == .string("Rome"))
    }
  }

  @Test("a renamed composite in a composite is followed")
  func nestedComposites() throws {
    func model(_ name: String, _ was: String?) throws -> ManagedObjectModel {
      try Self.model(
        [EntityDescription(name: "Person", properties: [.attribute("address", .composite("Address"))])],
        composites: [
          CompositeDescription(
            name: "Address",
            attributes: [AttributeDescription(name: name, type: .composite("Geo"), renamingIdentifier: was)]),
          CompositeDescription(name: "Geo", attributes: [AttributeDescription(name: "lat", type: .double)]),
        ])
    }
    let nodes = try Self.nodes(try model("geo", nil), [(1, ["address.geo.lat": .double(1.5)])])
    let migrated = try Self.migrated(nodes, [model("spot", "geo")]).nodes
    let node = try #require(migrated.handles(of: 0).first)
    #expect(migrated.value(forKey: "address.spot.lat", of: node) == .double(1.5))
  }

  private static func model(friends minimum: Int, _ maximum: Int, isOptional: Bool = true) throws -> ManagedObjectModel
  {
    try model([
      EntityDescription(
        name: "Person",
        properties: [
          .relationship(
            RelationshipDescription(
              name: "friends", destinationEntityName: "Person", inverseName: nil, isOptional: isOptional,
              minimumCount: minimum, maximumCount: maximum))
        ])
    ])
  }

  /// Three persons, of which the first ones are friends of all of them.
  private static func friends(of count: Int64, _ model: ManagedObjectModel) throws -> NodeTable {
    func person(_ number: Int64) -> ObjectReference {
      ObjectReference(entityName: "Person", reference: .integer(number))
    }
    var nodes = try nodes(model, [(1, [:]), (2, [:]), (3, [:])])
    for number in 0..<count {
      let node = try #require(nodes.handle(for: person(number + 1)))
      try nodes.setValue(.toMany([person(1), person(2), person(3)]), forKey: "friends", of: node)
    }
    return nodes
  }

  @Test("what an object broke before does not excuse what it breaks now, or breaks more")
  func otherBreach() throws {
    let nodes = try Self.friends(of: 3, Self.model(friends: 0, 2, isOptional: false))
    #expect(try Self.migrated(nodes, [Self.model(friends: 1, 2, isOptional: false)]).nodes.count == 3)
    let error = try #require(throws: MigrationError.self) {
      _ = try Self.migrated(nodes, [Self.model(friends: 4, 0, isOptional: false)])
    }
    #expect(error.obstacles.map(\.objectCount) == [3])
  }

  @Test("a to-many that becomes required may be empty, unless it has a minimum count")
  func requiredToMany() throws {
    let nodes = try Self.friends(of: 1, Self.model(friends: 0, 0))
    let required = try Self.model(friends: 0, 0, isOptional: false)
    #expect(try Self.migrated(nodes, [required]).nodes.count == 3)
    let error = try #require(throws: MigrationError.self) {
      _ = try Self.migrated(nodes, [Self.model(friends: 1, 0, isOptional: false)])
    }
    #expect(error.obstacles.map(\.reason) == ["required, and Person/2, Person/3 have none"])
    // What was required before, and empty, is not what the migration does.
    let same = try Self.friends(of: 1, required)
    #expect(try Self.migrated(same, [Self.model(friends: 0, 5, isOptional: false)]).nodes.count == 3)
  }

  @Test("objects that have more than a new maximum count are named; those that had before are left")
  func maximum() throws {
    let nodes = try Self.friends(of: 1, Self.model(friends: 0, 0))
    let error = try #require(throws: MigrationError.self) {
      _ = try Self.migrated(nodes, [Self.model(friends: 0, 2)], allowsLoss: true)
    }
    #expect(error.obstacles.map(\.reason) == ["at most 2 objects are allowed, and Person/1 has more"])
    #expect(try Self.migrated(nodes, [Self.model(friends: 0, 3)]).nodes.count == 3)
    let before = try Self.friends(of: 1, Self.model(friends: 0, 2))
    #expect(try Self.migrated(before, [Self.model(friends: 0, 2)]).nodes.count == 3)
  }

  @Test("objects that name one whose entity has left the hierarchy are counted, beside what would be lost")
  func leavingHierarchy() throws {
    func model(_ isInside: Bool) throws -> ManagedObjectModel {
      let project = EntityDescription(name: "Project", properties: [.attribute("title", .string)])
      let favorite = PropertyDescription.relationship(
        RelationshipDescription(name: "favorite", destinationEntityName: "Record", inverseName: nil, maximumCount: 1))
      return try Self.model(
        [
          EntityDescription(
            name: "Person", properties: (isInside ? [.attribute("nick", .string)] : []) + [favorite]),
          EntityDescription(name: "Record", properties: [], subentities: isInside ? [project] : []),
        ] + (isInside ? [] : [project]))
    }
    let old = try model(true)
    var nodes = try Self.nodes(old, [])
    let (person, project) = (try #require(old.entity(named: "Person")), try #require(old.entity(named: "Project")))
    _ = try nodes.addCacheNode(entity: project.index, reference: .integer(7))
    for number: Int64 in 1...2 {
      let node = try nodes.addCacheNode(entity: person.index, reference: .integer(number))
      try nodes.setValue(.string("n"), forKey: "nick", of: node)
      try nodes.setValue(
        .toOne(ObjectReference(entityName: "Project", reference: .integer(7))), forKey: "favorite", of: node)
    }
    let error = try #require(throws: MigrationError.self) { _ = try Self.migrated(nodes, [model(false)]) }
    #expect(error.obstacles.map(\.reason) == ["Person/1 names Project/7, which is not a Record any more"])
    #expect(error.obstacles.map(\.objectCount) == [2] && error.losses.map(\.subject) == ["Person.nick"])
  }

  @Test("an expression of a mapping file is stored in a Float as a change by expression stores it")
  func floats() throws {
    let old = try Self.model([
      EntityDescription(name: "Person", properties: [.attribute("f", .float), .attribute("i", .integer32)])
    ])
    let new = try Self.model([EntityDescription(name: "Person", properties: [.attribute("of", .float)])])
    let nodes = try Self.nodes(old, [(1, ["f": .float(2), "i": .integer(1)])])
    for (text, value) in [("0.1", 0.1), ("f * 3.1", 6.2), ("i / 3.0", 1 / 3.0)] as [(String, Double)] {
      let file = #"{"entities": {"Person": {"properties": {"of": "\#(text)"}, "drop": ["f", "i"]}}}"#
      let migrated = try Self.migrated(nodes, [new], file: file).nodes
      let node = try #require(migrated.handles(of: 0).first)
      #expect(migrated.value(slot: 0, of: node) == .float(Float(value)), "\(text)")
    }
  }
}
