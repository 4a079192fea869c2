import AtomicStoreSPI

extension ManagedObjectContext {
  /// Makes both ends agree for every relationship that the context changed, based on what the store holds now.
  ///
  /// A context may contain objects that were read at different times. The object at the other end of a relationship,
  /// which follows each change immediately, may then follow it on an older version, which never had the value that it
  /// should lose. Therefore changes are interpreted as edges added and removed, at whichever end they were made, and
  /// applied at both ends to the current version. Every object that this affects is changed too, even one that this
  /// context has not changed or not read.
  ///
  /// - A to-one with a new destination is removed from the destination that the store has for it.
  /// - Between a to-one and a to-many, the to-one decides. A to-one that did not change itself follows the to-many.
  /// - If several objects claim the same end of a one-to-one, a claim made by both ends has precedence, then the object
  ///   that was changed first.
  /// - An object that is being deleted, or was removed from the store, cannot be an end.
  /// - What a merge policy decided in favor of the store is kept; contradicting changes at the other end are dropped.
  ///
  /// Changed objects of the store must already read `version`: see ``resolveConflicts(_:)``.
  ///
  /// - Returns: Whether it changed any object.
  func reconcileRelationships(in cache: StoreCache, _ version: NodeVersion, _ decided: DecidedEnds) -> Bool {
    undoManager?.disableUndoRegistration()
    defer { undoManager?.enableUndoRegistration() }
    let work = RelationshipReconciliation(self, cache, version, decided)
    work.run()
    return work.hasChanged
  }
}

/// One pass of ``ManagedObjectContext/reconcileRelationships(in:_:_:)`` or ``ManagedObjectContext/agreeEnds(of:)``.
final class RelationshipReconciliation {
  let context: ManagedObjectContext
  private let cache: StoreCache
  private let version: NodeVersion
  let decided: DecidedEnds
  /// Whether this is for what the context reads, not for a save.
  let isForReading: Bool
  private let hasNoChanges: Bool
  /// Objects that were given newer values, and whose other ends have yet to follow.
  private var moved: [MovedObject]
  private let movedObjects: Set<ObjectIdentifier>
  private(set) var hasChanged = false

  /// To-ones whose inverse is a to-many, in the order they were found.
  private var toOnes: [(object: ManagedObject, p: Int)] = []
  private var knownToOnes: Set<RelationshipEnd> = []
  /// For each such to-one, the owners whose to-many its object was added to or removed from.
  private var claims: [RelationshipEnd: [ManagedObject]] = [:]
  private var releases: [RelationshipEnd: [ManagedObject]] = [:]
  /// For a reader: owners that a to-one of an older version had.
  private var formerOwners: [RelationshipEnd: [ManagedObject]] = [:]
  /// To-ones whose inverse is a to-one.
  private(set) var partners: [(object: ManagedObject, p: Int)] = []
  private var knownPartners: Set<RelationshipEnd> = []
  /// Edges between two to-manys.
  private var added: [(object: ManagedObject, p: Int, member: ManagedObject)] = []
  private var removed: [(object: ManagedObject, p: Int, member: ManagedObject)] = []

  init(
    _ context: ManagedObjectContext, _ cache: StoreCache, _ version: NodeVersion, _ decided: DecidedEnds,
    moved: [MovedObject]? = nil
  ) {
    self.context = context
    self.cache = cache
    self.version = version
    self.decided = decided
    isForReading = moved != nil
    hasNoChanges = context.inserted.isEmpty && context.updated.isEmpty && context.deleted.isEmpty
    self.moved = moved ?? []
    movedObjects = Set((moved ?? []).lazy.map { ObjectIdentifier($0.object) })
  }

  func run() {
    collect()
    repeat {
      followMoved()
      settleToOnes()
      settlePartners()
      settleSets()
    } while !moved.isEmpty
  }

  // MARK: What was changed

  private func collect() {
    for object in context.inserted.elements + context.updated.elements where object.cache === cache {
      guard let edits = object.edits else { continue }
      for p in object.plan.relationships where edits[p] != nil {
        if let q = inverse(object.plan, p) { collect(object, p, q) }
      }
    }
    for object in context.deleted.elements where object.cache === cache { collectDeleted(object) }
  }

  /// The inverse of a stored relationship, if it has a stored one.
  func inverse(_ plan: EntityPlan, _ p: Int) -> Int? {
    let property = plan.properties[p]
    guard property.slot >= 0, property.inverse >= 0,
      cache.plan.entities[property.destination].properties[property.inverse].slot >= 0
    else { return nil }
    return property.inverse
  }

  private func isToMany(_ plan: EntityPlan, inverseOf p: Int) -> Bool {
    let property = plan.properties[p]
    return cache.plan.entities[property.destination].properties[property.inverse].isToMany
  }

  private func collect(_ object: ManagedObject, _ p: Int, _ q: Int) {
    switch (object.plan.properties[p].isToMany, isToMany(object.plan, inverseOf: p)) {
    case (false, true): note(toOne: object, p)
    case (false, false): note(partner: object, p)
    case (true, false):
      for member in context.addedEnds(of: object, p) {
        claims[RelationshipEnd(member, q), default: []].append(object)
        note(toOne: member, q)
      }
      for member in context.removedEnds(of: object, p) {
        releases[RelationshipEnd(member, q), default: []].append(object)
        note(toOne: member, q)
      }
    case (true, true):
      for member in context.addedEnds(of: object, p) { added.append((object, p, member)) }
      for member in context.removedEnds(of: object, p) { removed.append((object, p, member)) }
    }
  }

  /// Removes the relationships that lead to a deleted object in the store, as far as its delete rules demand it.
  private func collectDeleted(_ object: ManagedObject) {
    guard let node = context.node(of: object, in: version) else { return }
    for p in object.plan.relationships {
      // An object that Deny keeps is left to validation.
      let rule = object.plan.properties[p].deleteRule
      guard rule != .noAction, rule != .deny, let q = inverse(object.plan, p) else { continue }
      for member in stored(object.plan, p, node) where !member.flags.contains(.deleted) {
        // A reader keeps what it read of objects that did not change now.
        if isForReading, !isMoved(object), !isMoved(member) { continue }
        switch (object.plan.properties[p].isToMany, isToMany(object.plan, inverseOf: p)) {
        case (true, false): note(toOne: member, q)
        case (false, false): note(partner: member, q)
        case (_, true): removed.append((object, p, member))
        }
      }
    }
  }

  private func isMoved(_ object: ManagedObject) -> Bool { movedObjects.contains(ObjectIdentifier(object)) }

  private func note(toOne object: ManagedObject, _ p: Int) {
    if knownToOnes.insert(RelationshipEnd(object, p)).inserted { toOnes.append((object, p)) }
  }
  func note(partner object: ManagedObject, _ p: Int) {
    if knownPartners.insert(RelationshipEnd(object, p)).inserted { partners.append((object, p)) }
  }

  /// Collects the relationships in which the objects' newer values differ from the older ones.
  private func followMoved() {
    while let item = moved.popLast() {
      let object = item.object
      guard object.context === context, let node = context.node(of: object, in: version) else { continue }
      for p in object.plan.relationships {
        guard let q = inverse(object.plan, p) else { continue }
        let changed = context.changedEnds(of: item, p, version, node)
        if !changed.isEmpty { follow(object, p, q, changed) }
      }
    }
  }

  private func follow(_ object: ManagedObject, _ p: Int, _ q: Int, _ changed: [ManagedObject]) {
    switch (object.plan.properties[p].isToMany, isToMany(object.plan, inverseOf: p)) {
    case (false, true):
      formerOwners[RelationshipEnd(object, p), default: []] += changed
      note(toOne: object, p)
    case (false, false):
      note(partner: object, p)
      for other in changed { note(partner: other, q) }
    case (true, false): for member in changed { note(toOne: member, q) }
    case (true, true):
      for member in changed where member.flags.contains(.realized) && stays(member) {
        if shows(object, p, member) { add(member, q, object) } else { remove(member, q, object) }
      }
    }
  }

  // MARK: What the store holds

  private func stored(_ plan: EntityPlan, _ p: Int, _ node: NodeHandle) -> [ManagedObject] {
    context.storedEnds(plan, p, node, version, cache)
  }

  func storedOne(_ object: ManagedObject, _ p: Int) -> ManagedObject? {
    guard !object.flags.contains(.inserted), let node = context.node(of: object, in: version) else { return nil }
    return stored(object.plan, p, node).first
  }

  /// Whether the object will be in the store after the save. A reader does not know yet: that an object is gone is a
  /// conflict to be found by the save.
  func stays(_ object: ManagedObject) -> Bool {
    guard object.context === context, !object.flags.contains(.deleted) else { return false }
    if object.flags.contains(.inserted) || isForReading && object.flags.contains(.realized) { return true }
    return context.node(of: object, in: version) != nil
  }

  func isRevived(_ object: ManagedObject?) -> Bool {
    guard let object, !decided.revived.isEmpty else { return false }
    return decided.revived.contains(ObjectIdentifier(object))
  }

  // MARK: Changing

  /// Makes an object read the current version, so that it can be changed. For a reader, only one without changes.
  private func bring(_ object: ManagedObject) {
    if object.flags.contains(.inserted) || object.base === version && object.flags.contains(.realized) { return }
    if !isForReading { context.keepRestorePoint() }
    let (base, node) = (object.base, object.node)
    let wasRealized = object.flags.contains(.realized)
    guard object.isReachable, object.base !== version else { return }
    if isForReading, !object.flags.isDisjoint(with: .changed) { return }
    guard context.rebase(object, to: version) else { return }
    if wasRealized, let base {
      let item = MovedObject(object: object, base: base, node: node)
      if isForReading { moved.append(item) } else { cache.moved.append(item) }
    }
    context.notice.refreshed.append(object)
  }

  private func change(_ object: ManagedObject, _ p: Int, _ body: () -> Void) {
    // An undo restores a deleted object as it was. What forbids the deletion is checked after this.
    if object.flags.contains(.deleted), isForReading || object.plan.properties[p].deleteRule != .deny { return }
    if isForReading {
      // Without changes here the ends agree by what the store has; a context that has just saved stays without changes.
      // An object that the store no longer has keeps what was read of it.
      if hasNoChanges || !object.flags.contains(.inserted) && context.node(of: object, in: version) == nil { return }
    } else {
      context.keepRestorePoint()
    }
    hasChanged = true
    body()
    context.noteChange(of: object)
  }

  /// Whether a relationship of an object leads to another one. A fault stays a fault.
  private func shows(_ object: ManagedObject, _ p: Int, _ member: ManagedObject) -> Bool {
    if isForReading, !object.flags.contains(.realized), let node = context.node(of: object, in: version) {
      return stored(object.plan, p, node).contains { $0 === member }
    }
    return context.isEnd(object, p, member)
  }

  func shown(_ object: ManagedObject, _ p: Int) -> ManagedObject? {
    if isForReading, !object.flags.contains(.realized) { return storedOne(object, p) }
    return object.toOneObject(p)
  }

  /// For a save, each object is to read the current version, even if its end need not be changed.
  private func needsChange(_ object: ManagedObject, _ isRight: () -> Bool) -> Bool {
    if isForReading, isRight() { return false }
    bring(object)
    return !isRight()
  }

  func set(_ object: ManagedObject, _ p: Int, _ target: ManagedObject?) {
    // A reference that the rule No Action left to a deleted object stays until its object is refreshed.
    if isForReading, target == nil, let seen = shown(object, p), seen.context !== context { return }
    guard needsChange(object, { shown(object, p) === target }) else { return }
    change(object, p) { object.applyToOne(p, target) }
  }

  private func add(_ object: ManagedObject, _ p: Int, _ member: ManagedObject) {
    guard needsChange(object, { shows(object, p, member) }) else { return }
    change(object, p) { object.applyAdd(p, member, at: nil) }
  }

  private func remove(_ object: ManagedObject, _ p: Int, _ member: ManagedObject) {
    guard object.context === context, needsChange(object, { !shows(object, p, member) }) else { return }
    change(object, p) { object.applyRemove(p, member) }
  }

  // MARK: One to many

  private func settleToOnes() {
    for (object, p) in toOnes {
      guard let q = inverse(object.plan, p) else { continue }
      let end = RelationshipEnd(object, p)
      var owners = claims[end] ?? []
      guard stays(object) else {
        for owner in owners { remove(owner, q, object) }
        continue
      }
      let before = storedOne(object, p)
      let after = owner(of: object, p, before, owners)
      if let after, after.flags.contains(.deleted) { continue }
      if isForReading { owners += (formerOwners[end] ?? []) + [shown(object, p)].compactMap { $0 } }
      set(object, p, after)
      if let before, before !== after { remove(before, q, object) }
      if let after { add(after, q, object) }
      for owner in owners where owner !== after { remove(owner, q, object) }
    }
  }

  /// The destination of a to-one after the save. An object that is being deleted only if its rule leaves the reference
  /// in place.
  private func owner(
    of object: ManagedObject, _ p: Int, _ before: ManagedObject?, _ owners: [ManagedObject]
  ) -> ManagedObject? {
    var target = before
    let claim = owners.first { stays($0) }
    if decided.contains(object, p) {
      target = before
    } else if case .object(let wanted)? = object.edits?[p] {
      if let wanted {
        target = stays(wanted) ? wanted : wanted.flags.contains(.deleted) ? nil : before
      } else {
        target = claim ?? (isRevived(before) ? before : nil)
      }
    } else if let claim {
      target = claim
    } else if let before, releases[RelationshipEnd(object, p)]?.contains(where: { $0 === before }) ?? false {
      target = nil
    }
    guard let found = target, found.flags.contains(.deleted), let q = inverse(object.plan, p) else { return target }
    return found === before && found.plan.properties[q].deleteRule == .noAction ? found : nil
  }

  // MARK: Many to many

  private func settleSets() {
    for (object, p, member) in added {
      guard let q = inverse(object.plan, p) else { continue }
      if !stays(member) || decided.objects.contains(ObjectIdentifier(member)) {
        remove(object, p, member)
      } else {
        add(member, q, object)
      }
    }
    for (object, p, member) in removed {
      guard let q = inverse(object.plan, p), stays(member) else { continue }
      if !object.flags.contains(.deleted), isRevived(member) || decided.objects.contains(ObjectIdentifier(member)) {
        add(object, p, member)
      } else if object.plan.properties[p].isToMany || object.flags.contains(.deleted) {
        remove(member, q, object)
      }
    }
  }
}
