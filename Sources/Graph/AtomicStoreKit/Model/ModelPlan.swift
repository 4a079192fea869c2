import AtomicStoreSPI
import Synchronization

/// The compiled form of a model for the object graph: for each entity, where its properties are stored and which rules
/// apply to them.
final class ModelPlan: Sendable {
  let entities: EntityPlans
  private let knownSources = AtomicLazyReference<DerivationSources>()
  /// Whether an attribute of the model is derived.
  private let hasDerivations: Bool
  /// The names of transient properties.
  let transientNames: Set<String>

  /// The sources of derived attributes of other objects, by entity.
  var derivationSources: [[DerivationSource]] {
    if let known = knownSources.load() { return known.byEntity }
    // Only derived attributes need the plans of all entities.
    let found =
      hasDerivations ? DerivationSource.all(in: entities) : Array(repeating: [], count: entities.count)
    return knownSources.storeIfNil(DerivationSources(found)).byEntity
  }

  init(_ model: ManagedObjectModel) {
    entities = EntityPlans(model)
    hasDerivations = model.hasDerivedAttributes
    transientNames = model.transientNames
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

  private final class DerivationSources: Sendable {
    let byEntity: [[DerivationSource]]
    init(_ byEntity: [[DerivationSource]]) { self.byEntity = byEntity }
  }
}

extension ManagedObjectModel {
  fileprivate var transientNames: Set<String> {
    var names: Set<String> = []
    for property in entities.flatMap(\.declaration.properties) {
      switch property {
      case .attribute(let attribute) where attribute.isTransient: names.insert(attribute.name)
      case .relationship(let relationship) where relationship.isTransient: names.insert(relationship.name)
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
