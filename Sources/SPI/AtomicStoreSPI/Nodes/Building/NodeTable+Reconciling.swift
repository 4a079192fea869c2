extension NodeTable {
  /// Returns the table with ends of relationships that are treated by a rule, and what was changed because of it.
  ///
  /// - Parameters:
  ///   - keepsToOnes: Whether two to-one ends stay as they are, whatever the rule is.
  ///   - isDerived: The relationships that follow from their inverses.
  /// - Throws: `.inverseMismatch` for ends that the rule refuses.
  package func reconciled(
    by rule: RelationshipRules.Inverses, keepsToOnes: Bool = false, isDerived: (Slot) -> Bool = { _ in false }
  ) throws(PersistentStoreError) -> (nodes: NodeTable, notes: [SelectionNote]) {
    var result = try canonical()
    // Then nothing contradicts, and what follows from an inverse is what it would be made of it.
    let ends = InverseEnds(model: model, tables: result.entities)
    if result.endsAgree || model.inversePairs.allSatisfy({ ends.agree($0) }) {
      result.noteAgreement()
      return (result, [])
    }
    let builder = NodeTableBuilder(model: model)
    // The columns are the table's: only ends that change are copied.
    builder.tables = result.entities
    for entity in model.entities where !entity.isAbstract {
      for slot in entity.slots where isDerived(slot) { builder.markAbsent(slot: slot.index, entity: entity.index) }
    }
    builder.compareEnds(by: rule)
    builder.rules.keepsToOnes = keepsToOnes
    let agree = try builder.reconcileInverses()
    result.entities = builder.tables
    if agree { result.noteAgreement() }
    return (result, builder.notes)
  }
}
