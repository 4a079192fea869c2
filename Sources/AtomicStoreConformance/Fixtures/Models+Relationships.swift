import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials

extension Models {
  private static func guests(home: String) -> EntityDescription {
    EntityDescription(
      name: "Guest",
      properties: [
        .attribute(AttributeDescription(name: "name", type: .string)),
        .relationship(RelationshipDescription(name: "home", destinationEntityName: home)),
      ])
  }

  /// Guests whose home is of one entity or of another, unrelated one.
  static func places(home: String) -> ModelDescription {
    ModelDescription(entities: [
      guests(home: home),
      EntityDescription(name: "Club", properties: [.attribute(AttributeDescription(name: "name", type: .string))]),
      EntityDescription(name: "Hall", properties: [.attribute(AttributeDescription(name: "name", type: .string))]),
    ])
  }

  /// Guests whose home is of one or another sub-entity of the same one.
  static func houses(home: String) -> ModelDescription {
    ModelDescription(entities: [
      guests(home: home),
      EntityDescription(
        name: "House", properties: [.attribute(AttributeDescription(name: "name", type: .string))],
        subentities: [EntityDescription(name: "Castle"), EntityDescription(name: "Hut")]),
    ])
  }

  /// A relationship with bounds.
  static let bounded = ModelDescription(entities: [
    EntityDescription(
      name: "Node",
      properties: [
        .attribute(AttributeDescription(name: "name", type: .string)),
        .relationship(
          RelationshipDescription(
            name: "some", destinationEntityName: "Node", isOptional: false, minimumCount: 2, maximumCount: 3)),
      ])
  ])

  /// Relationships with each rule of deletion.
  static let rules = ModelDescription(entities: [
    EntityDescription(
      name: "Owner",
      properties: [
        .attribute(AttributeDescription(name: "name", type: .string)),
        .relationship(
          RelationshipDescription(
            name: "nullified", destinationEntityName: "Thing", inverseName: "nullifier", maximumCount: 0)),
        .relationship(
          RelationshipDescription(
            name: "cascaded", destinationEntityName: "Thing", inverseName: "cascader", maximumCount: 0,
            deleteRule: .cascade)),
        .relationship(
          RelationshipDescription(
            name: "denied", destinationEntityName: "Thing", inverseName: "denier", maximumCount: 0, deleteRule: .deny)),
        .relationship(RelationshipDescription(name: "watched", destinationEntityName: "Thing", maximumCount: 0)),
      ]),
    EntityDescription(
      name: "Thing",
      properties: [
        .attribute(AttributeDescription(name: "name", type: .string)),
        .relationship(
          RelationshipDescription(name: "nullifier", destinationEntityName: "Owner", inverseName: "nullified")),
        .relationship(
          RelationshipDescription(name: "cascader", destinationEntityName: "Owner", inverseName: "cascaded")),
        .relationship(RelationshipDescription(name: "denier", destinationEntityName: "Owner", inverseName: "denied")),
      ]),
  ])
}
