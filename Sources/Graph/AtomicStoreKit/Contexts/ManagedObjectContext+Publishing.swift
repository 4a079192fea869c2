import AtomicStoreSPI
import StoreCoordination

/// After a save: objects read what their stores hold now.
extension ManagedObjectContext {
  /// Notes the changed and deleted objects that read older versions than those that the save is based on: their other
  /// ends are to follow. A merge policy may keep an object that is deleted here.
  func noteStaleObjects(_ versions: [(cache: StoreCache, version: NodeVersion)]) {
    guard versions.contains(where: \.cache.isMixed) else { return }
    for object in updated.elements + deleted.elements {
      guard let cache = object.cache, let base = object.base, base !== storeVersion(of: object, versions) else {
        continue
      }
      cache.moved.append(MovedObject(object: object, base: base, node: object.node))
    }
  }

  /// Updates the objects to their state in the stores after the save.
  func publish(_ versions: [(cache: StoreCache, before: NodeVersion, now: NodeVersion)]) {
    var changes = pendingChanges()
    changes.deletedIDs = changes.deleted.map(\.objectID)
    let savedAll = changes.inserted + changes.updated
    noteNowhere(changes.deleted)
    inserted.removeAll()
    updated.removeAll()
    deleted.removeAll()
    // While all of them can still be found: undo restores them as new objects with the same partners.
    for object in changes.deleted where undoManager?.holds(object) ?? false { object.detachFromBase() }
    for object in changes.deleted {
      leave(object, object.flags.contains(.merged) ? .merged : .deletedHere)
      retained[ObjectIdentifier(object)] = nil
    }
    for object in savedAll {
      object.flags.remove([.inserted, .updated, .permanent])
      object.keepTransients()
    }
    for (cache, before, now) in versions {
      rememberAggregates(in: cache, now)
      if cache.isIncremental { cache.replaceWindow(by: now) }
      for object in changes.inserted where object.cache === cache {
        if let reference = object.reference, let node = now.knownHandle(for: reference, root: object.plan.root) {
          object.base = now
          object.node = node
        }
        if !object.flags.contains(.registered) { cache.registerNew(object) }
        if retainsRegisteredObjects { retained[ObjectIdentifier(object)] = object }
      }
      for object in changes.updated where object.cache === cache && object.base === before {
        guard let reference = object.reference, let node = now.knownHandle(for: reference, root: object.plan.root)
        else {
          continue
        }
        move(object, to: now, node, isSaved: true)
      }
      advance(cache, from: before, to: now)
    }
    agreeEnds(of: versions.flatMap(\.cache.moved))
    for object in savedAll where type(of: object) != ManagedObject.self && object.context === self {
      callout { object.didSave() }
    }
    for object in changes.deleted where type(of: object) != ManagedObject.self { callout { object.didSave() } }
    post(.didSave(changes))
    processPendingChanges()
  }

  /// Lets objects read the new version if their values in it are the same as before.
  private func advance(_ cache: StoreCache, from before: NodeVersion, to now: NodeVersion) {
    // A window that took over what was saved is what all of them read already.
    guard now !== before else { return }
    var isUniform = true
    for object in cache.registeredObjects {
      guard let base = object.base, base !== now, let reference = object.reference else { continue }
      guard object.flags.contains(.realized) else {
        object.base = nil
        continue
      }
      // An older version is released only if its values are the same: changes by others are not taken over silently.
      guard let node = now.knownHandle(for: reference, root: object.plan.root), node.entity == object.plan.index,
        base === before
          || !object.plan.entity.slots.contains(where: { base.differs(slot: $0, of: object.node, from: now, node) })
      else {
        isUniform = false
        continue
      }
      move(object, to: now, node)
    }
    if isUniform { cache.unify(now) }
  }

  /// Objects that still reference a deleted one, because no inverse or rule updated them, lead to a fault without a row
  /// until they are refreshed. In the store, the reference is removed.
  private func noteNowhere(_ gone: [ManagedObject]) {
    guard !gone.isEmpty else { return }
    for cache in caches {
      let plans = Set(gone.lazy.filter { $0.cache === cache }.map(\.plan.index)).map { cache.plan.entities[$0] }
      // For each entity, its relationships that may lead there.
      let ways = cache.plan.entities.map { holder in
        holder.relationships.filter { p in plans.contains { leads(holder.properties[p], to: $0) } }
      }
      guard ways.contains(where: { !$0.isEmpty }) else { continue }
      for holder in cache.registeredObjects where holder.flags.contains(.realized) && !holder.flags.contains(.deleted) {
        for p in ways[holder.plan.index] {
          guard let object = holder.toOneObject(p), object.flags.contains(.deleted), object.cache === cache,
            leads(holder.plan.properties[p], to: object.plan)
          else { continue }
          holder.setOverlay(p, .object(object))
        }
      }
    }
  }

  /// Whether a to-one may still lead to an object after its deletion was propagated.
  private func leads(_ property: PropertyPlan, to destination: EntityPlan) -> Bool {
    guard property.kind == .toOne, property.slot >= 0, destination.isKind(of: property.destination) else {
      return false
    }
    guard property.inverse >= 0 else { return true }
    return destination.properties[property.inverse].deleteRule == .noAction
  }
}
