import AtomicStoreSPI
import Synchronization

/// The plans of a model's entities, by number. Each is made when it is first asked for: most requests concern a few
/// entities, of which a model may have hundreds.
///
/// `@unchecked Sendable`: the pointers are constant, what they lead to is set once and atomically, and the memory is
/// released with the object.
final class EntityPlans: RandomAccessCollection, @unchecked Sendable {
  // The model owns the plans: see ``EntityPlan``.
  private unowned let model: ManagedObjectModel
  private let plans: UnsafeMutablePointer<AtomicLazyReference<EntityPlan>>
  private let drafts: UnsafeMutablePointer<AtomicLazyReference<PropertyDrafts>>
  let endIndex: Int
  var startIndex: Int { 0 }

  init(_ model: ManagedObjectModel) {
    self.model = model
    endIndex = model.entityCount
    plans = .allocate(capacity: endIndex)
    drafts = .allocate(capacity: endIndex)
    for index in 0..<endIndex {
      (plans + index).initialize(to: AtomicLazyReference())
      (drafts + index).initialize(to: AtomicLazyReference())
    }
  }

  deinit {
    plans.deinitialize(count: endIndex)
    plans.deallocate()
    drafts.deinitialize(count: endIndex)
    drafts.deallocate()
  }

  subscript(index: Int) -> EntityPlan {
    precondition(index >= 0 && index < endIndex, "no such entity")
    return plans[index].load() ?? makePlan(index)
  }

  /// Whether a plan was asked for before.
  func isMade(_ index: Int) -> Bool { plans[index].load() != nil }

  /// Super-entities come first: entities share what they inherit. The recursion is as deep as the inheritance, which
  /// the model limits.
  private func makePlan(_ index: Int) -> EntityPlan {
    let entity = model.entity(at: index)
    let above = entity.superentity.map { self[$0.index] }
    let properties = properties(of: index).own.map { draft in
      guard let relationship = draft.relationship else { return PropertyPlan(draft) }
      var draft = draft
      let destination = model.entity(named: relationship.destinationEntityName)
      draft.destination = destination?.index ?? -1
      draft.inverse = destination.flatMap { inverse(of: relationship, in: entity, at: $0) } ?? -1
      return PropertyPlan(draft)
    }
    // Two threads may make the same plan: the first one counts.
    return plans[index].storeIfNil(EntityPlan(entity, properties, below: above))
  }

  /// The numbered properties of an entity. They need no other entity than its super-entities, so two entities that
  /// refer to each other can each look into those of the other.
  private func properties(of index: Int) -> PropertyDrafts {
    if let known = drafts[index].load() { return known }
    let entity = model.entity(at: index)
    let inherited = entity.superentity.map { properties(of: $0.index).endNumber } ?? 0
    return drafts[index].storeIfNil(PropertyDrafts(entity, after: inherited))
  }

  /// The number of the relationship of the destination that is the inverse of this one, if each names the other.
  private func inverse(
    of relationship: RelationshipDescription, in owner: Entity, at destination: Entity
  ) -> Int? {
    guard let name = relationship.inverseName else { return nil }
    var level: Entity? = destination
    while let here = level {
      if let draft = properties(of: here.index)[name] {
        guard let other = draft.relationship, other.isInverse(of: relationship),
          let back = model.entity(named: other.destinationEntityName),
          owner.isKindOf(entity: back) || back.isKindOf(entity: owner)
        else { return nil }
        return draft.index
      }
      level = here.superentity
    }
    return nil
  }
}

/// The properties that an entity itself declares, numbered after those that it inherits.
private final class PropertyDrafts: Sendable {
  let own: [PropertyPlan.Draft]
  /// The number after that of the last property.
  let endNumber: Int
  /// The index in ``own`` of each name; empty for a few names, one of which is found sooner than a hash is computed.
  private let indexByName: [ScalarString: Int]
  private static let few = 8

  init(_ entity: Entity, after inherited: Int) {
    own = PropertyPlan.Draft.ownList(of: entity, after: inherited)
    endNumber = inherited + own.count
    indexByName =
      own.count <= Self.few
      ? [:]
      : Dictionary(own.enumerated().map { (ScalarString($1.name), $0) }, uniquingKeysWith: { first, _ in first })
  }

  subscript(name: String) -> PropertyPlan.Draft? {
    if own.count <= Self.few { return own.first { ScalarString($0.name) == ScalarString(name) } }
    return indexByName[ScalarString(name)].map { own[$0] }
  }
}
