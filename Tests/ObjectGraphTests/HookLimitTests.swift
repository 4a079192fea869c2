import AtomicStoreKit
import AtomicStoreSPI
import Foundation
import Testing

@Suite("What hooks may not do, and what is deferred") final class HookLimitTests: HookedSuite {
  @Test(
    "objects that change again at each save get a limited number of passes, then an error that names them",
    arguments: [1, 2, 25])
  func endless(_ passes: Int) throws {
    let employee = try saved()
    context.maximumSavePasses = passes
    employee.behavior["willSave"] = { $0.age += 1 }
    employee.name = "Bob"
    let error = try #require(graphError { try context.save() })
    #expect(error.code == .endlessChanges)
    #expect(error.objectID == employee.objectID)
    #expect(error.message.contains("Employee/1") && error.message.contains("\(passes) passes"))
    #expect(log.take() == Array(repeating: "willSave", count: passes))
    #expect(employee.isUpdated && employee.name == "Bob")
    // The same save can be tried again.
    employee.behavior = [:]
    try context.save()
    #expect(try stack.reopened().storedNodes().count == 1)
  }

  @Test("validation that changes its object endlessly is limited as well, and so is a hook that inserts endlessly")
  func endlessValidation() throws {
    let employee = try saved()
    employee.behavior["validate"] = { $0.age += 1 }
    employee.name = "Bob"
    #expect(graphError { try context.save() }?.code == .endlessChanges)
    employee.behavior["validate"] = nil
    employee.behavior["willSave"] = { employee in
      try? employee.managedObjectContext.map { _ = try $0.insertNewObject(forEntityName: "Task") }
      employee.age += 1
    }
    #expect(graphError { try context.save() }?.message.contains("Employee/1") == true)
    context.rollback()
    #expect(!context.hasChanges)
    #expect(employee.name == "Ada")
  }

  @Test(
    "save() inside a hook throws",
    arguments: [
      "awakeFromFetch", "willSave", "didSave", "prepareForDeletion", "willTurnIntoFault", "didTurnIntoFault",
      "validate",
    ])
  func saveInHook(_ hook: String) throws {
    let employee = try saved()
    var errors: [ManagedObjectError?] = []
    let context = context
    employee.behavior[hook] = { _ in errors.append(graphError { try context.save() }) }
    if hook == "prepareForDeletion" { context.delete(employee) } else { employee.age = 1 }
    if hook != "prepareForDeletion" { try context.save() }
    context.refresh(employee, mergeChanges: false)
    _ = employee.isDeleted ? "" : employee.name
    #expect(errors.map(\.?.code) == [.persistentStoreOperation])
    #expect(errors.first??.message.contains("perform") == true)
    try context.save()
  }

  @Test("work deferred while a fault fires waits for the next processing, not for the operation that fired it")
  func deferredInAwake() throws {
    let employee = try saved()
    let context = context
    var saves = 0
    employee.behavior["awakeFromFetch"] = { _ in
      context.perform { if (try? context.save()) != nil { saves += 1 } }
    }
    context.refresh(employee, mergeChanges: false)
    #expect(employee.name == "Ada")
    #expect(saves == 0)
    context.processPendingChanges()
    #expect(saves == 1)
  }

  @Test(
    "work deferred inside a hook is done when the hook has ended",
    arguments: ["willSave", "didSave", "prepareForDeletion"])
  func deferred(_ hook: String) throws {
    let employee = try saved()
    let context = context
    var saves = 0
    employee.behavior[hook] = { employee in
      employee.behavior = [:]
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
