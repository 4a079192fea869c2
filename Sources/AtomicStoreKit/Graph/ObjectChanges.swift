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
  /// New objects, in the order in which they were inserted.
  public var inserted: [ManagedObject] = []
  /// Objects with changed values that are neither new nor deleted.
  public var updated: [ManagedObject] = []
  /// Objects that are to be deleted, or were.
  public var deleted: [ManagedObject] = []
  /// Turned into faults, or given newer values of the store.
  public var refreshed: [ManagedObject] = []
  /// No longer usable.
  public var invalidated: [ManagedObject] = []
  /// The context was reset: all objects are invalid.
  public var isAllInvalidated = false
  /// IDs of what is deleted or invalid now, taken while they were good.
  var deletedIDs: [ManagedObjectID]?

  /// Whether nothing happened to any object, and the context was not reset.
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
  /// Whether the context was reset, which makes all of its objects unusable.
  public var isAllInvalidated = false

  /// Creates a value; by default an empty one.
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
