// The names are Core Data's.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

public import AtomicStoreSPI
public import Foundation
import ModelFiles
public import StoreCoordination
import StoreMigration

extension PersistentStoreCoordinator {
  /// Creates a coordinator without stores that knows the built-in formats.
  public convenience init(managedObjectModel model: ManagedObjectModel) {
    self.init(managedObjectModel: model, registry: .builtIn)
  }

  /// Opens a store.
  ///
  /// - Parameter storeURL: Nil for a private store in memory.
  /// - Throws: `PersistentStoreError`, also for an option that is not one of the three above.
  @discardableResult
  public func addPersistentStore(
    ofType storeType: String, configurationName: String?, at storeURL: URL?, options: [AnyHashable: Any]? = nil
  ) throws -> PersistentStore {
    let flags = try Self.flags(options)
    let isReadOnly = flags[NSReadOnlyPersistentStoreOption] ?? false
    guard let storeURL else {
      return try addPersistentStore(
        type: storeType, configurationName: configurationName, at: "memory:", isReadOnly: isReadOnly)
    }
    let place = try place(of: storeURL, type: storeType)
    if flags[NSMigratePersistentStoresAutomaticallyOption] == true, !isReadOnly, let model = managedObjectModel,
      try isOfOtherModel(type: storeType, configurationName: configurationName, at: place, options: [:])
    {
      return try addPersistentStore(
        type: storeType, configurationName: configurationName, at: place,
        migration: MigrationPlan([.inferred(to: model)]))
    }
    return try addPersistentStore(
      type: storeType, configurationName: configurationName, at: place, isReadOnly: isReadOnly)
  }

  /// Deletes the store at a URL, which may be open in this coordinator: it is closed first.
  ///
  /// - Throws: `PersistentStoreError`, also for an option that is not one of the three.
  public func destroyPersistentStore(
    at url: URL, ofType storeType: String, options: [AnyHashable: Any]? = nil
  ) throws {
    _ = try Self.flags(options)
    let place = try place(of: url, type: storeType)
    var wasOpen = false
    for store in persistentStores where try isSame(place, type: storeType, as: store) {
      try remove(store)
      wasOpen = true
    }
    // A store that was never saved leaves nothing behind.
    if try wasOpen && !holdsContent(at: place, type: storeType, options: [:]) { return }
    try destroyPersistentStore(at: place, type: storeType)
  }

  /// Runs a block at once, and returns its result: coordinators have no queue.
  public func performAndWait<Result, Failure: Error>(_ block: () throws(Failure) -> Result) throws(Failure) -> Result {
    try block()
  }

  private static func flags(_ options: [AnyHashable: Any]?) throws(PersistentStoreError) -> [String: Bool] {
    var flags: [String: Bool] = [:]
    for (key, value) in options ?? [:] {
      let known = [
        NSReadOnlyPersistentStoreOption, NSMigratePersistentStoresAutomaticallyOption,
        NSInferMappingModelAutomaticallyOption,
      ]
      guard let name = key as? String, known.contains(name), let flag = value as? Bool else {
        throw PersistentStoreError(
          .invalidOption, "the option '\(key)' of Core Data is not supported, or is not a Bool")
      }
      flags[name] = flag
    }
    return flags
  }
}

extension ManagedObjectModel {
  /// Reads a model: `.momd`, `.mom`, `.xcdatamodeld` or `.xcdatamodel`; nil if it cannot be read. `ModelFile` throws
  /// the reason.
  public convenience init?(contentsOf url: URL) {
    guard let file = try? ModelFile.read(at: url.path(percentEncoded: false)) else { return nil }
    try? self.init(file.description)
  }
}
