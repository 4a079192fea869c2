import AtomicStoreSPI
import Synchronization

/// Save As to a database.
extension PersistentStoreCoordinator {
  /// Writes a store to an incremental store in one transaction, verifies it, and continues with that one. Contexts go
  /// on: unchanged objects keep the values that they have read, changed ones are saved to the new store.
  ///
  /// A database that is replaced stays replaced if it cannot be opened afterwards; a new one is removed.
  func migrate(
    _ store: PersistentStore, to path: String, as type: any IncrementalStore.Type, _ converter: StoreConverter,
    finish: () throws -> Void
  ) throws -> PersistentStore {
    let address = StoreAddress(path, of: type)
    var wasThere = false
    do throws(PersistentStoreError) {
      var present = try type.init(StoreConfiguration(path: address.full, isReadOnly: true))
      defer { present.close() }
      wasThere = try present.metadata() != nil
    } catch {
      // Something else is there, which the conversion refuses or replaces.
      wasThere = true
    }
    _ = try converter.convert(store, to: path)
    do {
      let opening = StoreOpening(
        registry: registry, type: type.storeType, path: path, configurationName: store.configurationName,
        options: converter.writeOptions, isReadOnly: false, model: store.model)
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
      store.state.withLock { $0.endClosing(from: self) }
      return migrated
    } catch {
      if !wasThere {
        var made = try? type.init(StoreConfiguration(path: address.full, isReadOnly: false))
        try? made?.destroy()
        made?.close()
      }
      throw error
    }
  }
}
