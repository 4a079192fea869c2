public import AtomicStoreSPI

/// Chooses the objects of a store that a copy holds: see ``StoreConverter/subset``.
///
/// `StoreSubset` of the object graph chooses them by entity and predicate.
public protocol StoreSubsetting: Sendable {
  /// Returns the store's nodes without those that the copy leaves out, and what was done to get there.
  ///
  /// Nodes that are left out are marked as deleted, so that handles into the store's own table stay valid.
  ///
  /// - Throws: What prevents the choice. The conversion fails with it, and nothing is written.
  func nodes(of store: PersistentStore) throws -> (nodes: NodeTable, notes: [StoreSelection.Note])
}
