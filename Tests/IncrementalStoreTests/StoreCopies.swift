import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import TestSupport

/// Copies of one store, which are changed in different ways and then compared.
struct StoreCopies {
  private let directory: TemporaryDirectory
  /// A property list.
  let origin: String

  init(
    in directory: TemporaryDirectory, model: ManagedObjectModel, _ fill: (ManagedObjectContext) throws -> Void
  ) throws {
    self.directory = directory
    origin = directory.path + "/0.plist"
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model, registry: .builtIn)
    try coordinator.addPersistentStore(type: "BinaryPropertyList", at: origin)
    let context = ManagedObjectContext(coordinator)
    try fill(context)
    try context.save()
  }

  /// - Parameters:
  ///   - kind: A file name extension, or PostgreSQL.
  ///   - name: Differs for each copy; on a server, also from that of other tests.
  /// - Returns: The path or URL of the copy.
  func copy(_ name: String, _ kind: String) throws -> String {
    let path = kind == "PostgreSQL" ? TestServer.schema(name) : "\(directory.path)/\(name).\(kind)"
    if kind == "plist" {
      try FileManager.default.copyItem(atPath: origin, toPath: path)
    } else {
      _ = try StoreConverter(registry: .builtIn).convert(from: origin, to: path)
    }
    return path
  }

  func differences(
    _ one: String, _ other: String, options: GraphComparison.Options = .init()
  ) throws -> [GraphDifference] {
    GraphComparison.differences(try Self.snapshot(one), try Self.snapshot(other), options: options)
  }

  private static func snapshot(_ path: String) throws -> StoreSnapshot {
    let coordinator = PersistentStoreCoordinator(registry: .builtIn)
    coordinator.readsIncrementalStoresWhole = true
    let store = try coordinator.addPersistentStore(at: path, isReadOnly: true)
    return StoreSnapshot(nodes: try store.nodes.canonical(), metadata: store.metadata)
  }
}
