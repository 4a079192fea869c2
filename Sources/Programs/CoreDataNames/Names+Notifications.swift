// The names are Core Data's.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

import AtomicStoreKit
public import Foundation
import Synchronization

/// Posts the events of contexts as notifications. A program needs a name to wait for a notification, so the first
/// use of a name turns it on.
private enum Posting {
  static let isOn: Bool = {
    ContextEventReceiver.shared.withLock { $0 = ContextEventReceiver { context, event in post(event, of: context) } }
    return true
  }()

  static func name(_ text: String) -> Notification.Name { isOn ? Notification.Name(text) : Notification.Name("") }

  static func post(_ event: ContextEvent, of context: ManagedObjectContext) {
    let center = NotificationCenter.default
    switch event {
    case .objectsDidChange(let changes):
      center.post(name: .NSManagedObjectContextObjectsDidChange, object: context, userInfo: objects(changes, context))
    case .willSave: center.post(name: .NSManagedObjectContextWillSave, object: context)
    case .didSave(let changes):
      center.post(name: .NSManagedObjectContextDidSave, object: context, userInfo: objects(changes, context))
      center.post(
        name: ManagedObjectContext.didSaveObjectIDsNotification, object: context,
        userInfo: [
          NSInsertedObjectIDsKey: Set(changes.ids.inserted), NSUpdatedObjectIDsKey: Set(changes.ids.updated),
          NSDeletedObjectIDsKey: Set(changes.ids.deleted), ObjectIDChanges.key: ids(changes, context),
        ])
    }
  }

  private static func ids(_ changes: ObjectChanges, _ context: ManagedObjectContext) -> ObjectIDChanges {
    var ids = changes.ids
    ids.transactionAuthor = context.transactionAuthor
    return ids
  }

  private static func objects(_ changes: ObjectChanges, _ context: ManagedObjectContext) -> [AnyHashable: Any] {
    var info: [AnyHashable: Any] = [ObjectIDChanges.key: ids(changes, context)]
    let lists = [
      (NSInsertedObjectsKey, changes.inserted), (NSUpdatedObjectsKey, changes.updated),
      (NSDeletedObjectsKey, changes.deleted), (NSRefreshedObjectsKey, changes.refreshed),
      (NSInvalidatedObjectsKey, changes.isAllInvalidated ? [] : changes.invalidated),
    ]
    for (key, list) in lists where !list.isEmpty { info[key] = Set(list) }
    if changes.isAllInvalidated { info[NSInvalidatedAllObjectsKey] = changes.invalidated.map(\.objectID) }
    return info
  }
}

extension ObjectIDChanges {
  fileprivate static let key = "ObjectIDChanges"

  /// The changes of a notification, or of a dictionary with objects or IDs under Core Data's keys.
  fileprivate init(_ info: [AnyHashable: Any]) {
    if let known = info[Self.key] as? ObjectIDChanges {
      self = known
      return
    }
    func list(_ keys: String...) -> [ManagedObjectID] {
      for key in keys {
        if let ids = info[key] as? [ManagedObjectID] { return ids }
        if let ids = info[key] as? Set<ManagedObjectID> { return ids.sorted { "\($0)" < "\($1)" } }
        if let objects = info[key] as? Set<ManagedObject> {
          return objects.map(\.objectID).sorted { "\($0)" < "\($1)" }
        }
      }
      return []
    }
    self.init(
      inserted: list(NSInsertedObjectsKey, NSInsertedObjectIDsKey),
      updated: list(NSUpdatedObjectsKey, NSUpdatedObjectIDsKey),
      deleted: list(NSDeletedObjectsKey, NSDeletedObjectIDsKey), refreshed: list(NSRefreshedObjectsKey))
  }
}

extension Notification.Name {
  /// A context's save succeeded.
  public static let NSManagedObjectContextDidSave = Posting.name("NSManagedObjectContextDidSaveNotification")
  /// A context's save succeeded; with IDs.
  public static let NSManagedObjectContextDidSaveObjectIDs = Posting.name(
    "NSManagedObjectContextDidSaveObjectIDsNotification")
  /// A context begins a save.
  public static let NSManagedObjectContextWillSave = Posting.name("NSManagedObjectContextWillSaveNotification")
  /// Objects of a context changed.
  public static let NSManagedObjectContextObjectsDidChange = Posting.name(
    "NSManagedObjectContextObjectsDidChangeNotification")
}

extension ManagedObjectContext {
  /// The save of a context succeeded; with objects.
  public static var didSaveObjectsNotification: Notification.Name { .NSManagedObjectContextDidSave }
  /// The save of a context succeeded; with IDs.
  public static var didSaveObjectIDsNotification: Notification.Name { .NSManagedObjectContextDidSaveObjectIDs }
  /// A context begins a save.
  public static var willSaveObjectsNotification: Notification.Name { .NSManagedObjectContextWillSave }
  /// Objects of a context changed.
  public static var didChangeObjectsNotification: Notification.Name { .NSManagedObjectContextObjectsDidChange }

  /// Applies what another context saved.
  ///
  /// - Parameter notification: That of the save.
  public func mergeChanges(fromContextDidSave notification: Notification) {
    mergeChanges(fromDidSave: ObjectIDChanges(notification.userInfo ?? [:]))
  }
  /// Applies what was saved elsewhere: lists of IDs under the keys of a notification.
  public static func mergeChanges(
    fromRemoteContextSave changes: [AnyHashable: Any], into contexts: [ManagedObjectContext]
  ) { mergeChanges(fromRemoteContextSave: ObjectIDChanges(changes), into: contexts) }
}

extension ManagedObjectContext {
  /// The keys of notifications.
  public enum NotificationKey: String, Sendable {
    case insertedObjects = "inserted"
    case updatedObjects = "updated"
    case deletedObjects = "deleted"
    case refreshedObjects = "refreshed"
    case invalidatedObjects = "invalidated"
    case invalidatedAllObjects = "invalidatedAll"
    case insertedObjectIDs = "inserted_objectIDs"
    case updatedObjectIDs = "updated_objectIDs"
    case deletedObjectIDs = "deleted_objectIDs"
  }
}

/// The new objects, in a notification.
public let NSInsertedObjectsKey = "inserted"
/// The changed objects, in a notification.
public let NSUpdatedObjectsKey = "updated"
/// The deleted objects, in a notification.
public let NSDeletedObjectsKey = "deleted"
/// The refreshed objects, in a notification.
public let NSRefreshedObjectsKey = "refreshed"
/// The objects that cannot be used any more, in a notification.
public let NSInvalidatedObjectsKey = "invalidated"
/// The IDs of all objects of a context that was reset, in a notification.
public let NSInvalidatedAllObjectsKey = "invalidatedAll"
/// The IDs of new objects, in a notification.
public let NSInsertedObjectIDsKey = "inserted_objectIDs"
/// The IDs of changed objects, in a notification.
public let NSUpdatedObjectIDsKey = "updated_objectIDs"
/// The IDs of deleted objects, in a notification.
public let NSDeletedObjectIDsKey = "deleted_objectIDs"
