import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials

extension Models {
  private static func guests(home: String) -> EntityDescription {
    EntityDescription(
      name: "Guest",
      properties: [
        .attribute("name", .string),
        .toOne("home", home),
      ])
  }

  /// Guests whose home is of one entity or of another, unrelated one.
  static func places(home: String) -> ModelDescription {
    ModelDescription(entities: [
      guests(home: home),
      EntityDescription(name: "Club", properties: [.attribute("name", .string)]),
      EntityDescription(name: "Hall", properties: [.attribute("name", .string)]),
    ])
  }

  /// Guests whose home is of one or another sub-entity of the same one.
  static func houses(home: String) -> ModelDescription {
    ModelDescription(entities: [
      guests(home: home),
      EntityDescription(
        name: "House", properties: [.attribute("name", .string)],
        subentities: [EntityDescription(name: "Castle"), EntityDescription(name: "Hut")]),
    ])
  }

  /// A relationship with bounds.
  static let bounded = ModelDescription(entities: [
    EntityDescription(
      name: "Node",
      properties: [
        .attribute("name", .string),
        .toMany("some", "Node", isOptional: false, minimumCount: 2, maximumCount: 3),
      ])
  ])

  /// One entity with relationships to itself that have no inverse.
  static let oneWay = ModelDescription(entities: [
    EntityDescription(
      name: "Node",
      properties: [.attribute("name", .string), .toOne("idol", "Node"), .toMany("fans", "Node")])
  ])

  /// Relationships with each rule of deletion.
  static let rules = ModelDescription(entities: [
    EntityDescription(
      name: "Owner",
      properties: [
        .attribute("name", .string),
        .toMany("nullified", "Thing", inverse: "nullifier"),
        .toMany("cascaded", "Thing", inverse: "cascader", deleteRule: .cascade),
        .toMany("denied", "Thing", inverse: "denier", deleteRule: .deny),
        .toMany("watched", "Thing"),
      ]),
    EntityDescription(
      name: "Thing",
      properties: [
        .attribute("name", .string),
        .toOne("nullifier", "Owner", inverse: "nullified"),
        .toOne("cascader", "Owner", inverse: "cascaded"),
        .toOne("denier", "Owner", inverse: "denied"),
      ]),
  ])
}
