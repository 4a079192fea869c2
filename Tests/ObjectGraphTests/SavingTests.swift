import AtomicStoreKit
import AtomicStoreSPI
import Foundation
import Testing

@Suite("Saving a context") struct ContextSavingTests {
  @Test("inserted objects exist after a save and a reopening", arguments: Stack.types)
  func insertAndReopen(_ type: String) throws {
    let stack = try Stack(type)
    let sales = try stack.insert("Department", ["name": "Sales", "floor": 3])
    let ada = try stack.insert("Employee", ["name": "Ada", "age": 36, "salary": 10.5, "department": sales])
    let bob = try stack.insert("Manager", ["name": "Bob"])
    try bob.add(ada, to: "reports")
    let task = try stack.insert("Task", ["title": "count"])
    try ada.add(task, to: "tasks")
    #expect(ada.objectID.isTemporaryID)
    try stack.context.save()
    #expect(!ada.objectID.isTemporaryID)
    #expect(!stack.context.hasChanges)

    let other = try stack.reopened()
    let people = try other.fetch("Person")
    #expect(people.count == 2)
    let department = try #require(try other.first("Department", "Sales"))
    #expect(department["floor"] as? Int == 3)
    let employees = try department.objects(forRelationshipNamed: "employees")
    #expect(employees.map { $0["name"] as? String } == ["Ada"])
    let again = try #require(employees.first)
    #expect(again.entity.name == "Employee")
    #expect(again["age"] as? Int == 36)
    #expect(again["salary"] as? Double == 10.5)
    #expect(again["department"] as? ManagedObject === department)
    #expect(try sorted(again, "managers") == ["Bob"])
    #expect(try names(again, "tasks", "title") == ["count"])
    #expect(again.objectID == ada.objectID)
  }

  @Test("changes and deletions are saved", arguments: Stack.types)
  func changeAndDelete(_ type: String) throws {
    let stack = try Stack(type)
    for index in 0..<50 { _ = try stack.insert("Employee", ["name": "E\(index)", "age": index]) }
    try stack.context.save()
    let all = try stack.fetch("Employee")
    for object in all where (object["age"] as? Int ?? 0) % 5 == 0 { stack.context.delete(object) }
    for object in all where (object["age"] as? Int ?? 0) % 5 == 1 { try object.setValue("changed", forKey: "name") }
    try stack.context.save()
    let other = try stack.reopened()
    let now = try other.fetch("Employee")
    #expect(now.count == 40)
    #expect(now.filter { $0["name"] as? String == "changed" }.count == 10)
    #expect(!now.contains { ($0["age"] as? Int ?? 0) % 5 == 0 })
  }

  @Test("a context without changes modifies no file")
  func nothing() throws {
    let stack = try Stack("XML")
    let ada = try stack.insert("Person", ["name": "Ada"])
    try stack.context.save()
    let before = try FileManager.default.attributesOfItem(atPath: stack.store.path)
    try ada.setValue("Bob", forKey: "name")
    try ada.setValue("Ada", forKey: "name")
    #expect(!stack.context.hasChanges)
    try stack.context.save()
    try ada.setValue("cheerful", forKey: "mood")
    try stack.context.save()
    let after = try FileManager.default.attributesOfItem(atPath: stack.store.path)
    #expect(before[.modificationDate] as? Date == after[.modificationDate] as? Date)
    #expect(before[.systemFileNumber] as? Int == after[.systemFileNumber] as? Int)
    #expect(ada["mood"] as? String == "cheerful")
  }
}
