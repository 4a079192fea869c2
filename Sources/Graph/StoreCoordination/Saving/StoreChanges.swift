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

  /// For an incremental store: what was added to and removed from unordered to-manys of ``updated`` objects.
  package var members: [StoreSave.MemberChange] = []
  /// For an incremental store: the row versions that the changes are based on.
  package var expected: [(object: ObjectReference, version: Int64?)] = []
  /// For an incremental store: the number of the last transaction of its history that the changes are based on.
  package var lastTransaction: Int64?
  /// For the changes of a context in an incremental store: the state of ``KnownAggregates`` that they are based on, and
  /// whether they depend on it.
  package var aggregates: (state: Int, areUsed: Bool)?
  /// For the history of an incremental store: who saves, and with which context.
  package var author: String?
  package var contextName: String?

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

extension StoreChanges {
  /// The changes as an incremental store gets them.
  package var asStoreSave: StoreSave {
    var save = StoreSave(
      inserted: inserted, updated: updated, deleted: deleted, members: members, expected: expected, author: author,
      contextName: contextName)
    save.lastTransaction = lastTransaction
    return save
  }
}
