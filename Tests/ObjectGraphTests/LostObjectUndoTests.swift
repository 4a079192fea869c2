import AtomicStoreKit
import AtomicStoreSPI
import Testing

extension UndoTests {
  @Test(
    "undo of a deletion whose object stays deleted restores no link to it",
    arguments: OrderGraph.places, ["Department", "Person"])
  func lostObject(_ place: (type: String, inChild: Bool), _ entity: String) throws {
    for (isSaved, isReleased) in [(false, true), (true, true), (true, false), (false, false)] {
      let stack = try Stack(place.type)
      let made = ["Department": "Sales", "Person": "Ada"]
      let bob = try stack.insert("Person", ["name": "Bob"])
      let task = try stack.insert("Task", ["title": "Write"])
      let ada = try stack.insert("Person", ["name": "Ada", "cousins": Set([bob]), "tasks": [task]])
      let sales = try stack.insert("Department", ["name": "Sales", "employees": Set([ada, bob])])
      try stack.context.save()
      let ids = [sales, ada, bob, task].map(\.objectID)
      let context =
        place.inChild ? ManagedObjectContext(parent: stack.context) : ManagedObjectContext(stack.coordinator)
      let objects = try ids.map { try context.existingObject(with: $0) }
      let object = try #require(objects.first { $0["name"] as? String == made[entity] })
      let others = objects.filter { $0 !== object }
      let history = UndoHistory()
      context.undoManager = history
      context.delete(object)
      context.processPendingChanges()
      let other = stack.context
      var saved: ObjectIDChanges?
      let observation = other.observe { event in if case .didSave(let changes) = event { saved = changes.ids } }
      other.delete(try other.existingObject(with: object.objectID))
      try other.save()
      observation.cancel()
      context.mergeChanges(fromDidSave: try #require(saved))
      if isReleased { context.refresh(object, mergeChanges: false) }
      if isSaved { try context.save() }
      history.undo()
      let isBack = object.managedObjectContext === context && !object.isDeleted
      #expect(isBack == (object["name"] != nil), "saved \(isSaved), released \(isReleased)")
      for other in others {
        for key in other.entity.relationshipsByName.keys {
          let ends = try other.objects(forRelationshipNamed: key)
          #expect(
            ends.allSatisfy { $0.managedObjectContext === context && !$0.isDeleted },
            "\(other.entity.name).\(key), saved \(isSaved), released \(isReleased)")
        }
      }
      history.redo()
      history.undo()
      // An object that comes back to a child is in no table of its parent, which would not know when it ends.
      #expect(other.registeredObjects.allSatisfy { $0.managedObjectContext === other })
      try context.save()
      if place.inChild { try stack.context.save() }
      let now = try stack.reopened()
      #expect(try now.fetch(entity).count == (entity == "Person" ? 1 : 0) + (isBack ? 1 : 0))
      #expect(inverseProblems(in: try now.storedNodes()) == [])
    }
  }
}
