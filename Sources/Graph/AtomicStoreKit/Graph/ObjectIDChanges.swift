public import StoreCoordination

/// Object IDs grouped by kind of change. It may leave the context.
public struct ObjectIDChanges: Sendable, Hashable {
  /// New objects.
  public var inserted: [ManagedObjectID] = []
  /// Objects with changed values.
  public var updated: [ManagedObjectID] = []
  /// Deleted objects.
  public var deleted: [ManagedObjectID] = []
  /// Objects that were turned into faults, or given newer values of the store.
  public var refreshed: [ManagedObjectID] = []
  /// Objects that can no longer be used.
  public var invalidated: [ManagedObjectID] = []
  /// Whether the context was reset: none of its objects can be used any more.
  public var isAllInvalidated = false
  /// Whether everything that was changed is listed. Otherwise merging reads all objects of databases again, and finds
  /// out which of them are gone: see ``RemoteStoreChange/isComplete``.
  public var isComplete = true
  /// For a save, the ``ManagedObjectContext/transactionAuthor`` of the context that saved.
  public var transactionAuthor: String?

  /// Creates a value; without arguments, an empty one.
  public init(
    inserted: [ManagedObjectID] = [], updated: [ManagedObjectID] = [], deleted: [ManagedObjectID] = [],
    refreshed: [ManagedObjectID] = [], invalidated: [ManagedObjectID] = [], isAllInvalidated: Bool = false
  ) {
    self.inserted = inserted
    self.updated = updated
    self.deleted = deleted
    self.refreshed = refreshed
    self.invalidated = invalidated
    self.isAllInvalidated = isAllInvalidated
  }
}

extension ObjectIDChanges {
  /// What another process saved: the argument of ``ManagedObjectContext/mergeChanges(fromDidSave:)``.
  public init(_ change: RemoteStoreChange) {
    self.init(inserted: change.inserted, updated: change.updated, deleted: change.deleted)
    isComplete = change.isComplete
    // Several saves may have different authors.
    let authors = Set(change.transactions.map(\.author))
    if authors.count == 1 { transactionAuthor = authors.first ?? nil }
  }
}
