import AtomicStoreSPI

/// Every kind of relationship, every delete rule, and inheritance, in few entities.
enum ScriptModel {
  static let model: ManagedObjectModel = {
    do { return try ManagedObjectModel(description) } catch { preconditionFailure("\(error)") }
  }()

  private static func relationship(
    _ name: String, _ destination: String, _ inverse: String?, toMany: Bool = false, ordered: Bool = false,
    rule: DeleteRule = .nullify
  ) -> PropertyDescription {
    .relationship(
      RelationshipDescription(
        name: name, destinationEntityName: destination, inverseName: inverse, maximumCount: toMany ? 0 : 1,
        isOrdered: ordered,
        deleteRule: rule))
  }
  private static let number = PropertyDescription.attribute("n", .integer32)

  static var description: ModelDescription {
    ModelDescription(entities: [
      EntityDescription(
        name: "Person",
        properties: [
          number,
          relationship("owned", "Thing", "owner", toMany: true, rule: .cascade),
          relationship("tags", "Tag", "people", toMany: true),
          relationship("list", "Tag", "listed", toMany: true, ordered: true),
          relationship("spouse", "Person", "spouse"),
          relationship("friends", "Person", "friends", toMany: true),
          relationship("desk", "Desk", "user", rule: .cascade),
          relationship("boss", "Boss", "reports"),
          relationship("secret", "Thing", nil),
          relationship("seen", "Tag", nil, toMany: true),
        ],
        subentities: [
          EntityDescription(
            name: "Boss",
            properties: [
              relationship("reports", "Person", "boss", toMany: true),
              relationship("car", "Car", "driver", rule: .deny),
            ])
        ]),
      EntityDescription(
        name: "Thing",
        properties: [
          number, relationship("owner", "Person", "owned"), relationship("box", "Box", "things"),
        ], subentities: [EntityDescription(name: "Car", properties: [relationship("driver", "Boss", "car")])]),
      EntityDescription(
        name: "Box",
        properties: [
          number, relationship("things", "Thing", "box", toMany: true, ordered: true, rule: .deny),
          relationship("labels", "Tag", "on", toMany: true, rule: .noAction),
        ]),
      EntityDescription(
        name: "Tag",
        properties: [
          number, relationship("people", "Person", "tags", toMany: true),
          relationship("listed", "Person", "list", toMany: true, ordered: true), relationship("on", "Box", "labels"),
        ]),
      EntityDescription(name: "Desk", properties: [number, relationship("user", "Person", "desk")]),
    ])
  }

  /// The entities of the objects that a script begins with.
  static let cast = [
    "Person", "Person", "Boss", "Boss", "Thing", "Thing", "Car", "Box", "Box", "Tag", "Tag", "Desk", "Desk",
  ]
}
