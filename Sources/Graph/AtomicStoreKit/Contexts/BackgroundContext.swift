import AtomicStoreSPI
public import StoreCoordination

/// An actor that owns a context: its work runs in the actor's isolation, beside other tasks, one block at a time.
///
/// It runs on its own thread, so that blocks may take long and wait for disks and databases without keeping other
/// tasks from running.
///
/// ```swift
/// let importer = BackgroundContext(coordinator)
/// let count = try await importer.perform { context in
///   for name in names { try context.insertNewObject(forEntityName: "Person").setValue(name, forKey: "name") }
///   try context.save()
///   return names.count
/// }
/// ```
///
/// Objects cannot leave a block, since they are not `Sendable`; their IDs can.
public actor BackgroundContext {
  /// The coordinator of the context's stores.
  public nonisolated let persistentStoreCoordinator: PersistentStoreCoordinator
  private let context: ManagedObjectContext
  private let executor = ContextExecutor()

  public nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  /// Creates an actor with a new context.
  ///
  /// - Parameters:
  ///   - coordinator: The coordinator of the context's stores.
  ///   - configure: Called with the context before anything else uses it.
  public init(
    _ coordinator: PersistentStoreCoordinator, configure: @Sendable (ManagedObjectContext) -> Void = { _ in }
  ) {
    persistentStoreCoordinator = coordinator
    let context = ManagedObjectContext(coordinator)
    // No code outside it can read its objects.
    context.isObservable = false
    configure(context)
    self.context = context
  }

  /// Runs a block with the context and returns its result. Blocks run one after the other, each as an event: it begins
  /// with what was saved before it, if the context merges automatically, and ends by processing pending changes. An
  /// error keeps its type.
  public func perform<Result: Sendable, Failure: Error>(
    _ block: @Sendable (ManagedObjectContext) throws(Failure) -> Result
  ) async throws(Failure) -> Result {
    try context.runEvent { () throws(Failure) in try block(context) }
  }

  /// As ``ManagedObjectContext/automaticallyMergesChangesFromParent``; saves of other contexts are merged soon after
  /// they happen.
  public func setAutomaticallyMergesChangesFromParent(_ isOn: Bool) {
    guard isOn else {
      context.automaticallyMergesChangesFromParent = false
      return
    }
    context.mergeAutomatically { [weak self] in Task { await self?.processPendingChanges() } }
  }

  private func processPendingChanges() { context.processPendingChanges() }
}

extension ManagedObjectContext {
  /// Runs a block in the isolation of the context, which is that of the caller, and returns its result. The block is an
  /// event, as in ``perform(_:)``. An error keeps its type.
  ///
  /// The compiler lets only code in the context's isolation call it, so it need not wait or change to another thread.
  /// For work that runs beside the caller, use a ``BackgroundContext``.
  public func perform<Result, Failure: Error>(
    isolation: isolated (any Actor)? = #isolation, _ block: () throws(Failure) -> Result
  ) async throws(Failure) -> Result {
    try runEvent(block)
  }
}

extension ManagedObjectContext {
  /// Creates a context for the main actor. What other contexts save is merged soon after it happens, if
  /// ``automaticallyMergesChangesFromParent`` is set with ``mergeAutomaticallyOnMainActor()``.
  @MainActor
  package static func forMainActor(_ coordinator: PersistentStoreCoordinator) -> ManagedObjectContext {
    let context = ManagedObjectContext(coordinator)
    context.name = "main"
    return context
  }

  /// As setting ``automaticallyMergesChangesFromParent``, and the main actor merges soon after each save, without the
  /// context being used. The context must belong to the main actor.
  @MainActor
  package func mergeAutomaticallyOnMainActor() {
    let holder = MainActorContext(self)
    options.mainActorHolder = holder
    mergeAutomatically { [weak holder] in Task { @MainActor in holder?.context?.processPendingChanges() } }
  }
}

/// A reference to a context of the main actor that other threads may pass on.
@MainActor
private final class MainActorContext {
  weak var context: ManagedObjectContext?
  init(_ context: ManagedObjectContext) { self.context = context }
}
