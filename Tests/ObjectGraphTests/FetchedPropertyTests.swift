import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import ModelFiles
import Testing

@Suite("Fetched properties") struct FetchedPropertyTests {
  static func fetched(
    _ name: String, _ entity: String, _ predicate: String?, limit: Int? = nil,
    order: [FetchRequestDescription.Sort] = [], userInfo: [UserInfoEntry] = []
  ) -> PropertyDescription {
    .fetchedProperty(
      FetchedPropertyDescription(
        name: name,
        fetchRequest: FetchRequestDescription(
          name: name, entityName: entity, predicateString: predicate, fetchLimit: limit, sortOrder: order),
        userInfo: userInfo))
  }

  static let description = ModelDescription(
    entities: [
      EntityDescription(
        name: "Department",
        properties: [
          .attribute("name", .string),
          .toMany("employees", "Employee", inverse: "department"),
          fetched("recentHires", "Employee", "department == $FETCH_SOURCE AND year > 2020"),
          fetched("byYear", "Employee", nil, order: [.init("year", isAscending: false), .init("name")]),
          fetched("firstTwo", "Employee", nil, limit: 2, order: [.init("name")]),
          fetched("Ada", "Employee", "name == $FETCHED_PROPERTY.name"),
          fetched(
            "veterans", "Employee", "year < CAST($FETCHED_PROPERTY.userInfo.before, 'NSNumber')",
            userInfo: [UserInfoEntry(key: "before", value: "2001")]),
          fetched("invoices", "Invoice", "departmentName == $FETCH_SOURCE.name"),
          fetched("broken", "Employee", "year > $SOMETHING"),
        ]),
      EntityDescription(
        name: "Employee",
        properties: [
          .attribute("name", .string),
          .attribute("year", .integer16),
          .toOne("department", "Department", inverse: "employees"),
        ]),
      EntityDescription(
        name: "Invoice",
        properties: [
          .attribute("number", .integer32),
          .attribute("departmentName", .string),
        ]),
    ],
    configurations: [
      ConfigurationDescription(name: "staff", entityNames: ["Department", "Employee"]),
      ConfigurationDescription(name: "trade", entityNames: ["Invoice"]),
    ])

  let stack: Stack
  let sales: ManagedObject

  init() throws {
    stack = try Stack(model: try ManagedObjectModel(Self.description))
    sales = try stack.insert("Department", ["name": "Sales"])
    try hire("Bob", 2022, sales)
    try hire("Ada", 2022, sales)
    try hire("Cyd", 2000, sales)
    try stack.context.save()
  }

  @discardableResult func hire(_ name: String, _ year: Int, _ department: ManagedObject?) throws -> ManagedObject {
    let employee = try stack.insert("Employee", ["name": name, "year": year])
    try employee.setValue(department, forKey: "department")
    return employee
  }

  func found(_ key: String) throws -> [String] { try names(sales, key) }

  @Test("the value is the result of the fetch for this object: $FETCH_SOURCE")
  func source() throws {
    let empty = try stack.insert("Department", ["name": "Empty"])
    #expect(try found("recentHires").sorted() == ["Ada", "Bob"])
    #expect(try names(empty, "recentHires").isEmpty)
  }

  @Test("the predicate may use the property's own name and user info: $FETCHED_PROPERTY")
  func property() throws {
    #expect(try found("Ada") == ["Ada"])
    #expect(try found("veterans") == ["Cyd"])
  }

  @Test("it is a list, in the fetch's order")
  func ordered() throws {
    #expect(sales["byYear"] is [ManagedObject])
    #expect(sales["employees"] is Set<ManagedObject>)
    #expect(try found("byYear") == ["Ada", "Bob", "Cyd"])
    #expect(try found("firstTwo") == ["Ada", "Bob"])
  }

  @Test("it is fetched on first access, and then kept")
  func lazyAndCached() throws {
    #expect(sales.hasFault(forRelationshipNamed: "recentHires"))
    // Not fetched before this, or Dan would be missing.
    try hire("Dan", 2023, sales)
    #expect(try found("recentHires").sorted() == ["Ada", "Bob", "Dan"])
    #expect(!sales.hasFault(forRelationshipNamed: "recentHires"))
    try hire("Eve", 2024, sales)
    try stack.context.save()
    #expect(try found("recentHires").sorted() == ["Ada", "Bob", "Dan"])
  }

  @Test("after refreshing the object, with its changes kept or not, it is fetched again", arguments: [true, false])
  func refresh(_ mergeChanges: Bool) throws {
    #expect(try found("recentHires").count == 2)
    try hire("Dan", 2023, sales)
    try stack.context.save()
    stack.context.refresh(sales, mergeChanges: mergeChanges)
    #expect(sales.hasFault(forRelationshipNamed: "recentHires"))
    #expect(try found("recentHires").sorted() == ["Ada", "Bob", "Dan"])
  }

  @Test("one property can be refreshed separately")
  func refreshAlone() throws {
    #expect(try found("recentHires").count == 2)
    #expect(try found("byYear").count == 3)
    try hire("Dan", 2023, sales)
    stack.context.refresh(sales, fetchedPropertyNamed: "recentHires")
    #expect(try found("recentHires").count == 3)
    #expect(try found("byYear").count == 3)
  }

  @Test("it is one-way and weak: it cannot be set, the found objects have no inverse, and deletions are not propagated")
  func weak() throws {
    let ada = try #require(try stack.first("Employee", "Ada"))
    let here = try #require(try sales.value(forKey: "recentHires") as? [ManagedObject])
    #expect(here.contains(ada))
    #expect(throws: ManagedObjectError.self) { try sales.setValue([ada], forKey: "recentHires") }
    #expect(throws: ManagedObjectError.self) { try sales.add(ada, to: "recentHires") }
    #expect(!sales.hasChanges && !ada.hasChanges)
    try ada.setValue(nil, forKey: "department")
    try stack.context.save()
    stack.context.delete(sales)
    try stack.context.save()
    #expect(try stack.fetch("Employee").count == 3)
    #expect(ada.unavailableReason == nil)
  }

  @Test("it may lead to objects in another store")
  func acrossStores() throws {
    let folder = try TestFolder()
    let coordinator = PersistentStoreCoordinator(
      managedObjectModel: try ManagedObjectModel(Self.description), registry: .builtIn)
    let staff = try coordinator.addPersistentStore(
      type: "XML", configurationName: "staff", at: folder.file("staff.xml"))
    let trade = try coordinator.addPersistentStore(
      type: "CSV", configurationName: "trade", at: folder.file("trade.csvstore"))
    let context = ManagedObjectContext(coordinator)
    let sales = try context.insertNewObject(forEntityName: "Department")
    try sales.setValue("Sales", forKey: "name")
    for (number, name) in [(1, "Sales"), (2, "Research")] {
      let invoice = try context.insertNewObject(forEntityName: "Invoice")
      try invoice.setValue(number, forKey: "number")
      try invoice.setValue(name, forKey: "departmentName")
    }
    try context.save()
    let invoices = try #require(try sales.value(forKey: "invoices") as? [ManagedObject])
    #expect(invoices.map { $0["number"] as? Int } == [1])
    #expect(invoices.first?.objectID.storeIdentifier == trade.identifier)
    #expect(sales.objectID.storeIdentifier == staff.identifier)
  }

  @Test("any other variable is refused by its name")
  func unknownVariable() throws {
    let error = try #require(throws: ManagedObjectError.self) { try sales.value(forKey: "broken") }
    #expect(error.code == .invalidFetch)
    #expect(error.key == "broken")
    #expect(error.message.contains("$SOMETHING"))
  }

  @Test("the result is not stored")
  func notStored() throws {
    #expect(try found("recentHires").count == 2)
    let again = try stack.reopened()
    try withExtendedLifetime(again) {
      let sales = try #require(try again.first("Department", "Sales"))
      #expect(sales.hasFault(forRelationshipNamed: "recentHires"))
      #expect(sales.entity.slots.allSatisfy { $0.name != "recentHires" })
      #expect(try names(sales, "recentHires").sorted() == ["Ada", "Bob"])
    }
  }
}
