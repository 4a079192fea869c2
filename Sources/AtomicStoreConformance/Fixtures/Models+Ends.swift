import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials

extension Models {
  /// As ``houses(home:)``, but Castle is not a sub-entity of House.
  static let separateHouses = ModelDescription(
    entities: ["Castle", "House", "Hut"].map {
      EntityDescription(name: $0, properties: [.attribute(AttributeDescription(name: "name", type: .string))])
    } + [
      EntityDescription(
        name: "Guest",
        properties: [
          .attribute(AttributeDescription(name: "name", type: .string)),
          .relationship(RelationshipDescription(name: "home", destinationEntityName: "House")),
        ])
    ])

  /// One entity with a to-many of unknown order, as formats infer it.
  static let sequences = ModelDescription(
    entities: [
      EntityDescription(
        name: "Item",
        properties: [
          .attribute(AttributeDescription(name: "name", type: .string)),
          .relationship(
            RelationshipDescription(name: "list", destinationEntityName: "Item", maximumCount: 0, hasUnknownOrder: true)
          ),
        ])
    ], isInferred: true)
}
