/// The changes since the last notification of observers.
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

  /// Combines changes: an object inserted and changed is inserted, one inserted and deleted is not reported.
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
      // An object that was never saved is reported if an earlier notice has reported its insertion.
      let isNew = ObjectList(inserted)
      for object in deleted where object.flags.contains(.deleted) || object.context == nil {
        if isNew.contains(object) { continue }
        if deletedHere.append(object) { changes.deleted.append(object) }
      }
      for object in touched
      where !insertedHere.contains(object) && !deletedHere.contains(object) && object.context != nil {
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
