import AtomicStoreSPI

extension DerivationSource {
  /// The sources of each entity. A path is followed as far as its relationships have inverses: beyond that, the owners
  /// of a changed object cannot be determined.
  static func all(in entities: EntityPlans) -> [[DerivationSource]] {
    var found = [Set<DerivationSource>](repeating: [], count: entities.count)
    var lists = [[DerivationSource]](repeating: [], count: entities.count)
    for owner in entities {
      for p in owner.derived {
        for path in DerivationExpression(owner.properties[p].attribute?.derivationExpression ?? "").paths {
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
    on path: [String], from owner: EntityPlan, _ entities: EntityPlans
  ) -> [(entity: Int, source: DerivationSource)] {
    var result: [(entity: Int, source: DerivationSource)] = []
    var plan = owner
    var way: [Int] = []
    for (place, key) in path.enumerated() where !FetchExpression.isOperator(key) {
      // A composite's parts are properties with a dot in their names.
      let whole = plan.property(named: key).map { plan.properties[$0] }
      let part =
        whole?.kind == .composite && place + 1 < path.count ? plan.property(named: "\(key).\(path[place + 1])") : nil
      guard let property = part.map({ plan.properties[$0] }) ?? whole else { return result }
      if !way.isEmpty { result.append((plan.index, DerivationSource(property: property.index, way: way))) }
      guard property.isRelationship, property.inverse >= 0, property.destination >= 0 else { return result }
      way = [property.inverse] + way
      plan = entities[property.destination]
    }
    return result
  }
}
