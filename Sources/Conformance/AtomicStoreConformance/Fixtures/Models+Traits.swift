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

extension Models {
  /// An attribute of each type that the format has, and as many objects as it takes to give it each adversarial value.
  static func everyType(_ traits: StoreTraits) -> Graph {
    let table = AdversarialValues(traits: traits)
    let types = table.types.map { (name: "of" + $0.modelName.filter { $0.isLetter || $0.isNumber }, type: $0) }
    var graph = Graph(attributes(types.map { ($0.name, $0.type) }))
    let values = types.map { table.kept($0.type) }
    for row in 0..<(values.map(\.count).max() ?? 0) {
      var object = Graph.Object(label: "\(row)", entity: "Sample")
      for (type, all) in zip(types, values) where row < all.count { object.values[ScalarKey(type.name)] = all[row] }
      graph.objects.append(object)
    }
    return graph
  }
}
