import AtomicStoreSPI
import Synchronization

/// Which notes about stores that are opened the registry's handler gets.
package enum ToldNotes: Sendable {
  case all
  /// Not losses: the caller lists and refuses them.
  case warnings
  /// None: the caller shows them.
  case none
}

extension PersistentStoreCoordinator {
  /// Which notes about stores that are added the registry's handler gets.
  package var toldNotes: ToldNotes {
    get { state.withLock { $0.toldNotes } }
    set { state.withLock { $0.toldNotes = newValue } }
  }

  /// Passes what could not be read of a store, or may be misleading, to the registry's handler.
  func tellNotes(of store: PersistentStore) {
    guard let handler = registry.noteHandler else { return }
    let level = state.withLock { $0.toldNotes }
    for note in store.loadNotes where note.isWarning && level != .none || note.isLoss && level == .all {
      handler(note, store.path)
    }
  }
}
