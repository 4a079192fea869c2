import AtomicStoreSPI

/// One-to-many relationships of which the tables have both ends.
extension ImportPass {
  /// The to-one of a record.
  struct GivenEnd {
    var node: NodeHandle
    var slot: Int
    /// The object that it leads to; nil for none.
    var key: ReferenceObject?
    var file: String
    var line: Int
  }

  /// The to-ones of a table's entity that it has columns for, and whose to-many a table has a column for. Objects that
  /// no record names have this to-many from the store, so it does not follow from the to-one, which is made anew: for
  /// each record it must be the one that is given.
  func givenEndSlots(of plan: TablePlan) -> Set<Int> {
    given(plan).filter { index in
      let slot = plan.entity.slots[index]
      guard !slot.isToMany, let destination = slot.destination, let inverse = slot.inverseSlot else { return false }
      let entity = job.model.entity(at: destination)
      return entity.slots[inverse].isToMany && isGiven(entity.slots[inverse].name, of: entity)
    }
  }

  func check(_ end: GivenEnd, in result: NodeTable) throws(PersistentStoreError) {
    let slot = job.model.entity(at: end.node.entity).slots[end.slot]
    let found = result.reader(of: end.node.entity).toOne(slot: end.slot, row: end.node.row)
    let key = found.map { result.reference(of: $0) }
    guard key != end.key, let destination = slot.destination, let inverse = slot.inverseSlot else { return }
    let entity = job.model.entity(at: destination)
    func name(_ key: ReferenceObject?) -> String { key.map { "\(entity.name)/\($0)" } ?? "null" }
    throw PersistentStoreError(
      .inverseMismatch,
      "it is \(name(end.key)) here, but \(name(key)) if '\(entity.slots[inverse].name)' of all \(entity.name) objects "
        + "is right: correct one of the two, or leave one of the two columns out",
      at: StoreLocation(
        file: end.file, line: end.line, entity: result.model.entity(at: end.node.entity).name,
        reference: result.reference(of: end.node).description, property: slot.name))
  }

  func noteEnd(_ key: ReferenceObject?, _ column: TablePlan.Column, _ field: ImportField, _ plan: TablePlan) {
    guard givenEndSlots[plan.source].contains(column.slot) else { return }
    let node = NodeHandle(entity: plan.entity.index, row: nodes.count(of: plan.entity.index) - 1)
    givenEnds.append(GivenEnd(node: node, slot: column.slot, key: key, file: plan.name, line: field.line))
  }
}
