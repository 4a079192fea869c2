import AtomicStoreKit
import AtomicStoreSPI
import Foundation
import Testing

private enum Status: String, AttributeValue {
  case open, closed
  static var atomicStoreValueForNull: Status { .open }
}

/// An enumeration that knows nothing of the kit.
private enum Priority: Int {
  case low = 1
  case high
}

/// A type that is stored as another and has no raw value.
private struct Price: AttributeValue, Equatable {
  var cents: Int
  init(cents: Int) { self.cents = cents }
  init?(atomicStoreValue stored: StoredValue) {
    guard case .integer(let number) = stored else { return nil }
    cents = Int(number)
  }
  var atomicStoreValue: StoredValue { .integer(Int64(cents)) }
  static var atomicStoreValueForNull: Price { Price(cents: 0) }
}

private struct Address: CodableAttributeValue, Equatable {
  var street: String
}

private class Ticket: ManagedObject {
  @Managed("status") var status: Status
  @Managed("price") var price: Price
  @Managed("address") var address: Address?
  // swift-format-ignore: NoLeadingUnderscores
  private var _cars: [Int] = [1]
  var cars: Set<Ticket> {
    get { self[managed: "cars"] }
    set { self[managed: "cars"] = newValue }
  }
  var title: String? {
    get { self[managed: "title"] }
    set { self[managed: "title"] = newValue }
  }
  var count: Int { _cars.count }
}

private func insert<Object: ManagedObject>(_ type: Object.Type, in context: ManagedObjectContext) -> Object {
  Object(context: context)
}

@Suite("Types of values and classes of objects") struct ValueTypeTests {
  private static let model = ModelDescription(entities: [
    EntityDescription(
      name: "Ticket",
      properties: [
        .attribute("title", .string), .attribute("status", .string), .attribute("priority", .integer16),
        .attribute("price", .integer64), .attribute("address", .transformable), .attribute("anything", .undefined),
        .toMany("cars", "Ticket"),
      ],
      subentities: [
        EntityDescription(name: "Bug", subentities: [EntityDescription(name: "Crash")]),
        EntityDescription(name: "Wish"),
      ])
  ])

  private final class Wish: Ticket {}

  private func stack() throws -> Stack {
    try Stack(model: try ManagedObjectModel(Self.model), classes: ["Ticket": Ticket.self, "Wish": Wish.self])
  }

  @Test("an enumeration is its raw value wherever a value goes")
  func enumerations() throws {
    let stack = try stack()
    let issue = Ticket(context: stack.context)
    try issue.setValue(Status.closed, forKey: "status")
    try issue.setValue(Priority.high, forKey: "priority")
    try issue.setValue(Price(cents: 250), forKey: "price")
    try issue.setValue(Status.closed, forKey: "anything")
    #expect(issue["status"] as? String == "closed" && issue.status == .closed)
    #expect(issue["priority"] as? Int == 2)
    #expect(issue["price"] as? Int == 250 && issue.price == Price(cents: 250))
    #expect(issue["anything"] as? String == "closed")
    #expect(throws: ManagedObjectError.self) { try issue.setValue(Status.closed, forKey: "priority") }
    try stack.context.save()
    let formats: [(String, [Any])] = [
      ("status == %@", [Status.closed]), ("status IN %@", [[Status.open, Status.closed]]),
      ("priority == %d", [Priority.high]), ("priority == %@", [Priority.high]),
      ("price BETWEEN %@", [[Price(cents: 1), Price(cents: 900)]]), ("status IN %@", [Set([Status.closed])]),
    ]
    for (format, arguments) in formats {
      let predicate = try FetchPredicate(format: format, arguments: arguments)
      #expect(
        try stack.context.fetch(FetchRequest<Ticket>(entityName: "Ticket", predicate: predicate)) == [issue],
        "\(format)")
    }
  }

  @Test("batches take enumerations")
  func batches() throws {
    let stack = try stack()
    _ = try stack.context.execute(
      BatchInsertRequest(entityName: "Ticket", objects: [["status": Status.open, "priority": Priority.low]]))
    _ = try stack.context.execute(
      BatchUpdateRequest(
        entityName: "Ticket", predicate: try FetchPredicate(format: "status == %@", Status.open),
        propertiesToUpdate: ["status": Status.closed, "price": Price(cents: 5)]))
    let issue = try #require(try stack.context.fetch(FetchRequest<Ticket>(entityName: "Ticket")).first)
    #expect(issue.status == .closed && issue.price.cents == 5)
    #expect(issue["priority"] as? Int == 1)
  }

  @Test("a Codable value set by key is what the typed property reads")
  func codable() throws {
    let stack = try stack()
    let issue = Ticket(context: stack.context)
    try issue.setValue(Address(street: "Main"), forKey: "address")
    #expect(issue.address == Address(street: "Main"))
    let byKey = try issue.value(forKey: "address") as? Data
    issue.address = Address(street: "Main")
    #expect(try issue.value(forKey: "address") as? Data == byKey && byKey != nil)
    stack.coordinator.setTransformer(CodableTransformer<Address>(), forName: "")
    #expect(issue["address"] as? Address == Address(street: "Main"))
    issue.address = Address(street: "Side")
    #expect(issue["address"] as? Address == issue.address)
  }

  @Test("key paths and arguments of predicates take enumerations and Codable values")
  func conditions() throws {
    let stack = try stack()
    let issue = Ticket(context: stack.context)
    _ = Ticket(context: stack.context)
    issue.status = .closed
    issue.price = Price(cents: 250)
    issue.address = Address(street: "Main")
    let conditions: [ObjectPredicate<Ticket>] = [
      \.status == .closed, (\Ticket.status).isIn([.closed]), \.price == Price(cents: 250),
      \.address == Address(street: "Main"), \.address != nil, (\Ticket.address).isIn([Address(street: "Main")]),
      ObjectPredicate(try FetchPredicate(format: "address == %@", Address(street: "Main"))),
      ObjectPredicate(try FetchPredicate(format: "address IN %@", [Address(street: "Main"), Address(street: "Side")])),
    ]
    for isSaved in [false, true] {
      if isSaved { try stack.context.save() }
      for condition in conditions {
        #expect(
          try stack.context.fetch(FetchRequest(condition)) == [issue], "\(condition.fetchPredicate), saved: \(isSaved)")
      }
    }
    var update = BatchUpdateRequest(\Ticket.status == .closed)
    update.set(\Ticket.address, to: Address(street: "Side"))
    update.set(\Ticket.status, to: .open)
    #expect(try stack.context.execute(update).count == 1)
    stack.context.refreshAllObjects()
    #expect(issue.address == Address(street: "Side") && issue.status == .open)
    update.set(\Ticket.address, to: nil)
    update.predicate = nil
    _ = try stack.context.execute(update)
    stack.context.refreshAllObjects()
    #expect(issue.address == nil)
  }

  @Test("a property whose wrapper's name is taken is read and written by a subscript")
  func subscripting() throws {
    let stack = try stack()
    let (issue, other) = (Ticket(context: stack.context), Ticket(context: stack.context))
    issue.cars.insert(other)
    issue.title = "A"
    #expect(issue["cars"] as? Set<ManagedObject> == [other])
    #expect(issue["title"] as? String == "A" && issue.count == 1)
    try stack.context.save()
    #expect(issue.cars == [other] && issue.title == "A")
    let request = try FetchRequest(#Predicate<Ticket> { $0.title == "A" && $0.cars.count == 1 })
    #expect(try stack.context.fetch(request) == [issue])
    #expect(try stack.context.fetch(FetchRequest((\Ticket.cars).contains(other) && \.title == "A")) == [issue])
  }

  @Test("generic code creates objects in a context")
  func genericCode() throws {
    let stack = try stack()
    #expect(insert(Wish.self, in: stack.context).entity.name == "Wish")
    #expect(insert(Ticket.self, in: stack.context).entity.name == "Ticket")
  }

  @Test("an object of an entity without a class is of the class of its nearest super-entity that has one")
  func inheritedClass() throws {
    let stack = try stack()
    for name in ["Bug", "Crash", "Wish"] { _ = try stack.insert(name) }
    try stack.context.save()
    let context = ManagedObjectContext(stack.coordinator)
    let found = try context.fetch(FetchRequest<Ticket>(entityName: "Ticket"))
    #expect(Set(found.map(\.entity.name)) == ["Bug", "Crash", "Wish"])
    #expect(found.filter { $0 is Wish }.count == 1)
  }

  @Test("contexts are equal if they are identical, and can be keys")
  func contexts() throws {
    let stack = try stack()
    let child = ManagedObjectContext(parent: stack.context)
    #expect(stack.context == stack.context && stack.context != child)
    #expect([stack.context: 1, child: 2][child] == 2)
    #expect(Ticket(context: child).managedObjectContext == child)
  }

  @Test(
    "Foundation's decimals are values of decimal attributes: properties, keys, predicates and batches",
    arguments: [
      "0", "12.50", "-0.001", "340282366920938463463374607431768211455", "5E+20", "-7E-120", "1000000", "1E+38",
    ])
  func decimals(_ text: String) throws {
    final class Item: ManagedObject { @Managed("price") var price: Decimal? }
    let model = try ManagedObjectModel(
      ModelDescription(entities: [EntityDescription(name: "Item", properties: [.attribute("price", .decimal)])]))
    let stack = try Stack(model: model, classes: ["Item": Item.self])
    let item = Item(context: stack.context)
    #expect(item.price == nil)
    let number = try #require(DecimalNumber(text))
    try item.setValue(number, forKey: "price")
    let decimal = try #require(item.price)
    #expect(decimal == Decimal(string: text))
    item.price = nil
    item.price = decimal
    #expect(item["price"] as? DecimalNumber == number)
    try item.setValue(decimal, forKey: "price")
    try stack.context.save()
    let request = FetchRequest<Item>(entityName: "Item", predicate: try FetchPredicate(format: "price == %@", decimal))
    let other = ManagedObjectContext(stack.coordinator)
    #expect(try other.fetch(request).map(\.price) == [decimal])
    #expect(try stack.context.fetch(FetchRequest<Item>(\.price == decimal)) == [item])
    try stack.context.execute(BatchUpdateRequest(entityName: "Item", propertiesToUpdate: ["price": Decimal(3)]))
    stack.context.refresh(item, mergeChanges: true)
    #expect(item.price == 3)
  }
}
