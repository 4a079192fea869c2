import AtomicStoreKit
import BuiltInStoreFormats
import Foundation
import TestSupport
import Testing

/// Several contexts, with coordinators of their own and with parents, on stores that are files and on databases, which
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
      ]),
    EntityDescription(
      name: "Tag", properties: [.attribute("name", .string), .toMany("projects", "Project", inverse: "tags")]),
    EntityDescription(
      name: "Person", properties: [.attribute("name", .string), .toOne("badge", "Badge", inverse: "person")]),
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
}
