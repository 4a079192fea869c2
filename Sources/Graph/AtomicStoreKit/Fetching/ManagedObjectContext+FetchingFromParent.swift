import AtomicStoreSPI
import StorePredicates

/// Fetches of a child context that its parent executes, by columns if it can: the child then evaluates only the objects
/// whose values it has itself.
extension ManagedObjectContext {
  /// The results of a request, found by the parent; nil if the child's objects have to be evaluated one by one.
  ///
  /// The child's objects keep the values that they were read with, whatever the parent's have become, and a fetch goes
  /// by them. So the parent's results are corrected by what the child has read or changed of these entities. A
  /// predicate that follows relationships may read any object, and is left to the parent only if the child has read
  /// none. One that may read transient values, which the parent's objects have and the child's do not, is not left to
  /// the parent.
  func objectsFoundByParent<Result: ManagedObject>(_ request: FetchRequest<Result>) throws -> [Result]? {
    guard let parent, let predicate = request.predicate, request.includesPendingChanges, parent.unpropagated.isEmpty
    else { return nil }
    let entities = try entities(of: request)
    let unstored = managedObjectModel.map { ModelPlan.plan(of: $0).unstoredNames } ?? []
    guard !FetchTree.predicate(predicate).mayRead(unstored) else { return nil }
    let read = byParent.values.map { $0.takeUnretainedValue() }.filter { $0.flags.contains(.realized) }
    if !predicate.readsOnly(attributesOf: entities), !read.isEmpty || hasPendingChanges { return nil }
    let own = read.filter { !$0.flags.contains(.deleted) && entities.contains($0.plan.entity) }
    let fulfilling = ObjectList(try matching(request, own))

    var above = FetchRequest<ManagedObject>(entityName: request.entityName, predicate: predicate)
    above.includesSubentities = request.includesSubentities
    above.affectedStores = request.affectedStores
    var found = try parent.objects(of: above, by: try parent.plan(above, for: .objects)).map { child(of: $0) }
    let known = ObjectList(found)
    // An object that fulfils the condition only here has its position among all objects, which only they tell.
    guard fulfilling.allSatisfy({ known.contains($0) }) else { return nil }
    found.removeAll { object in
      object.flags.contains(.deleted) || object.flags.contains(.realized) && !fulfilling.contains(object)
    }
    found += try matching(request, newObjects(of: entities, for: request))
    return try finished(request, found)
  }

  /// The objects inserted here that a request asks for.
  func newObjects<Result>(of entities: [Entity], for request: FetchRequest<Result>) -> [ManagedObject] {
    guard !inserted.isEmpty else { return [] }
    let stores = request.affectedStores.map { $0.map(\.latest) }
    return inserted.elements.filter { object in
      guard entities.contains(object.plan.entity) else { return false }
      guard let stores else { return true }
      guard let cache = cacheForCheck(object) else { return false }
      return stores.contains { $0 === cache.store }
    }
  }
}

extension FetchTree {
  /// Whether a key path or a block of the tree may read properties with one of these names.
  fileprivate func mayRead(_ names: Set<String>) -> Bool {
    switch self {
    case .predicate(.block): true
    case .expression(.keyPath(let keys)) where keys.contains(where: names.contains): true
    default: parts.contains { $0.mayRead(names) }
    }
  }
}

extension FetchPredicate {
  /// Whether the condition depends on nothing but stored attributes of the object itself.
  fileprivate func readsOnly(attributesOf entities: [Entity]) -> Bool {
    switch self {
    case .value: true
    case .block: false
    case .comparison(let comparison):
      comparison.modifier == .direct && comparison.left.readsOnly(attributesOf: entities)
        && comparison.right.readsOnly(attributesOf: entities)
    case .and(let list), .or(let list): list.allSatisfy { $0.readsOnly(attributesOf: entities) }
    case .not(let predicate): predicate.readsOnly(attributesOf: entities)
    }
  }
}

extension FetchExpression {
  fileprivate func readsOnly(attributesOf entities: [Entity]) -> Bool {
    switch self {
    case .constant: true
    case .keyPath(let keys):
      keys.count == 1
        && entities.allSatisfy { entity in
          guard let slot = entity.slot(named: keys[0]),
            case .attribute(let attribute)? = entity.property(named: keys[0])
          else { return false }
          return slot >= 0 && attribute.derivationExpression == nil
        }
    case .aggregate(let parts): parts.allSatisfy { $0.readsOnly(attributesOf: entities) }
    case .function(_, let arguments): arguments.allSatisfy { $0.readsOnly(attributesOf: entities) }
    default: false
    }
  }
}
