import AtomicStoreSPI
import Synchronization

/// The compiled form of a model for the object graph: for each entity, where its properties are stored and which rules
/// apply to them.
final class ModelPlan: Sendable {
  let entities: EntityPlans
  private let knownDerivations = AtomicLazyReference<Derivations>()
  /// Whether an attribute of the model is derived.
  private let hasDerivations: Bool
  /// The names of transient and fetched properties.
  let unstoredNames: Set<String>

  /// What derived attributes are computed from.
  var derivations: Derivations {
    // Only derived attributes need the plans of all entities.
    knownDerivations.load() ?? knownDerivations.storeIfNil(Derivations(hasDerivations ? entities : nil, entities.count))
  }

  init(_ model: ManagedObjectModel) {
    entities = EntityPlans(model)
    hasDerivations = model.hasDerivedAttributes
    unstoredNames = model.unstoredNames
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

  /// What derived attributes are computed from, by entity.
  final class Derivations: Sendable {
    /// The properties from which derived attributes of other objects are computed.
    let sources: [[DerivationSource]]
    /// By the number of the derived attribute.
    let plans: [[Int: DerivationPlan]]
    /// The numbers of the to-ones whose inverses have aggregates.
    let memberships: [Set<Int>]

    fileprivate init(_ entities: EntityPlans?, _ count: Int) {
      guard let entities else {
        sources = Array(repeating: [], count: count)
        plans = Array(repeating: [:], count: count)
        memberships = Array(repeating: [], count: count)
        return
      }
      sources = DerivationSource.all(in: entities)
      plans = entities.map { owner in
        Dictionary(
          uniqueKeysWithValues: owner.derived.map { p in
            (p, DerivationPlan(owner.properties[p].attribute?.derivationExpression ?? "", of: owner, entities))
          })
      }
      var memberships = [Set<Int>](repeating: [], count: count)
      for owner in entities {
        for aggregate in plans[owner.index].values.flatMap(\.aggregates) {
          let relationship = owner.properties[aggregate.relationship]
          for member in entities[relationship.destination].entity.hierarchy {
            memberships[member.index].insert(relationship.inverse)
          }
        }
      }
      self.memberships = memberships
    }
  }
}

extension ManagedObjectModel {
  fileprivate var unstoredNames: Set<String> {
    var names: Set<String> = []
    for property in entities.flatMap(\.declaration.properties) {
      switch property {
      case .attribute(let attribute) where attribute.isTransient: names.insert(attribute.name)
      case .relationship(let relationship) where relationship.isTransient: names.insert(relationship.name)
      case .fetchedProperty(let property): names.insert(property.name)
      default: continue
      }
    }
    for attribute in description.composites.flatMap(\.attributes) where attribute.isTransient {
      names.insert(attribute.name)
    }
    return names
  }

  /// Whether an attribute of an entity or of a composite is derived.
  fileprivate var hasDerivedAttributes: Bool {
    func isDerived(_ property: PropertyDescription) -> Bool {
      guard case .attribute(let attribute) = property else { return false }
      return attribute.derivationExpression != nil
    }
    return description.composites.contains { $0.attributes.contains { $0.derivationExpression != nil } }
      || entities.contains { $0.declaration.properties.contains(where: isDerived) }
  }
}
