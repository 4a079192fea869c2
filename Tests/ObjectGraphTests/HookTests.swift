import AtomicStoreKit
import AtomicStoreSPI
import Foundation
import Testing

@Suite("Hooks") final class HookTests: HookedSuite {
  @Test("over an object's life each hook is called once, in order")
  func order() throws {
    let employee = HookedEmployee(context: context)
    #expect(log.take() == ["awakeFromInsert"])
    employee.name = "Ada"
    try context.save()
    #expect(log.take() == ["willSave", "didSave"])
    context.refresh(employee, mergeChanges: false)
    #expect(log.take() == ["willTurnIntoFault", "didTurnIntoFault"])
    #expect(employee.name == "Ada" && employee.age == 0)
    #expect(log.take() == ["awakeFromFetch"])
    employee.age = 3
    context.refresh(employee, mergeChanges: true)
    #expect(log.take() == [])
    try context.save()
    #expect(log.take() == ["willSave", "didSave"])
    context.delete(employee)
    #expect(log.take() == ["prepareForDeletion"])
    context.delete(employee)
    context.processPendingChanges()
    #expect(log.take() == [])
    try context.save()
    // didSave comes as well, to an object that no longer has its context.
    #expect(log.take() == ["willSave"])
    #expect(employee.unavailableReason == .deletedHere)
  }

  @Test("objects without changes get no save hooks")
  func untouched() throws {
    let employee = try saved()
    _ = try stack.insert("Task")
    try context.save()
    #expect(log.take() == [])
    #expect(!employee.isFault)
  }

  @Test("a value set in awakeFromFetch is not a change, one set in awakeFromInsert is saved")
  func awake() throws {
    let employee = try saved()
    employee.behavior["awakeFromFetch"] = { employee in
      employee["mood"] = "awake"
      employee.age = 7
    }
    context.refresh(employee, mergeChanges: false)
    #expect(employee.age == 7 && employee["mood"] as? String == "awake")
    #expect(!context.hasChanges && !employee.hasChanges)
    try context.save()
    let other = try stack.reopened()
    #expect(try #require(try other.first("Employee", "Ada"))["age"] == nil)
  }

  @Test("in prepareForDeletion the relationships are still set, and may be changed")
  func prepareForDeletion() throws {
    let employee = try saved()
    let sales = try stack.insert("Department", ["name": "Sales"])
    employee.department = sales
    try context.save()
    var seen: String?
    employee.behavior["prepareForDeletion"] = { employee in
      seen = employee.department?["name"] as? String
      employee.department?["name"] = "Empty"
      employee.managedObjectContext?.delete(employee)
    }
    context.delete(employee)
    #expect(seen == "Sales")
    try context.save()
    let other = try stack.reopened()
    #expect(try other.first("Department", "Empty") != nil)
    #expect(try other.fetch("Employee").isEmpty)
  }

  @Test("a cascade calls prepareForDeletion on each object once")
  func cascade() throws {
    let model = try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Employee",
          properties: [
            .attribute("name", .string),
            .toOne("next", "Employee", inverse: "back", deleteRule: .cascade),
            .toOne("back", "Employee", inverse: "next", deleteRule: .cascade),
          ])
      ]))
    let stack = try Stack(model: model, classes: ["Employee": HookedEmployee.self])
    stack.context.name = context.name
    let links = (0..<4).map { _ in HookedEmployee(context: stack.context) }
    for index in 0..<3 { try links[index].setValue(links[index + 1], forKey: "next") }
    try stack.context.save()
    _ = log.take()
    stack.context.delete(links[1])
    stack.context.processPendingChanges()
    #expect(log.take() == Array(repeating: "prepareForDeletion", count: 4))
  }

  @Test("a change in willSave is saved, and the object is prepared once more")
  func changeInWillSave() throws {
    let employee = try saved()
    employee.behavior["willSave"] = { if $0.age < 10 { $0.age = 10 } }
    employee.name = "Bob"
    try context.save()
    #expect(log.take() == ["willSave", "willSave", "didSave"])
    let other = try stack.reopened()
    #expect(try #require(try other.first("Employee", "Bob"))["age"] as? Int == 10)
  }

  @Test("a primitive change in willSave is saved without another round")
  func primitiveInWillSave() throws {
    let employee = try saved()
    employee.behavior["willSave"] = { try $0.setPrimitiveValue($0.age + 1, forKey: "age") }
    employee.name = "Bob"
    try context.save()
    #expect(log.take() == ["willSave", "didSave"])
    let other = try stack.reopened()
    #expect(try #require(try other.first("Employee", "Bob"))["age"] as? Int == 1)
  }

  @Test(
    "rollback, reset and a refresh inside a hook leave the context consistent",
    arguments: ["willSave", "didSave", "prepareForDeletion", "willTurnIntoFault", "didTurnIntoFault", "validate"],
    ["rollback", "reset", "refresh"])
  func disruptive(_ hook: String, _ act: String) throws {
    let employee = try saved()
    let context = context
    employee.behavior[hook] = { employee in
      switch act {
      case "rollback": context.rollback()
      case "reset": context.reset()
      default: context.refresh(employee, mergeChanges: false)
      }
    }
    employee.age = 1
    if hook == "prepareForDeletion" { context.delete(employee) }
    // Where the hook undoes its own object again and again, the save fails, and says why.
    do { try context.save() } catch {
      #expect(hook == "validate" && [.endlessChanges, .validationMultipleErrors].contains(error.code), "\(error)")
    }
    context.refresh(employee, mergeChanges: false)
    employee.behavior = [:]
    context.rollback()
    #expect(!context.hasChanges)
    _ = try stack.insert("Task")
    try context.save()
    let other = try stack.reopened()
    #expect(try other.fetch("Task").count == 1)
    #expect(try other.fetch("Employee").count == (hook == "prepareForDeletion" && act != "reset" ? 0 : 1))
  }

  @Test("what willSave inserts and deletes is part of the same save")
  func insertInWillSave() throws {
    let employee = try saved()
    let doomed = try stack.insert("Room", ["number": 1])
    try context.save()
    _ = log.take()
    employee.behavior["willSave"] = { employee in
      guard let context = employee.managedObjectContext, try employee.count(forRelationshipNamed: "tasks") == 0 else {
        return
      }
      try employee.add(try context.insertNewObject(forEntityName: "Task"), to: "tasks")
      context.delete(doomed)
    }
    employee.name = "Bob"
    try context.save()
    let other = try stack.reopened()
    #expect(try #require(try other.first("Employee", "Bob")).count(forRelationshipNamed: "tasks") == 1)
    #expect(try other.fetch("Room").isEmpty)
  }
}
