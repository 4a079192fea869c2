public import AtomicStoreSPI

extension StoreMerge {
  /// Merges graphs of one model.
  ///
  /// - Parameter graphs: At least one; the first keeps its references.
  /// - Throws: ``ConflictError``; `PersistentStoreError`: `.modelMismatch` where the models differ, `.inverseMismatch`
  ///   where a to-one would lead to several objects.
  public func merge(_ graphs: [NodeTable]) throws -> Result {
    guard let first = graphs.first else {
      throw PersistentStoreError(.invalidOption, "there is nothing to merge")
    }
    try checkNames(in: first.model)
    var union = GraphUnion(first, matching, conflictRule, after: lastReference)
    for graph in graphs.dropFirst() { try union.add(graph) }
    return try union.result()
  }

  /// Merges the changes that two graphs made to a common base.
  ///
  /// Objects are the same where their references are, and the base has them; new objects of the second whose reference
  /// the first gave to another object get another one.
  ///
  /// - Throws: as ``merge(_:)``.
  public func merge(base: NodeTable, _ first: NodeTable, _ second: NodeTable) throws -> Result {
    try checkNames(in: base.model)
    var merge = try ThreeWayMerge(base, first, second, conflictRule, after: lastReference)
    return try merge.result()
  }

  /// - Throws: `.invalidOption` for an entity or property of ``matching`` or ``conflictRule`` that the model does not
  ///   have: nothing would match, or every conflict remain.
  private func checkNames(in model: ManagedObjectModel) throws(PersistentStoreError) {
    if case .properties(let properties) = matching {
      for (name, keys) in properties.sorted(by: { $0.key < $1.key }) {
        let entity = try model.entity(specified: name)
        guard !keys.isEmpty else {
          throw PersistentStoreError(.invalidOption, "no property is named by which objects of \(name) are matched")
        }
        for key in keys where entity.slot(named: key) == nil {
          throw PersistentStoreError(
            .invalidOption,
            "\(name) does not have a property '\(key)'\(Suggestion.text(for: key, among: entity.slots.map(\.name)))")
        }
      }
    }
    if case .newest(let key) = conflictRule, !model.entities.contains(where: { $0.slot(named: key) != nil }) {
      throw PersistentStoreError(.invalidOption, "no entity has a property '\(key)'")
    }
  }
}
