import AtomicStoreSPI
import FoundationEssentials
import StoreCoordination

/// Inserting, deleting, assigning to stores, and processing pending changes.
extension ManagedObjectContext {
  // MARK: Inserting

  /// Inserts a new object of the entity with that name, as an instance of the class registered for it, or else of
  /// `ManagedObject`.
  ///
  /// ```swift
  /// let person = try context.insertNewObject(forEntityName: "Person")
  /// person["name"] = "Ada"
  /// ```
  ///
  /// - Throws: `.undefinedKey` for a name that the model does not have; `.invalidValue` for an abstract entity;
  ///   `.storeAssignment` if no open store accepts the entity, or if several could and a later ``assign(_:to:)`` cannot
  ///   choose between them.
  @discardableResult
  public func insertNewObject(forEntityName name: String) throws(ManagedObjectError) -> ManagedObject {
    guard let entity = managedObjectModel?.entity(named: name) else {
      let names = managedObjectModel?.entities.map(\.name) ?? []
      throw ManagedObjectError(
        .undefinedKey, "the model has no entity '\(name)'\(Suggestion.text(for: name, among: names))", entityName: name)
    }
    guard !entity.isAbstract else {
      throw ManagedObjectError(.invalidValue, "\(name) is abstract and cannot have objects", entityName: name)
    }
    let object = make(ModelPlan.plan(of: entity.model).entities[entity.index])
    insert(object)
    return object
  }

  // MARK: Which store

  /// Chooses the store of a new object if several could accept it.
  ///
  /// - Throws: `.storeAssignment` if the object is already saved, or if the store is read-only, not open, or its
  ///   configuration does not have the entity; `.managedObjectExternalRelationship` if the object has relationships to
  ///   objects of another store.
  public func assign(_ object: ManagedObject, to store: PersistentStore) throws(ManagedObjectError) {
    func refused(_ code: ManagedObjectError.Code, _ reason: String) -> ManagedObjectError {
      object.objectError(code, "\(object.plan.name) cannot be assigned to \(store.path): \(reason)")
    }
    guard object.context === self, object.flags.contains(.inserted), !object.flags.contains(.permanent) else {
      throw refused(.storeAssignment, "only new objects without a permanent ID can be assigned")
    }
    guard persistentStoreCoordinator.persistentStores.contains(where: { $0 === store }) else {
      throw refused(.storeAssignment, "the store does not belong to the coordinator")
    }
    guard !store.isReadOnly else { throw refused(.storeAssignment, "the store is open read-only") }
    guard store.takes(object.plan.entity) else {
      throw refused(.storeAssignment, "its configuration '\(store.configurationName ?? "")' does not have the entity")
    }
    // Objects of a child context use the `StoreCache`s of the topmost context.
    let cache = topmost.cache(of: store)
    for p in object.plan.relationships where !object.plan.properties[p].isTransient {
      let others = object.ends(p)
      for other in others where other !== object && (cacheForCheck(other) ?? cache) !== cache {
        throw refused(
          .managedObjectExternalRelationship,
          "its \(object.plan.properties[p].name) leads to an object of \(cacheForCheck(other)?.store.path ?? "another store")"
        )
      }
    }
    object.cache = cache
    object.reference = nil
  }

  // MARK: Deleting

  /// Deletes an object with the next save. Its delete rules are applied when pending changes are processed, or
  /// immediately if ``propagatesDeletesAtEndOfEvent`` is false. A new object is removed from the context.
  ///
  /// ```swift
  /// for person in try context.fetch(FetchRequest(entityName: "Person")) { context.delete(person) }
  /// try context.save()
  /// ```
  public func delete(_ object: ManagedObject) {
    checkThread()
    guard object.context === self, object.flags.isDisjoint(with: [.deleted, .deleting]), object.isReachable
    else { return }
    if type(of: object) != ManagedObject.self {
      // The hook may delete other objects, whose hooks delete this one.
      object.flags.insert(.deleting)
      callout { object.prepareForDeletion() }
      object.flags.remove(.deleting)
    }
    guard object.context === self, !object.flags.contains(.deleted) else { return }
    undoManager?.log(.deleted(object))
    applyDelete(object)
    if !propagatesDeletesAtEndOfEvent, !isProcessing { propagateDeletes() }
  }

  /// The part of a deletion that redo performs as well.
  func applyDelete(_ object: ManagedObject) {
    if object.flags.contains(.inserted) {
      inserted.remove(object)
    } else {
      if object.flags.contains(.updated) { updated.remove(object) }
      object.flags.remove(.updated)
      deleted.append(object)
    }
    object.flags.insert(.deleted)
    object.flags.remove([.propagated, .prepared])
    unpropagated.append(object)
    notice.deleted.append(object)
  }

  /// Applies the delete rules of deleted objects: Nullify and Cascade. Deny is checked by validation, and No Action
  /// does nothing.
  func propagateDeletes() {
    // A cascade calls this again for each object; the list being iterated takes them up.
    guard !isPropagating else { return }
    isPropagating = true
    defer { isPropagating = false }
    var next = 0
    while next < unpropagated.count {
      let object = unpropagated[next]
      next += 1
      guard object.flags.contains(.deleted), !object.flags.contains(.propagated) else { continue }
      object.flags.insert(.propagated)
      // It may have turned into a fault since.
      guard object.isReachable else { continue }
      for p in object.plan.relationships {
        let property = object.plan.properties[p]
        let rule = property.deleteRule
        guard rule == .cascade || rule == .nullify && property.inverse >= 0 else { continue }
        let others = object.ends(p)
        for other in others where other !== object && other.context === self && !other.flags.contains(.deleted) {
          guard rule == .cascade else {
            other.unlink(property.inverse, object)
            continue
          }
          if other.isReachable, isStillEnd(other, of: object, p) { delete(other) }
        }
      }
    }
    for object in unpropagated where object.flags.contains([.inserted, .deleted]) {
      // It was never saved: now only the undo history holds it.
      leave(object, .neverSaved)
    }
    unpropagated = []
  }

  /// Whether the object at the other end of a relationship still is there. If the two objects read different versions
  /// of the store, the later version decides whether it was moved away; a change made here is later than both.
  private func isStillEnd(_ other: ManagedObject, of object: ManagedObject, _ p: Int) -> Bool {
    let q = object.plan.properties[p].inverse
    guard q >= 0, let one = object.base, let two = other.base, one !== two else { return true }
    if other.layered(q) == nil, one.serial > two.serial { return true }
    return isEnd(other, q, object)
  }

  /// Determines what deleting an object would do, without doing it.
  ///
  /// - Returns: The objects that would be deleted with it, those that would lose a relationship, and those that forbid
  ///   the deletion.
  public func deletionPlan(for object: ManagedObject) -> DeletionPlan {
    var plan = DeletionPlan()
    var seen: Set<ObjectIdentifier> = [ObjectIdentifier(object)]
    let trail = DeletionTrail()
    var rest: [(object: ManagedObject, place: Int)] = [(object, trail.add(object.plan.name, after: nil))]
    var next = 0
    while next < rest.count {
      let (current, place) = rest[next]
      next += 1
      plan.deleted.append(.init(object: current, trail: trail, place: place))
      guard current.isReachable else { continue }
      for p in current.plan.relationships {
        let property = current.plan.properties[p]
        let rule = property.deleteRule
        let others = current.ends(p)
        guard rule != .noAction, others.contains(where: { !$0.flags.contains(.deleted) }) else { continue }
        let step = trail.add(property.name, after: place)
        for other in others where !other.flags.contains(.deleted) {
          switch rule {
          case .cascade:
            if seen.insert(ObjectIdentifier(other)).inserted { rest.append((other, step)) }
          case .nullify:
            if property.inverse >= 0 {
              plan.nullified.append(
                .init(object: other, trail: trail, place: step, key: other.plan.properties[property.inverse].name))
            }
          case .deny: plan.denied.append(.init(object: other, trail: trail, place: step, key: property.name))
          case .noAction: break
          }
        }
      }
    }
    plan.nullified.removeAll { seen.contains(ObjectIdentifier($0.object)) }
    plan.denied.removeAll { seen.contains(ObjectIdentifier($0.object)) }
    var losses: [LostEnd: Int] = [:]
    for step in plan.nullified { losses[LostEnd(step), default: 0] += 1 }
    plan.violated = plan.nullified.filter { step in
      guard let p = step.object.plan.property(named: step.key) else { return false }
      let property = step.object.plan.properties[p]
      guard property.relationship?.isOptional == false else { return false }
      if allowsEmptyNonOptionalToMany, property.isToMany, (property.relationship?.minimumCount ?? 0) <= 0 {
        return false
      }
      return property.kind == .toOne || step.object.toManyCount(p) <= losses[LostEnd(step), default: 0]
    }
    return plan
  }

  // MARK: Noting changes

  // MARK: Processing

  /// Applies delete rules, closes the undo group of the event, and notifies observers of the changes since the last
  /// call.
  ///
  /// Contexts are not tied to a run loop. A fetch, a save and an undo call this method; a program with an event loop
  /// calls it at the end of each event.
  ///
  /// ```swift
  /// try object.setValue(nil, forKey: "department")
  /// context.processPendingChanges()
  /// ```
  public func processPendingChanges() {
    checkThread()
    guard !isProcessing else { return }
    mergeDeliveredSaves()
    isProcessing = true
    var rounds = 0
    repeat {
      propagateDeletes()
      rounds += 1
      guard !notice.isEmpty else { break }
      let changes = notice.take()
      guard !changes.isEmpty else { continue }
      post(.objectsDidChange(changes))
    } while rounds < 100 && (!notice.isEmpty || !unpropagated.isEmpty)
    if rounds == 100, !notice.isEmpty {
      record(
        ManagedObjectError(
          .endlessChanges, "observers made further changes in each of a hundred rounds of notifications"))
    }
    event.end()
    if accessProbe?.isUsed ?? false { accessProbe = AccessProbe() }
    undoManager?.endEvent()
    if fetchState.pendingValues != nil, inserted.isEmpty, updated.isEmpty { forgetPendingValues() }
    isProcessing = false
    runDeferredBlocks()
  }
}

/// A relationship that loses objects by a deletion.
private struct LostEnd: Hashable {
  let object: ObjectIdentifier
  let key: ScalarString
  init(_ step: DeletionPlan.Step) {
    object = ObjectIdentifier(step.object)
    key = ScalarString(step.key)
  }
}

/// The effects of a deletion: see ``ManagedObjectContext/deletionPlan(for:)``.
public struct DeletionPlan {
  /// One effect of the deletion on an object: it is deleted, it loses an object from a relationship, or it forbids the
  /// deletion.
  public struct Step: CustomStringConvertible {
    /// The affected object.
    public let object: ManagedObject
    let trail: DeletionTrail
    let place: Int
    /// The affected property; empty for deletions.
    public var key = ""
    /// The path by which the deletion reaches the object, such as `Department.employees`.
    public var path: String { trail.path(to: place) }
    public var description: String { "\(path): \(object.objectID)" }
  }
  /// The object itself first, then the objects deleted by Cascade.
  public var deleted: [Step] = []
  /// The relationships that would lose an object.
  public var nullified: [Step] = []
  /// The objects that forbid the deletion by the rule Deny.
  public var denied: [Step] = []
  /// Those of ``nullified`` whose relationship must not be empty: the save would fail.
  public var violated: [Step] = []
  /// Whether a save after the deletion could succeed, as far as delete rules and mandatory inverses are concerned.
  public var isAllowed: Bool { denied.isEmpty && violated.isEmpty }
}

extension ManagedObjectContext {
  func pendingChanges() -> ObjectChanges {
    ObjectChanges(inserted: inserted.elements, updated: updated.elements, deleted: deleted.elements)
  }
}
