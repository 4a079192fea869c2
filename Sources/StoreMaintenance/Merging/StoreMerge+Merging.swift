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
    var union = GraphUnion(first, matching, conflictRule)
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
    var merge = try ThreeWayMerge(base, first, second, conflictRule)
    return try merge.result()
  }
}
