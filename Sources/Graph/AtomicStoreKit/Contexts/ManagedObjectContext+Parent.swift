import AtomicStoreSPI
import FoundationEssentials

/// Child contexts: each object represents an object of the parent, and a save changes the parent.
extension ManagedObjectContext {
  /// Passes all changes to the parent, where they are pending changes like any other until it saves.
  func saveToParent() throws(ManagedObjectError) {
    guard let parent else { return }
    var changes = pendingChanges()
    changes.deletedIDs = changes.deleted.map(\.objectID)
    // What a fault reads moves on with its store, and a change by others would not be noticed as a conflict.
    for object in changes.updated { try object.extras?.parentObject?.realize() }
    for object in changes.inserted {
      if let lost = object.extras?.parentObject {
        if parent.restoreDeleted(lost) {
          object.flags.remove(.permanent)
          continue
        }
        byParent[ObjectIdentifier(lost)] = nil
      }
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
      // What the parent has lost needs no deletion.
      if let parentObject = object.extras?.parentObject, parentObject.context === parent { parent.delete(parentObject) }
    }
    parent.processPendingChanges()
    inserted.removeAll()
    updated.removeAll()
    deleted.removeAll()
    for object in changes.deleted {
      retained[ObjectIdentifier(object)] = nil
      dismiss(object, .deletedHere)
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

  /// Undoes a deletion of this context that it has not saved, because a child context keeps the object: the child
  /// passes all of its values.
  ///
  /// - Returns: False if the object is not waiting for its deletion.
  private func restoreDeleted(_ object: ManagedObject) -> Bool {
    guard object.context === self, object.flags.contains(.deleted), !object.flags.contains(.inserted),
      object.isReachable
    else { return false }
    undoManager?.disableUndoRegistration()
    defer { undoManager?.enableUndoRegistration() }
    propagateDeletes()
    deleted.remove(object)
    object.flags.remove([.deleted, .propagated])
    // The delete rules have released the other ends, which the child joins again.
    for p in object.plan.relationships {
      for other in object.ends(p) {
        if object.plan.properties[p].isToMany { object.applyRemove(p, other) } else { object.applyToOne(p, nil) }
      }
    }
    noteChange(of: object)
    noteInserted(object)
    return true
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

  private func handOver(_ object: ManagedObject, to parent: ManagedObjectContext) {
    guard let target = object.extras?.parentObject, target.context === parent, !target.flags.contains(.deleted),
      let edits = object.edits
    else { return }
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
