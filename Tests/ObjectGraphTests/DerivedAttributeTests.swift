import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import Testing

@Suite("Derived attributes") struct DerivedAttributeTests {
  static func derivable(_ name: String, _ type: AttributeType, _ derivation: String? = nil) -> PropertyDescription {
    .attribute(name, type, derivationExpression: derivation)
  }
  static func relationship(_ name: String, _ destination: String, _ inverse: String?, isToMany: Bool = false)
    -> PropertyDescription
  {
    .relationship(
      RelationshipDescription(
        name: name, destinationEntityName: destination, inverseName: inverse, maximumCount: isToMany ? 0 : 1))
  }

  /// Customers with orders with items, of articles: what is derived goes over up to three relationships.
  static func model() throws -> ManagedObjectModel {
    try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Customer",
          properties: [
            derivable("name", .string), derivable("total", .double, "orders.total.@sum"),
            derivable("most", .double, "orders.items.price.@max"),
            derivable("live", .double, "orders.@count + 0"),
            relationship("orders", "Order", "customer", isToMany: true),
          ]),
        EntityDescription(
          name: "Order",
          properties: [
            derivable("total", .double, "items.price.@sum"), derivable("sum", .double, "items.@sum.price"),
            derivable("count", .integer32, "items.@count"),
            derivable("buyer", .string, "customer.name"), derivable("note", .string), derivable("seen", .date, "now()"),
            relationship("items", "Item", "order", isToMany: true), relationship("customer", "Customer", "orders"),
          ]),
        EntityDescription(
          name: "Item",
          properties: [
            derivable("price", .double), derivable("article", .string, "kind.name"),
            relationship("order", "Order", "items"),
            relationship("kind", "Kind", nil),
          ]),
        EntityDescription(name: "Kind", properties: [derivable("name", .string)]),
      ]))
  }

  struct Shop {
    let stack: Stack
    let customer: ManagedObject
    let order: ManagedObject
    let items: [ManagedObject]

    init() throws {
      stack = try Stack("XML", model: try DerivedAttributeTests.model())
      let stack = stack
      customer = try stack.insert("Customer", ["name": "Ada"])
      order = try stack.insert("Order", ["customer": customer])
      let order = order
      items = try [1.0, 2.0].map { try stack.insert("Item", ["price": $0, "order": order]) }
      try stack.context.save()
    }

    func stored(_ entity: String, _ key: String) throws -> [String] {
      try stack.reread(entity).map { $0[key].map { "\($0)" } ?? "nil" }
    }
  }

  @Test("the operator may be at the end, as Apple documents it, in key paths and predicates as well")
  func operatorLast() throws {
    let shop = try Shop()
    #expect(shop.order["total"] as? Double == 3)
    #expect(shop.order["sum"] as? Double == 3)
    for (path, value) in [
      ("items.price.@sum", 3.0), ("items.price.@avg", 1.5), ("items.price.@min", 1), ("items.price.@max", 2),
    ] {
      #expect(try shop.order.value(forKeyPath: path) as? Double == value)
      let request = FetchRequest<ManagedObject>(
        entityName: "Order", predicate: try FetchPredicate(format: "\(path) == \(value)"))
      #expect(try shop.stack.context.fetch(request) == [shop.order])
    }
    #expect(try shop.customer.value(forKeyPath: "orders.items.price.@sum") as? Double == 3)
    #expect(throws: (any Error).self) { try FetchPredicate(format: "items.pric.@sum == 1", for: shop.order.entity) }
    let empty = try shop.stack.insert("Order")
    #expect(try empty.value(forKeyPath: "items.price.@sum") as? Int == 0)
    #expect(try empty.value(forKeyPath: "items.price.@max") == nil)
  }

  @Test("an attribute derived from another object is computed when only that one changes, over several relationships")
  func otherObject() throws {
    let shop = try Shop()
    try shop.items[0].setValue(9.0, forKey: "price")
    try shop.stack.context.save()
    #expect(try shop.stored("Order", "total") == ["11.0"])
    #expect(try shop.stored("Order", "sum") == ["11.0"])
    // By way of the order's derived total, and directly.
    #expect(try shop.stored("Customer", "total") == ["11.0"])
    #expect(try shop.stored("Customer", "most") == ["9.0"])
    try shop.customer.setValue("Bob", forKey: "name")
    try shop.stack.context.save()
    #expect(try shop.stored("Order", "buyer") == ["Bob"])
    #expect(!shop.stack.context.hasChanges)
  }

  @Test("it is computed in a context that has not fetched the owner, and the owner is reported as changed")
  func unfetchedOwner() throws {
    let shop = try Shop()
    let context = ManagedObjectContext(shop.stack.coordinator)
    let item = try context.existingObject(with: shop.items[1].objectID)
    try item.setValue(5.0, forKey: "price")
    var saved: ObjectIDChanges?
    let observation = context.observe { if case .didSave(let changes) = $0 { saved = changes.ids } }
    try context.save()
    _ = observation
    #expect(Set(saved?.updated ?? []) == [item.objectID, shop.order.objectID, shop.customer.objectID])
    #expect(try shop.stored("Customer", "total") == ["6.0"])
  }

  @Test("moving, inserting and deleting objects on the path counts as well")
  func moves() throws {
    let shop = try Shop()
    let stack = shop.stack
    let other = try stack.insert("Order", ["customer": try stack.insert("Customer", ["name": "Bob"])])
    try stack.context.save()
    try shop.items[0].setValue(other, forKey: "order")
    _ = try stack.insert("Item", ["price": 4.0, "order": other])
    try stack.context.save()
    #expect(try shop.stored("Customer", "total") == ["2.0", "5.0"])
    stack.context.delete(shop.items[1])
    try stack.context.save()
    #expect(try shop.stored("Customer", "total") == ["0.0", "5.0"])
    stack.context.undoManager = UndoHistory()
    try shop.items[0].setValue(100.0, forKey: "price")
    try stack.context.save()
    stack.context.undo()
    try stack.context.save()
    #expect(try shop.stored("Customer", "total") == ["0.0", "5.0"])
  }

  @Test("without an inverse to find the owner, it is computed when the object itself is saved")
  func noInverse() throws {
    let shop = try Shop()
    let kind = try shop.stack.insert("Kind", ["name": "book"])
    try shop.items[0].setValue(kind, forKey: "kind")
    try shop.stack.context.save()
    try kind.setValue("film", forKey: "name")
    try shop.stack.context.save()
    #expect(try shop.stored("Item", "article") == ["book", "nil"])
    try shop.items[0].setValue(3.0, forKey: "price")
    try shop.stack.context.save()
    #expect(try shop.stored("Item", "article") == ["film", "nil"])
  }

  @Test("an object without changes to derived values is not saved")
  func unchangedOwner() throws {
    let shop = try Shop()
    try shop.items[0].setValue(2.0, forKey: "price")
    try shop.items[1].setValue(1.0, forKey: "price")
    var saved: ObjectIDChanges?
    let observation = shop.stack.context.observe { if case .didSave(let changes) = $0 { saved = changes.ids } }
    try shop.stack.context.save()
    _ = observation
    #expect(saved?.updated.map(\.entityName) == ["Item", "Item"])
  }

  /// Everything that the evaluator reads as an expression.
  static let readable = [
    "name", "canonical:(name)", "uppercase:(name)", "now()", "items.@count", "items.price.@sum", "items.@sum.price",
    "price * count - 1.5e3",
    "(a + b) * -c", "{1, 2, 3}", "sum:({1, a})", "a[FIRST].b", "a[0]", "items[SIZE]",
    "SUBQUERY(items, $x, $x.price > 1 AND $x.name == ')').@count",
    "TERNARY(a > 1, b, c)", "CAST(a, 'NSDate')", "add:to:(a, b)", "#size + 1", "#\"first name\"", "a UNION b", "SELF",
    "TRUE", "'text'", "2 ** 3",
    "FUNCTION(name, 'length')", "a.b.c", "a | b", "modulus:by:(a, 2)", "@max.price", "nil", "0x1F", "a - -1",
    "items.price.@max - items.price.@min",
  ]

  @Test("the check of a model refuses no expression that can be computed", arguments: readable)
  func acceptsReadable(_ text: String) throws {
    #expect(throws: Never.self) { try FetchExpression(format: text) }
    let model = ModelDescription(entities: [
      EntityDescription(name: "A", properties: [Self.derivable("x", .double, text)])
    ])
    #expect(!model.problems().contains { $0.code == .unreadableDerivation })
  }

  @Test(
    "a model with an expression that cannot be parsed is refused",
    arguments: ["((nonsense", "price +", "a b", "'open", "* 2", "a)", "{1, 2"])
  func refusesUnreadable(_ text: String) throws {
    #expect(throws: PredicateFormatError.self) { try FetchExpression(format: text) }
    let model = ModelDescription(entities: [
      EntityDescription(name: "A", properties: [Self.derivable("x", .double, text)])
    ])
    let error = try #require(throws: InvalidModelError.self) { try ManagedObjectModel(model) }
    #expect(error.errors.map(\.code) == [.unreadableDerivation])
  }
}
