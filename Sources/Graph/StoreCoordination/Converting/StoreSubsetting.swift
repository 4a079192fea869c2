public import AtomicStoreSPI

/// Selects the objects of a store that a copy contains: see ``StoreConverter/subset``.
///
/// `StoreSubset` of the object graph selects them by entity and predicate.
public protocol StoreSubsetting: Sendable {
  /// Returns the store's nodes without those that the copy omits, and what was done to relationships.
  ///
  /// Omitted nodes are marked as deleted, so that handles into the store's own table stay valid.
  ///
  /// - Throws: An error if the selection is not possible. The conversion fails with it, and nothing is written.
  func nodes(of store: PersistentStore) throws -> (nodes: NodeTable, notes: [StoreSelection.Note])
}
