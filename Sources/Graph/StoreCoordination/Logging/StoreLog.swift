import Synchronization

/// Where a coordinator's entries go.
final class StoreLog: Sendable {
  /// Whether there is anything to do, without a lock.
  let isOn = Atomic<Bool>(false)
  private struct State {
    var body: (@Sendable (StoreLogEntry) -> Void)?
    var slowFetchThreshold = 0.1
  }
  private let state = Mutex(State())

  var body: (@Sendable (StoreLogEntry) -> Void)? {
    get { state.withLock { $0.body } }
    set {
      state.withLock { $0.body = newValue }
      isOn.store(newValue != nil, ordering: .relaxed)
    }
  }
  var slowFetchThreshold: Double {
    get { state.withLock { $0.slowFetchThreshold } }
    set { state.withLock { $0.slowFetchThreshold = newValue } }
  }
}
