import AtomicStoreKit
import BuiltInStoreFormats
import Foundation
import ModelFiles
import StoreEditing
import TestSupport
import Testing

@Suite("Changing many objects at once") struct EditingTests {
  private let directory: TemporaryDirectory
  private let context: ManagedObjectContext

  init() throws {
    directory = try TemporaryDirectory("editing")
    var parts = #filePath.split(separator: "/", omittingEmptySubsequences: false)
    parts.removeLast(3)
    let path = directory.path + "/c.xml"
    try FileManager.default.copyItem(
      atPath: parts.joined(separator: "/") + "/SampleStores/Company/Company.xml", toPath: path)
    let coordinator = PersistentStoreCoordinator(registry: .builtIn)
    try coordinator.addPersistentStore(at: path)
    context = ManagedObjectContext(coordinator)
  }

  private func names(_ format: String) throws -> [String] {
    try context.fetch(
      FetchRequest<ManagedObject>(entityName: "Employee", predicate: try FetchPredicate(format: format))
    ).compactMap { try $0.value(forKey: "name") as? String }.sorted()
  }

  @Test("expressions are evaluated on each object as it was; both ends of relationships follow; a save keeps it")
  func setting() throws {
    let count = try context.setValues(
      [
        PropertyAssignment(parsing: "badge=badge + 1000"), PropertyAssignment(parsing: "serial=badge"),
        PropertyAssignment(parsing: "department:=Department/1"),
      ], entityName: "Employee", predicate: try FetchPredicate(format: "department.name == '営業部'"))
    #expect(count == 2)
    #expect(try names("department.name == '営業部'").isEmpty)
    try context.save()
    #expect(
      try context.fetch(
        FetchRequest<ManagedObject>(
          entityName: "Department", predicate: try FetchPredicate(format: "employees.@count == 6"))
      ).count == 1)
  }

  @Test("objects that have the values already are not changed")
  func unchanged() throws {
    #expect(try context.setValues([PropertyAssignment(parsing: "badge=badge")], entityName: "Employee") == 0)
    #expect(!context.hasChanges)
  }

  @Test(
    "what cannot be set is refused with the object",
    arguments: [
      "nmae:=x", "badge:=x", "badge=name", "badge=99999999999", "badge=department", "department:=Nobody",
      "department=badge",
      "x",
    ])
  func refused(_ text: String) throws {
    #expect(throws: (any Error).self) {
      try context.setValues([PropertyAssignment(parsing: text)], entityName: "Employee")
    }
  }

  @Test("deleting goes by the delete rules, inserting by default values and validation")
  func deletingAndInserting() throws {
    let object = try context.insertObject(
      entityName: "Employee",
      values: [PropertyAssignment("name", text: "New"), PropertyAssignment(parsing: "badge=40 + 2")])
    #expect(try object.value(forKey: "badge") as? Int == 42)
    #expect(try names("name == 'New'") == ["New"])
    #expect(
      try context.deleteObjects(entityName: "Employee", predicate: try FetchPredicate(format: "name == 'New'")) == 1)
    #expect(try names("name == 'New'").isEmpty)
  }

  @Test(
    "numbers below the range of decimals, infinite ones and not-a-number can be set as texts",
    arguments: ["5e-324", "1e-310", "-inf", "inf", "nan", "-1E-320"])
  func unusualNumbers(_ text: String) throws {
    let description = ModelDescription(entities: [
      EntityDescription(name: "N", properties: [.attribute("d", .double), .attribute("f", .float)])
    ])
    let coordinator = PersistentStoreCoordinator(
      managedObjectModel: try ManagedObjectModel(description), registry: .builtIn)
    try coordinator.addPersistentStore(at: directory.path + "/n.xml")
    let numbers = ManagedObjectContext(coordinator)
    let object = try numbers.insertObject(entityName: "N", values: [PropertyAssignment("d", text: text)])
    let number = try #require(object["d"] as? Double)
    let expected = try #require(Double(text))
    #expect(number == expected || number.isNaN && expected.isNaN)
    #expect(throws: (any Error).self) {
      _ = try numbers.insertObject(entityName: "N", values: [PropertyAssignment("d", text: "1e400")])
    }
    for text in ["1e-50", "1e-200"] {
      #expect(throws: (any Error).self) {
        _ = try numbers.insertObject(entityName: "N", values: [PropertyAssignment("f", text: text)])
      }
    }
    #expect(throws: (any Error).self) {
      _ = try numbers.insertObject(entityName: "N", values: [PropertyAssignment("d", text: "1e-400")])
    }
  }
}
