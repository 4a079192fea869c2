import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import Testing

@Suite("Subsets of a store") struct StoreSubsetTests {
  /// Ada and Bob are a couple in Sales, Cyd is Ada's cousin in Ops and reports to both; the three share tasks in an
  /// order.
  func stack(_ type: String = "BinaryPropertyList") throws -> Stack {
    let stack = try Stack(type)
    let sales = try stack.insert("Department", ["name": "Sales"])
    let ops = try stack.insert("Department", ["name": "Ops"])
    let ada = try stack.insert("Person", ["name": "Ada", "age": 36, "department": sales])
    let bob = try stack.insert("Employee", ["name": "Bob", "age": 20, "department": sales, "spouse": ada])
    let cyd = try stack.insert("Manager", ["name": "Cyd", "age": 50, "department": ops])
    try ada.add(cyd, to: "cousins")
    for boss in [ada, bob] { try boss.add(cyd, to: "reports") }
    for title in ["third", "first", "second", "fourth"] {
      let task = try stack.insert("Task", ["title": title])
      for person in [ada, bob, cyd] { try person.add(task, to: "tasks") }
    }
    _ = try stack.insert("Badge", ["number": 7, "owner": ada])
    // Nothing leads to these two but what leads from them.
    let room = try stack.insert("Room", ["number": 1])
    _ = try stack.insert("Visitor", ["name": "Vic", "room": room])
    try stack.context.save()
    return stack
  }

  func write(_ stack: Stack, _ subset: StoreSubset, as type: String = "BinaryPropertyList") throws -> (
    StoreConverter.Report, Stack
  ) {
    var converter = StoreConverter(registry: .builtIn)
    converter.model = stack.store.model
    converter.targetType = type
    converter.subset = subset
    let folder = try TestFolder()
    let path = folder.file(Stack.fileName(type))
    let report = try converter.convert(from: stack.store.path, to: path)
    let coordinator = PersistentStoreCoordinator(managedObjectModel: stack.store.model, registry: .builtIn)
    let store = try coordinator.addPersistentStore(type: type, at: path)
    return (
      report, Stack(folder: folder, coordinator: coordinator, store: store, context: ManagedObjectContext(coordinator))
    )
  }

  func subset(_ entities: String..., format: String? = nil, related: StoreSubset.RelatedObjects) throws -> StoreSubset {
    StoreSubset(entityNames: entities, predicate: try format.map { try FetchPredicate(format: $0) }, related: related)
  }

  func all(_ stack: Stack) -> [ObjectReference] {
    stack.store.model.entities.flatMap { stack.store.nodes.handles(of: $0.index) }.map {
      stack.store.nodes.objectReference(of: $0)
    }
  }

  @Test(
    "nullify keeps references and values, updates both sides, and keeps the order of the remaining objects",
    arguments: Stack.types,
    Stack.types)
  func nullify(_ from: String, _ to: String) throws {
    let whole = try stack(from)
    let (report, part) = try write(
      whole, subset("Person", "Task", related: .nullify), as: to)
    #expect(report.counts.map(\.entity) == ["Employee", "Manager", "Person", "Task"])
    // Person and its sub-entities are in it whole, so that all among them is as it was.
    let ada = try #require(try part.first("Person", "Ada"))
    let before = try #require(try whole.first("Person", "Ada"))
    #expect(ada.objectID.reference == before.objectID.reference)
    #expect(try names(ada, "tasks", "title") == ["third", "first", "second", "fourth"])
    #expect((ada["spouse"] as? ManagedObject)?["name"] as? String == "Bob")
    #expect(ada["department"] == nil && ada["badge"] == nil)
    #expect(part.store.identifier == whole.store.identifier)
    #expect(report.selections.contains { $0.subject == "Person.department" && $0.count == 1 })
    #expect(report.selections.contains { $0.subject == "Department" && $0.count == 2 && $0.text == "left out" })
  }

  @Test("a part of an ordered relationship keeps its order, a one-to-one and a many-to-many lose missing objects")
  func parts() throws {
    let whole = try stack()
    let (_, tasks) = try write(whole, subset("Task", format: "title != 'first'", related: .nullify))
    #expect(Set(try tasks.fetch("Task").compactMap { $0["title"] as? String }) == ["third", "second", "fourth"])
    #expect(try tasks.fetch("Task").allSatisfy { try $0.objects(forRelationshipNamed: "people").isEmpty })
    let (_, people) = try write(whole, subset("Person", format: "name != 'Bob'", related: .nullify))
    let ada = try #require(try people.first("Person", "Ada"))
    let cyd = try #require(try people.first("Person", "Cyd"))
    #expect(ada["spouse"] == nil)
    #expect(try names(ada, "cousins") == ["Cyd"])
    #expect(try names(cyd, "managers") == ["Ada"])
  }

  @Test("an order with gaps is the order of the remaining objects")
  func hole() throws {
    let whole = try stack()
    let nodes = whole.store.nodes
    var chosen = try subset("Person", "Task", related: .nullify)
    // The one predicate is asked of both entities: by what both know.
    let first = try #require(try whole.first("Task", "first", "title"))
    chosen.predicate = try FetchPredicate(format: "SELF != %@", first.objectID)
    let (_, part) = try write(whole, chosen)
    let ada = try #require(try part.first("Person", "Ada"))
    #expect(try names(ada, "tasks", "title") == ["third", "second", "fourth"])
    #expect(all(part).count == nodes.count - 1 - 5)
  }

  @Test("a closure includes everything reachable, and nothing else")
  func closure() throws {
    let whole = try stack()
    let (report, part) = try write(whole, subset("Badge", related: .closure))
    // Everybody but the visitor and the room, which no one here knows.
    let entities: Set<String> = Set(all(part).map { $0.entityName })
    #expect(entities == ["Badge", "Person", "Employee", "Manager", "Department", "Task"])
    #expect(
      report.selections.contains { $0.subject == "Task" && $0.count == 4 && $0.text == "included as related objects" })
    #expect(report.selections.contains { $0.subject == "Visitor" && $0.text == "left out" })
    let differences = GraphComparison.differences(whole.store.snapshotForTest, part.store.snapshotForTest)
    #expect(differences.map { $0.kind } == [.deleted, .deleted])
    let (_, visitors) = try write(whole, subset("Visitor", related: .closure))
    #expect(all(visitors).map(\.entityName).sorted() == ["Room", "Visitor"])
    // The other way nothing leads: a room alone is whole.
    #expect(all(try write(whole, subset("Room", related: .fail)).1).map(\.entityName) == ["Room"])
  }

  @Test(
    "a relationship that leads out is an error that names object, relationship and destination",
    arguments: [
      ("Task", "people", "Task"), ("Badge", "owner", "Badge"), ("Visitor", "room", "Visitor"),
      ("Department", "employees", "Department"),
    ])
  func failing(_ entity: String, _ property: String, _ owner: String) throws {
    let whole = try stack()
    let error = try #require(throws: PersistentStoreError.self) { try write(whole, subset(entity, related: .fail)) }
    #expect(error.code == .danglingReference)
    #expect(error.location.entity == owner && error.location.property == property && error.location.reference != nil)
    #expect(error.message.contains("not in the subset"))
    // Without a rule it is the safe one.
    #expect(StoreSubset(entityNames: []).related == .fail)
  }

  @Test("an empty selection is a store without objects", arguments: Stack.types)
  func nothing(_ type: String) throws {
    let whole = try stack()
    for related in StoreSubset.RelatedObjects.allCases {
      let (report, part) = try write(whole, subset("Person", format: "age > 200", related: related), as: type)
      #expect(report.counts.isEmpty && all(part).isEmpty)
      #expect(part.store.identifier == whole.store.identifier)
    }
    #expect(all(try write(whole, subset(related: .closure)).1).isEmpty)
    #expect(all(try write(whole, subset("Thing", related: .fail)).1).isEmpty)
  }

  @Test("an entity specified twice, or with one of its sub-entities, counts once; all entities are the whole store")
  func overlapping() throws {
    let whole = try stack()
    #expect(all(try write(whole, subset("Employee", "Manager", "Employee", related: .nullify)).1).count == 2)
    let names = whole.store.model.entities.map(\.name)
    let (report, part) = try write(whole, StoreSubset(entityNames: names))
    #expect(GraphComparison.differences(whole.store.snapshotForTest, part.store.snapshotForTest).isEmpty)
    #expect(report.selections.isEmpty)
  }

  @Test("an unknown entity and a predicate that cannot be evaluated are refused, and nothing is written")
  func refusals() throws {
    let whole = try stack()
    let unknown = try #require(throws: ManagedObjectError.self) { try write(whole, subset("Persn", related: .closure)) }
    #expect(unknown.code == .invalidFetch && unknown.message.contains("did you mean 'Person'"))
    let key = try #require(throws: ManagedObjectError.self) {
      try write(whole, subset("Person", format: "nmae == 1", related: .closure))
    }
    #expect(key.message.contains("did you mean 'name'"))
    #expect(throws: ManagedObjectError.self) {
      try write(whole, subset("Person", format: "tasks == 1", related: .closure))
    }
    #expect(throws: ManagedObjectError.self) {
      try write(whole, subset("Person", format: "age == $AGE", related: .closure))
    }
  }

  @Test("a part of an open store is written as it was saved, and the store stays open")
  func openStore() throws {
    let whole = try stack()
    let ada = try #require(try whole.first("Person", "Ada"))
    try ada.setValue("Eve", forKey: "name")
    var converter = StoreConverter(registry: .builtIn)
    converter.subset = try subset("Person", format: "name == 'Ada'", related: .nullify)
    let report = try converter.convert(whole.store, to: whole.folder.file("part.xml"))
    #expect(report.counts.map(\.count) == [1])
    #expect(whole.store.isOpen)
    try whole.context.save()
    #expect(try whole.reopened().first("Person", "Eve") != nil)
  }

  // MARK: What the model demands

  static let strict = ModelDescription(entities: [
    EntityDescription(
      name: "Order",
      properties: [
        .toOne("customer", "Customer", inverse: "orders", isOptional: false),
        .toMany("lines", "Line", inverse: "order", minimumCount: 2),
      ]),
    EntityDescription(
      name: "Customer",
      properties: [
        .toMany("orders", "Order", inverse: "customer")
      ]),
    EntityDescription(
      name: "Line",
      properties: [
        .attribute("number", .integer16),
        .toOne("order", "Order", inverse: "lines"),
      ]),
  ])

  @Test("removing more objects from a relationship than the model allows is an error; a closure removes none")
  func mandatory() throws {
    let stack = try Stack(model: try ManagedObjectModel(Self.strict))
    let customer = try stack.insert("Customer")
    for _ in 0..<2 {
      let order = try stack.insert("Order", ["customer": customer])
      for number in 0..<3 { _ = try stack.insert("Line", ["number": number, "order": order]) }
    }
    try stack.context.save()
    let emptied = try #require(throws: PersistentStoreError.self) {
      try write(stack, subset("Order", related: .nullify))
    }
    #expect(emptied.code == .invalidValue)
    #expect(
      emptied.location.entity == "Order" && emptied.location.property == "customer" && emptied.location.reference != nil
    )
    #expect(emptied.message.contains("Customer/") && emptied.message.contains("the same holds for 1 more"))
    // Two of three lines are enough, one is not.
    var chosen = try subset("Order", "Customer", "Line", related: .nullify)
    let lines = try stack.fetch("Line")
    chosen.predicate = try FetchPredicate(format: "NOT SELF IN %@", [lines[0].objectID])
    #expect(try write(stack, chosen).0.counts.reduce(0) { $0 + $1.count } == 8)
    let order = try #require(lines[0]["order"] as? ManagedObject)
    let ids = try order.objects(forRelationshipNamed: "lines").prefix(2).map(\.objectID)
    chosen.predicate = try FetchPredicate(format: "NOT SELF IN %@", ids)
    let short = try #require(throws: PersistentStoreError.self) { try write(stack, chosen) }
    #expect(short.location.property == "lines" && short.message.contains("keep 1"))
    #expect(try write(stack, subset("Order", related: .closure)).0.counts.reduce(0) { $0 + $1.count } == 9)
    #expect(try write(stack, subset("Customer", related: .nullify)).0.counts.map(\.count) == [1])
  }
}

extension PersistentStore {
  fileprivate var snapshotForTest: StoreSnapshot { StoreSnapshot(nodes: nodes, metadata: metadata) }
}
