import AtomicStoreSPI
import FoundationEssentials
import StoreCoordination
import StorePredicates
import Synchronization

/// Derived counts and sums whose members a save does not read.
///
/// The store counts the members as it has them, and those of them that are changed here; these are counted as they are
/// here instead. Every save that changes an input changes the version of the owner's row, and is refused if that is not
/// the one that its context has read: so the store has been asked of the members that belong to that row.
extension ManagedObjectContext {
  /// The parts of a derived attribute's expression that the owner's store computes; empty if its members are read.
  func storeAggregates(of p: Int, _ owner: ManagedObject) -> [MemberAggregate] {
    guard parent == nil, !owner.flags.contains(.inserted), owner.reference != nil, let cache = owner.cache,
      cache.isIncremental, let plan = cache.plan.derivations.plans[owner.plan.index][p], !plan.aggregates.isEmpty,
      let connection = cache.connection,
      connection.computes(
        entity: owner.plan.index, property: p, { plan.aggregates.map { grouping($0, of: owner, cache) } })
    else { return [] }
    return plan.aggregates
  }

  /// The values of those parts, with the unsaved changes.
  func values(
    of aggregates: [MemberAggregate], _ owner: ManagedObject
  ) throws(ManagedObjectError) -> [(expression: FetchExpression, value: PredicateValue)] {
    var values: [(expression: FetchExpression, value: PredicateValue)] = []
    for aggregate in aggregates {
      values.append((aggregate.expression, .value(Arithmetic.sum(try value(of: aggregate, owner)))))
    }
    return values
  }

  private func value(of aggregate: MemberAggregate, _ owner: ManagedObject) throws(ManagedObjectError) -> Int128 {
    let session = saveSession?.aggregates ?? SavedAggregates()
    let known = session.members ?? changedMembers()
    session.members = known
    let p = aggregate.relationship
    // Only one end may have changed.
    let members = ObjectList(
      (known[SavedAggregates.Owner(owner, p)]?.elements ?? []) + addedEnds(of: owner, p) + removedEnds(of: owner, p))
    let changed = members.filter { !$0.flags.contains(.inserted) && $0.reference != nil }.map(\.objectID)
    let key = SavedAggregates.Key(SavedAggregates.Owner(owner, p), aggregate.expression)
    var total: Int128
    if let asked = session.unchanged[key], asked.changed == changed {
      total = asked.value
    } else {
      total = try stored(aggregate, owner, without: changed, session)
      session.unchanged[key] = (changed, total)
    }
    for member in members where member.context === self && !member.flags.contains(.deleted) && isEnd(owner, p, member) {
      let counts = try ManagedObjectError.reporting { () throws(PredicateEvaluationError) in
        try aggregate.condition.map { condition throws(PredicateEvaluationError) in
          try PredicateEvaluator(member, now: saveSession?.date ?? Date()).evaluate(condition)
        } ?? true
      }
      guard counts else { continue }
      if let summed = aggregate.summed {
        if case .integer(let number) = member.storedValue(summed) { total += Int128(number) }
      } else {
        total += 1
      }
    }
    session.totals[key] = (owner, aggregate.expression, total)
    return total
  }

  /// The changed objects by the owners that they have, and had, where aggregates are computed of these.
  private func changedMembers() -> [SavedAggregates.Owner: ObjectList] {
    var found: [SavedAggregates.Owner: ObjectList] = [:]
    for object in inserted.elements + updated.elements + deleted.elements {
      guard let cache = object.cache, cache.isIncremental, object.isReachable else { continue }
      for p in cache.plan.derivations.memberships[object.plan.index] {
        let property = object.plan.properties[p]
        var owners = [object.toOneObject(p)]
        if let base = object.base, let stored = base.toOne(slot: property.slot, of: object.node) {
          owners.append(self.object(at: stored, in: base, of: cache))
        }
        for case let owner? in owners {
          found[SavedAggregates.Owner(owner, property.inverse), default: ObjectList()].append(object)
        }
      }
    }
    return found
  }

  /// What the store has of an aggregate, without some members.
  private func stored(
    _ aggregate: MemberAggregate, _ owner: ManagedObject, without changed: [ManagedObjectID], _ session: SavedAggregates
  ) throws(ManagedObjectError) -> Int128 {
    guard let cache = owner.cache, let connection = cache.connection else { return 0 }
    let known = try knownValue(of: aggregate, owner, connection, session)
    let all = known == nil ? grouping(aggregate, of: owner, cache) : nil
    let location = StoreLocation(
      entity: owner.plan.name, reference: owner.reference?.description,
      property: owner.plan.properties[aggregate.relationship].name)
    let parts = stride(from: 0, to: changed.count, by: 100).map { start in
      grouping(aggregate, of: owner, cache, among: Array(changed[start..<min(start + 100, changed.count)]))
    }
    do throws(PersistentStoreError) {
      return try connection.use { store throws(PersistentStoreError) in
        func ask(_ grouping: StoreGrouping) throws(PersistentStoreError) -> Int128 {
          guard let groups = try store.groups(grouping) else {
            throw PersistentStoreError(
              .invalidValue, "members have values that are not of their attributes' types", at: location)
          }
          return groups.reduce(0) { sum, group in
            guard let first = group.results.first else { return sum + Int128(group.count) }
            if case .whole(let number) = first { return sum + number }
            return sum
          }
        }
        var total = known ?? 0
        if let all { total = try ask(all) }
        for part in parts { total -= try ask(part) }
        return total
      }
    } catch {
      throw ManagedObjectError(
        .persistentStoreOperation, "the store could not be asked", entityName: owner.plan.name, underlying: error)
    }
  }

  /// What is known of an aggregate of all members, as of the owner's row that the context has read.
  private func knownValue(
    of aggregate: MemberAggregate, _ owner: ManagedObject, _ connection: IncrementalConnection,
    _ session: SavedAggregates
  ) throws(ManagedObjectError) -> Int128? {
    let place = ObjectIdentifier(connection)
    let state: Int?
    if let found = session.states[place] {
      state = found
    } else {
      do throws(PersistentStoreError) { state = try connection.stateOfAggregates() } catch {
        throw ManagedObjectError(.persistentStoreOperation, "the store could not be asked", underlying: error)
      }
      session.states[place] = .some(state)
    }
    guard let state, let key = knownKey(of: aggregate.expression, owner), let base = owner.base,
      let version = base.rowVersion(of: owner.node), owner.cache?.isOfPresentStore(base) ?? false
    else { return nil }
    let value = connection.aggregates.withLock { $0.state == state ? $0.value(of: key, version: version) : nil }
    if value != nil { session.used.insert(place) }
    return value
  }

  private func knownKey(of expression: FetchExpression, _ owner: ManagedObject) -> KnownAggregates.Key? {
    owner.reference.map { KnownAggregates.Key(root: owner.plan.root, owner: $0, expression: expression) }
  }

  /// Adds to the changes for a store what they depend on.
  func noteAggregates(in changes: inout StoreChanges, for cache: StoreCache) {
    guard let connection = cache.connection, let session = saveSession?.aggregates else { return }
    let place = ObjectIdentifier(connection)
    let state = session.states[place].flatMap { $0 } ?? connection.aggregates.withLock { $0.state }
    changes.aggregates = (state, session.used.contains(place))
    guard let version = cache.currentVersion() else { return }
    for (owner, _, _) in session.totals.values where owner.cache === cache {
      guard let reference = owner.reference, let node = version.knownHandle(for: reference, root: owner.plan.root)
      else { continue }
      session.formerVersions[ObjectIdentifier(owner)] = version.rowVersion(of: node)
    }
  }

  /// Remembers for other saves what this one has computed.
  func rememberAggregates(in cache: StoreCache, _ now: NodeVersion) {
    guard let connection = cache.connection, let session = saveSession?.aggregates,
      case .some(.some(let state)) = session.states[ObjectIdentifier(connection)]
    else { return }
    for (owner, expression, value) in session.totals.values where owner.cache === cache {
      guard let key = knownKey(of: expression, owner), let reference = owner.reference,
        let node = now.knownHandle(for: reference, root: owner.plan.root), let version = now.rowVersion(of: node),
        let former = session.formerVersions[ObjectIdentifier(owner)], former != version
      else { continue }
      connection.aggregates.withLock { known in
        if known.state == state { known.note(value, of: key, version: version) }
      }
    }
  }

  /// The request for an aggregate of an owner's members.
  ///
  /// - Parameter some: The members that count; nil for all.
  private func grouping(
    _ aggregate: MemberAggregate, of owner: ManagedObject, _ cache: StoreCache, among some: [ManagedObjectID]? = nil
  ) -> StoreGrouping {
    let relationship = owner.plan.properties[aggregate.relationship]
    let members = cache.plan.entities[relationship.destination]
    var conditions: [FetchPredicate] = [
      .comparison(
        FetchPredicate.Comparison(
          .keyPath([members.properties[relationship.inverse].name]), .equal, .objectID(owner.objectID)))
    ]
    if let condition = aggregate.condition { conditions.append(condition) }
    if let some {
      conditions.append(
        .comparison(FetchPredicate.Comparison(.evaluatedObject, .isIn, .aggregate(some.map { .objectID($0) }))))
    }
    return StoreGrouping(
      StoreFetch(
        entity: members.index, entities: members.entity.hierarchy.filter { !$0.isAbstract }.map(\.index),
        predicate: .and(conditions)),
      keys: [],
      aggregates: aggregate.summed.map { [StoreGrouping.Aggregate(.sum, of: [members.properties[$0].name])] } ?? [])
  }
}
