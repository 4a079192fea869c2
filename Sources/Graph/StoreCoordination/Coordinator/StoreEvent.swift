/// An event that a coordinator reports.
public enum StoreEvent: Sendable {
  /// The store is still open, and will be closed.
  case willRemove(PersistentStore)
  /// Stores were added, removed or moved.
  case didChange(StoreChange)
  /// The store that was just added does not match one that it was once saved with.
  case foundMixedSave(MixedSave)
  /// Another process, or another coordinator of this process, saved a store: see
  /// ``PersistentStoreCoordinator/noticesRemoteChanges``.
  case didChangeRemotely(RemoteStoreChange)
  /// A store that was changed by another process cannot be read; it keeps the content that it had.
  case remoteChangeFailed(PersistentStore, PersistentStoreError)
}

/// The stores that were added and removed.
public struct StoreChange: Sendable {
  /// Stores that are now open.
  public var added: [PersistentStore]
  /// Stores that are now closed.
  public var removed: [PersistentStore]
  /// Stores that Save As moved: objects of the first are objects of the second, with the same IDs.
  public var moved: [(from: PersistentStore, to: PersistentStore)]

  init(
    added: [PersistentStore] = [], removed: [PersistentStore] = [],
    moved: [(from: PersistentStore, to: PersistentStore)] = []
  ) {
    self.added = added
    self.removed = removed
    self.moved = moved
  }
}

/// The registration of an observer. It ends when it is cancelled or released.
public final class StoreObservation: Sendable {
  private let end: @Sendable () -> Void
  init(_ end: @escaping @Sendable () -> Void) { self.end = end }
  deinit { end() }
  /// Ends the observation. Calling it again has no effect.
  public func cancel() { end() }
}
