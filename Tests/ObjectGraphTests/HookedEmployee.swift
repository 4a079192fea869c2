import AtomicStoreKit
import Foundation

/// What hooks were called, in order.
final class HookLog {
  var calls: [String] = []
  func take() -> [String] {
    defer { calls = [] }
    return calls
  }
}

/// An employee that logs its hooks into whatever its context's name leads to, and does in them what the test asks for.
final class HookedEmployee: ManagedObject {
  @Managed("name") var name: String
  @Managed("age") var age: Int
  @Managed("department") var department: ManagedObject?

  /// By context name, since an object is made before anyone can hand it something.
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

  var behavior: [String: (HookedEmployee) throws -> Void] = [:]

  private func called(_ hook: String) {
    if let name = managedObjectContext?.name { HookedEmployee.log(name).calls.append(hook) }
    try? behavior[hook]?(self)
  }

  override func awakeFromInsert() { called("awakeFromInsert") }
  override func awakeFromFetch() { called("awakeFromFetch") }
  override func willSave() { called("willSave") }
  override func didSave() { called("didSave") }
  override func prepareForDeletion() { called("prepareForDeletion") }
  override func willTurnIntoFault() { called("willTurnIntoFault") }
  override func didTurnIntoFault() { called("didTurnIntoFault") }
  override func validateForUpdate() throws {
    try behavior["validate"]?(self)
    try super.validateForUpdate()
  }
}

/// What the suites about hooks start from: employees that tell which of their hooks were called.
class HookedSuite {
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
  func saved() throws -> HookedEmployee {
    let employee = HookedEmployee(context: context)
    employee.name = "Ada"
    try context.save()
    _ = log.take()
    return employee
  }
}
