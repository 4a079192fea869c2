import AtomicStoreKit
import BuiltInStoreFormats
import Foundation
import TestSupport
import Testing

/// Derived attributes whose inputs several programs change: what is stored is always what the stored inputs give.
@Suite("Derived attributes that several programs change") struct DatabaseDerivationTests {
  private static let description = ModelDescription(entities: [
    EntityDescription(
      name: "Team",
      properties: [
        .attribute("name", .string),
        .attribute("count", .integer64, derivationExpression: "members.@count"),
        .attribute("sum", .integer64, derivationExpression: "members.age.@sum"),
        .attribute("greatest", .integer64, derivationExpression: "members.age.@max"),
        .attribute("weight", .integer64, derivationExpression: "members.badge.weight.@sum"),
        .toMany("members", "Person", inverse: "team"),
      ]),
    EntityDescription(
      name: "Person",
      properties: [
        .attribute("name", .string), .attribute("age", .integer64), .toOne("team", "Team", inverse: "members"),
        .toOne("badge", "Badge", inverse: "person"),
      ]),
    EntityDescription(
      name: "Badge",
      properties: [
        .attribute("name", .string), .attribute("weight", .integer64), .toOne("person", "Person", inverse: "badge"),
      ]),
  ])
  private static let names = ["d.plist", "d.sqlgraph"]

  private struct Place {
    let folder: TemporaryDirectory
    let path: String

    init(_ name: String) throws {
      folder = try TemporaryDirectory("derivations")
      path = folder.path + "/" + name
    }

    func context(_ policy: MergePolicy = .mergeByPropertyObjectTrump) throws -> ManagedObjectContext {
      let coordinator = PersistentStoreCoordinator(
        managedObjectModel: try ManagedObjectModel(DatabaseDerivationTests.description), registry: .builtIn)
      try coordinator.addPersistentStore(at: path)
      let context = ManagedObjectContext(coordinator)
      context.mergePolicy = policy
      context.retainsRegisteredObjects = true
      return context
    }

    /// Compares the derived attributes of all teams with their members, in its own context.
    func check(_ location: SourceLocation = #_sourceLocation) throws {
      let context = try context()
      for team in try context.fetch(FetchRequest<ManagedObject>(entityName: "Team")) {
        let members = try team.objects(forRelationshipNamed: "members")
        let ages = members.compactMap { $0["age"] as? Int }
        let weights = members.compactMap { ($0["badge"] as? ManagedObject)?["weight"] as? Int }
        let name = team["name"] as? String ?? ""
        #expect(team["count"] as? Int == members.count, "\(name)", sourceLocation: location)
        #expect(team["sum"] as? Int == ages.reduce(0, +), "\(name)", sourceLocation: location)
        #expect(team["greatest"] as? Int == ages.max(), "\(name)", sourceLocation: location)
        #expect(team["weight"] as? Int == weights.reduce(0, +), "\(name)", sourceLocation: location)
      }
    }
  }

  private static func one(_ name: String, in context: ManagedObjectContext) throws -> ManagedObject {
    let entity = name.hasPrefix("t") ? "Team" : name.hasPrefix("b") ? "Badge" : "Person"
    return try #require(
      try context.fetch(
        FetchRequest<ManagedObject>(entityName: entity, predicate: try FetchPredicate(format: "name == %@", name))
      ).first)
  }

  /// Two teams; persons with their ages and teams.
  private static func make(
    _ people: [(String, age: Int, team: String?)], in context: ManagedObjectContext
  ) throws {
    var teams: [String: ManagedObject] = [:]
    for name in ["t1", "t2"] {
      let team = try context.insertNewObject(forEntityName: "Team")
      try team.setValue(name, forKey: "name")
      teams[name] = team
    }
    for (name, age, team) in people {
      let person = try context.insertNewObject(forEntityName: "Person")
      for (key, value) in ["name": name, "age": age] as [String: Any] { try person.setValue(value, forKey: key) }
      try person.setValue(team.flatMap { teams[$0] }, forKey: "team")
    }
    try context.save()
  }

  private static func readAll(_ context: ManagedObjectContext) throws {
    for entity in ["Team", "Person", "Badge"] {
      for object in try context.fetch(FetchRequest<ManagedObject>(entityName: entity)) {
        _ = object["name"]
        for key in object.entity.relationshipsByName.keys { _ = try object.objects(forRelationshipNamed: key) }
      }
    }
  }

  @Test("two programs change inputs of one value, and the first change leaves the value as it is", arguments: names)
  func unchangedValue(_ name: String) throws {
    let place = try Place(name)
    let a = try place.context()
    try Self.make([("p", 5, "t1"), ("q", 10, "t1")], in: a)
    let b = try place.context()
    try Self.readAll(b)
    try Self.one("p", in: a).setValue(6, forKey: "age")
    try a.save()
    try Self.one("q", in: b).setValue(1, forKey: "age")
    try b.save()
    try place.check()
  }

  @Test("a member that came meanwhile counts with its present values", arguments: names)
  func newMember(_ name: String) throws {
    let place = try Place(name)
    let a = try place.context()
    try Self.make([("p", 1, nil), ("q", 2, "t1"), ("r", 3, "t1")], in: a)
    let b = try place.context()
    try Self.readAll(b)
    let member = try Self.one("p", in: a)
    try member.setValue(56, forKey: "age")
    try member.setValue(try Self.one("t1", in: a), forKey: "team")
    try a.save()
    try Self.one("q", in: b).setValue(try Self.one("t2", in: b), forKey: "team")
    try b.save()
    try place.check()
  }

  @Test("an owner whose members were read before loses a member that came since", arguments: names)
  func staleOwner(_ name: String) throws {
    let place = try Place(name)
    let a = try place.context()
    try Self.make([("q", 2, "t1"), ("r", 3, "t2")], in: a)
    let b = try place.context()
    try Self.readAll(b)
    let person = try a.insertNewObject(forEntityName: "Person")
    for (key, value) in ["name": "p", "age": 9] as [String: Any] { try person.setValue(value, forKey: key) }
    try person.setValue(try Self.one("t1", in: a), forKey: "team")
    try a.save()
    // A file is read again when something is saved.
    try Self.one("t2", in: b).setValue("t3", forKey: "name")
    try b.save()
    try Self.one("p", in: b).setValue(try Self.one("t3", in: b), forKey: "team")
    try b.save()
    try place.check()
  }

  @Test(
    "what a merge policy changes back changes the owners that it had meanwhile", arguments: names,
    [MergePolicy.overwrite, .mergeByPropertyObjectTrump, .mergeByPropertyStoreTrump])
  func changedBack(_ name: String, _ policy: MergePolicy) throws {
    let place = try Place(name)
    let a = try place.context()
    try Self.make([("p", 1, "t1"), ("q", 2, "t1"), ("r", 3, "t2")], in: a)
    let b = try place.context(policy)
    try Self.readAll(b)
    try Self.one("p", in: a).setValue(try Self.one("t2", in: a), forKey: "team")
    try a.save()
    try Self.one("p", in: b).setValue(7, forKey: "age")
    try b.save()
    try place.check()
  }

  @Test("an input behind a member that another program gives away meanwhile", arguments: names, [true, false])
  func inputBehindMember(_ name: String, _ isLinkFirst: Bool) throws {
    let place = try Place(name)
    let a = try place.context()
    try Self.make([("p", 1, nil), ("q", 2, "t1")], in: a)
    let badge = try a.insertNewObject(forEntityName: "Badge")
    for (key, value) in ["name": "b", "weight": 10] as [String: Any] { try badge.setValue(value, forKey: key) }
    try badge.setValue(try Self.one("p", in: a), forKey: "person")
    try a.save()
    let (link, weigh) = (try place.context(), try place.context())
    for context in [link, weigh] { try Self.readAll(context) }
    try Self.one("p", in: link).setValue(try Self.one("t1", in: link), forKey: "team")
    try Self.one("b", in: weigh).setValue(20, forKey: "weight")
    for context in isLinkFirst ? [link, weigh] : [weigh, link] { try context.save() }
    try place.check()
  }

  @Test("a child context saves to its parent although an input is gone from the store", arguments: names)
  func goneInput(_ name: String) throws {
    let place = try Place(name)
    let a = try place.context()
    try Self.make([("p", 1, "t1"), ("q", 2, "t1")], in: a)
    let parent = try place.context()
    let child = ManagedObjectContext(parent: parent)
    let team = try Self.one("t1", in: child)
    _ = try team.objects(forRelationshipNamed: "members")
    a.delete(try Self.one("p", in: a))
    try a.save()
    parent.refreshAllObjects()
    try team.setValue("t3", forKey: "name")
    try child.save()
    try parent.save()
    try place.check()
    let now = try place.context()
    #expect(try Self.one("t3", in: now)["count"] as? Int == 1)
  }
}
