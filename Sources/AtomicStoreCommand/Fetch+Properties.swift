import AtomicStoreKit
import StoreCoordination

extension Fetch {
  /// What the rows, or their number, depend on: everything if the request is invalid, which is reported when the store
  /// is open.
  func readNeeds(_ model: ManagedObjectModel) -> ReadNeeds {
    guard var request = try? request(model) else { return ReadNeeds() }
    // Sort keys may be the names of columns.
    if !count || distinct || group != nil || sort != nil {
      guard let columns = try? fetchColumns(model) else { return ReadNeeds() }
      request.propertiesToFetch = columns
    }
    return ReadNeeds(properties: request.namedProperties, objects: request.neededObjects(in: model))
  }
}
