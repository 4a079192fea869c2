import AtomicStoreKit
import AtomicStoreSPI
import Foundation
import Testing

/// What hooks were called, in order; a class of each test's own would do no more.
final class HookLog {
  var calls: [String] = []
  func take() -> [String] {
    defer { calls = [] }
    return calls
  }
}

/// An employee that logs its hooks into whatever its context's name leads to, and does in them what it is told.
final class HookedEmployee: ManagedObject {
  @Managed("name") var name: String
  @Managed("age") var age: Int
  @Managed("department") var department: ManagedObject?

  /// By context name, since an object is made before anybody can hand it something.
  nonisolated(unsafe) private static var logs: [String: HookLog] = [:]  // Guarded by the lock; the logs by their tests.
  private static let lock = NSLock()
  static func log(_ name: String) -> HookLog {
    lock.withLock {
      if let log = logs[name] { return log }
      let log = HookLog()
      logs[name] = log
      return log
    }
  }

  var behaviour: [String: (HookedEmployee) throws -> Void] = [:]

  private func called(_ hook: String) {
    if let name = managedObjectContext?.name { HookedEmployee.log(name).calls.append(hook) }
    try? behaviour[hook]?(self)
  }

  override func awakeFromInsert() { called("awakeFromInsert") }
  override func awakeFromFetch() { called("awakeFromFetch") }
  override func willSave() { called("willSave") }
  override func didSave() { called("didSave") }
  override func prepareForDeletion() { called("prepareForDeletion") }
  override func willTurnIntoFault() { called("willTurnIntoFault") }
  override func didTurnIntoFault() { called("didTurnIntoFault") }
  override func validateForUpdate() throws {
    try behaviour["validate"]?(self)
    try super.validateForUpdate()
  }
}

@Suite("Hooks") struct HookTests {
  let stack: Stack
  let log: HookLog
  var context: ManagedObjectContext { stack.context }

  init() throws {
    stack = try Stack(classes: ["Employee": HookedEmployee.self])
    let name = UUID().uuidString
    stack.context.name = name
    log = HookedEmployee.log(name)
  }

  /// A saved employee, its hooks so far forgotten.
  private func saved() throws -> HookedEmployee {
    let employee = HookedEmployee(context: context)
    employee.name = "Ada"
    try context.save()
    _ = log.take()
    return employee
  }

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

  @Test("objects without changes hear nothing of a save")
  func untouched() throws {
    let employee = try saved()
    _ = try stack.insert("Task")
    try context.save()
    #expect(log.take() == [])
    #expect(!employee.isFault)
  }

  @Test("what awakeFromFetch sets is no change, what awakeFromInsert sets is saved")
  func awake() throws {
    let employee = try saved()
    employee.behaviour["awakeFromFetch"] = { employee in
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

  @Test("in prepareForDeletion the relationships are still in place, and may be changed")
  func prepareForDeletion() throws {
    let employee = try saved()
    let sales = try stack.insert("Department", ["name": "Sales"])
    employee.department = sales
    try context.save()
    var seen: String?
    employee.behaviour["prepareForDeletion"] = { employee in
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

  @Test("a cascade prepares each object for its deletion, once")
  func cascade() throws {
    let model = try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Employee",
          properties: [
            .attribute(AttributeDescription(name: "name", type: .string)),
            .relationship(
              RelationshipDescription(
                name: "next", destinationEntityName: "Employee", inverseName: "back", deleteRule: .cascade)),
            .relationship(
              RelationshipDescription(name: "back", destinationEntityName: "Employee", inverseName: "next", deleteRule: .cascade)),
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
    employee.behaviour["willSave"] = { if $0.age < 10 { $0.age = 10 } }
    employee.name = "Bob"
    try context.save()
    #expect(log.take() == ["willSave", "willSave", "didSave"])
    let other = try stack.reopened()
    #expect(try #require(try other.first("Employee", "Bob"))["age"] as? Int == 10)
  }

  @Test("a primitive change in willSave is saved without another round")
  func primitiveInWillSave() throws {
    let employee = try saved()
    employee.behaviour["willSave"] = { try $0.setPrimitiveValue($0.age + 1, forKey: "age") }
    employee.name = "Bob"
    try context.save()
    #expect(log.take() == ["willSave", "didSave"])
    let other = try stack.reopened()
    #expect(try #require(try other.first("Employee", "Bob"))["age"] as? Int == 1)
  }

  @Test(
    "rollback, reset and a refresh from inside a hook leave the context whole",
    arguments: ["willSave", "didSave", "prepareForDeletion", "willTurnIntoFault", "didTurnIntoFault", "validate"],
    ["rollback", "reset", "refresh"])
  func disruptive(_ hook: String, _ act: String) throws {
    let employee = try saved()
    let context = context
    employee.behaviour[hook] = { employee in
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
    employee.behaviour = [:]
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
    employee.behaviour["willSave"] = { employee in
      guard let context = employee.managedObjectContext, try employee.count(forRelationshipNamed: "tasks") == 0 else { return }
      try employee.add(try context.insertNewObject(forEntityName: "Task"), to: "tasks")
      context.delete(doomed)
    }
    employee.name = "Bob"
    try context.save()
    let other = try stack.reopened()
    #expect(try #require(try other.first("Employee", "Bob")).count(forRelationshipNamed: "tasks") == 1)
    #expect(try other.fetch("Room").isEmpty)
  }

  @Test("objects that change again at each save are given a bounded number of rounds, then an error that names them", arguments: [1, 2, 25])
  func endless(_ passes: Int) throws {
    let employee = try saved()
    context.maximumSavePasses = passes
    employee.behaviour["willSave"] = { $0.age += 1 }
    employee.name = "Bob"
    let error = try #require(graphError { try context.save() })
    #expect(error.code == .endlessChanges)
    #expect(error.objectID == employee.objectID)
    #expect(error.message.contains("Employee/1") && error.message.contains("\(passes) passes"))
    #expect(log.take() == Array(repeating: "willSave", count: passes))
    #expect(employee.isUpdated && employee.name == "Bob")
    // The same save can be tried again.
    employee.behaviour = [:]
    try context.save()
    #expect(try stack.reopened().store.nodes.count == 1)
  }

  @Test("validation that changes its object for ever is bounded as well, and so is a hook that inserts for ever")
  func endlessValidation() throws {
    let employee = try saved()
    employee.behaviour["validate"] = { $0.age += 1 }
    employee.name = "Bob"
    #expect(graphError { try context.save() }?.code == .endlessChanges)
    employee.behaviour["validate"] = nil
    employee.behaviour["willSave"] = { employee in
      try? employee.managedObjectContext.map { _ = try $0.insertNewObject(forEntityName: "Task") }
      employee.age += 1
    }
    #expect(graphError { try context.save() }?.message.contains("Employee/1") == true)
    context.rollback()
    #expect(!context.hasChanges)
    #expect(employee.name == "Ada")
  }

  @Test(
    "save() from inside a hook throws",
    arguments: ["awakeFromFetch", "willSave", "didSave", "prepareForDeletion", "willTurnIntoFault", "didTurnIntoFault", "validate"])
  func saveInHook(_ hook: String) throws {
    let employee = try saved()
    var errors: [ManagedObjectError?] = []
    let context = context
    employee.behaviour[hook] = { _ in errors.append(graphError { try context.save() }) }
    if hook == "prepareForDeletion" { context.delete(employee) } else { employee.age = 1 }
    if hook != "prepareForDeletion" { try context.save() }
    context.refresh(employee, mergeChanges: false)
    _ = employee.isDeleted ? "" : employee.name
    #expect(errors.map(\.?.code) == [.persistentStoreOperation])
    #expect(errors.first??.message.contains("perform") == true)
    try context.save()
  }

  @Test("work put off while a fault fires waits for the next processing, not for the middle of what fired it")
  func deferredInAwake() throws {
    let employee = try saved()
    let context = context
    var saves = 0
    employee.behaviour["awakeFromFetch"] = { _ in
      context.perform { if (try? context.save()) != nil { saves += 1 } }
    }
    context.refresh(employee, mergeChanges: false)
    #expect(employee.name == "Ada")
    #expect(saves == 0)
    context.processPendingChanges()
    #expect(saves == 1)
  }

  @Test("work put off from inside a hook is done when that has ended", arguments: ["willSave", "didSave", "prepareForDeletion"])
  func deferred(_ hook: String) throws {
    let employee = try saved()
    let context = context
    var saves = 0
    employee.behaviour[hook] = { employee in
      employee.behaviour = [:]
      context.perform {
        if (try? context.insertNewObject(forEntityName: "Task")) != nil, (try? context.save()) != nil { saves += 1 }
      }
      #expect(saves == 0)
    }
    if hook == "prepareForDeletion" { context.delete(employee) } else { employee.age = 1 }
    try context.save()
    #expect(saves == 1)
    #expect(!context.hasChanges)
    #expect(try stack.reopened().fetch("Task").count == 1)
  }
}
