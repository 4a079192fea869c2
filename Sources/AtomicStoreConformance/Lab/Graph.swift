import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials

/// A graph that a check asks a store to keep: what it must give back.
struct Graph: Sendable {
  struct Object: Sendable {
    /// What the check calls it.
    var label: String
    var entity: String
    var values: [String: StoredValue] = [:]
    /// By relationship, the labels of the objects that it leads to, in order.
    var links: [String: [String]] = [:]

    /// The value under the very name: a dictionary takes canonically equal ones for one.
    func value(_ name: String) -> StoredValue? {
      guard let place = values.index(forKey: name), values[place].key.utf8.elementsEqual(name.utf8) else { return nil }
      return values[place].value
    }
  }
  var model: ModelDescription
  var objects: [Object] = []

  init(_ model: ModelDescription, _ objects: [Object] = []) {
    self.model = model
    self.objects = objects
  }

  /// One entity with attributes, and an object for each of the values of one of them.
  static func values(_ type: AttributeType, _ values: [StoredValue], name: String = "value") -> Graph {
    var graph = Graph(Models.attributes([(name, type)]))
    for (place, value) in values.enumerated() {
      graph.objects.append(Object(label: "object \(place)", entity: "Sample", values: value.isNull ? [:] : [name: value]))
    }
    return graph
  }

  /// What a store that keeps the graph has, given what it calls the objects.
  func text(_ references: [String: String]) throws -> GraphText {
    var text = GraphText()
    let frozen = try Models.frozen(model)
    for object in objects {
      guard let name = references[object.label], let entity = frozen.entity(named: object.entity) else {
        throw Disappointment(expected: "'\(object.label)' was given a reference", actual: "it was not saved")
      }
      var values: [GraphText.Key: String] = [:]
      for slot in entity.slots {
        if let links = object.links[slot.name], !links.isEmpty {
          let targets = try links.map { label in
            guard let target = references[label] else {
              throw Disappointment(expected: "'\(label)' was given a reference", actual: "it was not saved")
            }
            return target
          }
          let list = slot.isOrdered ? targets : targets.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
          values[GraphText.Key(slot.name)] = "→ " + list.joined(separator: " | ")
        } else if let value = object.value(slot.name) ?? slot.attribute?.defaultValue, let shown = GraphText.value(value) {
          values[GraphText.Key(slot.name)] = shown
        }
      }
      text.objects[GraphText.Key(name)] = values
    }
    return text
  }
}

/// Models for checks.
enum Models {
  static func frozen(_ description: ModelDescription) throws -> ManagedObjectModel {
    do { return try ManagedObjectModel(description) } catch {
      throw Disappointment(expected: "the check's own model is sound", actual: "\(error)")
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
          RelationshipDescription(name: "friends", destinationEntityName: "Person", inverseName: "friends", maximumCount: 0)),
        .relationship(
          RelationshipDescription(name: "tags", destinationEntityName: "Team", inverseName: "tagged", maximumCount: 0)),
        .relationship(
          RelationshipDescription(
            name: "queue", destinationEntityName: "Team", inverseName: "queued", maximumCount: 0, isOrdered: true)),
        .relationship(RelationshipDescription(name: "idol", destinationEntityName: "Person")),
        .relationship(RelationshipDescription(name: "fans", destinationEntityName: "Person", maximumCount: 0)),
        .relationship(RelationshipDescription(name: "desk", destinationEntityName: "Desk", inverseName: "owner")),
      ], subentities: [
        EntityDescription(
          name: "Employee", properties: [.attribute(AttributeDescription(name: "salary", type: .double))],
          subentities: [
            EntityDescription(name: "Manager", properties: [.attribute(AttributeDescription(name: "title", type: .string))])
          ])
      ]),
    EntityDescription(
      name: "Team",
      properties: [
        .attribute(AttributeDescription(name: "name", type: .string)),
        .relationship(
          RelationshipDescription(name: "members", destinationEntityName: "Person", inverseName: "team", maximumCount: 0)),
        .relationship(
          RelationshipDescription(name: "tagged", destinationEntityName: "Person", inverseName: "tags", maximumCount: 0)),
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
          RelationshipDescription(name: "children", destinationEntityName: "Node", inverseName: "parent", maximumCount: 0)),
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
