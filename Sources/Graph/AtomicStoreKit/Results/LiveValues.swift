import AtomicStoreSPI
import Synchronization

/// What is computed of the objects of a request, for the consumer of a stream: now, and after each event that may
/// change it.
private final class LiveValues<Result: ManagedObject, Value: Sendable & Equatable> {
  private let request: FetchRequest<Result>
  private let dependsOnOthers: Bool
  private let compute: (ManagedObjectContext, FetchRequest<Result>) throws -> Value
  private let continuation: AsyncThrowingStream<Value, any Error>.Continuation
  private var latest: Value?
  private var observation: Observation?
  /// Set where the consumer ends, by any thread.
  private let isOver = Flag()

  private final class Flag: Sendable { let value = Atomic(false) }

  /// The context's list of observers is what retains it.
  init(
    _ context: ManagedObjectContext, _ request: FetchRequest<Result>, sectionedBy keyPath: String?,
    _ continuation: AsyncThrowingStream<Value, any Error>.Continuation,
    _ compute: @escaping (ManagedObjectContext, FetchRequest<Result>) throws -> Value
  ) {
    self.request = context.named(request)
    dependsOnOthers = self.request.needsWholeFetch(sectionedBy: keyPath, in: context.managedObjectModel)
    self.compute = compute
    self.continuation = continuation
    context.options.hasLiveResults = true
    continuation.onTermination = { [isOver] _ in isOver.value.store(true, ordering: .relaxed) }
    observation = context.observe { [weak context] event in
      if let context { self.follow(event, context) }
    }
    update(context)
  }

  deinit { continuation.finish() }

  private func follow(_ event: ContextEvent, _ context: ManagedObjectContext) {
    guard !isOver.value.load(ordering: .relaxed) else {
      observation = nil
      return
    }
    switch event {
    case .objectsDidChange(let changes): if concerns(changes) { update(context) }
    // New objects have other IDs now, and stores other values.
    case .didSave(let changes): if concerns(changes) { update(context) }
    case .willSave: break
    }
  }

  private func concerns(_ changes: ObjectChanges) -> Bool {
    if changes.isAllInvalidated || dependsOnOthers { return true }
    let lists = [changes.inserted, changes.updated, changes.deleted, changes.refreshed, changes.invalidated]
    return lists.contains { $0.contains { request.isOfEntity($0) } }
  }

  private func update(_ context: ManagedObjectContext) {
    do {
      let value = try compute(context, request)
      guard value != latest else { return }
      latest = value
      if case .terminated = continuation.yield(value) { observation = nil }
    } catch {
      continuation.finish(throwing: error)
      observation = nil
    }
  }
}

/// Live results that are not objects.
///
/// Each stream has the present value first, then one after each event that changed it: when pending changes are
/// processed, at a save, and after ``reset()``, which shows what the stores hold. A consumer that is slower than the
/// changes gets only the latest value. What other contexts save is seen as soon as this one has merged it. An error of
/// the fetch ends the stream, and so does the end of the context.
extension ManagedObjectContext {
  /// The number of objects that match a request.
  ///
  /// ```swift
  /// for try await count in context.counts(of: FetchRequest<Employee>(\.salary > 5000)) { print(count) }
  /// ```
  public func counts<Result: ManagedObject>(of request: FetchRequest<Result>) -> AsyncThrowingStream<Int, any Error> {
    live(request) { try $0.count(for: $1) }
  }

  /// The rows of a request: one for each object, or for each group if the request has
  /// ``FetchRequest/propertiesToGroupBy``.
  public func rows<Result: ManagedObject>(
    of request: FetchRequest<Result>
  ) -> AsyncThrowingStream<[FetchedRow], any Error> {
    live(request) { try $0.fetchRows($1) }
  }

  /// The objects of a request as IDs, in the sections of a ``FetchedResultsController``. Without a key path there is
  /// one section.
  public func sections<Result: ManagedObject>(
    of request: FetchRequest<Result>, by keyPath: String? = nil
  ) -> AsyncThrowingStream<FetchedResultsSnapshot, any Error> {
    live(request, sectionedBy: keyPath) { context, request in
      var order = FetchedResultsOrder<Result>(keys: request.sortKeys, sectionKeyPath: keyPath)
      try order.reset(to: try context.fetch(request))
      return order.list.snapshot
    }
  }

  /// As the method with a text, with a key path of the class.
  public func sections<Result: ManagedObject, Value: ComparablePropertyValue>(
    of request: FetchRequest<Result>, by keyPath: KeyPath<Result, Value>
  ) -> AsyncThrowingStream<FetchedResultsSnapshot, any Error> { sections(of: request, by: keyPath.keyPathText) }

  private func live<Result: ManagedObject, Value: Sendable & Equatable>(
    _ request: FetchRequest<Result>, sectionedBy keyPath: String? = nil,
    _ compute: @escaping (ManagedObjectContext, FetchRequest<Result>) throws -> Value
  ) -> AsyncThrowingStream<Value, any Error> {
    let (stream, continuation) = AsyncThrowingStream.makeStream(
      of: Value.self, throwing: (any Error).self, bufferingPolicy: .bufferingNewest(1))
    _ = LiveValues(self, request, sectionedBy: keyPath, continuation, compute)
    return stream
  }
}
