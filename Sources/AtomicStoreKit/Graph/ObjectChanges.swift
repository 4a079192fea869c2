/// What a context tells its observers.
public enum ContextEvent {
  /// Objects changed, in whatever way: told when pending changes are processed.
  case objectsDidChange(ObjectChanges)
  /// A save begins, with these changes so far.
  case willSave(ObjectChanges)
  /// A save succeeded.
  case didSave(ObjectChanges)
}

/// Objects by what happened to them, in the order it happened. ``ids`` is what may leave the context.
public struct ObjectChanges {
  public var inserted: [ManagedObject] = []
  public var updated: [ManagedObject] = []
  public var deleted: [ManagedObject] = []
  /// Turned into faults, or given newer values of the store.
  public var refreshed: [ManagedObject] = []
  /// No longer usable.
  public var invalidated: [ManagedObject] = []
  /// The context was reset: all objects are invalid.
  public var isAllInvalidated = false
  /// IDs of what is deleted or invalid now, taken while they were good.
  var deletedIDs: [ManagedObjectID]?

  public var isEmpty: Bool {
    inserted.isEmpty && updated.isEmpty && deleted.isEmpty && refreshed.isEmpty && invalidated.isEmpty
      && !isAllInvalidated
  }

  /// The same by ID.
  public var ids: ObjectIDChanges {
    ObjectIDChanges(
      inserted: inserted.map(\.objectID), updated: updated.map(\.objectID),
      deleted: deletedIDs ?? deleted.map(\.objectID), refreshed: refreshed.map(\.objectID),
      invalidated: invalidated.map(\.objectID), isAllInvalidated: isAllInvalidated)
  }
}

/// Objects by what happened to them, as IDs: this may go anywhere.
public struct ObjectIDChanges: Sendable, Hashable {
  public var inserted: [ManagedObjectID] = []
  public var updated: [ManagedObjectID] = []
  public var deleted: [ManagedObjectID] = []
  public var refreshed: [ManagedObjectID] = []
  public var invalidated: [ManagedObjectID] = []
  public var isAllInvalidated = false

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
