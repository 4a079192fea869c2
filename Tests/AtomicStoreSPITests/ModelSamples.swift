import AtomicStoreSPI
import Foundation

/// A description in which every field differs from its default.
func fullDescription() -> ModelDescription {
  let extras: [ModelExtra] = [.attribute(name: "syncable", value: "YES"), .element("<new a=\"1\"/>")]
  let info = [UserInfoEntry(key: "k", value: "v"), UserInfoEntry(key: "e\u{301}", value: "")]
  let request = FetchRequestDescription(
    name: "all", entityName: "Person", predicateString: "age > 5", fetchLimit: 10, fetchBatchSize: 5,
    resultType: "2", includesSubentities: true, includesPropertyValues: false, includesPendingChanges: true,
    returnsObjectsAsFaults: false, returnsDistinctResults: true,
    sortOrder: [.init("friends.@count", isAscending: false), .init("of String")], extras: extras)
  let values: [(AttributeType, StoredValue)] = [
    (.integer16, .integer(-32768)), (.integer32, .integer(7)), (.integer64, .integer(.max)),
    (.decimal, .decimal(DecimalNumber(mantissa: 150, exponent: -2, isNegative: true))),
    (.double, .double(Double(bitPattern: 0x7FF8_0000_0000_0001))), (.float, .float(-0.0)),
    (.string, .string("e\u{301}\u{0}\r\n")), (.boolean, .boolean(false)),
    (.date, .date(Date(timeIntervalSinceReferenceDate: .leastNonzeroMagnitude))),
    (.binaryData, .data(Data([0, 255]))), (.uuid, .uuid(UUID())), (.uri, .uri("http://ex.com/a b")),
    (.transformable, .data(Data())), (.undefined, .double(.infinity)),
  ]
  var properties: [PropertyDescription] = values.map { type, value in
    .attribute(
      AttributeDescription(
        name: "of " + type.modelName, type: type, isOptional: false, isTransient: true, defaultValue: value,
        minimum: value, maximum: value, minimumLength: 1, maximumLength: 2, regularExpression: "a+",
        derivationExpression: "name", valueTransformerName: "T", attributeValueClassName: "C",
        allowsExternalBinaryDataStorage: true, isIndexed: true, renamingIdentifier: "old", versionHashModifier: "2",
        userInfo: info, extras: extras))
  }
  properties.append(.attribute("place", .composite("Place")))
  properties.append(
    .relationship(
      RelationshipDescription(
        name: "friends", destinationEntityName: "Person", inverseName: "friends", isOptional: false,
        isTransient: true, minimumCount: 1, maximumCount: 20, isOrdered: true, deleteRule: .deny, isIndexed: true,
        renamingIdentifier: "mates", versionHashModifier: "3", userInfo: info, extras: extras)))
  properties.append(
    .fetchedProperty(
      FetchedPropertyDescription(
        name: "fetched", fetchRequest: request, isOptional: false, renamingIdentifier: "old",
        versionHashModifier: "4", userInfo: info, extras: extras)))
  let index = FetchIndexDescription(
    name: "byAge",
    elements: [
      FetchIndexDescription.Element(propertyName: "age", collationType: "RTree", isAscending: false, extras: extras),
      FetchIndexDescription.Element(propertyName: nil, expression: "length:(name)", expressionType: "Integer 16"),
    ], partialIndexPredicate: "age > 1", extras: extras)
  return ModelDescription(
    versionIdentifiers: ["1", "2"],
    entities: [
      EntityDescription(
        name: "Person", isAbstract: true, managedObjectClassName: ".Person", properties: properties,
        subentities: [EntityDescription(name: "Child", subentities: [EntityDescription(name: "Baby")])],
        uniquenessConstraints: [["a", "b"], ["c"]], fetchIndexes: [index], compoundIndexes: [["x"], ["y", "z"]],
        renamingIdentifier: "Human", versionHashModifier: "5", userInfo: info, extras: extras)
    ],
    composites: [
      CompositeDescription(
        name: "Place", attributes: [AttributeDescription(name: "x", type: .double)], extras: extras)
    ],
    configurations: [ConfigurationDescription(name: "Local", entityNames: ["Person", "Child"], extras: extras)],
    fetchRequestTemplates: [request], extras: extras, isInferred: true, inferredFrom: "XML")
}

/// Person with an Integer 16 `age`, its sub-entity Employee, and Department, which know of each other.
func smallDescription() -> ModelDescription {
  ModelDescription(entities: [
    EntityDescription(
      name: "Department",
      properties: [
        .toMany("staff", "Employee", inverse: "department")
      ]),
    EntityDescription(
      name: "Person", isAbstract: true,
      properties: [
        .attribute("age", .integer16),
        .attribute("name", .string),
      ],
      subentities: [
        EntityDescription(
          name: "Employee",
          properties: [
            .toOne("department", "Department", inverse: "staff")
          ])
      ]),
  ])
}

extension ModelDescription {
  /// Changes the attribute of that name in the root entity of that name.
  mutating func edit(
    _ entity: String, attribute: String, _ change: (inout AttributeDescription) -> Void
  ) {
    edit(entity) { entity in
      for position in entity.properties.indices {
        guard case .attribute(var found) = entity.properties[position], found.name == attribute else { continue }
        change(&found)
        entity.properties[position] = .attribute(found)
      }
    }
  }
  mutating func edit(
    _ entity: String, relationship: String, _ change: (inout RelationshipDescription) -> Void
  ) {
    edit(entity) { entity in
      for position in entity.properties.indices {
        guard case .relationship(var found) = entity.properties[position], found.name == relationship else { continue }
        change(&found)
        entity.properties[position] = .relationship(found)
      }
    }
  }
  mutating func edit(_ entity: String, _ change: (inout EntityDescription) -> Void) {
    for position in entities.indices {
      if entities[position].name == entity { change(&entities[position]) }
      for below in entities[position].subentities.indices where entities[position].subentities[below].name == entity {
        change(&entities[position].subentities[below])
      }
    }
  }
}
