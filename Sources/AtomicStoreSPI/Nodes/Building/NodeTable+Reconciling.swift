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
    let builder = NodeTableBuilder(model: model)
    for entity in model.entities {
      if !entity.isAbstract {
        for slot in entity.slots where isDerived(slot) { builder.markAbsent(slot: slot.index, entity: entity.index) }
      }
      for node in handles(of: entity.index) {
        try builder.beginNode(entity: entity.index, reference: reference(of: node))
        for slot in entity.slots {
          let value = value(slot: slot.index, of: node)
          if !value.isNull { try builder.set(value, slot: slot.index) }
        }
      }
    }
    builder.compareEnds(by: rule)
    builder.rules.keepsToOnes = keepsToOnes
    return (try builder.finish(), builder.notes)
  }
}
