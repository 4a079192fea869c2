import AtomicStoreKit
import AtomicStoreSPI
import Foundation
import Synchronization
import Testing

@Suite("Confinement") struct ConfinementTests {
  /// What code in Swift 5 mode can do: pass a context to another thread.
  private struct Smuggled: @unchecked Sendable {
    // The tests wait for the other thread before they use the context again.
    let context: ManagedObjectContext
    let object: ManagedObject
  }

  private func onOtherThread(_ body: @escaping @Sendable () -> Void) {
    let done = DispatchSemaphore(value: 0)
    Thread {
      body()
      done.signal()
    }.start()
    done.wait()
  }

  @Test("use on another thread is reported, and does the same as without the check")
  func threadCheck() throws {
    let stack = try Stack()
    let ada = try stack.insert("Person", ["name": "Ada"])
    try stack.context.save()
    let check = ThreadCheck()
    stack.context.threadCheck = check
    let smuggled = Smuggled(context: stack.context, object: ada)
    let counts = Mutex<[Int]>([])
    onOtherThread {
      /// Runs an operation and notes how many violations it added.
      func note(_ operation: () throws -> Void) {
        let before = check.violations.count
        #expect(throws: Never.self) { try operation() }
        counts.withLock { $0.append(check.violations.count - before) }
      }
      let (context, ada) = (smuggled.context, smuggled.object)
      note {
        let found = try context.fetch(FetchRequest<ManagedObject>(entityName: "Person"))
        #expect(found.count == 1)
      }
      note { try ada.setValue("Eve", forKey: "name") }
      note { try context.insertNewObject(forEntityName: "Person").setValue("Bob", forKey: "name") }
      note { context.processPendingChanges() }
      note { try context.save() }
      note { context.delete(ada) }
    }
    #expect(counts.withLock { $0.count == 6 && $0.allSatisfy { $0 >= 1 } })
    #expect(check.violations.allSatisfy { $0.code == .wrongThread })
    let count = check.violations.count
    try stack.context.save()
    #expect(try stack.fetch("Person").map { $0["name"] as? String } == ["Bob"])
    #expect(check.violations.count == count)
  }

  @Test("perform runs in the isolation of its caller and returns what need not be Sendable")
  @MainActor func performInIsolation() async throws {
    let stack = try Stack()
    let object = try await stack.context.perform {
      MainActor.assertIsolated()
      return try stack.context.insertNewObject(forEntityName: "Person")
    }
    #expect(object.isInserted)
  }

  @Test("performAndWait keeps the type of an error")
  func typedPerformAndWait() throws {
    let stack = try Stack()
    do throws(ManagedObjectError) {
      try stack.context.performAndWait { () throws(ManagedObjectError) in
        _ = try stack.context.insertNewObject(forEntityName: "Unknown")
      }
      Issue.record("nothing was thrown")
    } catch {
      #expect(error.code == .undefinedKey)
    }
  }

  @Test("reading an object that was used after its context was released reports it")
  func releasedContext() throws {
    let stack = try Stack()
    _ = try stack.insert("Person", ["name": "Ada"])
    try stack.context.save()
    let box = Messages()
    ManagedObject.releasedContextReaction = .call { box.add($0.message) }
    defer { ManagedObject.releasedContextReaction = .warn }
    let object = try ManagedObjectContext(stack.coordinator).fetch(FetchRequest<ManagedObject>(entityName: "Person"))[0]
    #expect(object["name"] == nil)
    #expect(box.messages.contains { $0.contains("Person") && $0.contains("was used after its context was released") })
    #expect(throws: ManagedObjectError.self) { try object.value(forKey: "name") }
  }

  private final class Messages: Sendable {
    private let state = Mutex<[String]>([])
    var messages: [String] { state.withLock { $0 } }
    func add(_ message: String) { state.withLock { $0.append(message) } }
  }
}
