public import AtomicStoreSPI
import Synchronization

extension PersistentStoreCoordinator {
  /// Saves an open store under another path and perhaps type, and goes on with that one: Save As.
  ///
  /// UUID and all reference objects are kept, so that object IDs and their URIs go on naming the same objects. The old
  /// file stays as it was last saved; unsaved metadata goes along to the new one.
  ///
  /// - Parameters:
  ///   - store: A store of this coordinator.
  ///   - path: The path of the new store.
  ///   - type: A registered name; nil takes the type that the extension of `path` names.
  ///   - options: The new format's own, by name.
  ///   - replaces: Whether what lies at `path` may be replaced.
  /// - Returns: The new store, which has taken the old one's place in the coordinator.
  /// - Throws: `.unsupportedByFormat` where the target keeps no references, identity or metadata;
  ///   ``StoreConverter/LossError`` for values that it cannot carry. Then the old store stays open, and nothing was
  ///   written.
  @discardableResult
  public func migratePersistentStore(
    _ store: PersistentStore, to path: String, type: String? = nil, options: StoreOptions = [:],
    replaces: Bool = false
  ) throws -> PersistentStore {
    try migratePersistentStore(store, to: path, type: type, options: options, replaces: replaces) {}
  }

  /// Save As, with what belongs to it done before it counts: where `finish` fails the old store is the open one again,
  /// and at `path` lies what lay there before.
  package func migratePersistentStore(
    _ store: PersistentStore, to path: String, type: String?, options: StoreOptions, replaces: Bool,
    finish: () throws -> Void
  ) throws -> PersistentStore {
    try check(store)
    try refuseTwice(try StorePlace.inspect(path), path, besides: store)
    var converter = StoreConverter(registry: registry)
    converter.targetType = type
    converter.writeOptions = options
    converter.optionUse = .readingAndWriting
    converter.replacesTarget = replaces
    converter.refusesSelections = true
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
      result.store.conclude()
      store.state.withLock { $0.endClosing(from: self) }
      return migrated
    } catch {
      // What cannot be put back stays: the error that led here is the one to report.
      try? result.store.rollBack()
      throw error
    }
  }

  /// Puts one store in the place of another, which is not open any more but can be put back.
  private func exchange(_ old: PersistentStore, for new: PersistentStore) {
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
