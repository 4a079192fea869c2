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
      EntityDescription(name: entity, properties: list.map { .attribute(AttributeDescription(name: $0.0, type: $0.1)) })
    ])
  }

  /// Two entities with relationships of every kind, where the format has room for two.
  static let people = ModelDescription(entities: [
    EntityDescription(
      name: "Person",
      properties: [
        .attribute(AttributeDescription(name: "name", type: .string)),
        .attribute(AttributeDescription(name: "age", type: .integer32)),
        .relationship(RelationshipDescription(name: "team", destinationEntityName: "Team", inverseName: "members")),
        .relationship(RelationshipDescription(name: "spouse", destinationEntityName: "Person", inverseName: "spouse")),
        .relationship(
          RelationshipDescription(
            name: "friends", destinationEntityName: "Person", inverseName: "friends", maximumCount: 0)),
        .relationship(
          RelationshipDescription(name: "tags", destinationEntityName: "Team", inverseName: "tagged", maximumCount: 0)),
        .relationship(
          RelationshipDescription(
            name: "queue", destinationEntityName: "Team", inverseName: "queued", maximumCount: 0, isOrdered: true)),
        .relationship(RelationshipDescription(name: "idol", destinationEntityName: "Person")),
        .relationship(RelationshipDescription(name: "fans", destinationEntityName: "Person", maximumCount: 0)),
        .relationship(RelationshipDescription(name: "desk", destinationEntityName: "Desk", inverseName: "owner")),
      ],
      subentities: [
        EntityDescription(
          name: "Employee", properties: [.attribute(AttributeDescription(name: "salary", type: .double))],
          subentities: [
            EntityDescription(
              name: "Manager", properties: [.attribute(AttributeDescription(name: "title", type: .string))])
          ])
      ]),
    EntityDescription(
      name: "Team",
      properties: [
        .attribute(AttributeDescription(name: "name", type: .string)),
        .relationship(
          RelationshipDescription(
            name: "members", destinationEntityName: "Person", inverseName: "team", maximumCount: 0)),
        .relationship(
          RelationshipDescription(name: "tagged", destinationEntityName: "Person", inverseName: "tags", maximumCount: 0)
        ),
        .relationship(
          RelationshipDescription(
            name: "queued", destinationEntityName: "Person", inverseName: "queue", maximumCount: 0, isOrdered: true)),
      ]),
    EntityDescription(
      name: "Desk",
      properties: [
        .attribute(AttributeDescription(name: "number", type: .integer16)),
        .relationship(RelationshipDescription(name: "owner", destinationEntityName: "Person", inverseName: "desk")),
      ]),
  ])

  /// One entity alone, related to itself: what a store of one entity can hold.
  static let nodes = ModelDescription(entities: [
    EntityDescription(
      name: "Node",
      properties: [
        .attribute(AttributeDescription(name: "name", type: .string)),
        .attribute(AttributeDescription(name: "number", type: .integer64)),
        .attribute(AttributeDescription(name: "weight", type: .double)),
        .attribute(AttributeDescription(name: "flag", type: .boolean)),
        .relationship(RelationshipDescription(name: "next", destinationEntityName: "Node", inverseName: "previous")),
        .relationship(RelationshipDescription(name: "previous", destinationEntityName: "Node", inverseName: "next")),
        .relationship(
          RelationshipDescription(
            name: "children", destinationEntityName: "Node", inverseName: "parent", maximumCount: 0)),
        .relationship(RelationshipDescription(name: "parent", destinationEntityName: "Node", inverseName: "children")),
      ])
  ])

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
