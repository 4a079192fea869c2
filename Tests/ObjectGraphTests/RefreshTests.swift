import AtomicStoreKit
import AtomicStoreSPI
import Foundation
import Testing

@Suite("Turning objects into faults") struct RefreshTests {
  @Test("without merging, values and changes are discarded, and the next access fetches again")
  func withoutMerge() throws {
    let stack = try Stack()
    let ada = try stack.insert("Person", ["name": "Ada", "mood": "cheerful"])
    try stack.context.save()
    try ada.setValue("Bob", forKey: "name")
    stack.context.refresh(ada, mergeChanges: false)
    #expect(ada.isFault)
    #expect(!ada.hasChanges)
    #expect(!stack.context.hasChanges)
    #expect(ada["name"] as? String == "Ada")
    #expect(ada["mood"] == nil)
  }

  @Test("with merging, changes are kept over the store's newer values, also transient ones")
  func withMerge() throws {
    let stack = try Stack()
    let ada = try stack.insert("Person", ["name": "Ada", "age": 1])
    let task = try stack.insert("Task", ["title": "t0"])
    try ada.add(task, to: "tasks")
    try stack.context.save()
    try ada.setValue("Bob", forKey: "name")
    try ada.setValue("cheerful", forKey: "mood")
    let cousin = try stack.insert("Person", ["name": "C"])
    try ada.add(cousin, to: "cousins")

    let other = ManagedObjectContext(stack.coordinator)
    let theirs = try other.existingObject(with: ada.objectID)
    try theirs.setValue(2, forKey: "age")
    try theirs.setValue("Theirs", forKey: "name")
    let second = try other.insertNewObject(forEntityName: "Person")
    try theirs.add(second, to: "cousins")
    try other.save()
    // What was fetched stays as it was fetched until it is refreshed.
    #expect(ada["age"] as? Int == 1)

    stack.context.refresh(ada, mergeChanges: true)
    #expect(!ada.isFault)
    #expect(ada["age"] as? Int == 2)
    #expect(ada["name"] as? String == "Bob")
    #expect(ada["mood"] as? String == "cheerful")
    #expect(try ada.count(forRelationshipNamed: "cousins") == 2)
    #expect(ada.isUpdated)
    try stack.context.save()
    let reopened = try stack.reopened()
    let again = try reopened.context.existingObject(with: ada.objectID)
    #expect(again["age"] as? Int == 2)
    #expect(again["name"] as? String == "Bob")
  }

  @Test("a fault that is refreshed with merging remains one, a new object is not changed")
  func nothingChanged() throws {
    let stack = try Stack()
    let ada = try stack.insert("Person", ["name": "Ada"])
    stack.context.refresh(ada, mergeChanges: false)
    #expect(ada.isInserted && ada["name"] as? String == "Ada")
    try stack.context.save()
    stack.context.refresh(ada, mergeChanges: false)
    stack.context.refresh(ada, mergeChanges: true)
    #expect(ada.isFault)
  }

  @Test("without merging, changes to relationships are undone at both ends: a to-one", arguments: [0, 1, 2, 3])
  func undoToOne(_ which: Int) throws {
    let stack = try Stack()
    let sales = try stack.insert("Department", ["name": "Sales"])
    let lab = try stack.insert("Department", ["name": "Lab"])
    let ada = try stack.insert("Person", ["name": "Ada", "department": sales])
    try stack.context.save()
    try ada.setValue(lab, forKey: "department")
    // Refreshing the employee, the department it came from or that it went to takes the transfer back; anything else
    // does not.
    let unrelated = try stack.insert("Department")
    stack.context.refresh([ada, sales, lab, unrelated][which], mergeChanges: false)
    if which == 3 {
      #expect(ada["department"] as? ManagedObject === lab)
    } else if which == 2 {
      #expect(ada["department"] == nil)
      #expect(try lab.count(forRelationshipNamed: "employees") == 0)
    } else {
      #expect(ada["department"] as? ManagedObject === sales)
      #expect(try names(sales, "employees") == ["Ada"])
      #expect(try lab.count(forRelationshipNamed: "employees") == 0)
      #expect(stack.context.updatedObjects.isEmpty)
    }
    try consistent(stack)
    try stack.context.save()
    try consistent(try stack.reopened())
  }

  @Test("without merging, changes to relationships are undone at both ends: partners and sets")
  func undoOthers() throws {
    let stack = try Stack()
    let people = try ["A", "B", "C", "D"].map { try stack.insert("Person", ["name": $0]) }
    try people[0].setValue(people[1], forKey: "spouse")
    try people[0].add(people[1], to: "cousins")
    let tasks = try ["t0", "t1"].map { try stack.insert("Task", ["title": $0]) }
    try people[0].setValue(tasks, forKey: "tasks")
    try stack.context.save()
    try people[0].setValue(people[2], forKey: "spouse")
    try people[1].setValue(people[3], forKey: "spouse")
    try people[0].setValue([people[2], people[3]], forKey: "cousins")
    try people[0].setValue([tasks[1]], forKey: "tasks")
    stack.context.refresh(people[0], mergeChanges: false)
    #expect(people[0]["spouse"] as? ManagedObject === people[1])
    #expect(people[1]["spouse"] as? ManagedObject === people[0])
    #expect(people[2]["spouse"] == nil)
    #expect(people[3]["spouse"] == nil)
    #expect(try names(people[0], "cousins") == ["B"])
    #expect(try names(people[0], "tasks", "title") == ["t0", "t1"])
    #expect(try names(tasks[0], "people") == ["A"])
    #expect(!stack.context.hasChanges)
    try consistent(stack)
  }

  @Test("refreshing all objects turns those without changes into faults and keeps all changes")
  func refreshAll() throws {
    let stack = try Stack()
    let ada = try stack.insert("Person", ["name": "Ada"])
    let bob = try stack.insert("Person", ["name": "Bob"])
    try stack.context.save()
    let new = try stack.insert("Task", ["title": "new"])
    try ada.setValue(5, forKey: "age")
    stack.context.refreshAllObjects()
    #expect(bob.isFault)
    #expect(!ada.isFault && ada["age"] as? Int == 5)
    #expect(new.isInserted && new["title"] as? String == "new")
  }

  @Test("a fault releases the references to related objects, even in a cycle")
  func cycles() throws {
    let stack = try Stack()
    do {
      let ada = try stack.insert("Person", ["name": "Ada"])
      let bob = try stack.insert("Person", ["name": "Bob", "spouse": ada])
      try bob.add(ada, to: "cousins")
      try stack.context.save()
    }
    // Saved objects do not hold each other: they stand in the store's columns.
    #expect(stack.context.registeredObjects.isEmpty)
    let child = ManagedObjectContext(parent: stack.context)
    do {
      let ada = try #require(try child.fetch(FetchRequest<ManagedObject>(entityName: "Person")).first)
      let bob = try #require(ada["spouse"] as? ManagedObject)
      _ = bob["spouse"]
      child.refresh(ada, mergeChanges: false)
      child.refresh(bob, mergeChanges: false)
    }
    // Until observers have been told of it, the notice holds them.
    child.processPendingChanges()
    #expect(child.registeredObjects.isEmpty)
  }

  /// Every relationship of every person is mirrored at its other end.
  private func consistent(_ stack: Stack) throws {
    for entity in ["Person", "Department", "Task"] {
      for object in try stack.fetch(entity) {
        for property in object.entity.properties {
          guard case .relationship(let relationship) = property, let inverse = relationship.inverseName else {
            continue
          }
          for other in try object.objects(forRelationshipNamed: relationship.name) {
            #expect(try other.objects(forRelationshipNamed: inverse).contains(object), "\(entity).\(relationship.name)")
          }
        }
      }
    }
  }
}

extension RefreshTests {
  @Test(
    "a refreshed object does not lead to what is deleted in its context, until the deletion is discarded",
    arguments: OrderGraph.places)
  func deletedDestination(_ type: String, _ inChild: Bool) throws {
    let graph = try OrderGraph(type, inChild: inChild)
    let context = graph.context
    let history = UndoHistory()
    context.undoManager = history
    context.delete(graph.line)
    context.processPendingChanges()
    context.refresh(graph.order, mergeChanges: false)
    #expect(try graph.order.objects(forRelationshipNamed: "lines").isEmpty)
    let empty = FetchRequest<ManagedObject>(
      entityName: "Order", predicate: try FetchPredicate(format: "lines.@count == 0"))
    #expect(try context.fetch(empty) == [graph.order])
    history.undo()
    #expect(try graph.order.objects(forRelationshipNamed: "lines") == [graph.line])
    #expect(!context.hasChanges)
    history.redo()
    try context.save()
    #expect(try graph.order.objects(forRelationshipNamed: "lines").isEmpty)
  }
}
