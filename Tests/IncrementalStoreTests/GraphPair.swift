import AtomicStoreConformance
import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import TestSupport

/// The same random graph in a property list and in an incremental store, in its own directory.
final class GraphPair {
  let folder: TemporaryDirectory
  let stores: ComparedStores
  var incremental: PersistentStoreCoordinator { stores.incremental }
  var propertyPath: String { stores.propertyPath }
  var incrementalPath: String { stores.incrementalPath }

  /// - Parameters:
  ///   - target: The path or URL of the incremental store; nil for an SQLite file.
  init(seed: UInt64, count: Int, target: String? = nil) throws {
    folder = try TemporaryDirectory("incremental-stores")
    stores = try ComparedStores(
      seed: seed, count: count, propertyPath: folder.path + "/graph.plist",
      incrementalPath: target ?? folder.path + "/graph.sqlgraph", registry: .builtIn)
  }
}
