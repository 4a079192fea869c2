import AtomicStoreSPI

/// All the faults that can be planted: what the harness is held to.
enum Faults {
  /// Each node that a save is to write.
  static func eachNode(
    of nodes: inout NodeTable, _ body: (inout NodeTable, NodeHandle, Entity) throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError) {
    for entity in nodes.model.entities where !entity.isAbstract {
      for node in nodes.handles(of: entity.index) { try body(&nodes, node, entity) }
    }
  }
}
