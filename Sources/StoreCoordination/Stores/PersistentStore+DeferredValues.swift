public import AtomicStoreSPI

extension PersistentStore {
  /// All nodes, with the values that the format supplies only when they are read.
  ///
  /// ``nodes`` does not have these values. A graph that is compared, changed or written elsewhere needs them.
  ///
  /// - Throws: The error of the format that cannot supply one.
  public func nodesWithDeferredValues() throws(PersistentStoreError) -> NodeTable {
    try supplyingDeferredValues(of: nodes)
  }

  /// The nodes, of this store or a part of it, with all deferred values.
  func supplyingDeferredValues(of given: NodeTable) throws(PersistentStoreError) -> NodeTable {
    var nodes = given
    for (node, slot) in nodes.deferredSlots where nodes.contains(node) {
      try nodes.set(try value(slot: slot, of: node), slot: slot, of: node)
    }
    return nodes
  }
}
