import AtomicStoreKit
import AtomicStoreSPI
import Foundation
import Testing

@Suite("Propagation of deletions") struct DeletePropagationTests {
  /// Nodes in a list, each the owner of the next: deleted by cascade in both directions, and what cascades comes before
  /// what nullifies.
  private static func chainModel() throws -> ManagedObjectModel {
    try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Link",
          properties: [
            .attribute("name", .string),
            .toOne("next", "Link", inverse: "back", deleteRule: .cascade),
            .toOne("back", "Link", inverse: "next", deleteRule: .cascade),
            .toOne("own", "Link", inverse: "own", deleteRule: .cascade),
            .toOne("tag", "Tag", inverse: "links"),
          ]),
        EntityDescription(
          name: "Tag",
          properties: [
            .toMany("links", "Link", inverse: "tag"),
            // Mandatory at the other end.
            .toMany("notes", "Note", inverse: "tag"),
          ]),
        EntityDescription(
          name: "Note",
          properties: [
            .toOne("tag", "Tag", inverse: "notes", isOptional: false)
          ]),
      ]))
  }

  @Test(
    "a cycle of cascades ends, and applies Nullify",
    arguments: [(1, true), (1, false), (2, true), (2, false), (5, true), (5, false)], [true, false])
  func circle(_ size: (count: Int, saved: Bool), _ atEnd: Bool) throws {
    let stack = try Stack(model: try Self.chainModel())
    stack.context.propagatesDeletesAtEndOfEvent = atEnd
    let tag = try stack.insert("Tag")
    let links = try (0..<size.count).map { try stack.insert("Link", ["name": "l\($0)", "tag": tag]) }
    for index in links.indices { try links[index].setValue(links[(index + 1) % links.count], forKey: "next") }
    try links[0].setValue(links[0], forKey: "own")
    if size.saved { try stack.context.save() }
    stack.context.delete(links[0])
    stack.context.processPendingChanges()
    #expect(links.allSatisfy { size.saved ? $0.isDeleted : $0.unavailableReason == .neverSaved })
    #expect(try tag.count(forRelationshipNamed: "links") == 0)
    try stack.context.save()
    #expect(try stack.fetch("Link").isEmpty)
    #expect(try stack.fetch("Tag") == [tag])
  }

  @Test("a cascade of any length is completed", arguments: [true, false])
  func longChain(_ atEnd: Bool) throws {
    let stack = try Stack(model: try Self.chainModel())
    var last = try stack.insert("Link")
    let first = last
    for _ in 0..<30_000 {
      let next = try stack.insert("Link")
      try last.setValue(next, forKey: "next")
      last = next
    }
    try stack.context.save()
    stack.context.propagatesDeletesAtEndOfEvent = atEnd
    stack.context.delete(first)
    try stack.context.save()
    #expect(stack.store.nodes.count == 0)
  }

  @Test("nullify over a mandatory inverse: the save fails, and names the object whose relationship would be empty")
  func mandatoryInverse() throws {
    let stack = try Stack(model: try Self.chainModel())
    let tag = try stack.insert("Tag")
    let note = try stack.insert("Note", ["tag": tag])
    try stack.context.save()
    let plan = stack.context.deletionPlan(for: tag)
    #expect(plan.violated.map(\.object) == [note])
    #expect(plan.violated.map(\.key) == ["tag"])
    #expect(!plan.isAllowed)
    stack.context.delete(tag)
    let error = try #require(graphError { try stack.context.save() })
    #expect(error.code == .validationMissingMandatoryProperty)
    #expect(error.objectID == note.objectID)
    #expect(error.key == "tag")
    // A new value before the next save, and it goes through.
    let other = try stack.insert("Tag")
    try note.setValue(other, forKey: "tag")
    try stack.context.save()
    #expect(try stack.fetch("Tag") == [other])
    #expect(try other.objects(forRelationshipNamed: "notes") == [note])
  }

  @Test("an object refreshed after its deletion still cascades and nullifies as it should")
  func refreshedAfterDelete() throws {
    let stack = try Stack()
    let sales = try stack.insert("Department", ["name": "Sales"])
    let ada = try stack.insert("Employee", ["name": "Ada", "department": sales])
    let room = try stack.insert("Room", ["department": sales])
    try stack.context.save()
    stack.context.delete(sales)
    stack.context.refresh(sales, mergeChanges: false)
    try stack.context.save()
    #expect(ada["department"] == nil)
    #expect(room.unavailableReason == .deletedHere)
    #expect(try stack.storedNodes().count == 1)
  }

  @Test("a new object that is deleted leaves nothing behind, and its partners are released")
  func newObject() throws {
    let stack = try Stack()
    let ada = try stack.insert("Person", ["name": "Ada"])
    try stack.context.save()
    let bob = try stack.insert("Person", ["name": "Bob", "spouse": ada])
    stack.context.delete(bob)
    stack.context.processPendingChanges()
    #expect(ada["spouse"] == nil)
    #expect(!stack.context.hasChanges)
    #expect(bob.unavailableReason == .neverSaved)
    stack.context.delete(bob)
    #expect(!stack.context.hasChanges)
  }

  @Test(
    "a deletion plan lists what is deleted, what loses a relationship and what forbids the deletion, and changes nothing"
  )
  func plan() throws {
    let stack = try Stack()
    let sales = try stack.insert("Department", ["name": "Sales"])
    let ada = try stack.insert("Employee", ["name": "Ada", "department": sales])
    let rooms = try [1, 2].map { try stack.insert("Room", ["number": $0, "department": sales]) }
    let contract = try stack.insert("Contract", ["department": sales])
    let visitor = try stack.insert("Visitor", ["host": sales])
    try stack.context.save()
    let plan = stack.context.deletionPlan(for: sales)
    #expect(plan.deleted.map(\.object) == [sales] + rooms)
    #expect(plan.deleted.map(\.path) == ["Department", "Department.rooms", "Department.rooms"])
    #expect(plan.nullified.map(\.object) == [ada])
    #expect(plan.nullified.map(\.key) == ["department"])
    #expect(plan.denied.map(\.object) == [contract])
    #expect(plan.denied.map(\.key) == ["contracts"])
    #expect(plan.violated.isEmpty)
    #expect(!plan.isAllowed)
    #expect(!stack.context.hasChanges)
    // What is pending already counts.
    stack.context.delete(contract)
    #expect(stack.context.deletionPlan(for: sales).isAllowed)
    #expect(stack.context.deletionPlan(for: visitor).deleted.map(\.object) == [visitor])
  }

  @Test("a deletion plan with a cycle lists each object once")
  func planOfCircle() throws {
    let stack = try Stack(model: try Self.chainModel())
    let links = try (0..<3).map { _ in try stack.insert("Link") }
    for index in links.indices { try links[index].setValue(links[(index + 1) % 3], forKey: "next") }
    let plan = stack.context.deletionPlan(for: links[1])
    #expect(Set(plan.deleted.map(\.object)) == Set(links))
    #expect(plan.deleted.count == 3)
    #expect(plan.nullified.isEmpty)
  }

  @Test("a deleted object is no longer in fetches, but still in the store")
  func fetches() throws {
    let stack = try Stack()
    let ada = try stack.insert("Person", ["name": "Ada"])
    try stack.context.save()
    stack.context.delete(ada)
    #expect(try stack.fetch("Person").isEmpty)
    #expect(try stack.storedNodes().count == 1)
    let other = ManagedObjectContext(stack.coordinator)
    #expect(try other.fetch(FetchRequest<ManagedObject>(entityName: "Person")).count == 1)
    stack.context.rollback()
    #expect(try stack.fetch("Person") == [ada])
    #expect(ada["name"] as? String == "Ada")
  }
}
