import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials

extension Models {
  /// As ``houses(home:)``, but Castle is not a sub-entity of House.
  static let separateHouses = ModelDescription(
    entities: ["Castle", "House", "Hut"].map {
      EntityDescription(name: $0, properties: [.attribute("name", .string)])
    } + [
      EntityDescription(
        name: "Guest",
        properties: [
          .attribute("name", .string),
          .toOne("home", "House"),
        ])
    ])

  /// One entity with a to-many of unknown order, as formats infer it.
  static let sequences = ModelDescription(
    entities: [
      EntityDescription(
        name: "Item",
        properties: [
          .attribute("name", .string),
          .relationship(
            RelationshipDescription(name: "list", destinationEntityName: "Item", maximumCount: 0, hasUnknownOrder: true)
          ),
        ])
    ], isInferred: true)
}
