import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials

/// SCH, continued: the model that a store carries is data.
extension Checks {
  static let carriedModel: [CheckDefinition] = [
    CheckDefinition(
      "SCH-16", "The model that a store carries comes back whole", from: "the kit’s own rule",
      by:
        "a model in which each property of each description is set, and defaults of all values of the table; saved, read without a model, changed and saved, read again",
      causes: ["what the store does not need itself is not written"],
      catches: [
        "configurationsLost", "userInfoLost", "defaultsOfModelLost", "compositesLost", "minimumCountsLost",
      ], timeLimit: 60,
      demand: { $0.isSelfDescribing ? .applies : .notApplicable("isSelfDescribing is false") }
    ) { check in
      try check.expectModelKept(Models.furnished(check.traits), "a furnished model")
      try check.expectModelKept(Models.people, "a hierarchy")
      for type in AdversarialValues(traits: check.traits).types { try check.expectDefaultsCarried(type) }
    }
  ]
}

extension CheckContext {
  fileprivate func expectModelKept(_ model: ModelDescription, _ what: String) throws {
    guard (try? ManagedObjectModel(model)) != nil else {
      throw ExpectationFailure(expected: "the check's own model is sound", actual: "\(model.problems())")
    }
    let path = path("model\(record.nextFile())")
    let entity = model.entities[0].name
    _ = try process("save an object, with \(what)") { session in
      try session.write(Graph(model, [.init(label: "a", entity: entity)]), to: path)
    }
    try expectCarried(model, at: path, what)
    _ = try process("open it without a model, add an object and save", opening: path, nil) { _, open in
      let object = try open.context.insertNewObject(forEntityName: entity)
      if object.entity.slot(named: "name") != nil { try object.setValue("second", forKey: "name") }
      try open.context.save()
      return true
    }
    try expectCarried(model, at: path, "\(what), after a save")
    if traits.keepsMetadata {
      _ = try process("set metadata alone") { try $0.setMetadata(["Which": .string("set")], path) }
      try expectCarried(model, at: path, "\(what), after metadata was set")
    }
  }

  private func expectCarried(_ model: ModelDescription, at path: String, _ what: String) throws {
    let found = try process("read the model in another process") { session -> [GraphText.Difference]? in
      try session.opened(path, nil, isReadOnly: true) { open in
        guard let carried = open.store.metadata.model, !carried.isInferred else { return nil }
        return ModelComparison.differences(model, carried).prefix(GraphText.mostShown + 1).map {
          .init(
            expected: "\($0.path) = \(GraphText.shown($0.old ?? "missing"))",
            actual: "\($0.path) = \(GraphText.shown($0.new ?? "missing"))")
        }
      }
    }
    guard let found else { throw NotApplicable(reason: "the store infers its model, and carries none") }
    try expectNone(found, what)
  }

  /// Those that are refused one by one are not a loss.
  fileprivate func expectDefaultsCarried(_ type: AttributeType) throws {
    let table = AdversarialValues(traits: traits)
    let values =
      table.some(table.kept(type)) + (traits.keepsSpecialFloats ? table.keptOrRefused(type).filter { !$0.hasNUL } : [])
    let model = ModelDescription(entities: [
      EntityDescription(
        name: "Sample",
        properties: values.enumerated().map { position, value in
          .attribute(AttributeDescription(name: "value\(position)", type: type, defaultValue: value))
        })
    ])
    guard (try? ManagedObjectModel(model)) != nil else { return note("\(type.modelName) has no such defaults") }
    try expectModelKept(model, "defaults of type \(type.modelName)")
  }
}

extension StoredValue {
  /// Whether it is a text with characters that no format has to have.
  fileprivate var hasNUL: Bool {
    switch self {
    case .string(let text), .uri(let text): text.unicodeScalars.contains { $0.value < 0x20 }
    default: false
    }
  }
}

extension Models {
  /// A model with something of everything that a model can have.
  static func furnished(_ traits: StoreTraits) -> ModelDescription {
    var thing = EntityDescription(
      name: "Thing", managedObjectClassName: "Kit.Thing",
      properties: [
        .attribute(
          AttributeDescription(
            name: "name", type: .string, isOptional: false, defaultValue: .string("newer"), minimumLength: 1,
            maximumLength: 40, regularExpression: "^[a-z]+$", isIndexed: true, renamingIdentifier: "title",
            versionHashModifier: "2", userInfo: info, extras: extras)),
        .attribute(
          AttributeDescription(
            name: "number", type: .integer32, defaultValue: .integer(-7), minimum: .integer(-10),
            maximum: .integer(1_000))),
        .attribute(AttributeDescription(name: "passing", type: .string, isTransient: true)),
        .attribute(AttributeDescription(name: "derived", type: .string, derivationExpression: "canonical:(name)")),
        .relationship(
          RelationshipDescription(
            name: "parts", destinationEntityName: "Part", inverseName: "whole", minimumCount: 1, maximumCount: 9,
            isOrdered: traits.keepsOrder, deleteRule: .cascade, isIndexed: true, renamingIdentifier: "pieces",
            versionHashModifier: "r", userInfo: info, extras: extras)),
        .fetchedProperty(
          FetchedPropertyDescription(
            name: "alike",
            fetchRequest: FetchRequestDescription(
              name: "alike", entityName: "Thing", predicateString: "name == $FETCH_SOURCE.name", fetchLimit: 3),
            isOptional: false, renamingIdentifier: "same", versionHashModifier: "f", userInfo: info, extras: extras)),
      ], uniquenessConstraints: [["name"], ["name", "number"]],
      fetchIndexes: [
        FetchIndexDescription(
          name: "byName",
          elements: [
            .init(propertyName: "name", collationType: "RTree", isAscending: false, extras: extras),
            .init(propertyName: nil, expression: "lowercase:(name)", expressionType: "String"),
          ], partialIndexPredicate: "number > 3", extras: extras)
      ], compoundIndexes: [["name", "number"]], renamingIdentifier: "Item", versionHashModifier: "e", userInfo: info,
      extras: extras)
    (thing.subentities, thing.properties) = (subentities, thing.properties + rare)
    if !traits.unsupportedTypes.contains("Binary") {
      thing.properties.append(
        .attribute(AttributeDescription(name: "bytes", type: .binaryData, allowsExternalBinaryDataStorage: true)))
    }
    if !traits.unsupportedTypes.contains("Transformable") {
      thing.properties.append(
        .attribute(
          AttributeDescription(
            name: "shape", type: .transformable, valueTransformerName: "Shapes", attributeValueClassName: "Shape")))
    }
    let part = EntityDescription(
      name: "Part",
      properties: [
        .relationship(
          RelationshipDescription(
            name: "whole", destinationEntityName: "Thing", inverseName: "parts", isOptional: false, deleteRule: .deny))
      ], userInfo: twins)
    return ModelDescription(
      versionIdentifiers: ["1.0", "", "\u{FEFF}beta"], entities: [thing, part], composites: [place],
      configurations: [
        ConfigurationDescription(name: "all", entityNames: ["Thing", "Part", "Gadget", "Idea"], extras: extras),
        ConfigurationDescription(name: "none", entityNames: []),
      ],
      fetchRequestTemplates: [
        FetchRequestDescription(
          name: "many", entityName: "Thing", predicateString: "number > $least AND name != \"\"", fetchLimit: 10,
          fetchBatchSize: 20, resultType: "1", includesSubentities: false, includesPropertyValues: true,
          includesPendingChanges: false, returnsObjectsAsFaults: false, returnsDistinctResults: true,
          sortOrder: [.init("name"), .init("number", isAscending: false)], extras: extras),
        FetchRequestDescription(name: "all", entityName: "Part"),
      ], extras: extras)
  }

  private static let rare: [PropertyDescription] = [
    .attribute("place", .composite("Place")),
    .relationship(
      RelationshipDescription(
        name: "passingParts", destinationEntityName: "Part", isTransient: true, maximumCount: 0, hasUnknownOrder: true)),
  ]
  private static let place = CompositeDescription(
    name: "Place", attributes: [AttributeDescription(name: "street", type: .string, maximumLength: 30)], extras: extras)

  private static let subentities = [
    EntityDescription(name: "Gadget", userInfo: info), EntityDescription(name: "Idea", isAbstract: true),
  ]
  /// Keys that are canonically equal.
  private static let twins = [UserInfoEntry(key: "é", value: "one"), UserInfoEntry(key: "e\u{301}", value: "two")]

  private static let info = [
    UserInfoEntry(key: "key", value: " value "), UserInfoEntry(key: "", value: ""),
    UserInfoEntry(key: "a.$b\nc", value: "<&\"'\u{FEFF}>"), UserInfoEntry(key: "key", value: "again"),
  ]
  private static let extras: [ModelExtra] = [
    .attribute(name: "customAttribute", value: "a \"b\""), .element("<custom x=\"1\"><inner/></custom>"),
  ]
}
