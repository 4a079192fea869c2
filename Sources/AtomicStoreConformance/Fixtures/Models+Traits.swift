import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials

extension Models {
  /// One entity with an ordered relationship.
  static let lists = ModelDescription(entities: [
    EntityDescription(
      name: "Item",
      properties: [
        .attribute("name", .string),
        .toMany("list", "Item", isOrdered: true),
      ])
  ])

  /// An object of each of so many entities.
  static func manyEntities(_ count: Int) -> Graph {
    let model = ModelDescription(
      entities: (0..<count).map { place in
        EntityDescription(
          name: "Kind\(place)", properties: [.attribute("name", .string)])
      })
    return Graph(
      model, (0..<count).map { .init(label: "\($0)", entity: "Kind\($0)", values: ["name": .string("object \($0)")]) })
  }
}
