import AtomicStoreSPI
import StorePredicates

/// Objects that a predicate names.
struct NamedObjects {
  /// Those that objects with unsaved changes may be, or refer to.
  let ids: Set<ManagedObjectID>
  /// Those that the store has, as in columns.
  let bits: Set<UInt64>

  /// The rows of an entity, in ascending order.
  func rows(of entity: Int) -> [Int] {
    bits.map { NodeHandle(rawBits: $0) }.filter { $0.entity == entity }.map(\.row).sorted()
  }
}

extension RowTestCompiler {
  /// The objects by their IDs; nil if one has a temporary ID, by which an object that was saved since is known as well.
  private func named(_ ids: [ManagedObjectID]) -> NamedObjects? {
    var bits: Set<UInt64> = []
    for id in ids {
      guard case .permanent(let identifier, let reference) = id.form else { return nil }
      guard identifier == store, let entity = version.nodes.model.entity(named: id.entityName),
        let node = version.handle(for: reference, root: entity.root.index), node.entity == entity.index
      else { continue }
      bits.insert(node.rawBits)
    }
    return NamedObjects(ids: Set(ids), bits: bits)
  }

  /// `SELF == x`, `SELF IN {x, y}`.
  func identity(_ comparison: FetchPredicate.Comparison, _ entity: EntityPlan) -> RowTest? {
    guard let (ids, isOther) = comparison.objects(comparedWithThoseOf: entity.entity), let objects = named(ids) else {
      return nil
    }
    return .itself(objects, isOther: isOther)
  }

  /// `department == x`, `department IN {x, y}`, and of a to-many, `ANY tasks == x`.
  func destination(_ property: PropertyPlan, _ comparison: FetchPredicate.Comparison) -> RowTest? {
    guard let ids = comparison.objectIDs, let objects = named(ids) else { return nil }
    let isOther = comparison.comparator == .notEqual
    if property.isToMany {
      return comparison.modifier == .any && !isOther ? .destinations(slot: property.slot, objects, isOther: false) : nil
    }
    if ids.count == 1, let bits = objects.bits.first {
      return .destination(slot: property.slot, bits, isOther: isOther)
    }
    return .destinations(slot: property.slot, objects, isOther: isOther)
  }
}
