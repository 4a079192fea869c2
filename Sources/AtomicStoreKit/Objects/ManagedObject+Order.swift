import AtomicStoreSPI
import FoundationEssentials
import StoreCoordination

/// Ordered to-manys with changes: whole lists.
extension ManagedObject {
  final func applyOrder(_ p: Int, _ objects: [ManagedObject]) {
    context?.event.record(self, p, .ordered(toManyObjects(p)))
    putOrdered(p, OrderedObjectList(objects))
  }

  /// Moves the list out of its property, so that changing it does not copy.
  final func takeOrdered(_ p: Int) -> OrderedObjectList {
    if let edits, case .ordered(let list)? = edits[p] {
      self.edits?[p] = nil
      return list
    }
    return OrderedObjectList(toManyObjects(p))
  }

  final func putOrdered(_ p: Int, _ list: OrderedObjectList) {
    if isOverParent {
      var under: [ManagedObject] = []
      if case .ordered(let known)? = overlay?[p] { under = known.elements }
      return setEdit(p, list.elements.elementsEqual(under, by: ===) ? nil : .ordered(list))
    }
    let slot = plan.properties[p].slot
    if let base, !flags.contains(.inserted), slot >= 0, overlayIsEmpty(at: p),
      base.toManyCount(slot: slot, of: node) == list.count
    {
      let isBack = base.withToMany(slot: slot, of: node) { handles in
        handles.indices.allSatisfy { baseBits(of: list.elements[$0]) == handles[$0] }
      }
      if isBack { return setEdit(p, nil) }
    }
    setEdit(p, .ordered(list))
  }
}
