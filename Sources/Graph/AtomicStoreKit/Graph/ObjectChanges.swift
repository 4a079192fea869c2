import StoreCoordination

/// An event that a context reports to its observers.
public enum ContextEvent {
  /// Objects changed. Reported when pending changes are processed.
  case objectsDidChange(ObjectChanges)
  /// A save begins; it has these changes so far.
  case willSave(ObjectChanges)
  /// A save succeeded. If there was nothing to save, it has no changes.
  case didSave(ObjectChanges)
}

/// Objects grouped by kind of change, in the order of the changes. ``ids`` may leave the context.
public struct ObjectChanges {
  /// New objects, in the order in which they were inserted.
  public var inserted: [ManagedObject] = []
  /// Objects with changed values that are neither new nor deleted.
  public var updated: [ManagedObject] = []
  /// Objects that are to be deleted, or were deleted.
  public var deleted: [ManagedObject] = []
  /// Objects that were turned into faults, or given newer values of the store.
  public var refreshed: [ManagedObject] = []
  /// Objects that can no longer be used.
  public var invalidated: [ManagedObject] = []
  /// Whether the context was reset: all of its objects are invalid. They are listed in ``invalidated``.
  public var isAllInvalidated = false
  /// The IDs of deleted and invalid objects, recorded while they were valid.
  var deletedIDs: [ManagedObjectID]?

  /// Whether there are no changes, and the context was not reset.
  public var isEmpty: Bool {
    inserted.isEmpty && updated.isEmpty && deleted.isEmpty && refreshed.isEmpty && invalidated.isEmpty
      && !isAllInvalidated
  }

  /// The same changes by ID.
  public var ids: ObjectIDChanges {
    ObjectIDChanges(
      inserted: inserted.map(\.objectID), updated: updated.map(\.objectID),
      deleted: deletedIDs ?? deleted.map(\.objectID), refreshed: refreshed.map(\.objectID),
      invalidated: invalidated.map(\.objectID), isAllInvalidated: isAllInvalidated)
  }
}

extension ManagedObject {
  /// Forgets the values that the object has itself: what remains are the store's.
  func forgetValues() {
    edits = nil
    overlay = nil
    held = nil
    base = nil
  }
}
