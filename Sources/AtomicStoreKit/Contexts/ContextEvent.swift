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

/// What changed since observers were last told.
struct PendingNotice {
  var inserted: [ManagedObject] = []
  var touched: [ManagedObject] = []
  var deleted: [ManagedObject] = []
  var refreshed: [ManagedObject] = []
  var invalidated: [ManagedObject] = []
  var isAllInvalidated = false

  var isEmpty: Bool {
    inserted.isEmpty && touched.isEmpty && deleted.isEmpty && refreshed.isEmpty && invalidated.isEmpty
      && !isAllInvalidated
  }

  /// Sorts out what came to what: an object inserted and changed was inserted, one inserted and deleted is not told of.
  mutating func take() -> ObjectChanges {
    var changes = ObjectChanges()
    if touched.isEmpty, deleted.isEmpty, refreshed.isEmpty, invalidated.isEmpty {
      for object in inserted where object.context != nil { changes.inserted.append(object) }
    } else {
      var insertedHere = ObjectList()
      for object in inserted where object.context != nil && !object.flags.contains(.deleted) {
        if insertedHere.append(object) { changes.inserted.append(object) }
      }
      var deletedHere = ObjectList()
      for object in deleted where object.flags.contains(.deleted) || object.context == nil {
        if insertedHere.contains(object) || object.context == nil && object.extras?.gone == .neverSaved { continue }
        if deletedHere.append(object) { changes.deleted.append(object) }
      }
      for object in touched where !insertedHere.contains(object) && !deletedHere.contains(object) && object.context != nil {
        changes.updated.append(object)
      }
      var seen = ObjectList()
      for object in refreshed where seen.append(object) { changes.refreshed.append(object) }
      for object in invalidated { changes.invalidated.append(object) }
    }
    changes.isAllInvalidated = isAllInvalidated
    for object in touched { object.flags.remove(.noticed) }
    self = PendingNotice()
    return changes
  }
}

/// An observer's registration: it ends when this is cancelled or no longer held.
public final class Observation {
  private weak var context: ManagedObjectContext?
  private let id: Int

  init(_ context: ManagedObjectContext, _ id: Int) {
    self.context = context
    self.id = id
  }
  deinit { cancel() }

  /// Ends the observation. Calling it again has no effect.
  public func cancel() { context?.observers.removeAll { $0.id == id } }
}

extension ManagedObjectContext {
  /// Calls `body` at each event, as long as the returned value is held. It may change objects, not save: for that see
  /// ``perform(_:)``.
  public func observe(_ body: @escaping (ContextEvent) -> Void) -> Observation {
    nextObserver += 1
    observers.append((nextObserver, body))
    return Observation(self, nextObserver)
  }

  /// The changes that observers are told of, as IDs, for whoever waits elsewhere. It ends with the context.
  public func objectIDChanges() -> AsyncStream<ObjectIDChanges> {
    let (stream, continuation) = AsyncStream.makeStream(of: ObjectIDChanges.self)
    streams.append((isSaves: false, continuation))
    return stream
  }

  /// What each save wrote, as IDs: what ``mergeChanges(fromDidSave:)`` of another context takes. It ends with the context.
  public func saves() -> AsyncStream<ObjectIDChanges> {
    let (stream, continuation) = AsyncStream.makeStream(of: ObjectIDChanges.self)
    streams.append((isSaves: true, continuation))
    return stream
  }

  func post(_ event: ContextEvent) {
    if !streams.isEmpty {
      for stream in streams {
        switch event {
        case .objectsDidChange(let changes) where !stream.isSaves: stream.continuation.yield(changes.ids)
        case .didSave(let changes) where stream.isSaves: stream.continuation.yield(changes.ids)
        default: break
        }
      }
    }
    guard !observers.isEmpty else { return }
    calloutDepth += 1
    for observer in observers { observer.body(event) }
    calloutDepth -= 1
  }
}
