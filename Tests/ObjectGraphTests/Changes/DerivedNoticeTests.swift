import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import Testing

/// Orders with lines, in a store's context or in a child of it.
struct OrderGraph {
  let stack: Stack
  let context: ManagedObjectContext
  let order: ManagedObject
  let line: ManagedObject

  static let types = ["XML", "InMemory", "SQLiteGraph"]
  static let places = types.flatMap { type in [(type, false), (type, true)] }

  static func model() throws -> ManagedObjectModel {
    try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Order",
          properties: [
            .attribute("name", .string), .attribute("low", .string, derivationExpression: "lowercase:(name)"),
            .attribute("count", .integer64, derivationExpression: "lines.@count"),
            .attribute("total", .integer64, derivationExpression: "lines.@sum.price"),
            .toMany("lines", "Line", inverse: "order", isOrdered: true, deleteRule: .cascade),
          ]),
        EntityDescription(
          name: "Line", properties: [.attribute("price", .integer64), .toOne("order", "Order", inverse: "lines")]),
      ]))
  }

  /// One order with one line, saved.
  init(_ type: String, inChild: Bool = false) throws {
    stack = try Stack(type, model: try Self.model())
    let order = try stack.insert("Order", ["name": "one"])
    let line = try stack.insert("Line", ["price": 1, "order": order])
    try stack.context.save()
    context = inChild ? ManagedObjectContext(parent: stack.context) : stack.context
    self.order = try context.existingObject(with: order.objectID)
    self.line = try context.existingObject(with: line.objectID)
  }
}

@Suite("Notices of derived attributes") struct DerivedNoticeTests {
  private static func request(_ format: String? = nil, by key: String) throws -> FetchRequest<ManagedObject> {
    FetchRequest<ManagedObject>(
      entityName: "Order", predicate: try format.map { try FetchPredicate(format: $0) }, sortKeys: [SortKey(key)])
  }

  @Test(
    "a results controller follows derived attributes in its predicate, order and sections with the save that computes them",
    arguments: OrderGraph.places)
  func controllers(_ type: String, _ inChild: Bool) throws {
    let graph = try OrderGraph(type, inChild: inChild)
    let context = graph.context
    let second = try context.insertNewObject(forEntityName: "Order")
    second["name"] = "TWO"
    try context.save()
    let matching = FetchedResultsController(
      fetchRequest: try Self.request("low == 'abc'", by: "low"), managedObjectContext: context)
    let sections = FetchedResultsController(
      fetchRequest: try Self.request(by: "low"), managedObjectContext: context, sectionNameKeyPath: "low")
    let counts = FetchedResultsController(
      fetchRequest: try Self.request("count == 2", by: "total"), managedObjectContext: context)
    for controller in [matching, sections, counts] { try controller.performFetch() }
    #expect(sections.sections?.map(\.name) == ["one", "two"])

    second["name"] = "ABC"
    let line = try context.insertNewObject(forEntityName: "Line")
    line["order"] = graph.order
    try context.save()

    #expect(matching.fetchedObjects == [second])
    #expect(sections.fetchedObjects == [second, graph.order])
    #expect(sections.sections?.map(\.name) == ["abc", "one"])
    #expect(counts.fetchedObjects == [graph.order])
    for controller in [matching, sections, counts] {
      #expect(try controller.fetchedObjects == context.fetch(controller.fetchRequest))
    }
  }

  @Test("observers see derived values in the last notification before a save has ended", arguments: OrderGraph.places)
  func observers(_ type: String, _ inChild: Bool) throws {
    let graph = try OrderGraph(type, inChild: inChild)
    var seen: [String?] = []
    let observation = graph.context.observe { event in
      switch event {
      case .objectsDidChange(let changes) where changes.updated.contains(graph.order):
        seen.append(graph.order["low"] as? String)
      case .didSave: seen.append("saved")
      default: break
      }
    }
    graph.order["name"] = "ABC"
    try graph.context.save()
    #expect(Array(seen.prefix(3)) == ["one", "abc", "saved"])
    // A derived value that stays is not reported.
    seen = []
    graph.order["name"] = "abc"
    try graph.context.save()
    #expect(seen == ["abc", "saved"])
    observation.cancel()
  }
}
