import AtomicStoreKit
import BuiltInStoreFormats
import Foundation
import TestSupport
import Testing

/// Derived attributes when several contexts save: they match what the store holds, they cause no conflicts, and they do
/// not bring deleted objects back.
@Suite("Derived attributes and what others saved") struct DerivedConflictTests {
  private static let description = ModelDescription(entities: [
    EntityDescription(
      name: "Team",
      properties: [
        .attribute("name", .string), .attribute("ages", .integer64, derivationExpression: "members.age.@sum"),
        .attribute("total", .integer64, derivationExpression: "members.@count"),
        .toMany("members", "Person", inverse: "team"),
      ]),
    EntityDescription(
      name: "Person",
      properties: [.attribute("age", .integer64), .toOne("team", "Team", inverse: "members")]),
  ])

  /// A store with a team of two, 1 and 2 years old, and two contexts: with one coordinator, or each with its own.
  private struct Place {
    let folder: TemporaryDirectory
    let path: String
    let contexts: [ManagedObjectContext]

    init(_ name: String, _ policy: MergePolicy, coordinators: Int) throws {
      folder = try TemporaryDirectory("derived-conflicts")
      path = folder.path + "/" + name
      func open(_ path: String) throws -> PersistentStoreCoordinator {
        let coordinator = PersistentStoreCoordinator(
          managedObjectModel: try ManagedObjectModel(DerivedConflictTests.description), registry: .builtIn)
        try coordinator.addPersistentStore(at: path)
        return coordinator
      }
      let first = try open(path)
      let context = ManagedObjectContext(first)
      let team = try context.insertNewObject(forEntityName: "Team")
      try team.setValue("one", forKey: "name")
      for age in [1, 2] {
        let person = try context.insertNewObject(forEntityName: "Person")
        try person.setValue(age, forKey: "age")
        try person.setValue(team, forKey: "team")
      }
      try context.save()
      let other = ManagedObjectContext(coordinators == 1 ? first : try open(path))
      contexts = [context, other]
      for context in contexts { context.mergePolicy = policy }
    }

    func all(_ entity: String, in context: ManagedObjectContext) throws -> [ManagedObject] {
      try context.fetch(
        FetchRequest<ManagedObject>(entityName: entity, sortKeys: [SortKey(entity == "Team" ? "name" : "age")]))
    }

    /// What a program that opens the store now finds: each team with its derived values, and the ages of its members.
    func stored() throws -> [[Int]] {
      let coordinator = PersistentStoreCoordinator(
        managedObjectModel: try ManagedObjectModel(DerivedConflictTests.description), registry: .builtIn)
      try coordinator.addPersistentStore(at: path)
      let context = ManagedObjectContext(coordinator)
      return try all("Team", in: context).map { team in
        let ages = try team.objects(forRelationshipNamed: "members").compactMap { $0["age"] as? Int }.sorted()
        return [team["ages"] as? Int ?? -1, team["total"] as? Int ?? -1] + ages
      }
    }
  }

  private static let names = ["t.plist", "t.xml", "t.sqlgraph"]
  private static let policies: [MergePolicy] = [
    .mergeByPropertyObjectTrump, .mergeByPropertyStoreTrump, .overwrite, .error,
  ]

  @Test(
    "a sum counts what others saved, though the context has read the older values", arguments: names, [1, 2])
  func sum(_ name: String, _ coordinators: Int) throws {
    for policy in Self.policies {
      let place = try Place(name, policy, coordinators: coordinators)
      let (a, b) = (place.contexts[0], place.contexts[1])
      let team = try #require(try place.all("Team", in: b).first)
      for person in try team.objects(forRelationshipNamed: "members") { _ = person["age"] }
      try place.all("Person", in: a)[0].setValue(100, forKey: "age")
      try a.save()
      let new = try b.insertNewObject(forEntityName: "Person")
      try new.setValue(3, forKey: "age")
      try new.setValue(team, forKey: "team")
      try b.save()
      #expect(try place.stored() == [[105, 3, 2, 3, 100]], "\(policy)")
      #expect(team["ages"] as? Int == 105 && team["total"] as? Int == 3, "\(policy)")
    }
  }

  @Test("members that two contexts add do not conflict, and are counted", arguments: names, [1, 2])
  func count(_ name: String, _ coordinators: Int) throws {
    let place = try Place(name, .error, coordinators: coordinators)
    for (number, context) in place.contexts.enumerated() {
      let team = try #require(try place.all("Team", in: context).first)
      _ = team["total"]
      let new = try context.insertNewObject(forEntityName: "Person")
      try new.setValue(10 + number, forKey: "age")
      try new.setValue(team, forKey: "team")
    }
    for context in place.contexts { try context.save() }
    #expect(try place.stored() == [[24, 4, 1, 2, 10, 11]])
  }

  @Test("a team that another context deleted does not come back because of an age", arguments: names, [1, 2])
  func deleted(_ name: String, _ coordinators: Int) throws {
    for policy in Self.policies {
      let place = try Place(name, policy, coordinators: coordinators)
      let (a, b) = (place.contexts[0], place.contexts[1])
      let persons = try place.all("Person", in: b)
      _ = (persons[0]["team"] as? ManagedObject)?["name"]
      a.delete(try place.all("Team", in: a)[0])
      try a.save()
      try persons[0].setValue(50, forKey: "age")
      do { try b.save() } catch {
        // The person itself changed on both sides: its team was cleared.
        #expect(policy == .error && error.conflicts.map(\.objectID.entityName) == ["Person"])
        continue
      }
      #expect(policy != .error)
      #expect(try place.stored().isEmpty, "\(policy)")
    }
  }

  @Test("a refused save leaves derived changes as they were", arguments: names)
  func refused(_ name: String) throws {
    let place = try Place(name, .error, coordinators: 2)
    let (a, b) = (place.contexts[0], place.contexts[1])
    let mine = try place.all("Person", in: b)
    try mine[0].setValue(7, forKey: "age")
    let theirs = try place.all("Person", in: a)
    try theirs[0].setValue(8, forKey: "age")
    try theirs[1].setValue(20, forKey: "age")
    try a.save()
    #expect(throws: ManagedObjectError.self) { try b.save() }
    #expect(b.hasChanges && mine[0]["age"] as? Int == 7)
    b.mergePolicy = .mergeByPropertyObjectTrump
    try b.save()
    #expect(try place.stored() == [[27, 2, 7, 20]])
  }
}
