import AtomicStoreSPI
import FoundationEssentials
import StoreCoordination

/// Ordered to-manys with changes: whole lists.
extension ManagedObject {
  final func applyOrder(_ p: Int, _ objects: [ManagedObject]) {
    context?.event.record(self, p, .ordered(toManyObjects(p)))
    putOrdered(p, OrderedObjectList(objects))
  }

  /// Moves an object to an index of the list. Returns the index that it had, or nil.
  final func applyMove(_ p: Int, _ object: ManagedObject, to index: Int) -> Int? {
    willChangeObserved(p)
    var list = takeOrdered(p)
    let old = list.move(object, to: index)
    putOrdered(p, list)
    guard let old, old != index else { return old }
    context?.event.record(self, p, .removed(object, at: old))
    context?.event.record(self, p, .added(object))
    return old
  }

  /// Moves the list out of its property, so that changing it does not copy.
  final func takeOrdered(_ p: Int) -> OrderedObjectList {
    if case .ordered(let list)? = edits?[p] {
      edits?[p] = nil
      return list
    }
    return OrderedObjectList(toManyObjects(p))
  }

  final func putOrdered(_ p: Int, _ list: OrderedObjectList) {
    if isOverParent {
      var under: [ManagedObject] = []
      if case .ordered(let known)? = overlay?[p] { under = known.elements }
      let isBack = list.count == under.count && list.allSatisfy { $1 === under[$0] }
      return setEdit(p, isBack ? nil : .ordered(list))
    }
    let slot = plan.properties[p].slot
    if let base, !flags.contains(.inserted), slot >= 0, overlayIsEmpty(at: p),
      base.toManyCount(slot: slot, of: node) == list.count
    {
      let isBack = base.withToMany(slot: slot, of: node) { handles in
        list.allSatisfy { baseBits(of: $1) == handles[$0] }
      }
      if isBack { return setEdit(p, nil) }
    }
    setEdit(p, .ordered(list))
  }
}
