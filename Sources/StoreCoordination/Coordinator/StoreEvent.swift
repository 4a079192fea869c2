/// What a coordinator tells of its stores.
public enum StoreEvent: Sendable {
  /// The store is still open, and will be closed.
  case willRemove(PersistentStore)
  /// Stores were added, removed or moved.
  case didChange(StoreChange)
  /// The store just added is out of step with one that it was saved together with.
  case foundMixedSave(MixedSave)
}

/// Which stores came and went.
public struct StoreChange: Sendable {
  /// Stores that are open now.
  public var added: [PersistentStore]
  /// Stores that are closed now.
  public var removed: [PersistentStore]
  /// Stores that Save As moved: objects of the one are objects of the other, with the same IDs.
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

/// An observer of a coordinator: it ends when this is cancelled or no longer held.
public final class StoreObservation: Sendable {
  private let end: @Sendable () -> Void
  init(_ end: @escaping @Sendable () -> Void) { self.end = end }
  deinit { end() }
  /// Ends the observation. Calling it again has no effect.
  public func cancel() { end() }
}
