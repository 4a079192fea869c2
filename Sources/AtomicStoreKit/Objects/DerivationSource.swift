import AtomicStoreSPI

/// A property that derived attributes of other objects are derived from, and the way to those objects.
struct DerivationSource: Hashable, Sendable {
  /// The number of the property in its entity.
  let property: Int
  /// The numbers of the inverse relationships that lead from its object back to the one with the derived attribute, in turn.
  let way: [Int]

  /// For each entity, its sources. A path is followed as far as its relationships have inverses: beyond that the owners of a
  /// changed object cannot be known.
  static func all(in entities: [EntityPlan]) -> [[DerivationSource]] {
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
    on path: [String], from owner: EntityPlan, _ entities: [EntityPlan]
  ) -> [(entity: Int, source: DerivationSource)] {
    var result: [(entity: Int, source: DerivationSource)] = []
    var plan = owner
    var way: [Int] = []
    for (place, key) in path.enumerated() where !key.hasPrefix("@") {
      // A composite's parts are properties with a dot in their names.
      let whole = plan.property(named: key).map { plan.properties[$0] }
      let part = whole?.kind == .composite && place + 1 < path.count ? plan.property(named: "\(key).\(path[place + 1])") : nil
      guard let property = part.map({ plan.properties[$0] }) ?? whole else { return result }
      if !way.isEmpty { result.append((plan.index, DerivationSource(property: property.index, way: way))) }
      guard property.isRelationship, property.inverse >= 0, property.destination >= 0 else { return result }
      way = [property.inverse] + way
      plan = entities[property.destination]
    }
    return result
  }
}

extension ManagedObjectContext {
  /// Computes derived attributes of objects that did not change themselves, but are derived from objects that did. Those
  /// whose values change are changed objects from then on.
  func computeDerived(from changed: [ManagedObject]) throws(ManagedObjectError) {
    var owners = ObjectList()
    var known: [ObjectIdentifier: [[DerivationSource]]] = [:]
    for object in changed where object.context === self && !object.flags.contains(.deleted) {
      guard let edits = object.edits else { continue }
      let plan = object.plan
      let sources = known[plan.modelID] ?? ModelPlan.plan(of: plan.entity.model).derivationSources
      known[plan.modelID] = sources
      for source in sources[plan.index] where edits[source.property] != nil { collect(&owners, from: object, source.way[...]) }
    }
    for owner in owners where owner.context === self && !owner.flags.contains(.deleted) && owner.isReachable {
      if try computeDerived(owner) { noteChange(of: owner) }
    }
  }

  private func collect(_ owners: inout ObjectList, from object: ManagedObject, _ way: ArraySlice<Int>) {
    guard let p = way.first else {
      owners.append(object)
      return
    }
    guard object.isReachable, p < object.plan.properties.count, object.plan.properties[p].isRelationship else { return }
    let next = object.plan.properties[p].kind == .toOne ? object.toOneObject(p).map { [$0] } ?? [] : object.toManyObjects(p)
    for other in next { collect(&owners, from: other, way.dropFirst()) }
  }
}
