import AtomicStoreKit
import Synchronization

/// Keeps the stores of a check that are in memory: they end with the last coordinator that has them, and a check closes
/// a store to open it again.
enum InProcessStores {
  private struct Kept {
    var coordinators: [PersistentStoreCoordinator] = []
  }
  private static let kept = Mutex(Kept())

  /// Keeps a coordinator's stores until the process ends.
  static func keep(_ coordinator: PersistentStoreCoordinator) { kept.withLock { $0.coordinators.append(coordinator) } }
}
