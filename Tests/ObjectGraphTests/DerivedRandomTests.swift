import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import StorePredicates
import TestSupport
import Testing

@testable import AtomicStoreKit

/// After every save, each derived attribute is what its expression gives, whatever was changed, and by whom.
@Suite("Derived attributes after random changes") struct DerivedRandomTests {
  static func model() throws -> ManagedObjectModel {
    func derived(_ name: String, _ type: AttributeType, _ text: String) -> PropertyDescription {
      .attribute(name, type, derivationExpression: text)
    }
    let special = EntityDescription(name: "Special", properties: [.attribute("bonus", .integer64)])
    return try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Customer",
          properties: [
            .attribute("name", .string), .toMany("orders", "Order", inverse: "customer"),
            derived("spent", .integer64, "orders.@sum.total"), derived("all", .integer64, "orders.@sum.count"),
            derived("bigOrders", .integer64, "SUBQUERY(orders, $o, $o.total > 10 AND $o.customer.name != 'n0').@count"),
            derived("openItems", .integer64, "SUBQUERY(orders.items, $i, $i.isOpen == YES).@count"),
            derived("bonuses", .integer64, "orders.items.bonus.@sum"),
          ]),
        EntityDescription(
          name: "Order",
          properties: [
            .attribute("limit", .integer64), .toOne("customer", "Customer", inverse: "orders"),
            .toMany("items", "Item", inverse: "order"),
            // Computed from others of the same object, in any order of names.
            derived("above", .integer64, "total + zlast"), derived("zlast", .integer64, "count + 1"),
            derived("count", .integer64, "items.@count"), derived("total", .integer64, "items.@sum.price"),
            derived("most", .integer64, "items.@max.price"), derived("buyer", .string, "uppercase:(customer.name)"),
            derived("state", .string, "TERNARY(total > limit, customer.name, 'small')"),
            derived("open", .integer64, "SUBQUERY(items, $i, $i.isOpen == YES).@count"),
            derived("sum", .integer64, "SUBQUERY(items, $i, $i.price > 3).@sum.price"),
            derived("text", .string, "CAST(items.@sum.price, 'NSString')"),
            derived("long", .integer64, "FUNCTION(customer.name, 'length')"),
          ]),
        EntityDescription(
          name: "Item",
          properties: [
            .attribute("price", .integer64), .attribute("isOpen", .boolean), .toOne("order", "Order", inverse: "items"),
            derived("share", .integer64, "order.total - price"), derived("owner", .string, "order.customer.name"),
            derived("siblings", .integer64, "order.items.@count"),
          ], subentities: [special]),
      ]))
  }

  private static func check(_ coordinator: PersistentStoreCoordinator, _ place: String) throws {
    let context = ManagedObjectContext(coordinator)
    for name in ["Customer", "Order", "Item"] {
      for object in try context.fetch(FetchRequest<ManagedObject>(entityName: name)) {
        for property in object.entity.properties {
          guard case .attribute(let attribute) = property, let text = attribute.derivationExpression else { continue }
          let value = try FetchExpression(format: text).value(with: object)
          let expected = StoredValue(guessing: value as Any).flatMap { attribute.type.fitting($0) } ?? .null
          let found = StoredValue(guessing: object[attribute.name] as Any) ?? .null
          #expect(found == expected, "\(place): \(name).\(attribute.name) of \(object.objectID)")
        }
      }
    }
  }

  private static func change(
    _ context: ManagedObjectContext, _ random: inout SeededGenerator
  ) throws {
    func one(_ entity: String) throws -> ManagedObject? {
      try context.fetch(FetchRequest<ManagedObject>(entityName: entity)).randomElement(using: &random)
    }
    switch Int.random(in: 0..<12, using: &random) {
    case 0: try context.insertNewObject(forEntityName: "Customer")["name"] = "n\(Int.random(in: 0..<3, using: &random))"
    case 1, 2:
      let order = try context.insertNewObject(forEntityName: "Order")
      order["customer"] = try one("Customer")
      order["limit"] = 6
    case 3, 4:
      let item = try context.insertNewObject(forEntityName: Bool.random(using: &random) ? "Item" : "Special")
      item["order"] = try one("Order")
      item["price"] = Int.random(in: 0..<9, using: &random)
    case 5: try one("Item")?["price"] = Int.random(in: 0..<9, using: &random)
    case 6: try one("Item")?["isOpen"] = Bool.random(using: &random)
    case 7: try one("Customer")?["name"] = "n\(Int.random(in: 0..<3, using: &random))"
    case 8: try one("Item")?["order"] = try one("Order")
    case 9: try one("Order")?["customer"] = Bool.random(using: &random) ? nil : try one("Customer")
    case 10: try one("Special")?["bonus"] = Int.random(in: 0..<9, using: &random)
    default:
      if let object = try one(["Item", "Order", "Customer"].randomElement(using: &random) ?? "Item") {
        context.delete(object)
      }
    }
  }

  @Test(
    "after saves of contexts, children, other coordinators and batches, each is what its expression gives",
    arguments: (1...13 as ClosedRange<UInt64>).share(of: "derived values after saves"),
    ["InMemory", "XML", "SQLiteGraph"])
  func everySave(_ seed: UInt64, _ type: String) throws {
    let stack = try Stack(type, model: try Self.model())
    try stack.context.save()
    let other = try type == "InMemory" ? stack : stack.reopened()
    var contexts = [stack.context, ManagedObjectContext(stack.coordinator), ManagedObjectContext(other.coordinator)]
    for context in contexts { context.mergePolicy = .mergeByPropertyObjectTrump }
    var random = SeededGenerator(seed: seed)
    for step in 0..<40 {
      let place = Int.random(in: 0..<contexts.count, using: &random)
      var context = contexts[place]
      let isChild = Int.random(in: 0..<4, using: &random) == 0
      if isChild { context = ManagedObjectContext(parent: context) }
      for _ in 0..<Int.random(in: 1...4, using: &random) { try Self.change(context, &random) }
      try context.save()
      if isChild { try contexts[place].save() }
      try Self.check(type == "InMemory" ? stack.coordinator : try stack.reopened().coordinator, "step \(step)")
      switch Int.random(in: 0..<6, using: &random) {
      case 0:
        let update = BatchUpdateRequest(
          entityName: "Item", predicate: try FetchPredicate(format: "price > 4"),
          propertiesToUpdate: ["price": step % 9])
        _ = try contexts[place].execute(update)
      case 1:
        let request = FetchRequest<ManagedObject>(
          entityName: "Item", predicate: try FetchPredicate(format: "price == %d", step % 9))
        _ = try contexts[place].execute(BatchDeleteRequest(fetchRequest: request))
      case 2:
        contexts[place].refreshAllObjects()
        continue
      case 3:
        contexts[place] = ManagedObjectContext(place == 2 ? other.coordinator : stack.coordinator)
        contexts[place].mergePolicy = .mergeByPropertyObjectTrump
        continue
      default: continue
      }
      try Self.check(type == "InMemory" ? stack.coordinator : try stack.reopened().coordinator, "batch \(step)")
      contexts[place].refreshAllObjects()
    }
  }
}
