import AtomicStoreSPI
import FoundationEssentials
import StoreCoordination

/// Inserting, deleting, assigning to stores, and the processing of pending changes.
extension ManagedObjectContext {
  // MARK: Inserting

  /// Inserts a new object of the entity of that name: of the class registered for it, or the generic one.
  ///
  /// - Throws: `.undefinedKey` for a name that the model does not have, `.invalidValue` for an abstract entity,
  ///   `.storeAssignment` where no open store takes the entity, or several could and cannot be told apart by a later
  ///   ``assign(_:to:)`` either.
  @discardableResult
  public func insertNewObject(forEntityName name: String) throws(ManagedObjectError) -> ManagedObject {
    guard let entity = managedObjectModel?.entity(named: name) else {
      let names = managedObjectModel?.entities.map(\.name) ?? []
      throw ManagedObjectError(
        .undefinedKey, "the model has no entity '\(name)'\(Suggestion.text(for: name, among: names))", entityName: name)
    }
    guard !entity.isAbstract else {
      throw ManagedObjectError(.invalidValue, "\(name) is abstract and has no objects", entityName: name)
    }
    let object = make(ModelPlan.plan(of: entity.model).entities[entity.index])
    insert(object)
    return object
  }

  /// Inserts an object that stands alone. One that is in a context already is left as it is.
  public func insert(_ object: ManagedObject) { insert(object, awakens: true) }

  /// - Parameter awakens: False for an object that a child context has awakened.
  func insert(_ object: ManagedObject, awakens: Bool) {
    guard object.context == nil, object.extras?.gone == nil else { return }
    object.context = self
    knowTemporaryID(of: object)
    // One that was given values while it stood alone has its defaults already.
    if !object.flags.contains(.realized) {
      for (p, value) in object.plan.defaults { object.setEdit(p, .stored(value)) }
    }
    object.flags.insert([.inserted, .realized])
    object.home = parent == nil ? soleHome(for: object.plan) : nil
    inserted.append(object)
    undoManager?.log(.inserted(object))
    noteInserted(object)
    guard awakens, type(of: object) != ManagedObject.self else { return }
    callout { object.awakeFromInsert() }
  }

  /// Its temporary ID may have been asked for while it was in no context.
  private func knowTemporaryID(of object: ManagedObject) {
    if let name = object.extras?.temporaryName { remember(object, as: name) }
  }

  /// The entity that a class is registered for; nil where it is for none.
  func entity(for type: ManagedObject.Type) -> Entity? {
    if let known = entitiesByClass[ObjectIdentifier(type)] { return known }
    guard let found = findEntity(for: type, String(describing: type)) else { return nil }
    entitiesByClass[ObjectIdentifier(type)] = found
    return found
  }

  private func findEntity(for type: ManagedObject.Type, _ name: String) -> Entity? {
    if let model = managedObjectModel {
      if let own = classes[ScalarString(name)], own == type, let entity = model.entity(named: name) { return entity }
      for key in classes.keys.sorted() where classes[key] == type {
        if let entity = model.entity(named: key.string) { return entity }
      }
      if let entity = model.entity(named: name) { return entity }
    }
    return nil
  }

  /// An object of a class that is registered for no entity: it can be held and not saved, and the next save says so.
  func refuseUnregistered(_ object: ManagedObject) {
    let name = String(describing: type(of: object))
    let error = ManagedObjectError(
      .managedObjectValidation,
      "\(name) is registered for no entity: call "
        + "setManagedObjectClass(\(name).self, forEntityName:) on the coordinator "
        + "before contexts are made")
    object.refuse(error)
    object.needExtras().gone = .neverSaved
    refusedAssignments.append(error)
  }

  // MARK: Which store

  /// Chooses the store of a new object, where several could take it.
  ///
  /// - Throws: `.storeAssignment` for an object that is saved already, a store that is read-only, not open, or whose
  ///   configuration does not have the entity; `.managedObjectExternalRelationship` where the object has relationships
  ///   to objects of another store.
  public func assign(_ object: ManagedObject, to store: PersistentStore) throws(ManagedObjectError) {
    func refused(_ code: ManagedObjectError.Code, _ reason: String) -> ManagedObjectError {
      ManagedObjectError(
        code, "\(object.plan.name) cannot be assigned to \(store.path): \(reason)", objectID: object.objectID,
        entityName: object.plan.name)
    }
    guard object.context === self, object.flags.contains(.inserted), !object.flags.contains(.permanent) else {
      throw refused(.storeAssignment, "only new objects without a permanent ID are assigned")
    }
    guard persistentStoreCoordinator.persistentStores.contains(where: { $0 === store }) else {
      throw refused(.storeAssignment, "the store is not one of the coordinator's")
    }
    guard !store.isReadOnly else { throw refused(.storeAssignment, "the store is open for reading only") }
    guard store.takes(object.plan.entity) else {
      throw refused(.storeAssignment, "its configuration '\(store.configurationName ?? "")' does not have the entity")
    }
    // Objects of a child context name the homes that the topmost one has.
    let home = topmost.home(of: store)
    for p in object.plan.relationships where !object.plan.properties[p].isTransient {
      let others =
        object.plan.properties[p].kind == .toOne ? [object.toOneObject(p)].compactMap { $0 } : object.toManyObjects(p)
      for other in others where other !== object && (homeForCheck(other) ?? home) !== home {
        throw refused(
          .managedObjectExternalRelationship,
          "its \(object.plan.properties[p].name) leads to an object of \(homeForCheck(other)?.store.path ?? "another store")"
        )
      }
    }
    object.home = home
    object.reference = nil
  }

  /// The only open store that takes new objects of the entity; nil for none or several.
  func soleHome(for plan: EntityPlan) -> StoreHome? {
    let generation = persistentStoreCoordinator.generation
    if generation != soleHomesGeneration {
      soleHomes = [:]
      soleHomesGeneration = generation
    }
    if let known = soleHomes[ObjectIdentifier(plan)] { return known }
    let stores = candidates(for: plan)
    let home: StoreHome? = stores.count == 1 ? home(of: stores[0]) : nil
    soleHomes[ObjectIdentifier(plan)] = .some(home)
    return home
  }

  func candidates(for plan: EntityPlan) -> [PersistentStore] {
    persistentStoreCoordinator.persistentStores.filter { !$0.isReadOnly && $0.takes(plan.entity) }
  }

  /// The store that an object is in or will be in, as far as that is known.
  func homeForCheck(_ object: ManagedObject) -> StoreHome? {
    if let home = object.home { return home }
    if let parentObject = object.extras?.parentObject { return parent?.homeForCheck(parentObject) }
    return parent?.topmost.soleHome(for: object.plan) ?? soleHome(for: object.plan)
  }

  var topmost: ManagedObjectContext { parent?.topmost ?? self }

  /// The store of a new object.
  func assignedHome(_ object: ManagedObject) throws(ManagedObjectError) -> StoreHome {
    if let home = object.home {
      if home.currentVersion() != nil { return home }
      guard !object.flags.contains(.permanent) else {
        throw ManagedObjectError(
          .storeAssignment,
          "\(object.plan.name)/\(object.reference.map(\.description) ?? "new") has an ID in \(home.store.path), "
            + "which is not open any more", objectID: object.objectID, entityName: object.plan.name)
      }
    }
    if let home = soleHome(for: object.plan), home.currentVersion() != nil {
      object.home = home
      return home
    }
    let stores = candidates(for: object.plan)
    let message =
      stores.isEmpty
      ? "no open store takes \(object.plan.name)"
      : "several stores take \(object.plan.name), choose with assign(_:to:): "
        + stores.map { "\($0.path) (\($0.configurationName ?? "all entities"))" }.joined(separator: ", ")
    throw ManagedObjectError(.storeAssignment, message, objectID: object.objectID, entityName: object.plan.name)
  }

  // MARK: Deleting

  /// Deletes an object with the next save. Its delete rules are applied when pending changes are processed, or at once
  /// where ``propagatesDeletesAtEndOfEvent`` is false. A new object is simply taken back.
  public func delete(_ object: ManagedObject) {
    guard object.context === self, object.flags.isDisjoint(with: [.deleted, .deleting]), object.isReachable else {
      return
    }
    if type(of: object) != ManagedObject.self {
      // The hook may delete others whose hooks delete this one.
      object.flags.insert(.deleting)
      callout { object.prepareForDeletion() }
      object.flags.remove(.deleting)
    }
    guard object.context === self, !object.flags.contains(.deleted) else { return }
    undoManager?.log(.deleted(object))
    applyDelete(object)
    if !propagatesDeletesAtEndOfEvent, !isProcessing { propagateDeletes() }
  }

  /// The part of a deletion that redo does as well.
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
    noteDeleted(object)
  }

  /// Takes a deletion back: the object alone, its surroundings have operations of their own.
  func applyUndelete(_ object: ManagedObject) {
    unpropagated.removeAll { $0 === object }
    if object.context == nil {
      // Taken back or saved since: it is a new object now, with the values that it had.
      let wasSaved = object.base != nil || object.extras?.gone == .deletedHere || object.extras?.gone == .merged
      object.extras?.gone = nil
      object.extras?.lastID = nil
      object.context = self
      object.flags = [.inserted, .realized]
      if wasSaved {
        object.reference = nil
        object.extras?.temporaryName = nil
      } else if object.reference != nil {
        object.flags.insert(.permanent)
        object.home?.registerNew(object)
      }
      knowTemporaryID(of: object)
      inserted.append(object)
    } else if object.flags.contains(.inserted) {
      object.flags.remove([.deleted, .propagated])
      inserted.append(object)
    } else {
      deleted.remove(object)
      object.flags.remove([.deleted, .propagated])
      if object.edits?.contains(where: { $0 != nil }) == true {
        object.flags.insert(.updated)
        updated.append(object)
      }
    }
    noteInserted(object)
  }

  /// Applies the delete rules of what was deleted: nullify, cascade; deny is left to validation, no action is none.
  func propagateDeletes() {
    // A cascade comes back here with each object; the list that is being gone through takes them up.
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
        let others = property.kind == .toOne ? object.toOneObject(p).map { [$0] } ?? [] : object.toManyObjects(p)
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
      // It was never saved: now nothing is left of it but what undo holds.
      leave(object, .neverSaved)
    }
    unpropagated = []
  }

  /// Whether an object that a relationship of another one leads to is there still. Of two that read different versions
  /// of the store the later one knows whether it was moved away; a change made here is later than both.
  private func isStillEnd(_ other: ManagedObject, of object: ManagedObject, _ p: Int) -> Bool {
    let q = object.plan.properties[p].inverse
    guard q >= 0, let one = object.base, let two = other.base, one !== two else { return true }
    if other.layered(q) == nil, one.serial > two.serial { return true }
    return isEnd(other, q, object)
  }

  /// What deleting an object would do, found without doing it.
  ///
  /// - Returns: What would be deleted with it, what would lose a relationship, and what forbids it.
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
        let others = property.kind == .toOne ? current.toOneObject(p).map { [$0] } ?? [] : current.toManyObjects(p)
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

  func noteChange(of object: ManagedObject) {
    object.flags.remove(.prepared)
    if object.flags.isDisjoint(with: .changed) {
      object.flags.insert(.updated)
      updated.append(object)
    } else if object.flags.contains(.updated), object.edits.map({ !$0.contains { $0 != nil } }) ?? true {
      // All was set back: there is nothing to save.
      object.edits = nil
      object.flags.remove(.updated)
      updated.remove(object)
    }
    if !object.flags.contains(.noticed) {
      object.flags.insert(.noticed)
      notice.touched.append(object)
    }
  }

  private func noteInserted(_ object: ManagedObject) {
    object.flags.remove(.prepared)
    notice.inserted.append(object)
  }
  private func noteDeleted(_ object: ManagedObject) { notice.deleted.append(object) }

  // MARK: Processing

  /// Applies delete rules, ends the undo group of the event, and tells observers what changed since it was last called.
  ///
  /// There is no run loop here: this is done at a fetch, a save and an undo, and when it is called.
  public func processPendingChanges() {
    guard !isProcessing else { return }
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
          .endlessChanges, "observers of changes went on making changes, a hundred times over"))
    }
    undoManager?.endEvent()
    if pendingValues != nil, inserted.isEmpty, updated.isEmpty { forgetPendingValues() }
    isProcessing = false
    runDeferredBlocks()
  }
}

/// A relationship that a deletion would take objects from.
private struct LostEnd: Hashable {
  let object: ObjectIdentifier
  let key: ScalarString
  init(_ step: DeletionPlan.Step) {
    object = ObjectIdentifier(step.object)
    key = ScalarString(step.key)
  }
}

/// What a deletion would do: see ``ManagedObjectContext/deletionPlan(for:)``.
public struct DeletionPlan {
  /// One thing that the deletion would do to an object: delete it, take another away from it, or refuse.
  public struct Step: CustomStringConvertible {
    /// The object concerned.
    public let object: ManagedObject
    let trail: DeletionTrail
    let place: Int
    /// The property that it concerns; empty for deletions.
    public var key = ""
    /// How the deletion comes to it, such as `Department.employees`.
    public var path: String { trail.path(to: place) }
    public var description: String { "\(path): \(object.objectID)" }
  }
  /// The object itself first, then what goes with it by Cascade.
  public var deleted: [Step] = []
  /// What would lose the object from a relationship.
  public var nullified: [Step] = []
  /// What forbids the deletion by the rule Deny.
  public var denied: [Step] = []
  /// Those of the nullified whose relationship must not be empty: the save would fail.
  public var violated: [Step] = []
  /// Whether a save after the deletion could succeed, as far as delete rules and mandatory inverses go.
  public var isAllowed: Bool { denied.isEmpty && violated.isEmpty }
}

/// The ways that a deletion takes. All steps share it: the paths of a long chain, written out, would take room by the
/// square of its length.
final class DeletionTrail {
  private var names: [String] = []
  private var origins: [Int] = []

  /// The place of a name that follows another one's; nil for the first.
  func add(_ name: String, after place: Int?) -> Int {
    names.append(name)
    origins.append(place ?? -1)
    return names.count - 1
  }

  func path(to place: Int) -> String {
    var parts: [String] = []
    var next = place
    while next >= 0 {
      parts.append(names[next])
      next = origins[next]
    }
    return parts.reversed().joined(separator: ".")
  }
}
