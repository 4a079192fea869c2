import StorePredicates
import Testing

/// Predicates are held to a model by this target alone, which knows no plan of the object graph.
@Suite("Predicates checked against a model without an object graph") struct PredicateCheckAloneTests {
  static func person() throws -> Entity {
    let model = try ManagedObjectModel(
      ModelDescription(
        entities: [
          EntityDescription(
            name: "Person",
            properties: [
              .attribute("name", .string),
              .attribute("mood", .string, isTransient: true),
              .attribute("address", .composite("Address")),
              .attribute("draft", .composite("Address"), isTransient: true),
              .toMany("friends", "Person"),
              .fetchedProperty(
                FetchedPropertyDescription(
                  name: "peers", fetchRequest: FetchRequestDescription(name: "", entityName: "Person"))),
            ])
        ],
        composites: [
          CompositeDescription(
            name: "Address",
            attributes: [
              AttributeDescription(name: "city", type: .string),
              AttributeDescription(name: "at", type: .composite("Place")),
            ]),
          CompositeDescription(name: "Place", attributes: [AttributeDescription(name: "north", type: .double)]),
        ]))
    return try #require(model.entity(named: "Person"))
  }

  @Test(
    "stored, transient and fetched properties, and parts of composites, are found",
    arguments: [
      "name == 'Ada'", "mood == 'glad'", "address.city == 'Rome'", "address.at.north > 41.5", "address == nil",
      "draft.city == 'Rome'",
      "ANY friends.address.city == 'Rome'", "peers.@count > 1", "friends.@count == 2", "entity == 'Person'",
    ])
  func found(_ text: String) throws {
    #expect(throws: Never.self) { try FetchPredicate(format: text).check(against: Self.person()) }
  }

  @Test(
    "a part that is written as one key is found too, stored or not",
    arguments: ["address.city", "draft.city", "draft.at.north", "address.at"])
  func dotted(_ key: String) throws {
    let predicate = FetchPredicate.comparison(.init(.keyPath([key]), .notEqual, .constant(.null)))
    #expect(throws: Never.self) { try predicate.check(against: Self.person()) }
  }

  @Test(
    "what an entity does not have, and what cannot be compared, is refused with what would be right",
    arguments: [
      ("nmae == 1", "did you mean 'name'"), ("address.ctiy == 'x'", "address.city"),
      ("address == 'Rome'", "address.city, address.at.north"),
      ("address.at == 1", "address.at.north"), ("friends.name == 'x'", "ANY"),
      ("name == 1", "write a string in quotes"),
      ("draft.nothing == 1", "draft"),
    ])
  func refused(_ text: String, _ words: String) throws {
    let error = try #require(throws: PredicateFormatError.self) {
      try FetchPredicate(format: text).check(against: Self.person())
    }
    #expect(error.description.contains(words), "\(error)")
  }
}
