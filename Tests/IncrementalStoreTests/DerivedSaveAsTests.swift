import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import TestSupport
import Testing

/// Contexts that hold objects with derived attributes while their store is moved by Save As.
@Suite struct DerivedSaveAsTests {
  private static let ways = [
    ("a.sqlgraph", "b.xml"), ("a.sqlgraph", "b.csvstore"), ("a.sqlgraph", "b.sqlgraph"), ("a.xml", "b.xml"),
    ("a.xml", "b.sqlgraph"),
  ]

  private static func model() throws -> ManagedObjectModel {
    try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Order",
          properties: [
            .attribute("name", .string), .attribute("count", .integer64, derivationExpression: "lines.@count"),
            .attribute("total", .integer64, derivationExpression: "lines.@sum.price"),
            .toMany("lines", "Line", inverse: "order"),
          ]),
        EntityDescription(
          name: "Line", properties: [.attribute("price", .integer64), .toOne("order", "Order", inverse: "lines")]),
      ]))
  }

  @Test(
    "contexts that held an object with derived attributes go on with the store that a Save As made", arguments: ways)
  func goesOn(_ from: String, _ to: String) throws {
    let folder = try TemporaryDirectory("derived-save-as")
    let coordinator = PersistentStoreCoordinator(managedObjectModel: try Self.model(), registry: .builtIn)
    let store = try coordinator.addPersistentStore(at: folder.path + "/" + from)
    let first = ManagedObjectContext(coordinator)
    let order = try first.insertNewObject(forEntityName: "Order")
    func addLine(_ price: Int, _ order: ManagedObject, _ context: ManagedObjectContext) throws {
      let line = try context.insertNewObject(forEntityName: "Line")
      line["price"] = price
      line["order"] = order
    }
    try addLine(1, order, first)
    try first.save()
    // Values that are known of this store are not those of the other one.
    for price in 2...4 {
      try addLine(price, order, first)
      try first.save()
    }
    let second = ManagedObjectContext(coordinator)
    let third = ManagedObjectContext(coordinator)
    second.mergePolicy = .mergeByPropertyObjectTrump
    third.mergePolicy = .mergeByPropertyObjectTrump
    let same = try second.existingObject(with: order.objectID)
    let again = try third.existingObject(with: order.objectID)

    _ = try coordinator.migratePersistentStore(store, to: folder.path + "/" + to)

    for price in 5...9 {
      try addLine(price, order, first)
      try first.save()
    }
    same["name"] = "second"
    try second.save()
    #expect(same["count"] as? Int == 9 && same["total"] as? Int == 45)
    try addLine(10, again, third)
    try third.save()
    #expect(again["count"] as? Int == 10 && again["total"] as? Int == 55)

    let reader = ManagedObjectContext(coordinator)
    let stored = try reader.existingObject(with: order.objectID)
    #expect(stored["count"] as? Int == 10 && stored["total"] as? Int == 55 && stored["name"] as? String == "second")
  }
}
