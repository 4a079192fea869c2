public import AtomicStoreSPI
import Synchronization

extension PersistentStoreCoordinator {
  /// Saves an open store to another path, optionally as another type, and continues with the new store (Save As).
  ///
  /// UUID and all reference objects are kept, so that object IDs and their URIs refer to the same objects. The old file
  /// or database keeps its last saved state; unsaved metadata moves to the new one. Of a database, everything is read
  /// as it is at that moment, with what other processes saved.
  ///
  /// - Parameters:
  ///   - store: A store of this coordinator.
  ///   - path: The path of the new store.
  ///   - type: A registered name; nil chooses the type by the extension of `path`.
  ///   - options: The new format's options, by name.
  ///   - replaces: Whether what is at `path` may be replaced: a file, a directory that is a store, or a database.
  /// - Returns: The new store, which replaces the old one in the coordinator.
  /// - Throws: `.unsupportedByFormat` if the target does not store references, identity or metadata;
  ///   ``StoreConverter/LossError`` for values that it cannot store. The old store then remains open, and nothing was
  ///   written.
  @discardableResult
  public func migratePersistentStore(
    _ store: PersistentStore, to path: String, type: String? = nil, options: StoreOptions = [:],
    replaces: Bool = false
  ) throws -> PersistentStore {
    try migratePersistentStore(store, to: path, type: type, options: options, replaces: replaces) {}
  }

  /// Save As with a final step: if `finish` fails, the old store is open again, and what was at `path` before is
  /// restored.
  package func migratePersistentStore(
    _ store: PersistentStore, to path: String, type: String?, options: StoreOptions, replaces: Bool,
    finish: () throws -> Void
  ) throws -> PersistentStore {
    try check(store)
    var converter = StoreConverter(registry: registry)
    converter.targetType = type
    converter.writeOptions = options
    converter.optionUse = .readingAndWriting
    converter.replacesTarget = replaces
    converter.refusesSelections = true
    if let database = try converter.incrementalTarget(path) {
      try refuseTwice(StoreAddress(path, of: database), besides: store)
      return try migrate(store, to: path, as: database, converter, finish: finish)
    }
    try refuseTwice(try StorePath.inspect(path), path, besides: store)
    let result = try converter.publish(store, to: path)
    let report = result.report
    do {
      let opening = StoreOpening(
        registry: registry, type: report.targetType, path: path, configurationName: store.configurationName,
        options: options, isReadOnly: false, model: store.model)
      let migrated = PersistentStore(
        try opening.open(try opening.inspect()), path: path, configurationName: store.configurationName,
        isReadOnly: false)
      exchange(store, for: migrated)
      do { try finish() } catch {
        exchange(migrated, for: store)
        migrated.state.withLock { $0.endClosing(from: self) }
        throw error
      }
      result.unit.conclude()
      leave(store)
      return migrated
    } catch {
      // If something cannot be restored, the original error is still the one to report.
      try? result.unit.rollBack(after: error)
      throw error
    }
  }

  /// Closes a store that another one has replaced for good.
  func leave(_ store: PersistentStore) {
    store.state.withLock { $0.endClosing(from: self) }
    store.connection?.close()
  }

  /// Replaces a store by another one, which is no longer open but can be reopened.
  func exchange(_ old: PersistentStore, for new: PersistentStore) {
    state.withLock { state in
      if let index = state.stores.firstIndex(where: { $0 === old }) { state.stores[index] = new }
      state.generation += 1
    }
    new.successor.withLock { $0 = nil }
    new.state.withLock { $0.isOpen = true }
    old.successor.withLock { $0 = new }
    old.state.withLock { $0.isOpen = false }
    post(.didChange(StoreChange(added: [new], removed: [old], moved: [(from: old, to: new)])))
  }
}
