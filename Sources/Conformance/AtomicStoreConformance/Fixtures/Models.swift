import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials

/// Models for checks.
enum Models {
  static let transientMarker = "passing-marker-7531"

  static func frozen(_ description: ModelDescription) throws -> ManagedObjectModel {
    do { return try ManagedObjectModel(description) } catch {
      throw ExpectationFailure(expected: "the check's own model is sound", actual: "\(error)")
    }
  }

  static func attributes(_ list: [(String, AttributeType)], entity: String = "Sample") -> ModelDescription {
    ModelDescription(entities: [
      EntityDescription(name: entity, properties: list.map { .attribute($0.0, $0.1) })
    ])
  }

  /// Two entities with relationships of every kind, where the format has room for two.
  static let people = ModelDescription(entities: [
    EntityDescription(
      name: "Person",
      properties: [
        .attribute("name", .string),
        .attribute("age", .integer32),
        .toOne("team", "Team", inverse: "members"),
        .toOne("spouse", "Person", inverse: "spouse"),
        .toMany("friends", "Person", inverse: "friends"),
        .toMany("tags", "Team", inverse: "tagged"),
        .toMany("queue", "Team", inverse: "queued", isOrdered: true),
        .toOne("idol", "Person"),
        .toMany("fans", "Person"),
        .toOne("desk", "Desk", inverse: "owner"),
      ],
      subentities: [
        EntityDescription(
          name: "Employee", properties: [.attribute("salary", .double)],
          subentities: [
            EntityDescription(
              name: "Manager", properties: [.attribute("title", .string)])
          ])
      ]),
    EntityDescription(
      name: "Team",
      properties: [
        .attribute("name", .string),
        .toMany("members", "Person", inverse: "team"),
        .toMany("tagged", "Person", inverse: "tags"),
        .toMany("queued", "Person", inverse: "queue", isOrdered: true),
      ]),
    EntityDescription(
      name: "Desk",
      properties: [
        .attribute("number", .integer16),
        .toOne("owner", "Person", inverse: "desk"),
      ]),
  ])

  /// One entity alone, related to itself: what a store of one entity can hold.
  static let nodes = ModelDescription(entities: [
    EntityDescription(
      name: "Node",
      properties: [
        .attribute("name", .string),
        .attribute("number", .integer64),
        .attribute("weight", .double),
        .attribute("flag", .boolean),
        .toOne("next", "Node", inverse: "previous"),
        .toOne("previous", "Node", inverse: "next"),
        .toMany("children", "Node", inverse: "parent"),
        .toOne("parent", "Node", inverse: "children"),
      ])
  ])

  /// An object with 200,000 bytes in an attribute that allows external storage.
  static func largeValue(_ traits: StoreTraits) -> Graph {
    guard !traits.unsupportedTypes.contains("Binary") else { return golden() }
    let photo = AttributeDescription(name: "photo", type: .binaryData, allowsExternalBinaryDataStorage: true)
    let model = ModelDescription(entities: [EntityDescription(name: "Sample", properties: [.attribute(photo)])])
    let bytes = Data((0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
    return Graph(model, [.init(label: "large", entity: "Sample", values: ["photo": .data(bytes)])])
  }

  /// A small graph that uses a little of everything.
  static func golden() -> Graph {
    var graph = Graph(nodes)
    for place in 0..<8 {
      var object = Graph.Object(label: "node \(place)", entity: "Node")
      object.values = [
        "name": .string("Knoten \(place): <&\"',;> ä"), "number": .integer(Int64(place) * 1_000_003 - 4),
        "weight": .double(Double(place) / 3), "flag": .boolean(place % 2 == 0),
      ]
      if place < 7 { object.links["next"] = ["node \(place + 1)"] }
      if place > 0 {
        object.links["previous"] = ["node \(place - 1)"]
        object.links["parent"] = ["node 0"]
      } else {
        object.links["children"] = (1..<8).map { "node \($0)" }
      }
      graph.objects.append(object)
    }
    return graph
  }
}
