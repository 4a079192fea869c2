import AtomicStoreKit
import AtomicStoreSPI
import Foundation
import Testing

/// A color: nothing that an attribute can be, and nothing that the stack knows.
private struct Color: Equatable {
  var red: UInt8
  var green: UInt8
  var blue: UInt8
}

/// Shows a color and keeps text: the transient attribute is made from the persistent one, and turned into it.
private final class Wall: ManagedObject {
  var color: Color? {
    get { self["color"] as? Color }
    set { self["color"] = newValue }
  }

  override func awakeFromFetch() {
    guard let parts = (self["colorText"] as? String)?.split(separator: " ").compactMap({ UInt8($0) }), parts.count == 3
    else { return }
    try? setPrimitiveValue(Color(red: parts[0], green: parts[1], blue: parts[2]), forKey: "color")
  }

  override func willSave() {
    let text = color.map { "\($0.red) \($0.green) \($0.blue)" }
    if self["colorText"] as? String != text { self["colorText"] = text }
  }
}

@Suite("Claims of the guide that no other suite covers") struct SeedClaimTests {
  @Test("a transient attribute shows a type that no store can keep, a persistent one keeps it", arguments: Stack.types)
  func nonStandardAttribute(_ type: String) throws {
    let model = try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Wall",
          properties: [
            .attribute("color", .undefined, isTransient: true),
            .attribute("colorText", .string),
          ])
      ]))
    let stack = try Stack(type, model: model, classes: ["Wall": Wall.self])
    let wall = try #require(try stack.insert("Wall") as? Wall)
    wall.color = Color(red: 1, green: 2, blue: 3)
    try stack.context.save()
    #expect(wall["colorText"] as? String == "1 2 3")
    #expect(stack.store.model.entity(named: "Wall")?.slots.map(\.name) == ["colorText"])
    let other = ManagedObjectContext(stack.coordinator)
    let again = try #require(try other.existingObject(with: wall.objectID) as? Wall)
    #expect(again.color == Color(red: 1, green: 2, blue: 3))
    #expect(!other.hasChanges)
    again.color = Color(red: 9, green: 2, blue: 3)
    try other.save()
    stack.context.refresh(wall, mergeChanges: false)
    #expect(wall.color == Color(red: 9, green: 2, blue: 3))
  }

  @Test("no action loads nothing at the other end into memory")
  func noActionIsCheap() throws {
    let stack = try Stack()
    let department = try stack.insert("Department", ["name": "Sales"])
    for number in 0..<50 { _ = try stack.insert("Visitor", ["name": "\(number)", "host": department]) }
    try stack.context.save()
    let context = ManagedObjectContext(stack.coordinator)
    let sales = context.object(with: department.objectID)
    context.delete(sales)
    context.processPendingChanges()
    #expect(context.registeredObjects == [sales])
    #expect(context.updatedObjects.isEmpty)
  }

  @Test("no object at the other end of a one-way relationship is changed or loaded into memory")
  func oneWay() throws {
    let stack = try Stack()
    let room = try stack.insert("Room", ["number": 7])
    let visitor = try stack.insert("Visitor", ["name": "Ada"])
    try stack.context.save()
    let context = ManagedObjectContext(stack.coordinator)
    let ada = context.object(with: visitor.objectID)
    try ada.setValue(context.object(with: room.objectID), forKey: "room")
    #expect(context.updatedObjects == [ada])
    try context.save()
    let third = ManagedObjectContext(stack.coordinator)
    let seven = try third.existingObject(with: room.objectID)
    #expect(seven["number"] as? Int == 7)
    #expect(third.registeredObjects == [seven])
  }

  @Test("the relationship that no inverse keeps is not undone with the deletion that broke nothing")
  func undoOneWay() throws {
    let stack = try Stack()
    let undo = UndoHistory()
    let room = try stack.insert("Room", ["number": 7])
    let ada = try stack.insert("Visitor", ["name": "Ada", "room": room])
    try stack.context.save()
    stack.context.undoManager = undo
    stack.context.delete(room)
    stack.context.processPendingChanges()
    // A program that wants the graph consistent sets this; it is a separate change.
    try ada.setValue(nil, forKey: "room")
    stack.context.processPendingChanges()
    undo.undo()
    #expect(ada["room"] as? ManagedObject === room)
    #expect(room.isDeleted)
    undo.undo()
    #expect(!room.isDeleted)
    #expect(!stack.context.hasChanges)
  }

  @Test("an invalid object prevents all from being written; once it is valid all are written")
  func validState() throws {
    let model = try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Person",
          properties: [.attribute("name", .string, isOptional: false)])
      ]))
    let stack = try Stack("XML", model: model)
    _ = try stack.insert("Person", ["name": "Ada"])
    let nameless = try stack.insert("Person")
    #expect(throws: ManagedObjectError.self) { try stack.context.save() }
    #expect(try Data(contentsOf: URL(filePath: stack.store.path)).isEmpty)
    #expect(stack.context.insertedObjects.count == 2)
    try nameless.setValue("Bob", forKey: "name")
    try stack.context.save()
    #expect(Set(try stack.reread("Person").compactMap { $0["name"] as? String }) == ["Ada", "Bob"])
  }

  @Test("rows are added with new objects and removed with deleted ones")
  func records() throws {
    let stack = try Stack()
    let entity = try #require(stack.store.model.entity(named: "Task")).index
    let one = try stack.insert("Task", ["title": "one"])
    _ = try stack.insert("Task", ["title": "two"])
    #expect(stack.store.nodes.count(of: entity) == 0)
    try stack.context.save()
    #expect(try stack.storedNodes().count(of: entity) == 2)
    stack.context.delete(one)
    #expect(try stack.storedNodes().count(of: entity) == 2)
    try stack.context.save()
    #expect(try stack.storedNodes().count(of: entity) == 1)
  }

  @Test("an object does not keep its context alive, nor its context it")
  func neitherKeepsTheOther() throws {
    let stack = try Stack()
    let task = try stack.insert("Task", ["title": "one"])
    try stack.context.save()
    weak var context: ManagedObjectContext?
    let held: ManagedObject
    do {
      let other = ManagedObjectContext(stack.coordinator)
      context = other
      held = try other.existingObject(with: task.objectID)
    }
    #expect(context == nil)
    #expect(held.managedObjectContext == nil)
    #expect(held.unavailableReason == .contextGone)
  }
}
