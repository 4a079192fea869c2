import AtomicStoreSPI
import FoundationEssentials
import Synchronization

/// Save As to a database.
extension PersistentStoreCoordinator {
  /// Writes a store to an incremental store in one transaction, verifies it, and continues with that one. Contexts go
  /// on: unchanged objects keep the values that they have read, changed ones are saved to the new store.
  ///
  /// If the last step fails, a file is again what it was, and a new database that is reached by a URL is removed. One
  /// that was replaced gets its objects and metadata back, which are in memory until then: its history restarts.
  func migrate(
    _ store: PersistentStore, to path: String, as type: any IncrementalStore.Type, _ converter: StoreConverter,
    finish: () throws -> Void
  ) throws -> PersistentStore {
    let address = StoreAddress(path, of: type)
    let opening = StoreOpening(
      registry: registry, type: type.storeType, path: path, configurationName: store.configurationName,
      options: converter.writeOptions, isReadOnly: false, model: store.model)
    guard address.isFile else { return try migrate(store, toServer: address, type, converter, opening, finish) }
    let result = try converter.publish(store, to: address, as: type)
    do {
      let migrated = try goOn(from: store, opening, type, finish)
      result.unit.conclude()
      return migrated
    } catch {
      // If something cannot be restored, the original error is still the one to report.
      try? result.unit.rollBack(after: error, isWritten: true)
      throw error
    }
  }

  private func migrate(
    _ store: PersistentStore, toServer address: StoreAddress, _ type: any IncrementalStore.Type,
    _ converter: StoreConverter, _ opening: StoreOpening, _ finish: () throws -> Void
  ) throws -> PersistentStore {
    let configuration = StoreConfiguration(path: address.full, options: converter.writeOptions, isReadOnly: false)
    let replaced: ReplacedDatabase?
    do throws(PersistentStoreError) {
      replaced = try ReplacedDatabase(
        type, configuration, shown: address.shown, by: store, mayReplace: converter.replacesTarget)
    } catch {
      throw error.located(StoreLocation(file: address.shown))
    }
    // What appears at the place from now on could not be restored.
    var converter = converter
    converter.replacesTarget = replaced != nil
    let written = try converter.convert(store, to: address.full).identifier
    var token: HistoryToken?
    do {
      token = try Self.history(of: type, configuration)
      return try goOn(from: store, opening, type, finish)
    } catch {
      guard let replaced else {
        Self.destroy(type, configuration, written, token)
        throw error
      }
      try replaced.restore(to: address.full, after: error, converter) { () throws(PersistentStoreError) in
        var made = try type.init(configuration)
        defer { made.close() }
        guard try made.metadata()?.uuid == written else { return false }
        return try made.currentHistoryToken() == token
      }
      throw error
    }
  }

  private static func history(
    of type: any IncrementalStore.Type, _ configuration: StoreConfiguration
  ) throws(PersistentStoreError) -> HistoryToken? {
    var store = try type.init(configuration)
    defer { store.close() }
    guard try store.metadata() != nil else { return nil }
    return try store.currentHistoryToken()
  }

  /// Removes a store that was written, unless it is another one by now, or someone saved to it.
  private static func destroy(
    _ type: any IncrementalStore.Type, _ configuration: StoreConfiguration, _ written: UUID, _ token: HistoryToken?
  ) {
    guard var made = try? type.init(configuration) else { return }
    defer { made.close() }
    // An error here would hide the one to report.
    do throws(PersistentStoreError) {
      guard try made.metadata()?.uuid == written, try made.currentHistoryToken() == token else { return }
      try made.destroy()
    } catch {}
  }

  /// Opens what was written in place of a store; the store is open again if the last step fails.
  private func goOn(
    from store: PersistentStore, _ opening: StoreOpening, _ type: any IncrementalStore.Type,
    _ finish: () throws -> Void
  ) throws -> PersistentStore {
    let migrated = try opening.openIncremental(type, readsWhole: false)
    exchange(store, for: migrated)
    do { try finish() } catch {
      exchange(migrated, for: store)
      migrated.state.withLock { $0.endClosing(from: self) }
      migrated.connection?.close()
      throw error
    }
    if let watcher = state.withLock({ $0.watcher }) {
      migrated.connection?.beginNoticing()
      watcher.poke()
    }
    leave(store)
    return migrated
  }
}
