package import AtomicStoreSPI
import StoreCoordination
import StorePredicates

extension ManagedObjectContext {
  /// Rows of a store that a request found in its columns.
  package struct StoredRows {
    /// The version of the store that the rows are of.
    package let version: NodeVersion
    /// The rows, in the order of the result.
    package let nodes: ArraySlice<NodeHandle>
  }

  /// Finds the rows that match a request without making objects; nil where the columns of the stores do not suffice,
  /// so that objects must be evaluated.
  ///
  /// - Throws: as ``fetch(_:)``.
  package func storedRows<Result: ManagedObject>(of request: FetchRequest<Result>) throws -> [StoredRows]? {
    try withStepBudget(of: request) { request in
      processPendingChanges()
      try check(request)
      guard let found = try rows(of: request, by: try plan(request, for: .rows)), found.objects.isEmpty,
        !found.parts.contains(where: \.version.isWindow)
      else {
        return nil
      }
      return found.parts.map { StoredRows(version: $0.version, nodes: $0.nodes) }
    }
  }
}
