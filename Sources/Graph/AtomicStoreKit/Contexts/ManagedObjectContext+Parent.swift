import AtomicStoreSPI
import FoundationEssentials

/// Child contexts: each object represents an object of the parent, and a save changes the parent.
extension ManagedObjectContext {
  /// Reads the parent's values again and reapplies this object's changes to them.
  func refreshFromParent(_ object: ManagedObject, _ parentObject: ManagedObject) {
    guard parentObject.isReachable else { return }
    // Changes to sets are kept as added and removed objects, not as whole sets; lists are merged.
    var lists: [(p: Int, list: OrderedObjectList, before: [ManagedObject])] = []
    var kept: [(p: Int, added: [ManagedObject], removed: [ManagedObject])] = []
    for p in object.plan.relationships {
      if case .ordered(let list)? = object.edits?[p] { lists.append((p, list, overlayMembers(of: object, p).elements)) }
      guard let edits = object.edits, case .changes(let changes)? = edits[p] else { continue }
      let before = overlayMembers(of: object, p)
      kept.append((p, changes.added.filter { !before.contains($0) }, before.filter { !changes.added.contains($0) }))
    }
    takeValues(object, parentObject)
    for (p, list, before) in lists {
      object.putOrdered(p, list.merged(over: overlayMembers(of: object, p).elements, from: before))
    }
    for (p, added, removed) in kept {
      object.setEdit(p, nil)
      for other in removed { object.applyRemove(p, other) }
      for other in added where !object.toManyContains(p, other) { object.applyAdd(p, other, at: nil) }
    }
  }

  /// Passes all changes to the parent, where they are pending changes like any other until it saves.
  func saveToParent() throws(ManagedObjectError) {
    guard let parent else { return }
    var changes = pendingChanges()
    changes.deletedIDs = changes.deleted.map(\.objectID)
    // Pass nothing on before it is certain that everything can be passed on.
    for object in changes.updated + changes.deleted {
      guard let parentObject = object.extras?.parentObject, parentObject.isReachable,
        !parentObject.flags.contains(.deleted) || object.flags.contains(.deleted)
      else {
        throw object.objectError(
          .managedObjectMerge, "\(object.rowName) does not exist in the parent context", reason: .notInStore)
      }
      // What a fault reads moves on with its store, and a change by others would not be noticed as a conflict.
      if object.flags.isDisjoint(with: .deleted), !parentObject.flags.contains(.deleted) { try parentObject.realize() }
    }
    for object in changes.inserted + changes.updated { try checkDestinations(of: object) }
    for object in changes.inserted {
      let made = parent.make(object.plan)
      let name = object.extras?.temporaryName
      object.needExtras().parentObject = made
      byParent[ObjectIdentifier(made)] = .passUnretained(object)
      parent.insert(made, awakens: false)
      if let cache = object.cache { made.cache = cache }
      parent.takePermanentID(of: object, for: made)
      if let name {
        made.needExtras().temporaryName = name
        parent.temporaryIDs.remember(made, as: name)
      }
    }
    // Merged before anything is handed over: each end that changes in the parent changes the other one, too.
    let orders = (changes.inserted + changes.updated).flatMap(mergedOrders)
    for object in changes.deleted + changes.inserted + changes.updated { handOver(object, to: parent) }
    for order in orders { handOver(order, to: parent) }
    for object in changes.deleted {
      if let parentObject = object.extras?.parentObject, !parentObject.flags.contains(.deleted) {
        parent.delete(parentObject)
      }
    }
    parent.processPendingChanges()
    inserted.removeAll()
    updated.removeAll()
    deleted.removeAll()
    for object in changes.deleted {
      if let parentObject = object.extras?.parentObject { byParent[ObjectIdentifier(parentObject)] = nil }
      retained[ObjectIdentifier(object)] = nil
      object.abandon(.deletedHere)
    }
    for object in changes.inserted + changes.updated {
      object.flags.remove([.inserted, .updated])
      object.keepTransients()
      if let parentObject = object.extras?.parentObject { takeValues(object, parentObject, isSaved: true) }
    }
    for object in changes.inserted + changes.updated where type(of: object) != ManagedObject.self {
      callout { object.didSave() }
    }
    post(.didSave(changes))
    processPendingChanges()
  }

  /// Checks that the destinations of a changed relationship are in the parent, or are added to it by this save.
  private func checkDestinations(of object: ManagedObject) throws(ManagedObjectError) {
    guard let edits = object.edits else { return }
    for p in object.plan.relationships {
      let others: [ManagedObject]
      switch edits[p] {
      case .object(let other?): others = [other]
      case .changes(let changes):
        let before = overlayMembers(of: object, p)
        others = changes.added.filter { !before.contains($0) }
      case .ordered(let list): others = list.elements
      default: continue
      }
      for other in others {
        guard let parentOther = other.extras?.parentObject, !other.flags.contains(.deleted) else { continue }
        guard parentOther.isReachable, !parentOther.flags.contains(.deleted) else {
          throw object.objectError(
            .managedObjectMerge,
            "\(object.plan.name).\(object.plan.properties[p].name) refers to \(other.rowName), which does not exist in the parent context",
            key: object.plan.properties[p].name, reason: .notInStore)
        }
      }
    }
  }

  /// The order that a list of the parent gets: its members follow from what is handed over.
  private struct MergedOrder {
    let target: ManagedObject
    let p: Int
    let members: [ManagedObject]
  }

  /// Merges each changed list of an object with the one that the parent has.
  private func mergedOrders(of object: ManagedObject) -> [MergedOrder] {
    guard let target = object.extras?.parentObject, let edits = object.edits else { return [] }
    return object.plan.relationships.compactMap { p in
      guard case .ordered(let list)? = edits[p], !object.plan.properties[p].isTransient else { return nil }
      func above(_ list: [ManagedObject]) -> [ManagedObject] { list.compactMap { $0.extras?.parentObject } }
      let mine = OrderedObjectList(above(list.elements))
      let merged = mine.merged(over: target.toManyObjects(p), from: above(overlayMembers(of: object, p).elements))
      return MergedOrder(target: target, p: p, members: merged.elements)
    }
  }

  private func handOver(_ order: MergedOrder, to parent: ManagedObjectContext) {
    guard !order.target.flags.contains(.deleted) else { return }
    let present = order.target.toManyObjects(order.p)
    let merged = ObjectList(order.members)
    let members = order.members.filter(ObjectList(present).contains) + present.filter { !merged.contains($0) }
    do throws(ManagedObjectError) { try order.target.setToMany(order.p, members) } catch { parent.record(error) }
  }

  /// The members that the parent had when this context read a to-many.
  private func overlayMembers(of object: ManagedObject, _ p: Int) -> ObjectList {
    switch object.overlay?[p] {
    case .changes(let under)?: under.added
    case .ordered(let under)?: ObjectList(under.elements)
    default: ObjectList()
    }
  }

  /// The objects at the other end of a relationship when this context read it from the parent.
  func overlayEnds(of object: ManagedObject, _ p: Int) -> ObjectList {
    if case .object(let other?)? = object.overlay?[p] { return ObjectList([other]) }
    return overlayMembers(of: object, p)
  }

  private func handOver(_ object: ManagedObject, to parent: ManagedObjectContext) {
    guard let target = object.extras?.parentObject, !target.flags.contains(.deleted), let edits = object.edits else {
      return
    }
    for p in edits.indices {
      guard let edit = edits[p] else { continue }
      // For a deleted object, only what could forbid the deletion matters.
      if object.flags.contains(.deleted), object.plan.properties[p].deleteRule != .deny { continue }
      // The values were validated here: the parent can only refuse an object that is no longer in it.
      do throws(ManagedObjectError) {
        switch edit {
        case .stored(let value): try target.setStoredValue(p, value)
        case .transient(let value): try target.setValue(value, at: p)
        case .object(let other): try target.setToOne(p, other?.extras?.parentObject)
        case .ordered(let list): try handOver(list.elements, of: object, p, to: target)
        case .changes(let changes): try handOver(changes.added.elements, of: object, p, to: target)
        }
      } catch {
        parent.record(error)
      }
    }
  }

  /// Removes from a to-many of the parent what was removed here, and adds what was added.
  private func handOver(
    _ members: [ManagedObject], of object: ManagedObject, _ p: Int, to target: ManagedObject
  ) throws(ManagedObjectError) {
    let before = overlayMembers(of: object, p)
    let now = ObjectList(members)
    for other in before where !now.contains(other) {
      if let other = other.extras?.parentObject { try target.removeObject(p, other) }
    }
    for other in now where !before.contains(other) {
      if let other = other.extras?.parentObject { try target.addObject(p, other, at: nil) }
    }
  }
}
