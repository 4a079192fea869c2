import Synchronization

/// Memory that stays until the process ends, and then goes with it. To release the tables of hundreds of entities one
/// by one takes a good part of the time in which such a store is opened.
package enum MemoryUntilExit {
  private static let kept = Mutex<[any Sendable]>([])

  /// Keeps values: those of a command that has opened its only store and ends soon. They must consist of memory only,
  /// because nothing is closed.
  package static func keep(_ values: any Sendable...) { kept.withLock { $0 += values } }
}
