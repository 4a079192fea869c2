import AtomicStoreKit
import BuiltInStoreFormats
import Foundation
import Testing

/// A separate folder with CSV stores, for one test.
final class CSVFolder {
  let path = NSTemporaryDirectory() + "csv-\(UUID().uuidString)"

  init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }
  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// Writes a file and gives its path.
  @discardableResult
  func write(_ text: String, to name: String = "Person.csv") throws -> String { try write(Array(text.utf8), to: name) }
  @discardableResult
  func write(_ bytes: [UInt8], to name: String) throws -> String {
    let file = path + "/" + name
    try Data(bytes).write(to: URL(filePath: file))
    return file
  }

  func text(_ name: String = "Person.csv") throws -> String {
    String(decoding: try Data(contentsOf: URL(filePath: path + "/" + name)), as: UTF8.self)
  }
}

/// A store that a test has open, with its coordinator.
struct OpenCSV {
  let coordinator: PersistentStoreCoordinator
  let store: PersistentStore
  var entity: Entity { store.nodes.model.entities[0] }

  init(
    _ path: String, _ options: StoreOptions = [:], model: ModelDescription? = nil, isReadOnly: Bool = false
  ) throws {
    coordinator = PersistentStoreCoordinator(
      managedObjectModel: try model.map { try ManagedObjectModel($0) }, registry: .builtIn)
    store = try coordinator.addPersistentStore(type: "CSV", at: path, options: options, isReadOnly: isReadOnly)
  }

  /// All references in their order.
  var references: [ReferenceObject] { references(of: entity) }
  func references(of entity: Entity) -> [ReferenceObject] {
    store.nodes.handles(of: entity.index).map { store.nodes.reference(of: $0) }
  }

  func value(_ key: String, of reference: ReferenceObject, in entity: String? = nil) throws -> StoredValue {
    let name = entity ?? self.entity.name
    let node = try #require(store.nodes.handle(for: ObjectReference(entityName: name, reference: reference)))
    return try #require(store.nodes.value(forKey: key, of: node))
  }

  /// Saves one change of one object.
  func set(_ key: String, _ value: StoredValue, of reference: ReferenceObject) throws {
    let slot = try #require(entity.slot(named: key))
    let change = ManagedObjectSnapshot(entity: entity.index, reference: reference, values: [slot: value])
    try coordinator.save(store, changes: StoreChanges(updated: [change]))
  }

  /// The error that opening ends in.
  static func failure(
    _ path: String, _ options: StoreOptions = [:], model: ModelDescription? = nil
  ) throws -> PersistentStoreError {
    try XMLSupport.failure { _ = try OpenCSV(path, options, model: model, isReadOnly: true) }
  }
}
