import AtomicStoreKit

extension Fetch {
  /// The names of the properties that the rows, or their number, depend on; nil for all, and if the request is invalid:
  /// that is reported when the store is open.
  func propertiesToRead(_ model: ManagedObjectModel) -> Set<ScalarString>? {
    guard var request = try? request(model) else { return nil }
    // Sort keys may be the names of columns.
    if !count || distinct || group != nil || sort != nil {
      guard let columns = try? fetchColumns(model) else { return nil }
      request.propertiesToFetch = columns
    }
    return request.namedProperties
  }
}
