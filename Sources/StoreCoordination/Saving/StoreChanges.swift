public import AtomicStoreSPI

/// The changes of a save in one store, in the order in which the store receives them.
public struct StoreChanges: Sendable {
  /// New objects. An object without a reference gets one from the store. Relationships name objects by reference, so
  /// objects that others of the same save refer to must have theirs: see
  /// ``PersistentStoreCoordinator/newReference(for:in:)``.
  public var inserted: [ManagedObjectSnapshot]
  /// Changed objects with the slots that changed.
  public var updated: [ManagedObjectSnapshot]
  /// Objects to delete.
  public var deleted: [ObjectReference]

  /// Creates changes; without arguments, none.
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
