package import AtomicStoreSPI
import Synchronization

extension PersistentStore {
  /// All nodes, with the values that the format supplies only when they are read.
  ///
  /// ``nodes`` does not have these values. A graph that is compared, changed or written elsewhere needs them.
  ///
  /// For an incremental store everything is read, as of one moment: ``nodes`` has nothing of it.
  ///
  /// - Throws: The error of the format that cannot supply one.
  package func nodesWithDeferredValues() throws(PersistentStoreError) -> NodeTable {
    if let connection {
      let builder = NodeTableBuilder(model: model, file: path)
      builder.compareEnds(by: try rules().inverses)
      return try connection.read(into: builder)
    }
    return try supplyingDeferredValues(of: nodes)
  }

  /// How the store was opened to treat its relationships.
  func rules() throws(PersistentStoreError) -> RelationshipRules {
    try state.withLock { open throws(PersistentStoreError) in try open.opening.ownOptions().rules }
  }

  /// The nodes, of this store or a part of it, with all deferred values.
  func supplyingDeferredValues(of given: NodeTable) throws(PersistentStoreError) -> NodeTable {
    try given.supplied { slot, node, _ throws(PersistentStoreError) in try value(slot: slot, of: node) }
  }
}
