import StoreCoordination
import Synchronization

/// The saves of other contexts that a context has yet to merge. Other threads put saves in; the context takes them.
final class SaveInbox: Sendable {
  private struct State {
    var saves: [ObjectIDChanges] = []
    var isWaking = false
  }
  private let state = Mutex(State())
  /// Lets the context take the saves soon, in its isolation; nil if it takes them when it is next used.
  private let wake: (@Sendable () -> Void)?

  init(wake: (@Sendable () -> Void)? = nil) { self.wake = wake }

  func put(_ changes: ObjectIDChanges) {
    let wakes = state.withLock { state in
      state.saves.append(changes)
      defer { state.isWaking = true }
      return !state.isWaking
    }
    if wakes { wake?() }
  }

  /// Returns the saves in their order, and removes them.
  func take() -> [ObjectIDChanges] {
    state.withLock { state in
      defer { state = State() }
      return state.saves
    }
  }
}

/// The inboxes of the contexts of a coordinator.
final class SaveDeliveries: Sendable {
  private struct Entry: Sendable { weak let inbox: SaveInbox? }
  private let entries = Mutex<[Entry]>([])

  /// Where changes by other processes come from, as long as this exists.
  private let observation = Mutex<StoreObservation?>(nil)

  func add(_ inbox: SaveInbox, of coordinator: PersistentStoreCoordinator) {
    entries.withLock { $0.append(Entry(inbox: inbox)) }
    guard observation.withLock({ $0 == nil }) else { return }
    let new = coordinator.observe { [weak self] event in
      guard case .didChangeRemotely(let change) = event, let self else { return }
      let ids = ObjectIDChanges(change)
      for inbox in inboxes { inbox.put(ids) }
    }
    observation.withLock { if $0 == nil { $0 = new } else { new.cancel() } }
  }

  /// The inboxes of contexts that still exist.
  var inboxes: [SaveInbox] {
    entries.withLock { entries in
      if entries.isEmpty { return [] }
      entries.removeAll { $0.inbox == nil }
      return entries.compactMap(\.inbox)
    }
  }
}
