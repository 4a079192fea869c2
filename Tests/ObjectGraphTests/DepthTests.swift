import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import TestSupport
import Testing

@Suite("Long chains and many objects") struct DepthTests {
  static let chain = ModelDescription(entities: [
    EntityDescription(
      name: "Link",
      properties: [
        .attribute("number", .integer32),
        .toOne("next", "Link", inverse: "previous", deleteRule: .cascade),
        .toOne("previous", "Link", inverse: "next"),
        .toOne("after", "Link", isTransient: true),
      ])
  ])
  static let length = 60_000

  @Test(
    "a chain of objects that only keep each other alive is released without a stack overflow",
    arguments: ["undo", "transient", "child"])
  func ends(_ way: String) throws {
    let stack = try Stack(model: try ManagedObjectModel(Self.chain))
    let undo = UndoHistory()
    if way == "undo" { stack.context.undoManager = undo }
    let key = way == "transient" ? "after" : "next"
    var last: ManagedObject?
    var count = 0
    for _ in 0..<Self.length {
      let link = try stack.context.insertNewObject(forEntityName: "Link")
      if let last { try link.setValue(last, forKey: key) }
      last = link
      count += 1
    }
    switch way {
    case "undo":
      stack.context.processPendingChanges()
      let all = try stack.fetch("Link")
      for link in all { stack.context.delete(link) }
      stack.context.processPendingChanges()
      last = nil
      undo.removeAllActions()
    case "transient":
      try stack.context.save()
      last = nil
    default:
      try stack.context.save()
      let child = ManagedObjectContext(parent: stack.context)
      var mine: ManagedObject? = child.object(with: try #require(last).objectID)
      last = mine
      while let now = mine { mine = now["next"] as? ManagedObject }
      last = nil
    }
    #expect(count == Self.length)
    stack.context.reset()
    #expect(stack.context.registeredObjects.isEmpty)
  }

  @Test("the plan of a cascade through a long chain takes linear memory and time", .timeLimit(.minutes(60)))
  func plan() throws {
    let stack = try Stack(model: try ManagedObjectModel(Self.chain))
    var last: ManagedObject?
    for _ in 0..<Self.length {
      let link = try stack.context.insertNewObject(forEntityName: "Link")
      if let last { try link.setValue(last, forKey: "next") }
      last = link
    }
    let plan = stack.context.deletionPlan(for: try #require(last))
    #expect(plan.deleted.count == Self.length)
    #expect(plan.deleted[2].path == "Link.next.next")
  }

  final class Eager: ManagedObject {
    nonisolated(unsafe) static var ran = 0  // Read and written by the one test below.
    override func didSave() { managedObjectContext?.perform { Eager.ran += 1 } }
  }

  @Test("a hundred thousand deferred blocks run in linear time, in order", .timeLimit(.minutes(60)))
  func blocks() throws {
    let stack = try Stack(model: try ManagedObjectModel(Self.chain), classes: ["Link": Eager.self])
    for _ in 0..<Self.length { _ = try stack.insert("Link") }
    let seconds = try ProcessorTime.seconds { try stack.context.save() }
    #expect(Eager.ran == Self.length)
    #expect(seconds < 15)
    var order: [Int] = []
    let observation = stack.context.observe { event in
      guard case .didSave = event else { return }
      stack.context.perform {
        order.append(1)
        stack.context.perform { order.append(2) }
      }
      stack.context.perform { order.append(3) }
    }
    _ = try stack.insert("Link")
    try stack.context.save()
    #expect(order == [1, 2, 3])
    observation.cancel()
  }

  @Test("temporary IDs of deallocated objects are forgotten, those of the others are kept")
  func temporaries() {
    final class Thing {}
    let kept = (0..<100).map { _ in (thing: Thing(), name: UUID()) }
    var ids = TemporaryIDs<Thing>()
    for (thing, name) in kept { ids.remember(thing, as: name) }
    for _ in 0..<10_000 { ids.remember(Thing(), as: UUID()) }
    #expect(ids.count < 3000)
    #expect(kept.allSatisfy { ids[$0.name] === $0.thing })
    ids.forget(kept[0].name)
    #expect(ids[kept[0].name] == nil)
  }

  @Test("a fetched property whose predicate refers to itself is an error, not an endless fetch")
  func endlessFetch() throws {
    let model = try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Node",
          properties: [
            .attribute("number", .integer32),
            .fetchedProperty(
              FetchedPropertyDescription(
                name: "similar",
                fetchRequest: FetchRequestDescription(
                  name: "", entityName: "Node", predicateString: "similar.@count >= 0"))),
            .fetchedProperty(
              FetchedPropertyDescription(
                name: "below",
                fetchRequest: FetchRequestDescription(
                  name: "", entityName: "Node", predicateString: "number < $FETCH_SOURCE.number AND below.@count >= 0"))
            ),
          ])
      ]))
    let stack = try Stack(model: model)
    for number in 0..<300 { _ = try stack.insert("Node", ["number": 300 - number]) }
    try stack.context.save()
    let nodes = try stack.fetch("Node")
    let error = try #require(graphError { _ = try nodes[0].value(forKey: "similar") })
    #expect(error.code == .invalidFetch)
    #expect(graphError { _ = try nodes[0].value(forKey: "below") }?.code == .invalidFetch)
    #expect(try (nodes[299].value(forKey: "below") as? [ManagedObject])?.isEmpty == true)
  }
}
