import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import Testing

@Suite("Several stores that appear as one") struct AggregateStoreTests {
  static func entity(_ name: String, to other: String, _ key: String, inverse: String, many: Bool) -> EntityDescription
  {
    EntityDescription(
      name: name,
      properties: [
        .attribute("name", .string),
        .relationship(
          RelationshipDescription(
            name: key, destinationEntityName: other, inverseName: inverse, maximumCount: many ? 0 : 1)),
      ])
  }

  /// The guide's figure: employees and departments in one file, customers and companies in another.
  static let description = ModelDescription(
    entities: [
      entity("Department", to: "Employee", "employees", inverse: "department", many: true),
      entity("Employee", to: "Department", "department", inverse: "employees", many: false),
      entity("Company", to: "Customer", "customers", inverse: "company", many: true),
      entity("Customer", to: "Company", "company", inverse: "customers", many: false),
    ],
    configurations: [
      ConfigurationDescription(name: "inside", entityNames: ["Department", "Employee"]),
      ConfigurationDescription(name: "outside", entityNames: ["Company", "Customer"]),
    ])

  func named(_ entity: String, _ name: String, in context: ManagedObjectContext) throws -> ManagedObject {
    let object = try context.insertNewObject(forEntityName: entity)
    try object.setValue(name, forKey: "name")
    return object
  }

  func names(_ entity: String, in context: ManagedObjectContext) throws -> [String] {
    try context.fetch(FetchRequest<ManagedObject>(entityName: entity)).compactMap { $0["name"] as? String }
  }

  @Test("employees and departments are written to one file, customers and companies to another, and fetched from there")
  func twoFiles() throws {
    let folder = try TestFolder()
    let model = try ManagedObjectModel(Self.description)
    do {
      let coordinator = PersistentStoreCoordinator(managedObjectModel: model, registry: .builtIn)
      try coordinator.addPersistentStore(type: "XML", configurationName: "inside", at: folder.file("inside.xml"))
      try coordinator.addPersistentStore(
        type: "BinaryPropertyList", configurationName: "outside", at: folder.file("outside.plist"))
      let context = ManagedObjectContext(coordinator)
      let sales = try named("Department", "Sales", in: context)
      try named("Employee", "Ada", in: context).setValue(sales, forKey: "department")
      let acme = try named("Company", "Acme", in: context)
      try named("Customer", "Bob", in: context).setValue(acme, forKey: "company")
      try context.save()
      #expect(try names("Employee", in: context) == ["Ada"])
      #expect(try names("Customer", in: context) == ["Bob"])
    }
    // Each file by itself has its half.
    for (file, configuration, there, absent) in [
      ("inside.xml", "inside", ["Department", "Employee"], ["Company", "Customer"]),
      ("outside.plist", "outside", ["Company", "Customer"], ["Department", "Employee"]),
    ] {
      let coordinator = PersistentStoreCoordinator(managedObjectModel: model, registry: .builtIn)
      try coordinator.addPersistentStore(configurationName: configuration, at: folder.file(file))
      let context = ManagedObjectContext(coordinator)
      for entity in there { #expect(try names(entity, in: context).count == 1) }
      for entity in absent { #expect(try names(entity, in: context).isEmpty) }
    }
  }

  @Test("a fetch returns the objects of all stores, as one graph")
  func union() throws {
    let folder = try TestFolder()
    let model = try ManagedObjectModel(Self.description)
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model, registry: .builtIn)
    let one = try coordinator.addPersistentStore(type: "XML", at: folder.file("one.xml"))
    let two = try coordinator.addPersistentStore(type: "CSV", at: folder.file("two.csvstore"))
    let context = ManagedObjectContext(coordinator)
    for (name, store) in [("Ada", one), ("Bob", two)] {
      try context.assign(try named("Employee", name, in: context), to: store)
    }
    try context.save()
    let other = ManagedObjectContext(coordinator)
    #expect(try names("Employee", in: other) == ["Ada", "Bob"])
    var request = FetchRequest<ManagedObject>(entityName: "Employee")
    request.affectedStores = [two]
    #expect(try other.fetch(request).map { $0["name"] as? String } == ["Bob"])
    #expect(try other.count(for: FetchRequest<ManagedObject>(entityName: "Employee")) == 2)
  }

  @Test("a coordinator has one model: a store of another is refused, with the differences")
  func oneModel() throws {
    let stack = try Stack("BinaryPropertyList", model: try ManagedObjectModel(Self.description))
    _ = try stack.insert("Employee", ["name": "Ada"])
    try stack.context.save()
    var changed = Self.description
    changed.entities[1].properties[0] = .attribute("name", .integer16)
    let coordinator = PersistentStoreCoordinator(
      managedObjectModel: try ManagedObjectModel(changed), registry: .builtIn)
    do throws(PersistentStoreError) {
      try coordinator.addPersistentStore(at: stack.store.path)
      Issue.record("the store should have been refused")
    } catch {
      #expect(error.code == .modelMismatch)
      #expect(error.message.contains("name"))
    }
    #expect(coordinator.persistentStores.isEmpty)
  }

  @Test("an object that two contexts edit is a separate instance in each")
  func twoContexts() throws {
    let stack = try Stack("XML", model: try ManagedObjectModel(Self.description))
    let here = try stack.insert("Employee", ["name": "Ada"])
    try stack.context.save()
    let other = ManagedObjectContext(stack.coordinator)
    let there = other.object(with: here.objectID)
    #expect(there !== here)
    try here.setValue("Eve", forKey: "name")
    #expect(there["name"] as? String == "Ada")
    #expect(!other.hasChanges)
    try there.setValue("Bob", forKey: "name")
    #expect(here["name"] as? String == "Eve")
    #expect(here.objectID == there.objectID)
  }

  @Test("the same code works with a store of any type", arguments: Stack.types)
  func anyType(_ type: String) throws {
    let stack = try Stack(type, model: try ManagedObjectModel(Self.description))
    let sales = try stack.insert("Department", ["name": "Sales"])
    let ada = try stack.insert("Employee", ["name": "Ada", "department": sales])
    let bob = try stack.insert("Employee", ["name": "Bob", "department": sales])
    try stack.context.save()
    try ada.setValue("Eve", forKey: "name")
    stack.context.delete(bob)
    try stack.context.save()
    let again = try stack.reopened()
    try withExtendedLifetime(again) {
      let department = try #require(try again.first("Department", "Sales"))
      #expect(try ObjectGraphTests.names(department, "employees") == ["Eve"])
    }
  }
}
