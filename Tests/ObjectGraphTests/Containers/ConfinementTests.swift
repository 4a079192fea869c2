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

  @Test("use on another thread is reported and does nothing")
  func threadCheck() throws {
    let stack = try Stack()
    let ada = try stack.insert("Person", ["name": "Ada"])
    try stack.context.save()
    let check = ThreadCheck()
    stack.context.threadCheck = check
    let smuggled = Smuggled(context: stack.context, object: ada)
    let box = Box(codes: [])
    onOtherThread {
      func code(_ body: () throws -> Void) -> ManagedObjectError.Code? {
        do { try body() } catch { return (error as? ManagedObjectError)?.code }
        return nil
      }
      box.set([
        code { _ = try smuggled.context.fetch(FetchRequest<ManagedObject>(entityName: "Person")) },
        code { try smuggled.context.save() },
        code { try smuggled.object.setValue("Eve", forKey: "name") },
      ])
      smuggled.context.delete(smuggled.object)
      smuggled.context.processPendingChanges()
    }
    #expect(box.codes == [.wrongThread, .wrongThread, .wrongThread])
    let count = check.violations.count
    #expect(count >= 5)
    #expect(!stack.context.hasChanges && ada["name"] as? String == "Ada")
    try ada.setValue("Eve", forKey: "name")
    try stack.context.save()
    #expect(check.violations.count == count)
  }

  private final class Box: Sendable {
    private let state: Mutex<[ManagedObjectError.Code?]>
    init(codes: [ManagedObjectError.Code?]) { state = Mutex(codes) }
    var codes: [ManagedObjectError.Code?] { state.withLock { $0 } }
    func set(_ codes: [ManagedObjectError.Code?]) { state.withLock { $0 = codes } }
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
        _ = try stack.context.insertNewObject(forEntityName: "Nobody")
      }
      Issue.record("nothing was thrown")
    } catch {
      #expect(error.code == .undefinedKey)
    }
  }

  @Test("reading an object that outlived its context reports it")
  func outlived() throws {
    let stack = try Stack()
    _ = try stack.insert("Person", ["name": "Ada"])
    try stack.context.save()
    let box = Messages()
    ManagedObject.outlivedContextReaction = .call { box.add($0.message) }
    defer { ManagedObject.outlivedContextReaction = .warn }
    let object = try ManagedObjectContext(stack.coordinator).fetch(FetchRequest<ManagedObject>(entityName: "Person"))[0]
    #expect(object["name"] == nil)
    #expect(box.messages.contains { $0.contains("Person") && $0.contains("outlived its context") })
    #expect(throws: ManagedObjectError.self) { try object.value(forKey: "name") }
  }

  private final class Messages: Sendable {
    private let state = Mutex<[String]>([])
    var messages: [String] { state.withLock { $0 } }
    func add(_ message: String) { state.withLock { $0.append(message) } }
  }
}
