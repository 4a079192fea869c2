import AtomicStoreSPI
import FoundationEssentials
import StoreCoordination
import StorePredicates

/// The changed objects that are members, or were, of relationships of which aggregates are computed.
final class ChangedMembers {
  private var lists: [RelationshipEnd: ObjectList] = [:]
  /// What the store says of the members that did not change.
  fileprivate var unchanged: [AggregateOfOwner: Int128] = [:]

  fileprivate struct AggregateOfOwner: Hashable {
    let owner: RelationshipEnd
    let expression: FetchExpression
  }

  fileprivate init(_ context: ManagedObjectContext) {
    for object in context.inserted.elements + context.updated.elements + context.deleted.elements {
      guard let cache = object.cache, cache.isIncremental, object.isReachable else { continue }
      for p in cache.plan.derivations.memberships[object.plan.index] {
        let property = object.plan.properties[p]
        let stored = object.base?.toOne(slot: property.slot, of: object.node)
        let before = stored.flatMap { node in object.base.map { context.object(at: node, in: $0, of: cache) } }
        for owner in [object.toOneObject(p), before].compactMap({ $0 }) {
          lists[RelationshipEnd(owner, property.inverse), default: ObjectList()].append(object)
        }
      }
    }
  }

  fileprivate func members(of owner: ManagedObject, _ p: Int) -> ObjectList {
    lists[RelationshipEnd(owner, p)] ?? ObjectList()
  }
}

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
      cache.store.connection?.computes(
        entity: owner.plan.index, property: p, { plan.aggregates.map { grouping($0, of: owner, cache) } }) ?? false
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
    let changed = saveSession?.changedMembers ?? ChangedMembers(self)
    saveSession?.changedMembers = changed
    let p = aggregate.relationship
    // Only one end may have changed.
    let members = ObjectList(
      changed.members(of: owner, p).elements + addedEnds(of: owner, p) + removedEnds(of: owner, p))
    let key = ChangedMembers.AggregateOfOwner(owner: RelationshipEnd(owner, p), expression: aggregate.expression)
    var total: Int128
    if let known = changed.unchanged[key] { total = known } else {
      total = try stored(aggregate, owner, among: members.elements)
      changed.unchanged[key] = total
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
    return total
  }

  /// What the store has of an aggregate, without some members.
  private func stored(
    _ aggregate: MemberAggregate, _ owner: ManagedObject, among changed: [ManagedObject]
  ) throws(ManagedObjectError) -> Int128 {
    guard let cache = owner.cache, let connection = cache.store.connection else { return 0 }
    let ids = changed.filter { !$0.flags.contains(.inserted) && $0.reference != nil }.map(\.objectID)
    let all = grouping(aggregate, of: owner, cache)
    let location = StoreLocation(
      entity: owner.plan.name, reference: owner.reference?.description,
      property: owner.plan.properties[aggregate.relationship].name)
    let parts = stride(from: 0, to: ids.count, by: 100).map { start in
      grouping(aggregate, of: owner, cache, among: Array(ids[start..<min(start + 100, ids.count)]))
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
        var total = try ask(all)
        for part in parts { total -= try ask(part) }
        return total
      }
    } catch {
      throw ManagedObjectError(
        .persistentStoreOperation, "the store could not be asked", entityName: owner.plan.name, underlying: error)
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
