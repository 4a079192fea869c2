import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import Testing

@Suite("What child contexts pass to their parents") struct ChildHandOverTests {
  /// Begins with its own badge.
  final class Badged: ManagedObject {
    override func awakeFromInsert() {
      guard let badge = try? managedObjectContext?.insertNewObject(forEntityName: "Badge") else { return }
      try? setValue(badge, forKey: "badge")
    }
  }

  @Test("an object's awakeFromInsert in a child is not called again in the parent", arguments: [1, 2])
  func awakenedOnce(_ depth: Int) throws {
    let stack = try Stack("XML", classes: ["Employee": Badged.self])
    var contexts = [stack.context]
    for _ in 0..<depth { contexts.append(ManagedObjectContext(parent: try #require(contexts.last))) }
    let ada = try #require(contexts.last).insertNewObject(forEntityName: "Employee")
    for context in contexts.reversed() { try context.save() }
    #expect(try stack.fetch("Badge").count == 1)
    #expect(try stack.reopened().fetch("Badge").count == 1)
    #expect(!ada.objectID.isTemporaryID)
  }

  @Test(
    "a child's save with a relationship to an object that the parent is deleting fails, and both contexts are as before"
  )
  func lostDestination() throws {
    let stack = try Stack("XML")
    let sales = try stack.insert("Department", ["name": "Sales"])
    let ada = try stack.insert("Employee", ["name": "Ada"])
    try stack.context.save()
    let child = ManagedObjectContext(parent: stack.context)
    let mine = try child.existingObject(with: ada.objectID)
    let bob = try child.insertNewObject(forEntityName: "Employee")
    try mine.setValue(try child.existingObject(with: sales.objectID), forKey: "department")
    // Its own end would be refused, so only the other one is left.
    stack.context.delete(sales)
    stack.context.processPendingChanges()
    let error = try #require(graphError { try child.save() })
    #expect(error.code == .managedObjectMerge)
    #expect(child.insertedObjects == [bob])
    #expect(child.hasChanges)
    #expect(stack.context.insertedObjects.isEmpty)
    #expect(stack.context.accessErrors.isEmpty)
  }

  @Test("a new object of a child is assigned to a store that has its partners")
  func assigned() throws {
    let model = try ManagedObjectModel(CompanyGraph.description)
    let folder = try TestFolder()
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model, registry: .builtIn)
    let one = try coordinator.addPersistentStore(at: folder.file("one.xml"))
    let two = try coordinator.addPersistentStore(at: folder.file("two.xml"))
    let context = ManagedObjectContext(coordinator)
    let sales = try context.insertNewObject(forEntityName: "Department")
    try context.assign(sales, to: one)
    try context.save()
    let child = ManagedObjectContext(parent: context)
    let ada = try child.insertNewObject(forEntityName: "Employee")
    try child.assign(ada, to: one)
    try ada.setValue(try child.existingObject(with: sales.objectID), forKey: "department")
    try child.assign(ada, to: one)
    #expect(throws: ManagedObjectError.self) { try child.assign(ada, to: two) }
    try child.save()
    try context.save()
    #expect(ada.objectID.storeIdentifier == one.identifier)
    #expect(try sorted(sales, "employees").count == 1)
  }

  @Test(
    "a child's save with a relationship to an object that the parent is deleting also fails without an inverse",
    arguments: ["one", "many", "ordered"])
  func lostWithoutInverse(_ key: String) throws {
    let stack = try Stack(
      model: try ManagedObjectModel(
        ModelDescription(entities: [
          EntityDescription(
            name: "Place",
            properties: [
              .attribute("name", .string),
              .toOne("one", "Place"),
              .toMany("many", "Place"),
              .toMany("ordered", "Place", isOrdered: true),
            ])
        ])))
    let here = try stack.insert("Place", ["name": "here"])
    let there = try stack.insert("Place", ["name": "there"])
    try stack.context.save()
    let child = ManagedObjectContext(parent: stack.context)
    let mine = try child.existingObject(with: here.objectID)
    let other = try child.existingObject(with: there.objectID)
    if key == "one" { try mine.setValue(other, forKey: key) } else { try mine.add(other, to: key) }
    stack.context.delete(there)
    stack.context.processPendingChanges()
    let error = try #require(graphError { try child.save() })
    #expect(error.code == .managedObjectMerge)
    #expect(error.key == key)
    #expect(child.updatedObjects == [mine])
    #expect(!here.hasChanges)
    // The change undone, the rest is saved.
    if key == "one" { try mine.setValue(nil, forKey: key) } else { try mine.remove(other, from: key) }
    try mine.setValue("elsewhere", forKey: "name")
    try child.save()
    #expect(here["name"] as? String == "elsewhere")
    #expect(stack.context.accessErrors.isEmpty)
  }

  @Test(
    "undoing everything in a child leaves no changes",
    arguments: ["name", "department", "cousins", "tasks", "mood"])
  func undone(_ key: String) throws {
    let stack = try Stack("XML")
    let people = try ["Ada", "Bob"].map { try stack.insert("Employee", ["name": $0]) }
    let sales = try stack.insert("Department", ["name": "Sales"])
    let task = try stack.insert("Task", ["title": "T"])
    try people[0].setValue(sales, forKey: "department")
    try people[0].add(people[1], to: "cousins")
    try stack.context.save()
    let child = ManagedObjectContext(parent: stack.context)
    child.undoManager = UndoHistory()
    let ada = try child.existingObject(with: people[0].objectID)
    switch key {
    case "name": try ada.setValue("Eve", forKey: key)
    case "department": try ada.setValue(nil, forKey: key)
    case "cousins": try ada.setValue(Set<ManagedObject>(), forKey: key)
    case "tasks": try ada.add(try child.existingObject(with: task.objectID), to: key)
    default: try ada.setValue("merry", forKey: key)
    }
    #expect(child.hasChanges)
    child.undo()
    #expect(!child.hasChanges)
    child.redo()
    #expect(child.hasChanges)
    child.undo()
    #expect(!child.hasChanges)
  }

  @Test(
    "a transient relationship of a child begins empty; what it adds is added to its parent's",
    arguments: [false, true])
  func transientRelationships(_ isOrdered: Bool) throws {
    let model = try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Node",
          properties: [
            .toOne("mark", "Node", isTransient: true),
            .toMany("seen", "Node", inverse: "seenBy", isTransient: true, isOrdered: isOrdered),
            .toMany("seenBy", "Node", inverse: "seen", isTransient: true),
          ])
      ]))
    let stack = try Stack(model: model)
    let nodes = try (0..<4).map { _ in try stack.insert("Node") }
    nodes[0]["mark"] = nodes[1]
    try nodes[0].add(nodes[1], to: "seen")
    try stack.context.save()
    let child = ManagedObjectContext(parent: stack.context)
    let mine = try nodes.map { try child.existingObject(with: $0.objectID) }
    func count(_ object: ManagedObject, _ key: String) throws -> Int { try object.count(forRelationshipNamed: key) }
    #expect(try mine[0]["mark"] == nil && count(mine[0], "seen") == 0)
    for index in [3, 2] { try mine[0].add(mine[index], to: "seen") }
    try child.save()
    #expect(nodes[0]["mark"] as? ManagedObject === nodes[1])
    let seen = nodes[0]["seen"]
    if isOrdered {
      #expect(seen as? [ManagedObject] == [nodes[1], nodes[3], nodes[2]])
    } else {
      #expect(seen as? Set<ManagedObject> == Set(nodes[1...]))
    }
    #expect(try nodes[1...].allSatisfy { try count($0, "seenBy") == 1 } && count(mine[0], "seen") == 2)
    // Objects at the other end that the child did not look at keep what they had.
    try child.existingObject(with: nodes[3].objectID).add(try child.existingObject(with: nodes[1].objectID), to: "seen")
    try child.save()
    #expect(try count(nodes[0], "seen") == 3 && count(nodes[1], "seenBy") == 2)
    #expect(!child.hasChanges)
  }
}
