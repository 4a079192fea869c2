import AtomicStoreSPI
import Synchronization

/// The compiled form of a model for the object graph: for each entity, where its properties are stored and which rules
/// apply to them.
final class ModelPlan: Sendable {
  let entities: [EntityPlan]
  /// The sources of derived attributes of other objects, by entity.
  let derivationSources: [[DerivationSource]]

  init(_ model: ManagedObjectModel) {
    // Super-entities first: entities share what they inherit.
    var own: [[PropertyPlan.Draft]] = Array(repeating: [], count: model.entityCount)
    var counts = [Int](repeating: 0, count: model.entityCount)
    var names: [[ScalarString: Int]] = Array(repeating: [:], count: model.entityCount)
    for index in model.preorder {
      let entity = model.entity(at: index)
      let inherited = entity.superentity.map { counts[$0.index] } ?? 0
      own[index] = PropertyPlan.Draft.ownList(of: entity, after: inherited)
      counts[index] = inherited + own[index].count
      for draft in own[index] where names[index][ScalarString(draft.name)] == nil {
        names[index][ScalarString(draft.name)] = draft.index
      }
    }
    var plans = [EntityPlan?](repeating: nil, count: model.entityCount)
    for index in model.preorder {
      let entity = model.entity(at: index)
      let properties = own[index].map { draft in
        guard let relationship = draft.relationship else { return PropertyPlan(draft) }
        var draft = draft
        let destination = model.entity(named: relationship.destinationEntityName)
        draft.destination = destination?.index ?? -1
        draft.inverse = destination.flatMap { Self.inverse(of: relationship, in: entity, at: $0, own, names) } ?? -1
        return PropertyPlan(draft)
      }
      plans[index] = EntityPlan(entity, properties, below: entity.superentity.flatMap { plans[$0.index] })
    }
    entities = plans.compactMap { $0 }
    derivationSources = DerivationSource.all(in: entities)
  }

  /// The number of the relationship of the destination that is the inverse of this one, if each names the other.
  private static func inverse(
    of relationship: RelationshipDescription, in owner: Entity, at destination: Entity, _ own: [[PropertyPlan.Draft]],
    _ names: [[ScalarString: Int]]
  ) -> Int? {
    guard let name = relationship.inverseName else { return nil }
    var level: Entity? = destination
    while let here = level {
      if let number = names[here.index][ScalarString(name)], let first = own[here.index].first?.index {
        guard let other = own[here.index][number - first].relationship, other.isInverse(of: relationship),
          let back = owner.model.entity(named: other.destinationEntityName),
          owner.isKindOf(entity: back) || back.isKindOf(entity: owner)
        else { return nil }
        return number
      }
      level = here.superentity
    }
    return nil
  }

  /// The plan of a model, created on first use.
  static func plan(of model: ManagedObjectModel) -> ModelPlan {
    if let plan = model.attachment.withLock({ $0 as? ModelPlan }) { return plan }
    let plan = ModelPlan(model)
    return model.attachment.withLock { attachment in
      if let first = attachment as? ModelPlan { return first }
      attachment = plan
      return plan
    }
  }
}
