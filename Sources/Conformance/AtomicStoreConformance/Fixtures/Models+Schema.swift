import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials

extension Models {
  static let two = ModelDescription(
    entities: ["Sample", "Other"].map {
      EntityDescription(name: $0, properties: [.attribute("name", .string)])
    })

  static let configured = ModelDescription(
    entities: ["Left", "Right"].map {
      EntityDescription(name: $0, properties: [.attribute("name", .string)])
    },
    configurations: [
      ConfigurationDescription(name: "left", entityNames: ["Left"]),
      ConfigurationDescription(name: "right", entityNames: ["Right"]),
    ])
}
