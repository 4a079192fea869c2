import AtomicStoreKit
import AtomicStoreSPI

/// What a command has read from a database that it may change.
struct DatabaseGraph {
  let store: PersistentStore
  let nodes: NodeTable
  /// The last save before that; nil if there was none.
  let token: HistoryToken?
  /// The path or URL that was asked for.
  let address: String

  /// Reads all objects of a store; nil if it is not a database.
  init?(_ store: PersistentStore, of coordinator: PersistentStoreCoordinator, at address: String) throws {
    guard store.hasHistory else { return nil }
    self.store = store
    self.address = address
    // In this order: what is saved in between makes the change fail, and is not lost.
    token = try coordinator.currentHistoryToken(of: store)
    nodes = try store.nodesWithDeferredValues()
  }

  /// Whether it is at a path or URL.
  func isAt(_ target: String) throws -> Bool {
    if address == target { return true }
    guard !Input.isURL(target), !Input.isURL(address) else { return false }
    return StorePath.isSame(try StorePath.inspect(address), path: target)
  }
}
