import AtomicStoreKit
import AtomicStoreSPI
import Foundation
import Testing

@Suite("Threads of background contexts") struct BackgroundThreadTests {
  @Test("background contexts that wait do not keep other tasks from running")
  func waiting() async throws {
    let stack = try Stack()
    let coordinator = stack.coordinator
    // More than Swift has threads.
    let count = ProcessInfo.processInfo.activeProcessorCount * 2 + 2
    let gate = DispatchSemaphore(value: 0)
    let opener = Task.detached(priority: .background) {
      try? await Task.sleep(for: .milliseconds(50))
      for _ in 0..<count { gate.signal() }
    }
    let passed = await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<count {
        group.addTask {
          await BackgroundContext(coordinator).perform { _ in gate.wait(timeout: .now() + 600) == .success }
        }
      }
      return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
    }
    await opener.value
    #expect(passed == count)
  }

  @Test("blocks of one context run one after the other, in the order in which they were sent, also from many tasks")
  func order() async throws {
    let stack = try Stack()
    let background = BackgroundContext(stack.coordinator)
    for number in 0..<200 {
      try await background.perform { context in
        try context.insertNewObject(forEntityName: "Person").setValue(number, forKey: "age")
      }
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<50 {
        group.addTask {
          try await background.perform { context in
            // Not one change is lost between a read and a write.
            let count = context.userInfo["count"] as? Int ?? 0
            context.userInfo["count"] = count + 1
            try context.save()
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(await background.perform { $0.userInfo["count"] as? Int } == 50)
    let ages = try stack.fetch("Person").map { $0["age"] as? Int }
    #expect(ages == Array(0..<200))
  }

  @Test("a background context is released when no one uses it")
  func released() async throws {
    let stack = try Stack()
    weak var background: BackgroundContext?
    do {
      let made = BackgroundContext(stack.coordinator)
      background = made
      _ = try await made.perform { try $0.count(for: FetchRequest<ManagedObject>(entityName: "Person")) }
    }
    for _ in 0..<1000 where background != nil { try await Task.sleep(for: .milliseconds(10)) }
    #expect(background == nil)
  }
}
