import AtomicStoreKit
import AtomicStoreSPI
import Foundation
import Testing

/// The guide's friends: an entity between two people, one instance for each direction.
@Suite("Friendships through an intermediate entity") struct JoinEntityTests {
  private static func model(least: Int = 0, most: Int = 0) throws -> ManagedObjectModel {
    try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Person",
          properties: [
            .attribute("name", .string),
            .relationship(
              RelationshipDescription(
                name: "friends", destinationEntityName: "FriendInfo", inverseName: "source", minimumCount: least,
                maximumCount: most, deleteRule: .cascade)),
            .toMany("befriendedBy", "FriendInfo", inverse: "friend", deleteRule: .cascade),
          ]),
        EntityDescription(
          name: "FriendInfo",
          properties: [
            .attribute("ranking", .integer16),
            .toOne("source", "Person", inverse: "friends", isOptional: false),
            .toOne("friend", "Person", inverse: "befriendedBy", isOptional: false),
          ]),
      ]))
  }

  private struct People {
    let stack: Stack
    let people: [ManagedObject]

    init(_ type: String = "XML", least: Int = 0, most: Int = 0) throws {
      let stack = try Stack(type, model: try JoinEntityTests.model(least: least, most: most))
      people = try ["A", "B", "C"].map { try stack.insert("Person", ["name": $0]) }
      self.stack = stack
    }

    @discardableResult
    func befriend(_ source: Int, _ friend: Int, ranking: Int = 1) throws -> ManagedObject {
      try stack.insert("FriendInfo", ["source": people[source], "friend": people[friend], "ranking": ranking])
    }

    func names(_ person: Int, _ path: String) throws -> [String] {
      let found = try people[person].value(forKeyPath: path) as? Set<ManagedObject> ?? []
      return found.map { $0["name"] as? String ?? "" }.sorted()
    }
  }

  @Test(
    "one person's friends are all friend destinations of the friends relationship, and the other way round",
    arguments: EndState.allCases)
  func aggregate(_ state: EndState) throws {
    let group = try People()
    var infos = [try group.befriend(0, 1), try group.befriend(0, 2), try group.befriend(2, 1)]
    infos += group.people
    try state.bring(group.stack, infos)
    #expect(try group.names(0, "friends.friend") == ["B", "C"])
    #expect(try group.names(1, "friends.friend") == [])
    #expect(try group.names(1, "befriendedBy.source") == ["A", "C"])
    #expect(try group.people[0].value(forKeyPath: "friends.@count") as? Int == 2)
    #expect((try group.people[0].value(forKeyPath: "friends.ranking") as? [Any])?.compactMap { $0 as? Int } == [1, 1])
  }

  @Test("a friendship in one direction is not one in the other: a mutual one has two instances")
  func directions() throws {
    let group = try People()
    try group.befriend(0, 1, ranking: 5)
    #expect(try group.names(1, "friends.friend") == [])
    let back = try group.befriend(1, 0, ranking: 2)
    #expect(try group.names(1, "friends.friend") == ["A"])
    // Breaking it means deleting that instance.
    group.stack.context.delete(back)
    try group.stack.context.save()
    #expect(try group.names(1, "friends.friend") == [])
    #expect(try group.names(0, "friends.friend") == ["B"])
  }

  @Test("deleting its instance breaks a friendship, in that direction only")
  func breaking() throws {
    let group = try People()
    let info = try group.befriend(0, 1)
    try group.befriend(1, 0)
    try group.stack.context.save()
    group.stack.context.delete(info)
    try group.stack.context.save()
    #expect(try group.names(0, "friends.friend") == [])
    #expect(try group.names(1, "befriendedBy.source") == [])
    #expect(try group.names(1, "friends.friend") == ["A"])
  }

  @Test("deleting a person deletes their friendships, in both directions", arguments: Stack.types)
  func cascade(_ type: String) throws {
    let group = try People(type)
    try group.befriend(0, 1)
    try group.befriend(1, 0)
    try group.befriend(1, 2)
    try group.stack.context.save()
    group.stack.context.delete(group.people[0])
    try group.stack.context.save()
    let other = try group.stack.reopened()
    #expect(try other.fetch("FriendInfo").map { ($0["friend"] as? ManagedObject)?["name"] as? String } == ["C"])
    #expect(try other.fetch("Person").count == 2)
  }

  @Test("a friendship without a source or a friend is not valid", arguments: ["source", "friend"])
  func mandatory(_ key: String) throws {
    let group = try People()
    let info = try group.befriend(0, 1)
    try group.stack.context.save()
    try info.setValue(nil, forKey: key)
    let error = try #require(graphError { try group.stack.context.save() })
    #expect(error.code == .validationMissingMandatoryProperty)
    #expect(error.key == key && error.objectID == info.objectID)
    group.stack.context.rollback()
    #expect(info[key] != nil)
  }

  @Test(
    "the number of objects at a to-many's end must be between its limits; optional also allows none",
    arguments: [
      (0, nil), (1, ManagedObjectError.Code.validationRelationshipLacksMinimumCount), (2, nil), (3, nil),
      (4, .validationRelationshipExceedsMaximumCount),
    ])
  func limits(_ count: Int, _ code: ManagedObjectError.Code?) throws {
    let group = try People(least: 2, most: 3)
    for index in 0..<count { try group.befriend(0, index % 3) }
    let error = graphError { try group.stack.context.save() }
    #expect(error?.code == code)
    #expect(error?.key == (code == nil ? nil : "friends"))
  }
}
