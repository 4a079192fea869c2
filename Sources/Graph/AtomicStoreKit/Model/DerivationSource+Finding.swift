import AtomicStoreSPI
import StorePredicates

extension DerivationSource {
  /// The sources of each entity. A path is followed as far as its relationships have inverses: beyond that, the owners
  /// of a changed object cannot be determined.
  static func all(in entities: EntityPlans) -> [[DerivationSource]] {
    var found = [Set<DerivationSource>](repeating: [], count: entities.count)
    var lists = [[DerivationSource]](repeating: [], count: entities.count)
    for owner in entities {
      for p in owner.derived {
        for path in DerivationPaths(owner.properties[p].attribute?.derivationExpression ?? "").paths {
          for (entity, source) in sources(on: path, from: owner, entities) {
            for below in entities[entity].entity.hierarchy where found[below.index].insert(source).inserted {
              lists[below.index].append(source)
            }
          }
        }
      }
    }
    return lists
  }

  private static func sources(
    on path: [String], from owner: EntityPlan, _ entities: EntityPlans, at start: Int = 0, back: [Int] = []
  ) -> [(entity: Int, source: DerivationSource)] {
    var result: [(entity: Int, source: DerivationSource)] = []
    var plan = owner
    var way = back
    for (place, key) in path.enumerated() where place >= start && !FetchExpression.isOperator(key) {
      guard let p = plan.property(named: key) else {
        for below in declaring(key, below: plan, entities) {
          result += sources(on: path, from: below, entities, at: place, back: way)
        }
        return result
      }
      // A composite's parts are properties with a dot in their names.
      var property = plan.properties[p]
      if property.kind == .composite, place + 1 < path.count,
        let part = plan.property(named: "\(key).\(path[place + 1])")
      {
        property = plan.properties[part]
      }
      if !way.isEmpty { result.append((plan.index, DerivationSource(property: property.index, way: way))) }
      guard property.isRelationship, property.inverse >= 0, property.destination >= 0 else { return result }
      way = [property.inverse] + way
      plan = entities[property.destination]
    }
    return result
  }

  /// The sub-entities that declare a key which the entity itself does not have.
  private static func declaring(_ key: String, below plan: EntityPlan, _ entities: EntityPlans) -> [EntityPlan] {
    plan.entity.hierarchy.map { entities[$0.index] }.filter { below in
      guard below.property(named: key) != nil, let above = below.entity.superentity else { return false }
      return entities[above.index].property(named: key) == nil
    }
  }
}
