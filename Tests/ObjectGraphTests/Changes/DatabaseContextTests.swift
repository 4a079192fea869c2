import AtomicStoreKit
import BuiltInStoreFormats
import Foundation
import TestSupport
import Testing

/// Several contexts, with their own coordinators and with parents, on stores that are files and on databases, which
/// give a context single rows.
@Suite("Contexts that read rows at different times") struct DatabaseContextTests {
  private static let description = ModelDescription(entities: [
    EntityDescription(
      name: "Team",
      properties: [
        .attribute("name", .string), .toMany("projects", "Project", inverse: "team", deleteRule: .cascade),
      ]),
    EntityDescription(
      name: "Project",
      properties: [
        .attribute("name", .string), .toOne("team", "Team", inverse: "projects"),
        .toMany("tags", "Tag", inverse: "projects"),
        .toMany("visitors", "Person", inverse: "visited", isTransient: true),
      ]),
    EntityDescription(
      name: "Tag", properties: [.attribute("name", .string), .toMany("projects", "Project", inverse: "tags")]),
    EntityDescription(
      name: "Person",
      properties: [
        .attribute("name", .string), .toOne("badge", "Badge", inverse: "person"),
        .toMany("tasks", "Task", inverse: "owner", deleteRule: .cascade),
        .toMany("visited", "Project", inverse: "visitors", isTransient: true),
      ]),
    EntityDescription(
      name: "Task",
      properties: [.attribute("name", .string), .toOne("owner", "Person", inverse: "tasks", isOptional: false)]),
    EntityDescription(
      name: "Badge", properties: [.attribute("name", .string), .toOne("person", "Person", inverse: "badge")]),
  ])
  private static let names = ["c.plist", "c.sqlgraph"]

  private struct Place {
    let folder: TemporaryDirectory
    let path: String

    init(_ name: String) throws {
      folder = try TemporaryDirectory("contexts")
      path = folder.path + "/" + name
    }

    func context(_ policy: MergePolicy = .error) throws -> ManagedObjectContext {
      let coordinator = PersistentStoreCoordinator(
        managedObjectModel: try ManagedObjectModel(DatabaseContextTests.description), registry: .builtIn)
      try coordinator.addPersistentStore(at: path)
      let context = ManagedObjectContext(coordinator)
      context.mergePolicy = policy
      return context
    }
  }

  private static func one(
    _ entity: String, _ name: String, in context: ManagedObjectContext
  ) throws -> ManagedObject? {
    try context.fetch(
      FetchRequest<ManagedObject>(entityName: entity, predicate: try FetchPredicate(format: "name == %@", name))
    ).first
  }

  private static func make(
    _ entity: String, _ name: String, in context: ManagedObjectContext
  ) throws -> ManagedObject {
    let object = try context.insertNewObject(forEntityName: entity)
    try object.setValue(name, forKey: "name")
    return object
  }

  @Test("a transient to-many of a stored object has what was added, and its count", arguments: names)
  func transient(_ name: String) throws {
    let place = try Place(name)
    let maker = try place.context()
    _ = try Self.make("Project", "p", in: maker)
    try maker.save()
    let context = try place.context()
    let project = try #require(try Self.one("Project", "p", in: context))
    let person = try Self.make("Person", "n", in: context)
    try project.setValue([person], forKey: "visitors")
    #expect(try project.objectIDs(forRelationshipNamed: "visitors") == [person.objectID])
    #expect(try project.count(forRelationshipNamed: "visitors") == 1)
    #expect(try FetchPredicate(format: "visitors.@count == 1 AND ANY visitors.name == 'n'").evaluate(with: project))
    try context.save()
    #expect(try person.objectIDs(forRelationshipNamed: "visited") == [project.objectID])
    try project.setValue([] as [ManagedObject], forKey: "visitors")
    #expect(try FetchPredicate(format: "visitors.@count == 0").evaluate(with: project))
    try context.save()
  }

  @Test(
    "an object that comes back leaves the owner that was deleted with it",
    arguments: names, [MergePolicy.mergeByPropertyObjectTrump, .overwrite])
  func owner(_ name: String, _ policy: MergePolicy) throws {
    let place = try Place(name)
    let a = try place.context()
    try Self.make("Project", "p", in: a).setValue(try Self.make("Team", "t", in: a), forKey: "team")
    try a.save()
    let b = try place.context(policy)
    let project = try #require(try Self.one("Project", "p", in: b))
    #expect((project["team"] as? ManagedObject)?["name"] as? String == "t")
    a.delete(try #require(try Self.one("Team", "t", in: a)))
    try a.save()
    try project.setValue("mine", forKey: "name")
    try b.save()
    let now = try place.context()
    #expect(try now.fetch(FetchRequest<ManagedObject>(entityName: "Team")).isEmpty)
    let kept = try #require(try Self.one("Project", "mine", in: now))
    #expect(kept["team"] == nil)
  }

  @Test("what a child refreshes stays under its parent's changes: others' changes are conflicts", arguments: names)
  func childRefresh(_ name: String) throws {
    let place = try Place(name)
    let a = try place.context()
    try Self.make("Person", "one", in: a).setValue(try Self.make("Badge", "1", in: a), forKey: "badge")
    _ = try Self.make("Person", "two", in: a)
    try a.save()
    let parent = try place.context()
    let child = ManagedObjectContext(parent: parent)
    let two = try #require(try Self.one("Person", "two", in: child))
    try two.setValue(try Self.one("Badge", "1", in: child), forKey: "badge")
    try child.save()
    try Self.one("Person", "two", in: a)?.setValue(try Self.make("Badge", "2", in: a), forKey: "badge")
    try a.save()
    for mergesChanges in [false, true] { child.refresh(two, mergeChanges: mergesChanges) }
    _ = two["name"]
    _ = try Self.one("Person", "two", in: parent)?["badge"]
    #expect {
      try parent.save()
    } throws: { error in
      (error as? ManagedObjectError)?.code == .managedObjectMerge
    }
    parent.mergePolicy = .mergeByPropertyObjectTrump
    try parent.save()
    let now = try place.context()
    for badge in try now.fetch(FetchRequest<ManagedObject>(entityName: "Badge")) {
      let person = badge["person"] as? ManagedObject
      #expect(person?["name"] as? String == (badge["name"] as? String == "1" ? "two" : nil))
      #expect(person == nil || person?["badge"] as? ManagedObject === badge)
    }
  }

  @Test("a link to an object that was never read and is gone is a conflict, or left out", arguments: names)
  func goneEnd(_ name: String) throws {
    let place = try Place(name)
    let a = try place.context()
    let project = try Self.make("Project", "p", in: a)
    let tag = try Self.make("Tag", "g", in: a)
    try a.save()
    let b = try place.context()
    let mine = try #require(try Self.one("Project", "p", in: b))
    try mine.add(b.object(with: tag.objectID), to: "tags")
    a.delete(tag)
    try a.save()
    #expect {
      try b.save()
    } throws: { error in
      (error as? ManagedObjectError)?.code == .managedObjectMerge
    }
    // The tag was changed here, too, since it is the other end: a policy that keeps changes would bring it back.
    b.mergePolicy = .mergeByPropertyStoreTrump
    try b.save()
    let now = try place.context()
    let kept = try #require(try Self.one("Project", "p", in: now))
    #expect(try kept.objects(forRelationshipNamed: "tags").map { $0["name"] as? String } == [])
    #expect(kept.objectID == project.objectID)
  }

  // MARK: What is required

  @Test(
    "an object that comes back without the owner that it needs is not saved",
    arguments: names, [MergePolicy.mergeByPropertyObjectTrump, .overwrite])
  func requiredOwner(_ name: String, _ policy: MergePolicy) throws {
    let place = try Place(name)
    let a = try place.context()
    try Self.make("Task", "k", in: a).setValue(try Self.make("Person", "p", in: a), forKey: "owner")
    try a.save()
    let b = try place.context(policy)
    let task = try #require(try Self.one("Task", "k", in: b))
    #expect((task["owner"] as? ManagedObject)?["name"] as? String == "p")
    a.delete(try #require(try Self.one("Person", "p", in: a)))
    try a.save()
    try task.setValue("mine", forKey: "name")
    let error = #expect(throws: ManagedObjectError.self) { try b.save() }
    #expect(error?.code == .validationMissingMandatoryProperty)
    #expect(error?.key == "owner")
    let now = try place.context()
    #expect(try now.fetch(FetchRequest<ManagedObject>(entityName: "Task")).isEmpty)
    // With another owner it can come back.
    try task.setValue(try Self.make("Person", "q", in: b), forKey: "owner")
    try b.save()
    let later = try place.context()
    let kept = try #require(try Self.one("Task", "mine", in: later))
    #expect((kept["owner"] as? ManagedObject)?["name"] as? String == "q")
  }

  @Test(
    "a required to-one to what another program deletes at the same time is refused, no matter which is first",
    arguments: names, [true, false])
  func requiredEnd(_ name: String, _ deletesFirst: Bool) throws {
    let place = try Place(name)
    let a = try place.context()
    try Self.make("Task", "k", in: a).setValue(try Self.make("Person", "p", in: a), forKey: "owner")
    _ = try Self.make("Person", "q", in: a)
    try a.save()
    let b = try place.context()
    let task = try #require(try Self.one("Task", "k", in: b))
    try task.setValue(try Self.one("Person", "q", in: b), forKey: "owner")
    let person = try #require(try Self.one("Person", "q", in: a))
    // One that was never read is deleted as the store has it, with its tasks.
    #expect(try person["name"] as? String == "q" && person.objects(forRelationshipNamed: "tasks").isEmpty)
    a.delete(person)
    let (first, second) = deletesFirst ? (a, b) : (b, a)
    try first.save()
    let error = #expect(throws: ManagedObjectError.self) { try second.save() }
    #expect(error?.code == .managedObjectMerge)
    let now = try place.context()
    let owner = try #require(try Self.one("Task", "k", in: now)?["owner"] as? ManagedObject)
    #expect(owner["name"] as? String == (deletesFirst ? "p" : "q"))
    if deletesFirst { return }
    // By a policy that deletes nevertheless, the delete rule is applied to what has come.
    a.mergePolicy = .mergeByPropertyObjectTrump
    try a.save()
    let later = try place.context()
    #expect(try Self.one("Task", "k", in: later) == nil && Self.one("Person", "q", in: later) == nil)
  }

  // MARK: Other ends that were read before

  @Test("a partner that was released, and joined to another object since, loses that one", arguments: names)
  func releasedPartner(_ name: String) throws {
    let place = try Place(name)
    let a = try place.context()
    let (badge, one) = (try Self.make("Badge", "1", in: a), try Self.make("Person", "one", in: a))
    let two = try Self.make("Person", "two", in: a)
    try badge.setValue(one, forKey: "person")
    try a.save()
    let b = try place.context(.mergeByPropertyObjectTrump)
    let first = try #require(try Self.one("Person", "one", in: b))
    #expect((first["badge"] as? ManagedObject)?["name"] as? String == "1")
    try badge.setValue(two, forKey: "person")
    try a.save()
    // Read again, with the badge that it has now; the badge itself was read with its former person.
    let second = try #require(try Self.one("Person", "two", in: b))
    try Self.make("Badge", "2", in: b).setValue(second, forKey: "person")
    try b.save()
    withExtendedLifetime(first) {}
    let now = try place.context()
    #expect(try Self.one("Badge", "1", in: now)?["person"] == nil)
    let person = try #require(try Self.one("Badge", "2", in: now)?["person"] as? ManagedObject)
    #expect(person["name"] as? String == "two" && (person["badge"] as? ManagedObject)?["name"] as? String == "2")
  }
}
