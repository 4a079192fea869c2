import AtomicStoreSPI

extension ImportPass {
  /// Makes both ends of all relationships agree with what the records state.
  ///
  /// - Throws: `ImportStop.graph` for records that contradict each other, or leave a required relationship empty;
  ///   `.inverseMismatch` if the store's own ends contradict each other.
  func reconciled(_ nodes: NodeTable) throws -> NodeTable {
    var reconciliation = InverseReconciliation(nodes, stated, since: job.importer.existing)
    try reconciliation.run()
    guard reconciliation.problems.isEmpty else { throw ImportStop.graph(reconciliation.problems) }
    reconciliationNotes += reconciliation.notes
    let result = reconciliation.nodes
    let missing = RequiredRelationshipCheck(result, stated, since: job.importer.existing).problems()
    guard missing.isEmpty else { throw ImportStop.graph(missing) }
    if let found = result.inverseDisagreements(limit: 1).first {
      // No record states either end: the store was like this before.
      throw PersistentStoreError(
        .inverseMismatch,
        "the store contradicts itself: \(found.other) is named here, but its '\(found.inverse)' does not name it back; "
          + "'check' lists such objects and can mend them",
        at: StoreLocation(
          entity: found.object.entityName, reference: found.object.reference.description, property: found.property))
    }
    return result
  }
}
