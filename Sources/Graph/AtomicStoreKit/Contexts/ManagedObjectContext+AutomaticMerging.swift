import AtomicStoreSPI
import StoreCoordination

extension ManagedObjectContext {
  /// Whether the context merges what other contexts save to the same stores; for a child context, what changes in its
  /// parent. False by default.
  ///
  /// The context merges when it next processes pending changes: at a fetch, at a save, at ``processPendingChanges()``,
  /// and before a block of ``perform(_:)`` or ``performAndWait(_:)``. The `viewContext` of a container and a
  /// ``BackgroundContext`` do so without being used, soon after the save. Changes of this context are kept, as by
  /// ``mergeChanges(fromDidSave:)``. What other processes save is merged too, if the coordinator notices it:
  /// `noticesRemoteChanges`.
  public var automaticallyMergesChangesFromParent: Bool {
    get { options.inbox != nil }
    set {
      guard newValue != automaticallyMergesChangesFromParent else { return }
      if newValue { mergeAutomatically(wake: nil) } else { (options.inbox, options.parentObservation) = (nil, nil) }
    }
  }

  /// - Parameter wake: Lets the context process pending changes soon, in its isolation; called on any thread.
  func mergeAutomatically(wake: (@Sendable () -> Void)?) {
    let inbox = SaveInbox(wake: wake)
    options.inbox = inbox
    guard let parent else {
      return persistentStoreCoordinator.registrations.deliveries.add(inbox, of: persistentStoreCoordinator)
    }
    options.parentObservation = parent.observe { [weak self] event in
      // What this context saves itself is up to date.
      guard case .objectsDidChange(let changes) = event, self?.isSaving == false else { return }
      var ids = changes.ids
      ids.updated += ids.refreshed
      inbox.put(ids)
    }
  }

  /// Passes a save to the other contexts that merge automatically.
  func deliver(_ changes: ObjectChanges) {
    guard parent == nil, !changes.isEmpty else { return }
    let inboxes = persistentStoreCoordinator.registrations.deliveries.inboxes.filter { $0 !== options.inbox }
    guard !inboxes.isEmpty else { return }
    let ids = savedIDs(of: changes)
    for inbox in inboxes { inbox.put(ids) }
  }

  /// The IDs of a save, with its author.
  func savedIDs(of changes: ObjectChanges) -> ObjectIDChanges {
    var ids = changes.ids
    ids.transactionAuthor = transactionAuthor
    return ids
  }

  /// Merges the saves that other contexts passed to this one. During a save or a hook it waits.
  func mergeDeliveredSaves() {
    guard let inbox = options.inbox, !isSaving, calloutDepth == 0 else { return }
    for changes in inbox.take() { mergeChanges(fromDidSave: changes) }
  }

  // MARK: Blocks

  /// Runs a block as an event: a context that merges automatically first merges what was saved meanwhile, and at the
  /// end pending changes are processed. The block runs immediately or, if called inside a hook, an observer or a save,
  /// when that has ended; its changes are then processed with those of the next event. Use it to save in response to a
  /// change notification. If called inside ``ManagedObject/awakeFromFetch()``, the block waits until pending changes
  /// are processed, because the fault may have been fired in the middle of another operation.
  public func perform(_ block: @escaping () -> Void) {
    guard calloutDepth == 0, !isProcessing, !isSaving else {
      deferredBlocks.append(block)
      return
    }
    runEvent(block)
  }

  /// Runs a block with what was saved before it, and processes its changes.
  func runEvent<Result, Failure: Error>(_ block: () throws(Failure) -> Result) throws(Failure) -> Result {
    mergeDeliveredSaves()
    defer { processPendingChanges() }
    return try block()
  }

  /// Runs a block at once and returns its result. The context must be used by the caller anyway: this does not wait,
  /// and does not change to another thread. An error keeps its type. A context that merges automatically merges what
  /// was saved meanwhile first. The changes of the block are processed with those of the event around it.
  public func performAndWait<Result, Failure: Error>(_ block: () throws(Failure) -> Result) throws(Failure) -> Result {
    mergeDeliveredSaves()
    return try block()
  }
}
