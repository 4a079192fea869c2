import AtomicStoreSPI
import FoundationEssentials

/// What a Save As replaces in a database that is reached by a URL: kept in memory until the last step is done.
struct ReplacedDatabase {
  private let content: StoreSnapshot
  private let type: String

  /// Reads the store at the target; nil if it does not exist.
  ///
  /// - Parameter store: The store that is saved as another one.
  /// - Throws: `.alreadyExists` if it may not be replaced, or is the store itself.
  init?(
    _ type: any IncrementalStore.Type, _ configuration: StoreConfiguration, shown: String, by store: PersistentStore,
    mayReplace: Bool
  ) throws(PersistentStoreError) {
    var present = try type.init(configuration)
    defer { present.close() }
    guard let metadata = try present.metadata() else { return nil }
    guard mayReplace else {
      throw PersistentStoreError(
        .alreadyExists, "a store already exists: name another path, or say that it may be replaced (replaces: true)")
    }
    // Two URLs may lead to one database.
    guard store.connection == nil || metadata.uuid != store.identifier else {
      throw PersistentStoreError(
        .alreadyExists,
        "the store there has the same UUID as the open one: it is that store, or a copy of it; remove a copy first")
    }
    let model = try Self.model(of: metadata)
    try present.prepare(for: model)
    let builder = NodeTableBuilder(model: model, file: shown)
    builder.compareEnds(by: .asStored)
    try present.load(into: builder)
    content = StoreSnapshot(nodes: try builder.finish(), metadata: metadata)
    self.type = metadata.storeType
  }

  private static func model(of metadata: StoreMetadata) throws(PersistentStoreError) -> ManagedObjectModel {
    guard let description = metadata.model else {
      throw PersistentStoreError(
        .modelNeeded, "the store there does not contain a model, so it could not be restored: remove it first")
    }
    do { return try ManagedObjectModel(description) } catch {
      throw PersistentStoreError(
        .invalidModel, "the model of the store there is not valid, so it could not be restored: remove it first",
        underlying: error)
    }
  }

  /// Puts it back.
  ///
  /// - Parameters:
  ///   - failure: Why.
  ///   - isUntouched: Whether there still is what was written over it.
  /// - Throws: `.notRolledBack` if that is not possible.
  func restore(
    to address: String, after failure: any Error, _ converter: StoreConverter,
    isUntouched: () throws(PersistentStoreError) -> Bool
  ) throws {
    var converter = converter
    converter.targetType = type
    converter.replacesTarget = true
    converter.makesNewIdentifier = false
    converter.progress = nil
    do {
      guard try isUntouched() else {
        throw PersistentStoreError(.changedOnDisk, "another process has saved to it since")
      }
      _ = try converter.write(content, to: address)
    } catch {
      throw PersistentStoreError(
        .notRolledBack, "Save As failed, and the database that it had replaced could not be restored: \(error)",
        at: StoreLocation(file: StoreAddress.withoutPassword(address)), underlying: failure)
    }
  }
}
