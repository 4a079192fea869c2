import AtomicStoreKit
import AtomicStoreSPI
import Testing

@Suite("Fetching in parts") struct AsyncFetchTests {
  /// Unsaved people behind a relationship: each has to be examined as an object.
  @MainActor private func stack(_ count: Int) throws -> (Stack, FetchRequest<ManagedObject>) {
    let stack = try Stack()
    let dev = try stack.insert("Department", ["name": "Dev"])
    for number in 0..<count { _ = try stack.insert("Person", ["name": "\(number)", "department": dev]) }
    let request = FetchRequest<ManagedObject>(
      entityName: "Person", predicate: try FetchPredicate(format: "department.name == 'Dev' AND name ENDSWITH '7'"),
      sortKeys: [SortKey("name", isAscending: false)])
    return (stack, request)
  }

  @Test(
    "it finds what a plain fetch finds, and progress grows to the end",
    .enabled(if: Stack.isLoaded, "the parts are those of rows in memory"))
  @MainActor func progress() async throws {
    let (stack, request) = try stack(2500)
    #expect(try stack.context.explain(request).method == .objects)
    var seen: [FetchProgress] = []
    let found = try await stack.context.fetch(request) { seen.append($0) }
    #expect(found == (try stack.context.fetch(request)))
    #expect(found.count == 250)
    #expect(seen.map(\.completed) == [1000, 2000, 2500])
    #expect(seen.allSatisfy { $0.total == 2500 } && seen.last?.fraction == 1)
  }

  @Test(
    "a request that columns answer is done in one part",
    .enabled(if: Stack.isLoaded, "the parts are those of rows in memory"))
  @MainActor func columns() async throws {
    let (stack, request) = try stack(20)
    try stack.context.save()
    #expect(try stack.context.explain(request).method == .columns)
    var seen: [FetchProgress] = []
    let found = try await stack.context.fetch(request) { seen.append($0) }
    #expect(found.count == 2)
    #expect(seen.map(\.fraction) == [1])
  }

  @Test(
    "a cancelled task ends the fetch at the end of a part",
    .enabled(if: Stack.isLoaded, "the parts are those of rows in memory"))
  @MainActor func cancellation() async throws {
    let (stack, request) = try stack(3500)
    var parts = 0
    let task = Task { @MainActor in
      try await stack.context.fetch(request) { _ in
        parts += 1
        withUnsafeCurrentTask { $0?.cancel() }
      }.count
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(parts == 1)
  }

  @Test(
    "other tasks of the isolation run in between; what they delete is left out, and limits hold",
    .enabled(if: Stack.isLoaded, "the parts are those of rows in memory"))
  @MainActor func changes() async throws {
    let (stack, request) = try stack(2500)
    var limited = request
    limited.fetchLimit = 10
    var victims: [ManagedObject] = []
    let found = try await stack.context.fetch(limited) { progress in
      guard progress.completed == 1000 else { return }
      victims = stack.context.insertedObjects.filter { ["997", "987", "2497"].contains($0["name"] as? String) }
      for victim in victims { stack.context.delete(victim) }
      stack.context.processPendingChanges()
    }
    #expect(victims.count == 3)
    #expect(found == (try stack.context.fetch(limited)))
    #expect(found.count == 10 && Set(found).isDisjoint(with: victims))
  }

  @Test("an invalid request is refused before anything is examined")
  @MainActor func refusal() async throws {
    let (stack, _) = try stack(1)
    let request = FetchRequest<ManagedObject>(
      entityName: "Person", predicate: try FetchPredicate(format: "nmae == 'x'"))
    await #expect(throws: ManagedObjectError.self) { _ = try await stack.context.fetch(request) { _ in } }
  }

  @Test("the steps of all parts count together, and relationships are prefetched at the end")
  @MainActor func budgetAndPrefetching() async throws {
    let (stack, request) = try stack(2500)
    var limited = request
    limited.stepLimit = 256
    while (try? stack.context.fetch(limited)) == nil { limited.stepLimit *= 2 }
    _ = try await stack.context.fetch(limited) { _ in }
    limited.stepLimit /= 2
    await #expect(throws: ManagedObjectError.self) { _ = try await stack.context.fetch(limited) { _ in } }

    var prefetching = request
    prefetching.relationshipKeyPathsForPrefetching = ["department"]
    let found = try await stack.context.fetch(prefetching) { _ in }
    #expect(found.count == 250)
    prefetching.relationshipKeyPathsForPrefetching = ["departmet"]
    await #expect(throws: ManagedObjectError.self) { _ = try await stack.context.fetch(prefetching) { _ in } }
  }
}
