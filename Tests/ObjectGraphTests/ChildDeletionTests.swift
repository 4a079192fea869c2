import AtomicStoreKit
import AtomicStoreSPI
import Foundation
import Testing

@Suite("Deletions in the parent of a child context") struct ChildDeletionTests {
  @Test(
    "a deletion that is merged into a child reaches its observers and results controllers",
    arguments: OrderGraph.types, [true, false])
  func merged(_ type: String, _ isFault: Bool) throws {
    let graph = try OrderGraph(type)
    let above = graph.context
    let child = ManagedObjectContext(parent: above)
    child.automaticallyMergesChangesFromParent = true
    let request = FetchRequest<ManagedObject>(entityName: "Order")
    let controller = FetchedResultsController(fetchRequest: request, managedObjectContext: child)
    try controller.performFetch()
    let order = try #require(controller.fetchedObjects?.first)
    if !isFault { #expect(order["name"] as? String == "one") }
    var deleted: [ManagedObject] = []
    let observation = child.observe { event in
      if case .objectsDidChange(let changes) = event { deleted += changes.deleted }
    }
    above.delete(graph.order)
    try above.save()
    child.processPendingChanges()
    #expect(controller.fetchedObjects == [])
    #expect(try child.fetch(request).isEmpty)
    #expect(deleted.contains(order))
    #expect(order.isDeleted || order.managedObjectContext == nil)
    // It has nothing to tell its parent.
    try child.save()
    #expect(!child.hasChanges && !above.hasChanges)
    observation.cancel()
  }

  @Test("a merged deletion of a fault reaches results controllers of a store's context", arguments: OrderGraph.types)
  func mergedFault(_ type: String) throws {
    let graph = try OrderGraph(type)
    let other = ManagedObjectContext(graph.stack.coordinator)
    other.automaticallyMergesChangesFromParent = true
    let controller = FetchedResultsController(
      fetchRequest: FetchRequest<ManagedObject>(entityName: "Order"), managedObjectContext: other)
    try controller.performFetch()
    #expect(controller.fetchedObjects?.count == 1)
    graph.context.delete(graph.order)
    try graph.context.save()
    other.processPendingChanges()
    #expect(controller.fetchedObjects == [])
  }

  @Test(
    "a child's merge policy decides about what it changed and its parent deleted, as between contexts of a store",
    arguments: OrderGraph.places, MergePolicy.allCases)
  func policies(_ place: (type: String, isSaved: Bool), _ policy: MergePolicy) throws {
    let graph = try OrderGraph(place.type)
    let above = graph.context
    let child = ManagedObjectContext(parent: above)
    child.mergePolicy = policy
    let order = try child.existingObject(with: graph.order.objectID)
    order["name"] = "changed"
    let new = try child.insertNewObject(forEntityName: "Order")
    new["name"] = "new"
    above.delete(graph.order)
    above.processPendingChanges()
    if place.isSaved { try above.save() }
    let request = FetchRequest<ManagedObject>(entityName: "Order", sortKeys: [SortKey("name")])
    func names(_ context: ManagedObjectContext) throws -> [String?] {
      try context.fetch(request).map { $0["name"] as? String }
    }
    switch policy {
    case .error:
      let error = try #require(graphError { try child.save() })
      #expect(error.code == .managedObjectMerge)
      let conflict = try #require(error.conflicts.first)
      #expect(error.conflicts.count == 1 && conflict.objectID == order.objectID)
      #expect(conflict.persistedSnapshot == nil && conflict.keysChangedHere == ["name"])
      #expect(conflict.cachedSnapshot["name"] == .string("one"))
      #expect(conflict.objectSnapshot["name"] == .string("changed"))
      // Nothing is lost: another policy resolves it.
      #expect(order.isUpdated && new.isInserted && order["name"] as? String == "changed")
      child.mergePolicy = .rollback
      try child.save()
      #expect(try names(above) == ["new"])
    case .mergeByPropertyStoreTrump, .rollback:
      try child.save()
      #expect(order.unavailableReason == .notInStore)
      #expect(try names(child) == ["new"] && names(above) == ["new"])
    case .mergeByPropertyObjectTrump, .overwrite:
      let id = order.objectID
      try child.save()
      #expect(try names(child) == ["changed", "new"] && names(above) == ["changed", "new"])
      #expect(order.objectID == id && !child.hasChanges)
      order["name"] = "again"
      try child.save()
      #expect(try names(above) == ["again", "new"])
    }
    try above.save()
    #expect(!child.hasChanges && above.accessErrors.isEmpty)
    #expect(try names(graph.stack.reopened().context) == names(above))
  }

  @Test(
    "an edge that a child made to what its parent deleted is resolved by the child's policy, at both ends",
    arguments: OrderGraph.types, MergePolicy.allCases)
  func edges(_ type: String, _ policy: MergePolicy) throws {
    let graph = try OrderGraph(type)
    let above = graph.context
    let target = try above.insertNewObject(forEntityName: "Order")
    target["name"] = "target"
    try above.save()
    let child = ManagedObjectContext(parent: above)
    child.mergePolicy = policy
    let line = try child.existingObject(with: graph.line.objectID)
    line["price"] = 7
    line["order"] = try child.existingObject(with: target.objectID)
    above.delete(target)
    try above.save()
    switch policy {
    case .error:
      #expect(graphError { try child.save() }?.conflicts.count == 2)
      #expect(line["price"] as? Int == 7 && line.isUpdated)
      return
    case .rollback:
      try child.save()
      #expect(graph.line["price"] as? Int == 1 && graph.line["order"] as? ManagedObject == graph.order)
    case .mergeByPropertyStoreTrump:
      try child.save()
      #expect(graph.line["price"] as? Int == 7 && graph.line["order"] as? ManagedObject == graph.order)
    case .mergeByPropertyObjectTrump, .overwrite:
      try child.save()
      // The target is changed at its end, and so it comes back.
      #expect((graph.line["order"] as? ManagedObject)?["name"] as? String == "target")
    }
    try above.save()
    let orders = try above.fetch(FetchRequest<ManagedObject>(entityName: "Order"))
    for order in orders {
      for member in try order.objects(forRelationshipNamed: "lines") {
        #expect(member["order"] as? ManagedObject == order)
      }
    }
    #expect(try orders.map { try $0.objects(forRelationshipNamed: "lines").count }.reduce(0, +) == 1)
    #expect(try graph.stack.reread("Order").count == orders.count)
  }
}
