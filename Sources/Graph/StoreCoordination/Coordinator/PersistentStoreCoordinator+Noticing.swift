import AtomicStoreSPI
import Synchronization

extension PersistentStoreCoordinator {
  /// Whether the coordinator notices what other processes, and other coordinators of this process, save to its stores;
  /// false by default.
  ///
  /// Each save is reported as ``StoreEvent/didChangeRemotely(_:)``; several within a twentieth of a second as one. An
  /// atomic store is read again first; an incremental store is asked for its history. Contexts that merge automatically
  /// merge the changes. The system reports changes of local files; databases on other machines are looked at every
  /// ``remoteChangeInterval`` seconds, and all files every half minute, for what other machines do to network file
  /// systems. All of this happens on a thread that exists
  /// only while this is true.
  public var noticesRemoteChanges: Bool {
    get { state.withLock { $0.watcher != nil } }
    set {
      let (old, new) = state.withLock { state -> (StoreWatcher?, StoreWatcher?) in
        guard newValue != (state.watcher != nil) else { return (nil, nil) }
        let old = state.watcher
        state.watcher = newValue ? makeWatcher(state.remoteChangeInterval) : nil
        return (old, state.watcher)
      }
      old?.stop()
      guard let new else { return }
      for store in persistentStores { store.connection?.beginNoticing() }
      new.start()
    }
  }

  private func makeWatcher(_ interval: Double) -> StoreWatcher {
    StoreWatcher(interval: interval) { [weak self] in
      self?.watchedStores
    } look: { [weak self] in
      _ = self?.checkForRemoteChanges()
    }
  }

  private var watchedStores: WatchedStores {
    var watched = WatchedStores()
    for store in persistentStores {
      if let shared = store.state.withLock({ $0.shared }) {
        if let watcher = state.withLock({ $0.watcher }) { shared.content.add(watcher) }
      } else if store.isReachedByURL {
        watched.needsInterval = true
      } else {
        watched.paths.append(store.path)
      }
    }
    return watched
  }

  /// How often stores are looked at whose changes the system does not report, in seconds. The default is 1. Values less
  /// than 0.01 count as 0.01. A change takes effect when ``noticesRemoteChanges`` is set to true.
  public var remoteChangeInterval: Double {
    get { state.withLock { $0.remoteChangeInterval } }
    set { state.withLock { $0.remoteChangeInterval = max(0.01, newValue) } }
  }

  /// Looks at all stores now, reads those that were changed, reports the changes as
  /// ``StoreEvent/didChangeRemotely(_:)``, and returns them. A store that cannot be read is reported as
  /// ``StoreEvent/remoteChangeFailed(_:_:)`` and keeps its content; a database that another process replaced as a whole
  /// is reported so, with the code `.unavailable`, and has to be opened again.
  ///
  /// Use it instead of ``noticesRemoteChanges`` where the program knows when to look.
  @discardableResult
  public func checkForRemoteChanges() -> [RemoteStoreChange] {
    var found = state.withLock { state in
      defer { state.unreported = [] }
      return state.unreported
    }
    for change in found { report(change) }
    for store in persistentStores {
      do throws(PersistentStoreError) {
        if let connection = store.connection {
          let (transactions, areAll) = try connection.newTransactions()
          guard !transactions.isEmpty || !areAll else {
            store.lastRemoteFailure.withLock { $0 = nil }
            continue
          }
          var change = RemoteStoreChange(store, transactions)
          change.isComplete = areAll
          found.append(change)
          report(change)
        } else if let change = try reload(store, findsChanges: true) {
          found.append(change)
          report(change)
        }
        store.lastRemoteFailure.withLock { $0 = nil }
      } catch {
        // A file that stays broken is reported once.
        let isNew = store.lastRemoteFailure.withLock { last in
          defer { last = error.message }
          return last != error.message
        }
        guard isNew, store.isOpen else { continue }
        log(.error, "changed store not read", ["path": store.path, "error": "\(error)"])
        post(.remoteChangeFailed(store, error))
      }
    }
    return found
  }

  private func report(_ change: RemoteStoreChange) {
    log(
      .notice, "store changed by another process",
      [
        "path": change.store.path, "inserted": "\(change.inserted.count)", "updated": "\(change.updated.count)",
        "deleted": "\(change.deleted.count)",
      ])
    post(.didChangeRemotely(change))
  }

  /// Reloads an atomic store if its file is no longer the one that was last read or written.
  ///
  /// - Parameter findsChanges: False to reload without finding out what changed, which takes time.
  /// - Returns: What changed; nil if nothing did, or it was not to be found out.
  func reload(_ store: PersistentStore, findsChanges: Bool) throws(PersistentStoreError) -> RemoteStoreChange? {
    let result = saving.withLock { _ -> Result<(old: NodeVersion, new: NodeVersion), PersistentStoreError> in
      let old = store.version
      do throws(PersistentStoreError) {
        try store.reloadIfChanged { uuid in
          persistentStores.contains { $0 !== store && $0.identifier == uuid }
        }
        return .success((old, store.version))
      } catch {
        return .failure(error)
      }
    }
    let (old, new) = try result.get()
    guard old !== new, findsChanges else { return nil }
    return RemoteStoreChange(store, from: old, to: new)
  }
}
