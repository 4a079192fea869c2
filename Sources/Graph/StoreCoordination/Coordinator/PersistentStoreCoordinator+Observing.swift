import Synchronization

extension PersistentStoreCoordinator {
  /// Calls `body` when a store is added, removed or moved, on the thread on which that happens, as long as the returned
  /// value is retained.
  public func observe(_ body: @escaping @Sendable (StoreEvent) -> Void) -> StoreObservation {
    let id = state.withLock { state in
      state.nextObserver += 1
      state.observers[state.nextObserver] = body
      return state.nextObserver
    }
    return StoreObservation { [weak self] in _ = self?.state.withLock { $0.observers.removeValue(forKey: id) } }
  }

  func post(_ event: StoreEvent) {
    let observers = state.withLock { state in state.observers.sorted { $0.key < $1.key }.map(\.value) }
    for observer in observers { observer(event) }
  }
}
