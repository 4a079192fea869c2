import AtomicStoreSPI
import Synchronization

/// Which notes about stores that are opened the registry's handler gets.
package enum ToldNotes: Sendable {
  case all
  /// Not losses: the caller lists and refuses them.
  case warnings
  /// Not losses with a location: the caller lists them.
  case withoutLocation
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
  ///
  /// - Parameter path: The path or URL as it was specified.
  func tellNotes(of store: PersistentStore, openedAs path: String) {
    guard let handler = registry.noteHandler else { return }
    let level = state.withLock { $0.toldNotes }
    func isShown(_ note: LoadNote) -> Bool {
      switch level {
      case .all: note.isWarning || note.isLoss
      case .warnings: note.isWarning
      case .withoutLocation: note.isWarning || note.isLoss && note.location == nil
      case .none: false
      }
    }
    for note in store.loadNotes where isShown(note) {
      handler(note, StoreAddress.withoutPassword(path))
    }
  }
}
