import AtomicStoreSPI
import Foundation
import Testing

@Suite("Whether two models are the same to the bit and the Unicode scalar") struct ModelIdentityTests {
  private static let extra = [ModelExtra.attribute(name: "a", value: "1")]
  private static let info = [UserInfoEntry(key: "k", value: "v")]
  private static let attribute = AttributeDescription(name: "name", type: .double)
  private static let relationship = RelationshipDescription(name: "team", destinationEntityName: "Team")
  private static let request = FetchRequestDescription(name: "all", entityName: "Person")
  private static let fetched = FetchedPropertyDescription(name: "peers", fetchRequest: request)
  private static let index = FetchIndexDescription(name: "byName", elements: [.init(propertyName: "name")])

  private static func model(
    _ property: PropertyDescription = .attribute(attribute), change: (inout ModelDescription) -> Void = { _ in }
  ) -> ModelDescription {
    var model = ModelDescription(
      versionIdentifiers: ["1"],
      entities: [EntityDescription(name: "Person", properties: [property], fetchIndexes: [index])],
      composites: [CompositeDescription(name: "Place", attributes: [attribute])],
      configurations: [ConfigurationDescription(name: "all", entityNames: ["Person"])],
      fetchRequestTemplates: [request])
    change(&model)
    return model
  }

  /// A change for each field of a description, which is then in a model.
  struct Changes: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var fieldCount: Int
    var models: [(one: ModelDescription, other: ModelDescription)]

    init<Value>(
      _ name: String, _ value: Value, in model: (Value) -> ModelDescription, _ changes: [(inout Value) -> Void]
    ) {
      testDescription = name
      fieldCount = Mirror(reflecting: value).children.count
      models = changes.map { change in
        var changed = value
        change(&changed)
        return (model(value), model(changed))
      }
    }
  }

  static let changes: [Changes] = [
    Changes(
      "attribute", attribute, in: { model(.attribute($0)) },
      [
        { $0.name = "named" }, { $0.type = .float }, { $0.isOptional = false }, { $0.isTransient = true },
        { $0.defaultValue = .double(0) }, { $0.minimum = .double(0) }, { $0.maximum = .double(0) },
        { $0.minimumLength = 1 }, { $0.maximumLength = 1 }, { $0.regularExpression = "a" },
        { $0.derivationExpression = "a" }, { $0.valueTransformerName = "a" }, { $0.attributeValueClassName = "a" },
        { $0.allowsExternalBinaryDataStorage = true }, { $0.isIndexed = true }, { $0.renamingIdentifier = "a" },
        { $0.versionHashModifier = "a" }, { $0.userInfo = info }, { $0.extras = extra },
      ]),
    Changes(
      "relationship", relationship, in: { model(.relationship($0)) },
      [
        { $0.name = "teams" }, { $0.destinationEntityName = "Person" }, { $0.inverseName = "members" },
        { $0.isOptional = false }, { $0.isTransient = true }, { $0.minimumCount = 1 }, { $0.maximumCount = 0 },
        { $0.isOrdered = true }, { $0.hasUnknownOrder = true }, { $0.deleteRule = .deny }, { $0.isIndexed = true },
        { $0.renamingIdentifier = "a" }, { $0.versionHashModifier = "a" }, { $0.userInfo = info },
        { $0.extras = extra },
      ]),
    Changes(
      "fetched property", fetched, in: { model(.fetchedProperty($0)) },
      [
        { $0.name = "others" }, { $0.fetchRequest.entityName = "Team" }, { $0.isOptional = false },
        { $0.renamingIdentifier = "a" }, { $0.versionHashModifier = "a" }, { $0.userInfo = info },
        { $0.extras = extra },
      ]),
    Changes(
      "fetch request", request, in: { request in model { $0.fetchRequestTemplates = [request] } },
      [
        { $0.name = "some" }, { $0.entityName = "Team" }, { $0.predicateString = "a" }, { $0.fetchLimit = 1 },
        { $0.fetchBatchSize = 1 }, { $0.resultType = "1" }, { $0.includesSubentities = false },
        { $0.includesPropertyValues = false }, { $0.includesPendingChanges = false },
        { $0.returnsObjectsAsFaults = false }, { $0.returnsDistinctResults = true }, { $0.sortOrder = [.init("name")] },
        { $0.extras = extra },
      ]),
    Changes(
      "entity", EntityDescription(name: "Person"), in: { entity in model { $0.entities = [entity] } },
      [
        { $0.name = "People" }, { $0.isAbstract = true }, { $0.managedObjectClassName = "a" },
        { $0.properties = [.attribute(attribute)] }, { $0.subentities = [EntityDescription(name: "Employee")] },
        { $0.uniquenessConstraints = [["name"]] }, { $0.fetchIndexes = [index] }, { $0.compoundIndexes = [["name"]] },
        { $0.renamingIdentifier = "a" }, { $0.versionHashModifier = "a" }, { $0.userInfo = info },
        { $0.extras = extra },
      ]),
    Changes(
      "fetch index", index, in: { index in model { $0.entities[0].fetchIndexes = [index] } },
      [
        { $0.name = "a" }, { $0.elements = [] }, { $0.partialIndexPredicate = "a" }, { $0.extras = extra },
      ]),
    Changes(
      "element of a fetch index", index.elements[0],
      in: { element in model { $0.entities[0].fetchIndexes[0].elements = [element] } },
      [
        { $0.propertyName = nil }, { $0.expression = "a" }, { $0.expressionType = "a" }, { $0.collationType = "RTree" },
        { $0.isAscending = false }, { $0.extras = extra },
      ]),
    Changes(
      "composite", CompositeDescription(name: "Place", attributes: [attribute]),
      in: { composite in model { $0.composites = [composite] } },
      [{ $0.name = "a" }, { $0.attributes[0].isIndexed = true }, { $0.extras = extra }]),
    Changes(
      "configuration", ConfigurationDescription(name: "all", entityNames: ["Person"]),
      in: { configuration in model { $0.configurations = [configuration] } },
      [{ $0.name = "a" }, { $0.entityNames = [] }, { $0.extras = extra }]),
    Changes(
      "sort key", FetchRequestDescription.Sort("name"),
      in: { key in model { $0.fetchRequestTemplates[0].sortOrder = [key] } },
      [{ $0.keyPath = "age" }, { $0.isAscending = false }]),
    Changes(
      "model", model(), in: { $0 },
      [
        { $0.versionIdentifiers = [] }, { $0.entities = [] }, { $0.composites = [] }, { $0.configurations = [] },
        { $0.fetchRequestTemplates = [] }, { $0.extras = extra }, { $0.isInferred = true },
        { $0.inferredFrom = "XML" },
      ]),
  ]

  @Test("a change of any field makes another model", arguments: changes)
  func changesCount(_ changes: Changes) {
    #expect(changes.models.count == changes.fieldCount, "a field without a change, or with several")
    for (number, models) in changes.models.enumerated() {
      #expect(!models.one.isIdentical(to: models.other), "change \(number)")
      #expect(!models.other.isIdentical(to: models.one), "change \(number)")
      #expect(models.one.isIdentical(to: models.one) && models.other.isIdentical(to: models.other))
    }
  }

  @Test("a model that was encoded and decoded is the same", arguments: changes)
  func decodedIsIdentical(_ changes: Changes) throws {
    for models in changes.models {
      let decoded = try ModelDescription(propertyList: models.other.propertyList)
      #expect(decoded.isIdentical(to: models.other))
    }
  }

  @Test("names that only look alike, and zeros of another sign, make another model")
  func comparesScalarsAndBits() {
    func named(_ name: String, _ value: Double) -> ModelDescription {
      Self.model(.attribute(AttributeDescription(name: name, type: .double, defaultValue: .double(value))))
    }
    #expect(named("é", 0) == named("e\u{301}", 0))
    #expect(!named("é", 0).isIdentical(to: named("e\u{301}", 0)))
    #expect(named("é", 0) == named("é", -0.0))
    #expect(!named("é", 0).isIdentical(to: named("é", -0.0)))
    #expect(named("é", .nan).isIdentical(to: named("é", .nan)))
    let composite = Self.model(.attribute(AttributeDescription(name: "a", type: .composite("é"))))
    let other = Self.model(.attribute(AttributeDescription(name: "a", type: .composite("e\u{301}"))))
    #expect(!composite.isIdentical(to: other))
  }

  @Test("an attribute of which only name and type are said is read like any other")
  func readsPlainAttributes() throws {
    let types: [AttributeType] = [.string, .integer64, .undefined, .transformable]
    for type in types {
      let model = Self.model(.attribute(AttributeDescription(name: "plain", type: type)))
      #expect(try ModelDescription(propertyList: model.propertyList).isIdentical(to: model))
    }
    let list: PropertyListValue = [
      "formatVersion": 1, "entities": [["name": "Person", "properties": [["name": "a", "type": "Unheard of"]]]],
    ]
    #expect {
      try ModelDescription(propertyList: list)
    } throws: { error in
      "\(error)".contains("entities[0].properties[0].type: unknown attribute type")
    }
  }

  @Test("properties whose names only look alike have their own hashes")
  func hashesByScalars() throws {
    let names = ["é", "e\u{301}"]
    let model = try ManagedObjectModel(
      ModelDescription(
        entities: names.enumerated().map { number, name in
          EntityDescription(
            name: "Entity\(number)", properties: [.attribute(AttributeDescription(name: name, type: .string))])
        }))
    for entity in model.entities {
      // Alone, without the properties of others.
      let alone = try ManagedObjectModel(ModelDescription(entities: [entity.declaration]))
      #expect(model.versionHashes[entity.name] == alone.versionHashes[entity.name])
    }
  }
}
