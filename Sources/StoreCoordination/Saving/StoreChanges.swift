public import AtomicStoreSPI

/// What a save changes in one store, in the order the store is told.
public struct StoreChanges: Sendable {
  /// New objects. One without a reference gets one from the store; relationships name objects by reference, so those
  /// that others of the same save point at bring theirs: see ``PersistentStoreCoordinator/newReference(for:in:)``.
  public var inserted: [ManagedObjectSnapshot]
  /// Changed objects with the slots that changed.
  public var updated: [ManagedObjectSnapshot]
  /// Objects to delete.
  public var deleted: [ObjectReference]

  /// Creates changes; by default none.
  public init(
    inserted: [ManagedObjectSnapshot] = [], updated: [ManagedObjectSnapshot] = [], deleted: [ObjectReference] = []
  ) {
    self.inserted = inserted
    self.updated = updated
    self.deleted = deleted
  }

  /// Whether there is nothing to save.
  public var isEmpty: Bool { inserted.isEmpty && updated.isEmpty && deleted.isEmpty }
}
