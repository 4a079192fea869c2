import AtomicStoreSPI

extension ImportPass {
  /// Makes both ends of all relationships agree with what the records state.
  ///
  /// - Throws: `ImportStop.graph` for records that contradict each other, or leave a required relationship empty;
  ///   `.inverseMismatch` if ends contradict each other that did not in the store.
  func reconciled(_ nodes: NodeTable) throws -> NodeTable {
    var reconciliation = InverseReconciliation(nodes, stated, since: job.importer.existing)
    try reconciliation.run()
    guard reconciliation.problems.isEmpty else { throw ImportStop.graph(reconciliation.problems) }
    reconciliationNotes += reconciliation.notes
    let result = reconciliation.nodes
    reconciliationNotes += try RelationshipRuleCheck(result, stated, since: job.importer.existing).run()
    let found = result.inverseDisagreements()
    if found.isEmpty { return result }
    // What no record concerns stays as it was.
    let known = Set(job.importer.existing?.inverseDisagreements() ?? [])
    if let found = found.first(where: { !known.contains($0) }) {
      throw PersistentStoreError(
        .inverseMismatch,
        "the store would contradict itself: \(found.other) is named here, but its '\(found.inverse)' does not name it back; "
          + "'check' lists such objects and can repair them",
        at: StoreLocation(
          entity: found.object.entityName, reference: found.object.reference.description, property: found.property))
    }
    return result
  }
}
