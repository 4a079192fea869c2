import AtomicStoreSPI
import FoundationEssentials

/// Uniqueness constraints: objects that share the values of a constraint are merged into one object.
///
/// This file decides which objects are merged and whose values the survivor has; the merge itself is in
/// `ManagedObjectContext+MergingRows.swift`.
extension ManagedObjectContext {
  /// The result of one pass over the constraints.
  struct ConstraintPass {
    var hasChanges = false
    var merges: [MergedRows] = []
  }

  /// Objects that share the values of a constraint: first the rows that have them in the store, by reference, then the
  /// others in the order of ``constrainedObjects(in:)``.
  private struct SharedKey {
    let constraint: [Int]
    let holder: EntityPlan
    var members: [ManagedObject]

    /// The names of the properties, for messages.
    var names: String { constraint.map { holder.properties[$0].name }.joined(separator: ", ") }

    /// Whether the object is in its store with these values, which the context did not set.
    func isAsStored(_ object: ManagedObject) -> Bool {
      guard !object.flags.contains(.inserted) else { return false }
      return object.edits.map { edits in constraint.allSatisfy { edits[$0] == nil } } ?? true
    }
  }

  /// Resolves uniqueness constraints until all hold: resolving one may break another.
  func makeUnique(_ versions: [(cache: StoreCache, version: NodeVersion)]) throws(ManagedObjectError) {
    var passes = 0
    var merges: [MergedRows] = []
    while true {
      let pass = try resolveConstraints(versions)
      guard pass.hasChanges else { return }
      merges += pass.merges
      passes += 1
      guard passes < 1000 else {
        throw ManagedObjectError(
          .endlessChanges, "uniqueness constraints are still broken after repeated attempts to resolve them")
      }
      do throws(ManagedObjectError) { try prepare() } catch { throw MergedRows.naming(merges, in: error) }
    }
  }

  /// Resolves the constraints that new and changed objects break. Null is not equal to anything.
  private func resolveConstraints(
    _ versions: [(cache: StoreCache, version: NodeVersion)]
  ) throws(ManagedObjectError) -> ConstraintPass {
    var resolution = ConstraintPass()
    for (cache, _) in versions {
      let objects = constrainedObjects(in: cache)
      guard !objects.isEmpty, let version = cache.currentVersion() else { continue }
      let shared = try sharedKeys(of: objects, in: version, of: cache)
      guard !shared.isEmpty else { continue }
      let decisions = try shared.map { key throws(ManagedObjectError) in
        try decision(about: key.members, key.constraint, key.members.filter(key.isAsStored).count)
      }
      let failing = zip(shared, decisions).filter { $1.isFailure }.map(\.0)
      if !failing.isEmpty { throw Self.violation(of: failing) }
      keepRestorePoint()
      readPresentVersion(of: cache)
      resolution.hasChanges = true
      resolution.merges += try resolve(shared, decisions, objects, in: cache)
    }
    if resolution.hasChanges { processPendingChanges() }
    return resolution
  }

  /// Resolves the keys for which one kind of decision was made; the next pass resolves the others.
  private func resolve(
    _ shared: [SharedKey], _ decisions: [ConstraintResolution], _ objects: [ManagedObject], in cache: StoreCache
  ) throws(ManagedObjectError) -> [MergedRows] {
    let chosen = zip(shared, decisions).compactMap { key, decision in chosenMerge(key, decision) }
    if !chosen.isEmpty { return try mergeChosen(chosen, in: cache) }
    func keys(_ policies: [MergePolicy]) -> [SharedKey] {
      zip(shared, decisions).filter { pair in policies.contains { pair.1.isDecision(by: $0) } }.map(\.0)
    }
    for policy in [MergePolicy.rollback, .mergeByPropertyStoreTrump] {
      if undoChanges(that: keys([policy]), policy) { return [] }
    }
    let byStore = keys([.rollback, .mergeByPropertyStoreTrump])
    let isByStore = !byStore.isEmpty
    let merged = try merge(
      isByStore ? mergesByStore(byStore) : mergesByContext(keys([.mergeByPropertyObjectTrump, .overwrite]), objects),
      in: cache)
    if conflictResolver != nil { try didResolve(merged.compactMap { registeredObject(for: $0.survivor) }) }
    return merged
  }

  /// The merge that a resolver chose itself.
  private func chosenMerge(_ key: SharedKey, _ decision: ConstraintResolution) -> ChosenMerge? {
    guard case .merge(let winner, let values) = decision, let survivor = key.members.first else { return nil }
    return ChosenMerge(
      merge: RowMerge(
        survivor: survivor, winner: key.members.contains { $0 === winner } ? winner : survivor,
        others: Array(key.members.dropFirst()), names: key.names), values: values)
  }

  /// The new and changed objects that are subject to a constraint: first those with unchanged unique values, then new
  /// ones, then those whose unique values were set. If several have the same key, the context's values are those of the
  /// last one.
  private func constrainedObjects(in cache: StoreCache) -> [ManagedObject] {
    func isConcerned(_ object: ManagedObject) -> Bool {
      object.cache === cache && !object.plan.constraints.isEmpty && object.context === self
        && !object.flags.contains(.deleted)
    }
    func keepsKeys(_ object: ManagedObject) -> Bool {
      guard let edits = object.edits else { return true }
      return object.plan.constraints.allSatisfy { $0.allSatisfy { edits[$0] == nil } }
    }
    let changed = updated.elements.filter(isConcerned)
    return changed.filter(keepsKeys) + inserted.elements.filter(isConcerned) + changed.filter { !keepsKeys($0) }
  }

  // MARK: Finding

  private func sharedKeys(
    of objects: [ManagedObject], in version: NodeVersion, of cache: StoreCache
  ) throws(ManagedObjectError) -> [SharedKey] {
    var found: [SharedKey] = []
    // A constraint belongs to the entity that declares it and applies to all its sub-entities.
    for holder in cache.plan.entities where !holder.constraints.isEmpty {
      let inherited = holder.entity.superentity.map { cache.plan.entities[$0.index].constraints.count } ?? 0
      let own = holder.constraints.dropFirst(inherited)
      guard !own.isEmpty else { continue }
      let concerned = objects.filter { $0.plan.isKind(of: holder.index) }
      guard !concerned.isEmpty else { continue }
      for constraint in own {
        // In a database, only values that are set can break it.
        if cache.isIncremental, !concerned.contains(where: { $0.sets(constraint) }) { continue }
        // Of an incremental store only what it returns now counts, not what was read before.
        let present = try readRows(sharing: constraint, of: concerned, holder, in: cache)
        let version = present == nil ? version : cache.currentVersion() ?? version
        found += sharedKeys(of: concerned, constraint, holder, in: version, of: cache, present)
      }
    }
    return found
  }

  private func sharedKeys(
    of objects: [ManagedObject], _ constraint: [Int], _ holder: EntityPlan, in version: NodeVersion,
    of cache: StoreCache, _ present: [NodeHandle]?
  ) -> [SharedKey] {
    var places: [UniqueKey: Int] = [:]
    places.reserveCapacity(objects.count)
    // Most keys have one object; only those with more get a list.
    var firsts: [ManagedObject] = []
    var others: [Int: SharedKey] = [:]
    for object in objects {
      guard let key = UniqueKey(constraint, of: object) else { continue }
      if let place = places[key] {
        others[place, default: SharedKey(constraint: constraint, holder: holder, members: [firsts[place]])]
          .members.append(object)
      } else {
        places[key] = firsts.count
        firsts.append(object)
      }
    }
    guard !places.isEmpty else { return [] }
    func look(_ node: NodeHandle) {
      guard let key = UniqueKey(constraint, of: node, in: version, cache), let place = places[key] else { return }
      let object = object(at: node, in: version, of: cache)
      // An object that is deleted or changed here counts with its values here.
      if !object.flags.isDisjoint(with: .changed) { return }
      others[place, default: SharedKey(constraint: constraint, holder: holder, members: [firsts[place]])]
        .members.append(object)
    }
    if let present {
      present.forEach(look)
    } else {
      for entity in holder.entity.hierarchy {
        for row in 0..<version.rowCount(of: entity.index) { look(NodeHandle(entity: entity.index, row: row)) }
      }
    }
    return others.keys.sorted().compactMap { others[$0] }.map { shared in
      var shared = shared
      let stored = shared.members.filter(shared.isAsStored).sorted(by: ManagedObject.precedes)
      shared.members = stored + shared.members.filter { !shared.isAsStored($0) }
      return shared
    }
  }

  /// Makes every object read the store's current version, so that the ends of a relationship are of one version.
  private func readPresentVersion(of cache: StoreCache) {
    guard let version = cache.currentVersion() else { return }
    for object in cache.registeredObjects where object.flags.contains(.realized) && object.base !== version {
      guard !object.flags.contains(.inserted), rebase(object) else { continue }
      notice.refreshed.append(object)
    }
  }

  // MARK: Deciding

  private static func violation(of shared: [SharedKey]) -> ManagedObjectError {
    var errors: [ManagedObjectError] = []
    for key in shared {
      guard let older = key.members.first else { continue }
      for newer in key.members.dropFirst() {
        errors.append(
          ManagedObjectError(
            .managedObjectConstraintMerge,
            "\(newer.rowName) and \(older.rowName) have the same \(key.names), which must be unique",
            objectID: newer.objectID, entityName: newer.plan.name, key: key.names,
            value: key.constraint.map { newer.storedValue($0).displayText }.joined(separator: ", "), rule: "unique"))
      }
    }
    if errors.count == 1 { return errors[0] }
    return ManagedObjectError(
      .managedObjectConstraintMerge, "\(errors.count) objects break a uniqueness constraint", detailedErrors: errors)
  }

  /// If the store wins, a saved object whose unique values were set here to those of another object gets its stored
  /// values back: no merge is needed. If several were set to a key that the store does not have, one keeps it.
  private func undoChanges(that shared: [SharedKey], _ policy: MergePolicy) -> Bool {
    var isTaken = false
    for key in shared {
      let set = key.members.filter { !$0.flags.contains(.inserted) && !key.isAsStored($0) }.sorted(
        by: ManagedObject.precedes)
      let isInStore = key.members.first.map(key.isAsStored) ?? false
      for object in set.dropFirst(isInStore ? 0 : 1) {
        isTaken = true
        if policy == .rollback {
          refresh(object, mergeChanges: false)
        } else {
          for p in key.constraint { object.undoChange(p) }
        }
      }
    }
    return isTaken
  }

  /// The merges if the context wins: all objects connected by shared keys become one, with the values of the object
  /// that was changed last.
  private func mergesByContext(_ shared: [SharedKey], _ objects: [ManagedObject]) -> [RowMerge] {
    var order: [ObjectIdentifier: Int] = [:]
    for (place, object) in objects.enumerated() { order[ObjectIdentifier(object)] = place }
    return connected(shared).compactMap { members, names in
      guard let survivor = members.first else { return nil }
      let winner = members.max { order[ObjectIdentifier($0)] ?? -1 < order[ObjectIdentifier($1)] ?? -1 }
      return RowMerge(survivor: survivor, winner: winner ?? survivor, others: Array(members.dropFirst()), names: names)
    }
  }

  /// The merges if the store wins: a new object becomes the stored one that has its key, of several the one with the
  /// lowest reference. Stored objects are not merged with each other, since their own values are unique. New objects
  /// that share a key with no stored object become the first of them.
  private func mergesByStore(_ shared: [SharedKey]) -> [RowMerge] {
    func isStored(_ object: ManagedObject) -> Bool { !object.flags.contains(.inserted) }
    // A file may contain duplicates that another program wrote.
    var duplicates = shared
    for place in duplicates.indices { duplicates[place].members.removeAll { !isStored($0) } }
    var merges = connected(duplicates.filter { $0.members.count > 1 }).compactMap { members, names in
      members.first.map { RowMerge(survivor: $0, winner: $0, others: Array(members.dropFirst()), names: names) }
    }
    var places: [ObjectIdentifier: Int] = [:]
    for (place, merge) in merges.enumerated() {
      for object in [merge.survivor] + merge.others { places[ObjectIdentifier(object)] = place }
    }
    var targets: [ObjectIdentifier: (new: ManagedObject, stored: ManagedObject, names: String)] = [:]
    var order: [ObjectIdentifier] = []
    for key in shared {
      guard let stored = key.members.filter(isStored).min(by: ManagedObject.precedes) else { continue }
      for new in key.members where !isStored(new) {
        let id = ObjectIdentifier(new)
        if let known = targets[id] {
          if ManagedObject.precedes(stored, known.stored) { targets[id] = (new, stored, key.names) }
        } else {
          targets[id] = (new, stored, key.names)
          order.append(id)
        }
      }
    }
    for target in order.compactMap({ targets[$0] }) {
      if let place = places[ObjectIdentifier(target.stored)] {
        merges[place].others.append(target.new)
      } else {
        places[ObjectIdentifier(target.stored)] = merges.count
        merges.append(
          RowMerge(survivor: target.stored, winner: target.stored, others: [target.new], names: target.names))
      }
    }
    // New objects that share keys only with each other wait for the next pass: some of them may be removed by then.
    if !merges.isEmpty { return merges }
    return connected(shared).compactMap { members, names in
      members.first.map { RowMerge(survivor: $0, winner: $0, others: Array(members.dropFirst()), names: names) }
    }
  }

  /// The objects that shared keys connect, directly or through others. Each group is sorted by precedence of survival:
  /// stored objects before new ones, then by reference, then by insertion.
  private func connected(_ shared: [SharedKey]) -> [(members: [ManagedObject], names: String)] {
    var places: [ObjectIdentifier: Int] = [:]
    var parents: [Int] = []
    func root(_ place: Int) -> Int {
      var place = place
      while parents[place] != place {
        parents[place] = parents[parents[place]]
        place = parents[place]
      }
      return place
    }
    var objects: [ManagedObject] = []
    for object in shared.lazy.flatMap(\.members) where places[ObjectIdentifier(object)] == nil {
      places[ObjectIdentifier(object)] = objects.count
      parents.append(objects.count)
      objects.append(object)
    }
    for key in shared {
      let roots = key.members.compactMap { places[ObjectIdentifier($0)] }.map(root)
      guard let least = roots.min() else { continue }
      for place in roots { parents[place] = least }
    }
    var groups: [Int: (members: [ManagedObject], names: [String])] = [:]
    for (place, object) in objects.enumerated() { groups[root(place), default: ([], [])].members.append(object) }
    for key in shared {
      guard let first = key.members.first, let place = places[ObjectIdentifier(first)] else { continue }
      if groups[root(place)]?.names.contains(key.names) == false { groups[root(place)]?.names.append(key.names) }
    }
    return groups.keys.sorted().compactMap { groups[$0] }.map { group in
      let stored = group.members.filter { !$0.flags.contains(.inserted) }.sorted(by: ManagedObject.precedes)
      let new = group.members.filter { $0.flags.contains(.inserted) }.sorted(by: ManagedObject.precedes)
      return (stored + new, group.names.joined(separator: " and "))
    }
  }
}

extension ManagedObject {
  /// Whether a property of a constraint is new.
  fileprivate final func sets(_ constraint: [Int]) -> Bool {
    flags.contains(.inserted) || edits.map { edits in constraint.contains { edits[$0] != nil } } ?? false
  }

  /// Resets a property to its value in the store, for a relationship at both ends.
  fileprivate final func undoChange(_ p: Int) {
    guard let edits, edits[p] != nil else { return }
    if plan.properties[p].kind == .toOne {
      let slot = plan.properties[p].slot
      guard let base, slot >= 0, let context, let cache else { return }
      let stored = base.toOne(slot: slot, of: node).map { context.object(at: $0, in: base, of: cache) }
      // A destination that is no longer valid leaves the property empty, and null is not equal to anything.
      do throws(ManagedObjectError) { try setToOne(p, stored) } catch { setEdit(p, .object(nil)) }
    } else {
      context?.undoManager?.log(.attribute(self, p, storedValue(p)))
      setEdit(p, nil)
      extras?.transformed[p] = nil
    }
    context?.noteChange(of: self)
  }
}
