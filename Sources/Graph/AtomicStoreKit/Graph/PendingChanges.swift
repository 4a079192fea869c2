/// What changed objects were like before the changes of the current event, which ends when observers have been
/// notified.
///
/// Recording must be cheap, since every change passes it: an object is recorded at its first change in an event, with a
/// reference to its edits. To-many relationships are changed in place, so for them the single steps are recorded.
struct EventRecords {
  enum ListStep {
    case added(ManagedObject)
    /// Removed, from that index if the relationship is ordered.
    case removed(ManagedObject, at: Int?)
    /// Reordered; it was this list before.
    case ordered([ManagedObject])
  }
  private struct Record {
    let object: ManagedObject
    /// Without lists.
    let edits: ContiguousArray<PropertyValue?>?
  }
  private var records: ContiguousArray<Record> = []
  private var steps: ContiguousArray<(object: ManagedObject, property: Int, step: ListStep)> = []
  /// The index of each object's first record, as far as ``indexedCount``; created when it is needed.
  private var places: [ObjectIdentifier: Int] = [:]
  private var indexedCount = 0
  private var stepPlaces: [ObjectIdentifier: [Int]] = [:]
  private var indexedStepCount = 0

  mutating func record(_ object: ManagedObject) {
    object.flags.insert(.recorded)
    guard var edits = object.edits else { return records.append(Record(object: object, edits: nil)) }
    for p in edits.indices {
      switch edits[p] {
      // A second reference to a list would make the next change copy it.
      case .changes?, .ordered?: edits[p] = nil
      case .stored?, .object?, .transient?, nil: break
      }
    }
    records.append(Record(object: object, edits: edits))
  }

  mutating func recordInsertion(of object: ManagedObject) {
    object.flags.formUnion(.insertedAndRecorded)
    records.append(Record(object: object, edits: nil))
  }

  mutating func record(_ object: ManagedObject, _ property: Int, _ step: ListStep) {
    if object.flags.contains(.insertedInEvent) { return }
    if !object.flags.contains(.recorded) { record(object) }
    steps.append((object, property, step))
  }

  /// Ends the event.
  mutating func end() {
    guard !records.isEmpty else { return }
    for record in records { record.object.flags.subtract(.insertedAndRecorded) }
    self = EventRecords()
  }

  /// The value that overrode the store's before the event; nil if there was none.
  mutating func edit(of object: ManagedObject, _ property: Int) -> PropertyValue? {
    while indexedCount < records.count {
      let key = ObjectIdentifier(records[indexedCount].object)
      if places[key] == nil { places[key] = indexedCount }
      indexedCount += 1
    }
    return places[ObjectIdentifier(object)].flatMap { records[$0].edits?[property] }
  }

  /// The objects of a to-many before the event; nil if it was not changed.
  mutating func objects(of object: ManagedObject, _ property: Int, now: [ManagedObject]) -> [ManagedObject]? {
    while indexedStepCount < steps.count {
      stepPlaces[ObjectIdentifier(steps[indexedStepCount].object), default: []].append(indexedStepCount)
      indexedStepCount += 1
    }
    var list = OrderedObjectList(now)
    var isChanged = false
    for place in (stepPlaces[ObjectIdentifier(object)] ?? []).reversed() where steps[place].property == property {
      isChanged = true
      switch steps[place].step {
      case .added(let member): _ = list.remove(member)
      case .removed(let member, let place): list.insert(member, at: place ?? list.count)
      case .ordered(let before): list = OrderedObjectList(before)
      }
    }
    return isChanged ? list.elements : nil
  }
}

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
