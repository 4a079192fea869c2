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
  /// - Between a to-one and a to-many, the to-one decides. A to-one without a change of its own follows the to-many.
  /// - If several objects claim the same end of a one-to-one, a claim made by both ends has precedence, then the object
  ///   that was changed first.
  /// - An object that is being deleted, or was removed from the store, cannot be an end.
  /// - What a merge policy decided in favour of the store is kept; contradicting changes at the other end are dropped.
  ///
  /// Changed objects of the store must already read `version`: see ``resolveConflicts(_:)``.
  ///
  /// - Returns: Whether it changed any object.
  func reconcileRelationships(in cache: StoreCache, _ version: NodeVersion, _ decided: DecidedEnds) -> Bool {
    undoManager?.disableUndoRegistration()
    defer { undoManager?.enableUndoRegistration() }
    let work = RelationshipReconciliation(self, cache, version, decided)
    work.collect()
    work.settleToOnes()
    work.settlePartners()
    work.settleSets()
    return work.hasChanged
  }
}

/// One pass of ``ManagedObjectContext/reconcileRelationships(in:_:_:)``.
final class RelationshipReconciliation {
  private let context: ManagedObjectContext
  private let cache: StoreCache
  private let version: NodeVersion
  private let decided: DecidedEnds
  private(set) var hasChanged = false

  /// To-ones whose inverse is a to-many, in the order they were found.
  private var toOnes: [(object: ManagedObject, p: Int)] = []
  private var knownToOnes: Set<RelationshipEnd> = []
  /// For each such to-one, the owners whose to-many its object was added to or removed from.
  private var claims: [RelationshipEnd: [ManagedObject]] = [:]
  private var releases: [RelationshipEnd: [ManagedObject]] = [:]
  /// To-ones whose inverse is a to-one.
  private var partners: [(object: ManagedObject, p: Int)] = []
  private var knownPartners: Set<RelationshipEnd> = []
  /// Edges between two to-manys.
  private var added: [(object: ManagedObject, p: Int, member: ManagedObject)] = []
  private var removed: [(object: ManagedObject, p: Int, member: ManagedObject)] = []

  init(_ context: ManagedObjectContext, _ cache: StoreCache, _ version: NodeVersion, _ decided: DecidedEnds) {
    self.context = context
    self.cache = cache
    self.version = version
    self.decided = decided
  }

  // MARK: What was changed

  func collect() {
    for object in context.inserted.elements + context.updated.elements where object.cache === cache {
      guard let edits = object.edits else { continue }
      for p in object.plan.relationships where edits[p] != nil {
        if let q = inverse(object.plan, p) { collect(object, p, q) }
      }
    }
    for object in context.deleted.elements where object.cache === cache { collectDeleted(object) }
  }

  /// The inverse of a stored relationship, if it has a stored one.
  private func inverse(_ plan: EntityPlan, _ p: Int) -> Int? {
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
      for member in removedEnds(of: object, p) {
        releases[RelationshipEnd(member, q), default: []].append(object)
        note(toOne: member, q)
      }
    case (true, true):
      for member in context.addedEnds(of: object, p) { added.append((object, p, member)) }
      for member in removedEnds(of: object, p) { removed.append((object, p, member)) }
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
        switch (object.plan.properties[p].isToMany, isToMany(object.plan, inverseOf: p)) {
        case (true, false): note(toOne: member, q)
        case (false, false): note(partner: member, q)
        case (_, true): removed.append((object, p, member))
        }
      }
    }
  }

  private func note(toOne object: ManagedObject, _ p: Int) {
    if knownToOnes.insert(RelationshipEnd(object, p)).inserted { toOnes.append((object, p)) }
  }
  private func note(partner object: ManagedObject, _ p: Int) {
    if knownPartners.insert(RelationshipEnd(object, p)).inserted { partners.append((object, p)) }
  }

  private func removedEnds(of object: ManagedObject, _ p: Int) -> [ManagedObject] {
    switch object.edits?[p] {
    case .changes(let changes):
      return changes.removed.sorted { $0.key < $1.key }.map(\.value)
    case .ordered(let list):
      guard let node = object.flags.contains(.inserted) ? nil : context.node(of: object, in: version) else { return [] }
      return stored(object.plan, p, node).filter { !list.contains($0) }
    default: return []
    }
  }

  // MARK: What the store holds

  private func stored(_ plan: EntityPlan, _ p: Int, _ node: NodeHandle) -> [ManagedObject] {
    let slot = plan.properties[p].slot
    guard plan.properties[p].isToMany else {
      return version.toOne(slot: slot, of: node).map { [context.object(at: $0, in: version, of: cache)] } ?? []
    }
    return version.withToMany(slot: slot, of: node) { handles in
      handles.map { context.object(at: NodeHandle(rawBits: $0), in: version, of: cache) }
    }
  }

  private func storedOne(_ object: ManagedObject, _ p: Int) -> ManagedObject? {
    guard !object.flags.contains(.inserted), let node = context.node(of: object, in: version) else { return nil }
    return stored(object.plan, p, node).first
  }

  /// Whether the object will be in the store after the save.
  private func stays(_ object: ManagedObject) -> Bool {
    guard object.context === context, !object.flags.contains(.deleted) else { return false }
    return object.flags.contains(.inserted) || context.node(of: object, in: version) != nil
  }

  private func isRevived(_ object: ManagedObject?) -> Bool {
    guard let object, !decided.revived.isEmpty else { return false }
    return decided.revived.contains(ObjectIdentifier(object))
  }

  // MARK: Changing

  /// Makes an object read the current version, so that it can be changed.
  private func bring(_ object: ManagedObject) {
    if object.flags.contains(.inserted) || object.base === version && object.flags.contains(.realized) { return }
    context.keepRestorePoint()
    guard object.isReachable, object.base !== version else { return }
    context.rebase(object, to: version)
    context.notice.refreshed.append(object)
  }

  private func willChange() {
    context.keepRestorePoint()
    hasChanged = true
  }

  private func set(_ object: ManagedObject, _ p: Int, _ target: ManagedObject?) {
    bring(object)
    if object.toOneObject(p) === target { return }
    willChange()
    object.applyToOne(p, target)
    context.noteChange(of: object)
  }

  private func add(_ object: ManagedObject, _ p: Int, _ member: ManagedObject) {
    bring(object)
    if object.toManyContains(p, member) { return }
    willChange()
    object.applyAdd(p, member, at: nil)
    context.noteChange(of: object)
  }

  private func remove(_ object: ManagedObject, _ p: Int, _ member: ManagedObject) {
    guard object.context === context else { return }
    bring(object)
    guard object.toManyContains(p, member) else { return }
    willChange()
    object.applyRemove(p, member)
    context.noteChange(of: object)
  }

  // MARK: One to many

  func settleToOnes() {
    for (object, p) in toOnes {
      guard let q = inverse(object.plan, p) else { continue }
      let end = RelationshipEnd(object, p)
      let owners = claims[end] ?? []
      guard stays(object) else {
        for owner in owners { remove(owner, q, object) }
        continue
      }
      let before = storedOne(object, p)
      let after = owner(of: object, p, before, owners)
      if let after, after.flags.contains(.deleted) { continue }
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

  // MARK: One to one

  func settlePartners() {
    guard !partners.isEmpty else { return }
    var dropped: Set<RelationshipEnd> = []
    findDropped(&dropped)
    var pairs: [RelationshipEnd: ManagedObject] = [:]
    /// The destination that an end's own change demands; nil for no change, or for one that is dropped.
    func wish(_ object: ManagedObject, _ p: Int) -> ManagedObject?? {
      guard stays(object), !dropped.contains(RelationshipEnd(object, p)), case .object(let wanted)? = object.edits?[p]
      else { return nil }
      return .some(wanted.flatMap { stays($0) ? $0 : nil })
    }
    for needsBoth in [true, false] {
      for (object, p) in partners {
        guard let wanted = wish(object, p) ?? nil, let q = inverse(object.plan, p) else { continue }
        let (end, other) = (RelationshipEnd(object, p), RelationshipEnd(wanted, q))
        guard pairs[end] == nil, pairs[other] == nil, !needsBoth || (wish(wanted, q) ?? nil) === object else {
          continue
        }
        pairs[end] = wanted
        pairs[other] = object
        note(partner: wanted, q)
      }
    }
    // Objects that lose a partner are appended to the list during the iteration.
    var next = 0
    while next < partners.count {
      let (object, p) = partners[next]
      next += 1
      guard let q = inverse(object.plan, p), stays(object) else { continue }
      let before = storedOne(object, p)
      let end = RelationshipEnd(object, p)
      var after = before
      if let partner = pairs[end] {
        after = partner
      } else if !dropped.contains(end), !decided.contains(object, p) {
        if wish(object, p) != nil { after = nil }
        if let before {
          let isElsewhere = pairs[RelationshipEnd(before, q)].map { $0 !== object } ?? (wish(before, q) != nil)
          if isElsewhere { after = nil }
        }
      }
      if let found = after, found.flags.contains(.deleted) {
        if found === before, found.plan.properties[q].deleteRule == .noAction { continue }
        after = nil
      }
      set(object, p, after)
      if let before, before !== after { note(partner: before, q) }
    }
  }

  /// Finds the changes that contradict a decision of the merge policy or lead to removed objects. A dropped change
  /// leaves the partner that the store has, whose own change is dropped as well.
  private func findDropped(_ dropped: inout Set<RelationshipEnd>) {
    func isFixed(_ object: ManagedObject, _ q: Int) -> Bool {
      decided.contains(object, q) || dropped.contains(RelationshipEnd(object, q))
    }
    var isComplete = false
    while !isComplete {
      isComplete = true
      for (object, p) in partners where stays(object) && !dropped.contains(RelationshipEnd(object, p)) {
        guard case .object(let wanted)? = object.edits?[p], let q = inverse(object.plan, p) else { continue }
        let before = storedOne(object, p)
        if wanted === before { continue }
        var drops =
          decided.contains(object, p) || wanted == nil && isRevived(before)
          || before.map { stays($0) && isFixed($0, q) } ?? false
        if let wanted, !drops {
          drops = !wanted.flags.contains(.deleted) && !stays(wanted) || stays(wanted) && isFixed(wanted, q)
        }
        guard drops else { continue }
        dropped.insert(RelationshipEnd(object, p))
        isComplete = false
      }
    }
  }

  // MARK: Many to many

  func settleSets() {
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
