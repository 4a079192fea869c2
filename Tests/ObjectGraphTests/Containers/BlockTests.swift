import AtomicStoreKit
import AtomicStoreSPI
import Testing

@Suite("Blocks of contexts") struct BlockTests {
  private struct Refusal: Error {}

  /// In an asynchronous function Swift would choose the other `perform`.
  private func perform(in context: ManagedObjectContext, _ block: @escaping () -> Void) { context.perform(block) }

  @Test(
    "a block is an event: its changes are reported when it ends, also with an error",
    arguments: ["perform", "await perform", "await perform, error"])
  func events(_ way: String) async throws {
    let stack = try Stack()
    let context = stack.context
    var inserted: [Int] = []
    let observation = context.observe { event in
      if case .objectsDidChange(let changes) = event { inserted.append(changes.inserted.count) }
    }
    switch way {
    case "perform": perform(in: context) { for _ in 0..<3 { _ = try? stack.insert("Person") } }
    case "await perform": try await context.perform { for _ in 0..<3 { _ = try stack.insert("Person") } }
    default:
      try? await context.perform {
        for _ in 0..<3 { _ = try stack.insert("Person") }
        throw Refusal()
      }
    }
    #expect(inserted == [3])
    // A block that the caller waits for is a part of the caller's event.
    try context.performAndWait { _ = try stack.insert("Person") }
    #expect(inserted == [3])
    context.processPendingChanges()
    #expect(inserted == [3, 1])
    observation.cancel()
  }

  @Test("a block of a background context begins with what was saved before it, and reports its changes when it ends")
  func background() async throws {
    let stack = try Stack()
    let ada = try stack.insert("Person", ["age": 0])
    try stack.context.save()
    let id = ada.objectID
    let background = BackgroundContext(stack.coordinator) { $0.retainsRegisteredObjects = true }
    await background.setAutomaticallyMergesChangesFromParent(true)
    func age() async throws -> Int? { try await background.perform { try $0.existingObject(with: id)["age"] as? Int } }
    #expect(try await age() == 0)
    for number in 1...20 {
      try ada.setValue(number, forKey: "age")
      try stack.context.save()
      #expect(try await age() == number)
    }
    var changes = await background.perform { $0.objectIDChanges() }.makeAsyncIterator()
    try await background.perform { try $0.existingObject(with: id).setValue(-1, forKey: "age") }
    #expect(await changes.next()?.updated == [id])
  }
}
