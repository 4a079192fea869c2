import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import StoreCoordination
import StorePredicates
import Synchronization
import TestSupport
import Testing

@testable import StoreMigration

@Suite("Migrating stores to another version of their model") struct MigrationTests {
  private typealias Property = PropertyDescription

  private static func attribute(
    _ name: String, _ type: AttributeType = .string, optional: Bool = true, value: StoredValue? = nil,
    was old: String? = nil
  ) -> PropertyDescription {
    .attribute(
      AttributeDescription(name: name, type: type, isOptional: optional, defaultValue: value, renamingIdentifier: old))
  }

  private static func relationship(
    _ name: String, to destination: String, inverse: String?, many: Bool = false, ordered: Bool = false,
    optional: Bool = true
  ) -> PropertyDescription {
    .relationship(
      RelationshipDescription(
        name: name, destinationEntityName: destination, inverseName: inverse, isOptional: optional,
        maximumCount: many ? 0 : 1, isOrdered: ordered))
  }

  private static func model(_ entities: EntityDescription...) throws -> ManagedObjectModel {
    try ManagedObjectModel(ModelDescription(entities: entities))
  }

  /// People 1 and 2, and pets 1 and 2 of the first.
  private static func people() throws -> NodeTable {
    let model = try model(
      EntityDescription(
        name: "Person",
        properties: [
          attribute("name"), attribute("age", .integer16), attribute("nick"),
          relationship("pets", to: "Pet", inverse: "owner", many: true),
        ]),
      EntityDescription(
        name: "Pet", properties: [attribute("name"), relationship("owner", to: "Person", inverse: "pets")]))
    var nodes = NodeTable(model: model)
    func add(_ entity: String, _ number: Int64, _ values: [String: StoredValue]) throws {
      let index = try #require(model.entity(named: entity)).index
      let node = try nodes.addCacheNode(entity: index, reference: .integer(number))
      for (key, value) in values { try nodes.setValue(value, forKey: key, of: node) }
    }
    try add("Person", 1, ["name": .string("Ada"), "age": .integer(36), "nick": .string("A")])
    try add("Person", 2, ["name": .string("Bob")])
    let owner = StoredValue.toOne(ObjectReference(entityName: "Person", reference: .integer(1)))
    try add("Pet", 1, ["name": .string("Rex"), "owner": owner])
    try add("Pet", 2, ["name": .string("Tom"), "owner": owner])
    let ada = try #require(nodes.handle(for: ObjectReference(entityName: "Person", reference: .integer(1))))
    try nodes.setValue(
      .toMany([1, 2].map { ObjectReference(entityName: "Pet", reference: .integer($0)) }), forKey: "pets", of: ada)
    return nodes
  }

  private static func value(_ nodes: NodeTable, _ entity: String, _ number: Int64, _ key: String) throws -> StoredValue
  {
    let node = try #require(nodes.handle(for: ObjectReference(entityName: entity, reference: .integer(number))))
    return try #require(nodes.value(forKey: key, of: node))
  }

  private static func migrated(
    _ nodes: NodeTable, _ entities: EntityDescription..., allowsLoss: Bool = false, file: MappingFile? = nil,
    converts: Bool = false
  ) throws -> NodeTable {
    var stage = MigrationPlan.Stage.inferred(to: try ManagedObjectModel(ModelDescription(entities: entities)))
    stage.options.file = file
    stage.options.convertsTypes = converts
    var plan = MigrationPlan([stage])
    plan.allowsLoss = allowsLoss
    return try StoreMigrator(plan).migrate(nodes, store: UUID()).nodes
  }

  @Test("renamed, added, required with a default, a new parent, to-one to to-many, unordered to ordered")
  func inferred() throws {
    let nodes = try Self.migrated(
      Self.people(),
      EntityDescription(
        name: "Human",
        properties: [
          Self.attribute("fullName", was: "name"),
          Self.attribute("age", .integer16, optional: false, value: .integer(7)),
          Self.attribute("nick"), Self.attribute("mail"), Self.attribute("rank", .integer32, value: .integer(3)),
          Self.relationship("pets", to: "Pet", inverse: "owners", many: true, ordered: true),
        ], renamingIdentifier: "Person"),
      EntityDescription(
        name: "Animal", isAbstract: true, properties: [Self.attribute("name")],
        subentities: [
          EntityDescription(
            name: "Pet",
            properties: [
              .relationship(
                RelationshipDescription(
                  name: "owners", destinationEntityName: "Human", inverseName: "pets", maximumCount: 0,
                  renamingIdentifier: "owner"))
            ])
        ]))
    #expect(try Self.value(nodes, "Human", 1, "fullName") == .string("Ada"))
    #expect(try Self.value(nodes, "Human", 1, "age") == .integer(36))
    #expect(try Self.value(nodes, "Human", 2, "age") == .integer(7))
    #expect(try Self.value(nodes, "Human", 2, "rank") == .integer(3))
    #expect(try Self.value(nodes, "Human", 2, "mail") == .null)
    #expect(
      try Self.value(nodes, "Human", 1, "pets")
        == .toMany([1, 2].map { ObjectReference(entityName: "Pet", reference: .integer($0)) }))
    #expect(
      try Self.value(nodes, "Pet", 2, "owners")
        == .toMany([ObjectReference(entityName: "Human", reference: .integer(1))]))
  }

  @Test("a name that another property has taken since does not get the values of the renamed one")
  func takenName() throws {
    let nodes = try Self.migrated(
      Self.people(),
      EntityDescription(
        name: "Person",
        properties: [
          Self.attribute("name"), Self.attribute("fullName", was: "name"), Self.attribute("age", .integer16),
          Self.attribute("nick"), Self.relationship("pets", to: "Pet", inverse: "owner", many: true),
        ]),
      EntityDescription(
        name: "Pet",
        properties: [Self.attribute("name"), Self.relationship("owner", to: "Person", inverse: "pets")]))
    #expect(try Self.value(nodes, "Person", 1, "fullName") == .string("Ada"))
    #expect(try Self.value(nodes, "Person", 1, "name") == .null)
  }

  @Test("what cannot be inferred is refused, all of it at once, with the number of objects")
  func refused() throws {
    let error = try #require(throws: MigrationError.self) {
      _ = try Self.migrated(
        Self.people(),
        EntityDescription(
          name: "Person",
          properties: [
            Self.attribute("name", .uri), Self.attribute("age", .integer16, optional: false),
            Self.attribute("mail", optional: false), Self.relationship("nick", to: "Pet", inverse: nil),
            Self.relationship("pets", to: "Pet", inverse: nil),
          ]),
        EntityDescription(
          name: "Pet",
          properties: [Self.attribute("name"), Self.relationship("owner", to: "Pet", inverse: nil, optional: false)]))
    }
    #expect(
      Set(error.obstacles.map(\.description)) == [
        "Person.name: String → URI (2 objects)", "Person.age: optional → required, no default (2 objects)",
        "Person.mail: new, required, no default (2 objects)", "Person.nick: attribute → relationship (2 objects)",
        "Person.pets: to-many → to-one (2 objects)", "Pet.owner: destination Person → Pet (2 objects)",
      ])
  }

  @Test("objects that a required relationship finds without one are named, and nothing is migrated")
  func requiredRelationships() throws {
    func pet(_ owner: PropertyDescription) -> EntityDescription {
      EntityDescription(name: "Pet", properties: [Self.attribute("name"), owner])
    }
    func person(_ pets: PropertyDescription) -> EntityDescription {
      EntityDescription(
        name: "Person",
        properties: [Self.attribute("name"), Self.attribute("age", .integer16), Self.attribute("nick"), pets])
    }
    let owner = Self.relationship("owner", to: "Person", inverse: "pets")
    let needed = Self.relationship("owner", to: "Person", inverse: "pets", optional: false)
    let pets = Self.relationship("pets", to: "Pet", inverse: "owner", many: true)
    let some = Self.relationship("pets", to: "Pet", inverse: "owner", many: true, optional: false)
    let three = PropertyDescription.relationship(
      RelationshipDescription(
        name: "pets", destinationEntityName: "Pet", inverseName: "owner", minimumCount: 3, maximumCount: 0))
    // Each pet has an owner.
    #expect(try Self.migrated(Self.people(), person(pets), pet(needed)).count == 4)
    // A to-many without a minimum count may stay empty, as in Core Data.
    #expect(try Self.migrated(Self.people(), person(some), pet(owner)).count == 4)
    let error = try #require(throws: MigrationError.self) {
      _ = try Self.migrated(Self.people(), person(three), pet(owner))
    }
    #expect(
      error.obstacles.map(\.description) == [
        "Person.pets: at least 3 objects are required, and Person/1 has fewer (1 object)"
      ])
    // What the old model demanded already, and objects lack, is not what the migration does.
    let strict = try ManagedObjectModel(ModelDescription(entities: [person(some), pet(owner)]))
    var nodes = NodeTable(model: strict)
    _ = try nodes.addCacheNode(entity: try #require(strict.entity(named: "Person")).index, reference: .integer(1))
    #expect(try Self.migrated(nodes, person(some), pet(needed)).count == 1)
  }

  @Test("objects get the model that was asked for, also where only its rules and defaults are other ones")
  func sameHashes() throws {
    func entities(_ value: StoredValue?) -> EntityDescription {
      EntityDescription(
        name: "Person", properties: [Self.attribute("name"), Self.attribute("age", .integer16, value: value)])
    }
    var nodes = NodeTable(model: try Self.model(entities(nil)))
    _ = try nodes.addCacheNode(entity: 0, reference: .integer(1))
    let migrated = try Self.migrated(nodes, entities(.integer(7)))
    #expect(migrated.model.entity(named: "Person")?.attributesByName["age"]?.defaultValue == .integer(7))
    #expect(try Self.value(migrated, "Person", 1, "age") == .null)
    let plan = MigrationPlan([.inferred(to: try Self.model(entities(.integer(7))))])
    #expect(try StoreMigrator(plan).migrate(migrated, store: UUID()).steps.isEmpty)
  }

  @Test("two hierarchies cannot become one: their references may be the same")
  func merged() throws {
    let error = try #require(throws: MigrationError.self) {
      _ = try Self.migrated(
        Self.people(),
        EntityDescription(
          name: "Being", properties: [Self.attribute("name")],
          subentities: [
            EntityDescription(
              name: "Person",
              properties: [
                Self.attribute("age", .integer16), Self.attribute("nick"),
                Self.relationship("pets", to: "Pet", inverse: "owner", many: true),
              ]),
            EntityDescription(name: "Pet", properties: [Self.relationship("owner", to: "Person", inverse: "pets")]),
          ]))
    }
    #expect(error.obstacles.map(\.reason) == ["the hierarchies of Person and Pet cannot be merged"])
  }

  @Test("values and objects that would be lost are listed, and lost only where that is allowed")
  func losses() throws {
    let person = EntityDescription(
      name: "Person", properties: [Self.attribute("name"), Self.attribute("age", .integer16)])
    let error = try #require(throws: MigrationError.self) { _ = try Self.migrated(Self.people(), person) }
    #expect(
      error.losses.map(\.description) == [
        "entity-dropped: Pet, 2 times, first Pet/1", "attribute-dropped: Person.nick, 1 time, first Person/1",
        "relationship-dropped: Person.pets, 1 time, first Person/1",
      ])
    let nodes = try Self.migrated(Self.people(), person, allowsLoss: true)
    #expect(nodes.count == 2)
    let file = MappingFile(entities: ["Person": .init(drop: ["nick", "pets"])], drop: ["Pet"])
    #expect(try Self.migrated(Self.people(), person, file: file).count == 2)
  }

  @Test("mistakes of all kinds in a mapping file are listed together, with what would be lost")
  func mistakes() throws {
    let file = MappingFile(entities: [
      "Person": .init(
        properties: [
          "first": .init(expression: "name +"), "second": .init(expression: "nmae"), "third": .init(from: "nam"),
          "fourth": .init(expression: "name + $source.nick"), "fifth": .init(expression: "name"),
        ]),
      "Persons": .init(),
    ])
    let names = ["first", "second", "third", "fourth", "age"]
    let error = try #require(throws: MigrationError.self) {
      _ = try Self.migrated(
        Self.people(), EntityDescription(name: "Person", properties: names.map { Self.attribute($0) }), file: file)
    }
    #expect(Set(error.obstacles.compactMap(\.propertyName)) == ["first", "second", "third", "fifth", "age"])
    #expect(error.obstacles.contains { $0.entityName == "Persons" })
    #expect(error.losses.contains { $0.description.hasPrefix("entity-dropped: Pet") })
    #expect(error.description.contains("did you mean 'name'?") && error.description.contains("would lose values"))
  }

  @Test("a mapping file names sources, computes values, and gives defaults")
  func mappingFile() throws {
    let text = """
      {"entities": {
        "Human": {"from": "Person", "properties": {
          "title": "name + ' (' + nick + ')'", "years": {"from": "age", "default": "0"}, "country": {"default": "FR"}}},
        "Animal": {"from": "Pet", "properties": {"keeper": {"from": "owner"}, "keeperName": "owner.name"}}}}
      """
    let file = try MappingFile(json: Array(text.utf8), name: "m.json")
    let nodes = try Self.migrated(
      Self.people(),
      EntityDescription(
        name: "Human",
        properties: [
          Self.attribute("title"), Self.attribute("years", .integer16, optional: false),
          Self.attribute("country", optional: false),
          Self.relationship("animals", to: "Animal", inverse: "keeper", many: true),
        ]),
      EntityDescription(
        name: "Animal",
        properties: [
          Self.attribute("name"), Self.attribute("keeperName"),
          Self.relationship("keeper", to: "Human", inverse: "animals"),
        ]), file: file)
    #expect(try Self.value(nodes, "Human", 1, "title") == .string("Ada (A)"))
    #expect(try Self.value(nodes, "Human", 2, "years") == .integer(0))
    #expect(try Self.value(nodes, "Human", 2, "country") == .string("FR"))
    #expect(try Self.value(nodes, "Animal", 2, "keeperName") == .string("Ada"))
    #expect(
      try Self.value(nodes, "Human", 1, "animals")
        == .toMany([1, 2].map { ObjectReference(entityName: "Animal", reference: .integer($0)) }))
  }

  @Test(
    "a mapping file that says something unknown is refused, with the keys that lead there and what is expected",
    arguments: [
      ("", "m.json:1:1"), ("[]", "m.json: an object is expected, not a list"),
      (#"{"entitys": {}}"#, "m.json: 'entitys' is not one of entities, drop"),
      (#"{"entities": {"A": {"form": "B"}}}"#, "entities.A: 'form' is not one of from, properties, drop"),
      (#"{"drop": 5}"#, "drop: a list is expected, not the number 5"),
      (#"{"drop": ["A", null]}"#, "drop[1]: a text is expected, not null"),
      (
        #"{"entities": {"A": {"properties": {"n": 1.50}}}}"#,
        "entities.A.properties.n: an expression, or an object, is expected, not the number 1.50"
      ),
      (#"{"entities": {"A": {"properties": {"n": {"from": true}}}}}"#, "n.from: a text is expected, not true"),
      (
        #"{"entities": {"A": {"properties": {"n": {"default": [1]}}}}}"#,
        #"n.default: a text, a number, true, false, null or {"base64": TEXT} is expected, not a list"#
      ),
    ])
  func badFile(_ text: String, _ words: String) throws {
    let error = try #require(throws: PersistentStoreError.self) {
      _ = try MappingFile(json: Array(text.utf8), name: "m.json")
    }
    #expect(error.location.file == "m.json" && error.description.contains(words), "\(error)")
  }

  /// A mapping file with a default for the property `n`.
  private static func file(default json: String) throws -> MappingFile {
    let text = """
      {"entities": {"Person": {
        "properties": {"n": {"default": \(json)}}, "drop": ["age", "nick", "pets"]}},
       "drop": ["Pet"]}
      """
    return try MappingFile(json: Array(text.utf8), name: "m.json")
  }

  @Test(
    "a default of a mapping file is JSON, or the text of a value, of the attribute's type",
    arguments: [
      ("7", .integer16, .integer(7)), ("7.0", .integer16, .integer(7)), (#""7""#, .integer16, .integer(7)),
      ("0.1", .float, .float(0.1)), ("1e300", .double, .double(1e300)), (#""inf""#, .double, .double(.infinity)),
      ("12345678901234567890.123", .decimal, .decimal(DecimalNumber("12345678901234567890.123") ?? .nan)),
      ("true", .boolean, .boolean(true)), (#""NO""#, .boolean, .boolean(false)), (#""7""#, .string, .string("7")),
      (#""""#, .string, .string("")), (#"{"base64": "AQI="}"#, .binaryData, .data(Data([1, 2]))),
      (#""2020-12-31""#, .date, .date(Date(timeIntervalSinceReferenceDate: 631_065_600))), ("null", .integer16, .null),
    ] as [(String, AttributeType, StoredValue)])
  func defaultValue(_ json: String, _ type: AttributeType, _ expected: StoredValue) throws {
    let file = try Self.file(default: json)
    // Null is said where the model has a default.
    let other: StoredValue? = expected.isNull ? .integer(3) : nil
    let nodes = try Self.migrated(
      Self.people(),
      EntityDescription(
        name: "Person",
        properties: [Self.attribute("name"), Self.attribute("n", type, optional: expected.isNull, value: other)]),
      file: file)
    #expect(try Self.value(nodes, "Person", 1, "n").isIdentical(to: expected))
  }

  @Test(
    "a default that the attribute cannot have is refused with its name",
    arguments: [
      ("7.5", .integer16, "the default 7.5, which is not of type Integer 16"),
      ("70000", .integer16, "the default 70000, which is not of type Integer 16"),
      (#""x""#, .integer16, #"the default "x", which is not of type Integer 16"#),
      ("7", .string, "the default 7, which is not of type String"), ("1", .boolean, "is not of type Boolean"),
      ("0.12345678901234567890123", .double, "is not of type Double"),
      ("null", .integer16, "the default null for a required attribute"),
    ] as [(String, AttributeType, String)])
  func wrongDefault(_ json: String, _ type: AttributeType, _ words: String) throws {
    let file = try Self.file(default: json)
    let error = try #require(throws: MigrationError.self) {
      _ = try Self.migrated(
        Self.people(),
        EntityDescription(
          name: "Person", properties: [Self.attribute("name"), Self.attribute("n", type, optional: false)]),
        file: file)
    }
    #expect(error.obstacles.contains { $0.propertyName == "n" && $0.reason.contains(words) }, "\(error)")
  }

  @Test("what a mapping file says of an entity is said of its sub-entities, which may have other rules and drop more")
  func inheritedRules() throws {
    func model(_ names: [String], _ below: [String]) throws -> ManagedObjectModel {
      let leaf = EntityDescription(name: "Leaf", properties: [Self.attribute("own")])
      let middle = EntityDescription(name: "Middle", properties: below.map { Self.attribute($0) }, subentities: [leaf])
      return try Self.model(
        EntityDescription(name: "Root", properties: names.map { Self.attribute($0) }, subentities: [middle]))
    }
    let old = try model(["first", "last", "a", "b"], ["c"])
    var nodes = NodeTable(model: old)
    for (number, name) in ["Root", "Middle", "Leaf"].enumerated() {
      let entity = try #require(old.entity(named: name))
      let node = try nodes.addCacheNode(entity: entity.index, reference: .integer(Int64(number + 1)))
      for slot in entity.slots { try nodes.setValue(.string(slot.name), forKey: slot.name, of: node) }
    }
    let text = """
      {"entities": {
        "Root": {"properties": {"name": "first + last", "other": {"default": "root"}}, "drop": ["a"]},
        "Middle": {"properties": {"other": {"from": "b"}}, "drop": ["c"]},
        "Leaf": {"properties": {"name": {"from": "own"}}}}}
      """
    let file = try MappingFile(json: Array(text.utf8), name: "m.json")
    var options = ModelMapping.Options()
    options.file = file
    let mapping = ModelMapping(from: old, to: try model(["name", "other"], []), options: options)
    #expect(mapping.obstacles.isEmpty, "\(mapping.obstacles)")
    #expect(
      Set(mapping.losses(of: nodes, file: file).map(\.subject)) == ["Root.b", "Leaf.first", "Leaf.last"])
    let result = try mapping.apply(to: nodes)
    for (number, name, values) in [
      (1, "Root", ["firstlast", "root"]), (2, "Middle", ["firstlast", "b"]), (3, "Leaf", ["own", "b"]),
    ] {
      let found = try ["name", "other"].map { try Self.value(result, name, Int64(number), $0) }
      #expect(found == values.map { .string($0) }, "\(name)")
    }
    let placements = try MappingPlacements(mapping, nodes, store: UUID())
    #expect(MappingVerification.differences(mapping, nodes, result, placements).isEmpty)
  }

  @Test("of thousands of unknown names in a mapping file all are listed, the first ones with a suggestion")
  func unknownNames() throws {
    let entities = (0..<1000).map { EntityDescription(name: "Entity\($0)") }
    let model = try ManagedObjectModel(ModelDescription(entities: entities))
    var options = ModelMapping.Options()
    options.file = MappingFile(
      entities: Dictionary(uniqueKeysWithValues: (0..<1000).map { ("Entyti\($0)", MappingFile.EntityRules()) }),
      drop: (0..<1000).map { "Entyti\($0)" })
    let obstacles = ModelMapping(from: model, to: model, options: options).obstacles
    #expect(obstacles.count == 2000)
    #expect(obstacles.count { $0.reason.contains("did you mean") } == 10)
  }

  @Test("types are converted on request, if every value has an equal in the other")
  func conversion() throws {
    func model(_ type: AttributeType) -> [EntityDescription] {
      [
        EntityDescription(
          name: "Person",
          properties: [
            Self.attribute("name"), Self.attribute("age", type), Self.attribute("nick"),
            Self.relationship("pets", to: "Pet", inverse: "owner", many: true),
          ]),
        EntityDescription(
          name: "Pet",
          properties: [Self.attribute("name"), Self.relationship("owner", to: "Person", inverse: "pets")]),
      ]
    }
    let wide = model(.decimal)
    #expect(throws: MigrationError.self) { _ = try Self.migrated(Self.people(), wide[0], wide[1]) }
    let nodes = try Self.migrated(Self.people(), wide[0], wide[1], converts: true)
    #expect(try Self.value(nodes, "Person", 1, "age") == .decimal(DecimalNumber(36)))
    #expect(try Self.value(nodes, "Person", 2, "age") == .null)
    let text = model(.string)
    #expect(
      try Self.value(Self.migrated(Self.people(), text[0], text[1], converts: true), "Person", 1, "age")
        == .string("36"))
  }

  @Test(
    "conversions are exact or refused",
    arguments: [
      (AttributeType.integer64, AttributeType.integer16, StoredValue.integer(40_000), StoredValue?.none),
      (.integer64, .double, .integer(1 << 53 + 1), nil), (.integer64, .double, .integer(5), .double(5)),
      (.double, .integer32, .double(1.5), nil), (.double, .integer32, .double(-3), .integer(-3)),
      (.double, .float, .double(0.1), nil), (.float, .double, .float(0.5), .double(0.5)),
      (.string, .uri, .string("no uri"), nil), (.string, .uri, .string("http://x/y"), .uri("http://x/y")),
      (.string, .uuid, .string("5B1D9F0C"), nil), (.string, .date, .string("tomorrow"), nil),
      (.string, .integer16, .string("12"), .integer(12)), (.string, .integer16, .string("12.5"), nil),
      (.string, .decimal, .string("1.50"), .decimal(DecimalNumber(mantissa: 150, exponent: -2))),
      (.decimal, .integer64, .decimal(DecimalNumber(mantissa: 150, exponent: -1)), .integer(15)),
      (.decimal, .integer64, .decimal(DecimalNumber(mantissa: 155, exponent: -1)), nil),
      (.decimal, .integer64, .decimal(DecimalNumber(mantissa: 1, exponent: 30)), nil),
      (.boolean, .string, .boolean(true), .string("true")), (.string, .boolean, .string("maybe"), nil),
    ])
  func conversions(_ from: AttributeType, _ to: AttributeType, _ value: StoredValue, _ expected: StoredValue?) throws {
    let conversion = try #require(ValueConversion(from: from, to: to))
    #expect(conversion.convert(value) == expected)
  }

  @Test(
    "a text is converted if the value is written as that text",
    arguments: [
      (AttributeType.integer32, "12", true), (.integer32, "-7", true), (.integer32, "012", false),
      (.integer32, "1.0", false), (.integer32, "1e2", false), (.integer32, "+1", false), (.double, "5", true),
      (.double, "5.0", true), (.double, "-0.0", true), (.double, "0.10", false), (.double, "5.00", false),
      (.decimal, "19.99", true), (.decimal, "1e2", false), (.date, "2020-01-01T00:00:00Z", true),
      (.date, "2020-01-01T00:00:00.1234567890123Z", false), (.uuid, "5b1d9f0c-58f3-4c5a-9e0b-0c0ffee0c0de", true),
      (.boolean, "YES", true), (.uri, "x:y", true),
    ])
  func reversible(_ type: AttributeType, _ text: String, _ isConverted: Bool) throws {
    let conversion = try #require(ValueConversion(from: .string, to: type))
    #expect((conversion.convertReversibly(.string(text)) != nil) == isConverted)
  }

  @Test("a handler sees both graphs; what it leaves empty is refused")
  func handler() throws {
    let destination = try Self.model(
      EntityDescription(
        name: "Person",
        properties: [
          Self.attribute("label", optional: false), Self.relationship("pets", to: "Pet", inverse: "owner", many: true),
        ]),
      EntityDescription(
        name: "Pet", properties: [Self.attribute("name"), Self.relationship("owner", to: "Person", inverse: "pets")]))
    let plan = MigrationPlan([
      .custom(to: destination) { old, new in
        for person in old.handles(ofEntity: "Person") {
          guard case .string(let name)? = old.value(forKey: "name", of: person),
            let twin = new.handle(for: old.objectReference(of: person))
          else { continue }
          try new.setValue(.string(name.uppercased()), forKey: "label", of: twin)
        }
      }
    ])
    let nodes = try StoreMigrator(plan).migrate(Self.people(), store: UUID()).nodes
    #expect(try Self.value(nodes, "Person", 2, "label") == .string("BOB"))
    let lazy = MigrationPlan([.custom(to: destination) { _, _ in }])
    let error = try #require(throws: MigrationError.self) {
      _ = try StoreMigrator(lazy).migrate(Self.people(), store: UUID())
    }
    #expect(error.obstacles.map(\.description) == ["Person.label: required, and the handler set no value (2 objects)"])
  }

  @Test("a migration in place that another save overtakes begins again, and keeps what was saved")
  func overtaken() throws {
    let directory = try TemporaryDirectory("migration")
    let path = directory.path + "/people.xml"
    let nodes = try Self.people()
    _ = try StoreConverter(registry: .builtIn).write(
      StoreSnapshot(nodes: nodes, metadata: StoreMetadata(storeType: "", model: nodes.model.description)), to: path)
    let destination = try Self.model(
      EntityDescription(
        name: "Person",
        properties: [
          Self.attribute("name"), Self.relationship("pets", to: "Pet", inverse: "owner", many: true),
          Self.attribute("label"),
        ]),
      EntityDescription(
        name: "Pet", properties: [Self.attribute("name"), Self.relationship("owner", to: "Person", inverse: "pets")]))
    let calls = Mutex(0)
    var plan = MigrationPlan([
      .custom(to: destination) { _, _ in
        let call = calls.withLock { calls in
          calls += 1
          return calls
        }
        guard call == 1 else { return }
        try PersistentStoreCoordinator.updateMetadata(at: path, registry: .builtIn) { $0["saved"] = "meanwhile" }
      }
    ])
    plan.allowsLoss = true
    let steps = try PersistentStoreCoordinator.migrateStore(at: path, by: plan, registry: .builtIn)
    #expect(steps.count == 1 && calls.withLock { $0 } == 2)
    let coordinator = PersistentStoreCoordinator(registry: .builtIn)
    let store = try coordinator.addPersistentStore(at: path, isReadOnly: true)
    #expect(store.metadata.entries["saved"] == "meanwhile")
    #expect(store.model.entity(named: "Person")?.slot(named: "label") != nil)
  }

  @Test(
    "a store is migrated where it is when it is added, keeps its UUID, and on an error is as it was",
    arguments: ["xml", "plist", "csvstore"])
  func inPlace(_ fileExtension: String) throws {
    let directory = try TemporaryDirectory("migration")
    let path = directory.path + "/people." + fileExtension
    let nodes = try Self.people()
    let report = try StoreConverter(registry: .builtIn).write(
      StoreSnapshot(nodes: nodes, metadata: StoreMetadata(storeType: "", model: nodes.model.description)), to: path)
    let person = EntityDescription(
      name: "Person",
      properties: [
        Self.attribute("fullName", was: "name"), Self.attribute("age", .integer16), Self.attribute("nick"),
        Self.relationship("pets", to: "Pet", inverse: "owner", many: true),
      ])
    let pet = EntityDescription(
      name: "Pet", properties: [Self.attribute("name"), Self.relationship("owner", to: "Person", inverse: "pets")])
    let destination = try Self.model(person, pet)
    func open(_ plan: MigrationPlan, _ model: ManagedObjectModel) throws -> NodeTable {
      let coordinator = PersistentStoreCoordinator(managedObjectModel: model, registry: .builtIn)
      let store = try coordinator.addPersistentStore(at: path, migration: plan)
      #expect(store.identifier == report.identifier)
      return store.nodes
    }
    let broken = try Self.model(
      EntityDescription(
        name: "Person",
        properties: [
          Self.attribute("x", optional: false), Self.relationship("pets", to: "Pet", inverse: "owner", many: true),
        ]), pet)
    #expect(throws: MigrationError.self) { _ = try open(MigrationPlan([.inferred(to: broken)]), broken) }
    #expect(
      try PersistentStoreCoordinator(registry: .builtIn).addPersistentStore(at: path, isReadOnly: true).nodes.count == 4
    )
    for _ in 0..<2 {
      let opened = try open(MigrationPlan([.inferred(to: destination)]), destination)
      #expect(try Self.value(opened, "Person", 1, "fullName") == .string("Ada"))
    }
  }

  @Test("names of versions are in the order of their numbers")
  func order() {
    let names = ["Library 10", "Library", "Library 2", "Library_v3"]
    #expect(names.sorted { MigrationPlan.precedes($0, $1) } == ["Library", "Library 2", "Library 10", "Library_v3"])
  }
}
