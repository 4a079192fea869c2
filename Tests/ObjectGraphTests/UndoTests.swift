import AtomicStoreKit
import AtomicStoreSPI
import Foundation
import Testing

@Suite("Undo and redo") struct UndoTests {
  func stack(groupsByEvent: Bool = true) throws -> (stack: Stack, undo: UndoHistory) {
    let stack = try Stack()
    let undo = UndoHistory()
    undo.groupsByEvent = groupsByEvent
    stack.context.undoManager = undo
    return (stack, undo)
  }

  @Test("what happens between two calls of processPendingChanges is one group")
  func byEvent() throws {
    let (stack, undo) = try stack()
    let ada = try stack.insert("Person", ["name": "Ada", "age": 1])
    stack.context.processPendingChanges()
    try ada.setValue("Bob", forKey: "name")
    try ada.setValue(2, forKey: "age")
    stack.context.processPendingChanges()
    undo.undo()
    #expect(ada["name"] as? String == "Ada")
    #expect(ada["age"] as? Int == 1)
    undo.redo()
    #expect(ada["name"] as? String == "Bob")
    #expect(ada["age"] as? Int == 2)
    #expect(!undo.canRedo)
  }

  @Test("an explicit group lasts until it is ended, nested groups included", arguments: [true, false])
  func byHand(_ groupsByEvent: Bool) throws {
    let (stack, undo) = try stack(groupsByEvent: groupsByEvent)
    undo.beginUndoGrouping()
    let ada = try stack.insert("Person", ["name": "Ada"])
    undo.endUndoGrouping()
    undo.beginUndoGrouping()
    try ada.setValue("Bob", forKey: "name")
    stack.context.processPendingChanges()
    undo.beginUndoGrouping()
    try ada.setValue("Cyd", forKey: "name")
    undo.endUndoGrouping()
    undo.setActionName("Rename")
    undo.endUndoGrouping()
    #expect(undo.undoActionName == "Rename")
    undo.undo()
    #expect(ada["name"] as? String == "Ada")
    #expect(undo.redoActionName == "Rename")
    undo.undo()
    #expect(!undo.canUndo)
    #expect(!stack.context.hasChanges)
    undo.redo()
    undo.redo()
    #expect(ada["name"] as? String == "Cyd")
  }

  @Test("a deletion with all that it propagates to is undone and redone as one")
  func deletion() throws {
    let (stack, undo) = try stack()
    let sales = try stack.insert("Department", ["name": "Sales"])
    let ada = try stack.insert("Person", ["name": "Ada", "department": sales])
    let room = try stack.insert("Room", ["number": 7, "department": sales])
    try stack.context.save()
    stack.context.delete(sales)
    stack.context.processPendingChanges()
    #expect(room.isDeleted)
    #expect(ada["department"] == nil)
    undo.undo()
    #expect(!sales.isDeleted)
    #expect(!room.isDeleted)
    #expect(ada["department"] as? ManagedObject === sales)
    #expect(room["department"] as? ManagedObject === sales)
    #expect(try names(sales, "employees") == ["Ada"])
    undo.redo()
    #expect(sales.isDeleted)
    #expect(room.isDeleted)
    #expect(ada["department"] == nil)
  }

  @Test("both ends of a relationship are undone and redone")
  func relationships() throws {
    let (stack, undo) = try stack()
    let one = try stack.insert("Department", ["name": "one"])
    let two = try stack.insert("Department", ["name": "two"])
    let ada = try stack.insert("Person", ["name": "Ada", "department": one])
    stack.context.processPendingChanges()
    try ada.setValue(two, forKey: "department")
    stack.context.processPendingChanges()
    undo.undo()
    #expect(ada["department"] as? ManagedObject === one)
    #expect(try names(one, "employees") == ["Ada"])
    #expect(try names(two, "employees").isEmpty)
    undo.redo()
    #expect(ada["department"] as? ManagedObject === two)
    #expect(try names(one, "employees").isEmpty)
    #expect(try names(two, "employees") == ["Ada"])
  }

  @Test("the order of an ordered relationship is undone and redone")
  func ordered() throws {
    let (stack, undo) = try stack()
    let ada = try stack.insert("Person", ["name": "Ada"])
    let tasks = try ["a", "b", "c"].map { try stack.insert("Task", ["title": $0]) }
    try ada.setValue(tasks, forKey: "tasks")
    stack.context.processPendingChanges()
    try ada.setValue(Array(tasks.reversed()), forKey: "tasks")
    stack.context.processPendingChanges()
    try ada.remove(tasks[1], from: "tasks")
    stack.context.processPendingChanges()
    undo.undo()
    #expect(try names(ada, "tasks", "title") == ["c", "b", "a"])
    undo.undo()
    #expect(try names(ada, "tasks", "title") == ["a", "b", "c"])
    undo.redo()
    undo.redo()
    #expect(try names(ada, "tasks", "title") == ["c", "a"])
  }

  @Test("a saved change can be undone, which is a change to save", arguments: Stack.types)
  func afterSave(_ type: String) throws {
    let stack = try Stack(type)
    let undo = UndoHistory()
    stack.context.undoManager = undo
    let ada = try stack.insert("Person", ["name": "Ada"])
    try stack.context.save()
    try ada.setValue("Bob", forKey: "name")
    try stack.context.save()
    undo.undo()
    #expect(ada["name"] as? String == "Ada")
    #expect(stack.context.hasChanges)
    try stack.context.save()
    #expect(try stack.reread("Person").map { $0["name"] as? String } == ["Ada"])
    undo.undo()
    try stack.context.save()
    #expect(try stack.reread("Person").isEmpty)
  }

  @Test("at most levelsOfUndo groups are kept")
  func levels() throws {
    let (stack, undo) = try stack()
    undo.levelsOfUndo = 2
    let ada = try stack.insert("Person", ["age": 0])
    for age in 1...4 {
      stack.context.processPendingChanges()
      try ada.setValue(age, forKey: "age")
    }
    for _ in 0..<5 { undo.undo() }
    #expect(ada["age"] as? Int == 2)
    #expect(!undo.canUndo)
    #expect(ada.isInserted)
  }

  @Test("the undo history keeps its objects alive, and removing its groups releases them")
  func strongly() throws {
    let (stack, undo) = try stack()
    weak var held: ManagedObject?
    do {
      let ada = try stack.insert("Person", ["name": "Ada"])
      try stack.context.save()
      held = ada
    }
    #expect(held != nil)
    undo.removeAllActions()
    #expect(held == nil)
  }

  @Test("without a history a context releases an object whose changes are saved")
  func notHeld() throws {
    let stack = try Stack()
    weak var held: ManagedObject?
    do {
      let ada = try stack.insert("Person", ["name": "Ada"])
      held = ada
    }
    #expect(held != nil)
    try stack.context.save()
    #expect(held == nil)
  }

  @Test("undoing everything leaves no changes, and the context releases the objects")
  func fullUndo() throws {
    let (stack, undo) = try stack()
    weak var held: ManagedObject?
    do {
      let ada = try stack.insert("Person", ["name": "Ada"])
      stack.context.processPendingChanges()
      try ada.setValue("Bob", forKey: "name")
      held = ada
    }
    undo.undo()
    #expect(stack.context.hasChanges)
    undo.undo()
    #expect(!stack.context.hasChanges)
    #expect(stack.context.insertedObjects.isEmpty)
    undo.removeAllActions()
    #expect(held == nil)
  }

  @Test("a change after an undo clears what could be redone")
  func changeEndsRedo() throws {
    let (stack, undo) = try stack()
    let ada = try stack.insert("Person", ["name": "Ada"])
    stack.context.processPendingChanges()
    try ada.setValue("Bob", forKey: "name")
    undo.undo()
    #expect(undo.canRedo)
    try ada.setValue("Cyd", forKey: "name")
    #expect(!undo.canRedo)
    undo.redo()
    #expect(ada["name"] as? String == "Cyd")
  }

  @Test("changes while registration is disabled are not undone")
  func disabled() throws {
    let (stack, undo) = try stack()
    undo.disableUndoRegistration()
    let ada = try stack.insert("Person", ["name": "Ada"])
    stack.context.processPendingChanges()
    undo.enableUndoRegistration()
    #expect(!undo.canUndo)
    undo.undo()
    #expect(ada.isInserted)
  }

  static func boxes(_ rule: DeleteRule, toMany: Bool) throws -> ManagedObjectModel {
    func end(_ name: String, _ destination: String, _ inverse: String, _ toMany: Bool, _ rule: DeleteRule)
      -> PropertyDescription
    {
      .relationship(
        RelationshipDescription(
          name: name, destinationEntityName: destination, inverseName: inverse, maximumCount: toMany ? 0 : 1,
          deleteRule: rule))
    }
    let name = PropertyDescription.attribute("name", .string)
    return try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(name: "Box", properties: [name, end("labels", "Label", "boxes", true, rule)]),
        EntityDescription(name: "Label", properties: [name, end("boxes", "Box", "labels", toMany, .nullify)]),
      ]))
  }

  @Test(
    "a deletion that was saved is undone at both ends, even if the save cut the other one",
    arguments: [DeleteRule.noAction, .nullify], [true, false])
  func undoAfterSave(_ rule: DeleteRule, _ toMany: Bool) throws {
    let stack = try Stack(model: try Self.boxes(rule, toMany: toMany))
    stack.context.undoManager = UndoHistory()
    let box = try stack.insert("Box", ["name": "b"])
    let labels = try (0..<2).map { try stack.insert("Label", ["name": "l\($0)"]) }
    try box.setValue(Set(labels), forKey: "labels")
    try stack.context.save()
    stack.context.delete(box)
    try stack.context.save()
    let between = try stack.reopened()
    #expect(try between.fetch("Label").allSatisfy { try $0.objects(forRelationshipNamed: "boxes").isEmpty })
    stack.context.undo()
    try stack.context.save()
    let reopened = try stack.reopened()
    #expect(inverseProblems(in: reopened.store.nodes) == [])
    #expect(try names(try #require(try reopened.first("Box", "b")), "labels").sorted() == ["l0", "l1"])
  }

  @Test("a label that was moved since its box was deleted stays there when the deletion is undone")
  func undoAfterSaveAndMove() throws {
    let stack = try Stack(model: try Self.boxes(.noAction, toMany: false))
    stack.context.undoManager = UndoHistory()
    let (old, new) = (try stack.insert("Box", ["name": "old"]), try stack.insert("Box", ["name": "new"]))
    let labels = try (0..<2).map { try stack.insert("Label", ["name": "l\($0)"]) }
    try old.setValue(Set(labels), forKey: "labels")
    try stack.context.save()
    stack.context.delete(old)
    try stack.context.save()
    // Another context, so that this one's history still ends with the deletion.
    let other = ManagedObjectContext(stack.coordinator)
    try other.existingObject(with: labels[0].objectID).setValue(
      try other.existingObject(with: new.objectID), forKey: "boxes")
    try other.save()
    stack.context.refreshAllObjects()
    stack.context.undo()
    try stack.context.save()
    let reopened = try stack.reopened()
    #expect(inverseProblems(in: reopened.store.nodes) == [])
    #expect(try names(try #require(try reopened.first("Box", "new")), "labels") == ["l0"])
    #expect(try names(try #require(try reopened.first("Box", "old")), "labels") == ["l1"])
  }

  @Test(
    "undo after a refresh does not add an object that is back, nor remove one that is missing",
    arguments: [true, false])
  func undoAfterRefresh(_ toMany: Bool) throws {
    let stack = try Stack(model: try Self.boxes(.nullify, toMany: toMany))
    stack.context.undoManager = UndoHistory()
    let (first, second) = (try stack.insert("Box", ["name": "first"]), try stack.insert("Box", ["name": "second"]))
    let label = try stack.insert("Label", ["name": "l"])
    try first.setValue(Set([label]), forKey: "labels")
    try stack.context.save()
    stack.context.undoManager?.removeAllActions()
    if toMany {
      try label.setValue(Set([second]), forKey: "boxes")
    } else {
      try label.setValue(second, forKey: "boxes")
    }
    stack.context.refresh(first, mergeChanges: false)
    stack.context.undo()
    #expect(try names(first, "labels") == ["l"] && names(second, "labels") == [])
    stack.context.redo()
    stack.context.undo()
    try stack.context.save()
    let reopened = try stack.reopened()
    #expect(try names(try #require(try reopened.first("Box", "first")), "labels") == ["l"])
    #expect(inverseProblems(in: reopened.store.nodes) == [])
  }

  @Test("a deletion that a merge policy reverted is not undone a second time")
  func undoAfterConflict() throws {
    let stack = try Stack(model: try Self.boxes(.nullify, toMany: true))
    stack.context.undoManager = UndoHistory()
    stack.context.mergePolicy = .mergeByPropertyStoreTrump
    let box = try stack.insert("Box", ["name": "b"])
    let label = try stack.insert("Label", ["name": "l"])
    try box.setValue(Set([label]), forKey: "labels")
    try stack.context.save()
    stack.context.delete(label)
    stack.context.processPendingChanges()
    let other = ManagedObjectContext(stack.coordinator)
    try other.existingObject(with: label.objectID).setValue("renamed", forKey: "name")
    try other.save()
    try stack.context.save()
    stack.context.undo()
    try stack.context.save()
    stack.context.undo()
    stack.context.redo()
    try stack.context.save()
    #expect(inverseProblems(in: try stack.reopened().store.nodes) == [])
  }
}

extension UndoTests {
  @Test(
    "undo of a deletion that another context made as well, and that was merged, restores a new object with its edges",
    arguments: OrderGraph.places, [true, false])
  func mergedDeletion(_ place: (type: String, inChild: Bool), _ ofOwner: Bool) throws {
    let graph = try OrderGraph(place.type, inChild: place.inChild)
    let context = graph.context
    let history = UndoHistory()
    context.undoManager = history
    let object = ofOwner ? graph.order : graph.line
    let request = FetchRequest<ManagedObject>(entityName: ofOwner ? "Order" : "Line")
    let controller = FetchedResultsController(fetchRequest: request, managedObjectContext: context)
    try controller.performFetch()
    context.delete(object)
    context.processPendingChanges()
    let other = place.inChild ? graph.stack.context : ManagedObjectContext(graph.stack.coordinator)
    var saved: ObjectIDChanges?
    let observation = other.observe { event in if case .didSave(let changes) = event { saved = changes.ids } }
    other.delete(try other.existingObject(with: object.objectID))
    try other.save()
    context.mergeChanges(fromDidSave: try #require(saved))
    #expect(controller.fetchedObjects == [])

    history.undo()
    #expect(object.isInserted)
    #expect(try context.fetch(request) == [object] && controller.fetchedObjects == [object])
    #expect(try graph.order.objects(forRelationshipNamed: "lines") == [graph.line])
    #expect(graph.line["order"] as? ManagedObject == graph.order)
    history.redo()
    #expect(controller.fetchedObjects == [])
    history.undo()
    graph.line["price"] = 5
    try context.save()
    if place.inChild { try graph.stack.context.save() }
    #expect(try graph.stack.reread("Line").map { $0["price"] as? Int } == [5])
    #expect(try graph.stack.reread("Order").count == 1)
    #expect(try context.fetch(request) == [object] && controller.fetchedObjects == [object])
    observation.cancel()
  }
}
