import AtomicStoreSPI
import Synchronization

/// Changes a store in place, based on what it holds at the time of saving: what other processes save meanwhile is kept.
///
/// Each failure means that another save succeeded, so all of them make progress. Repetitions within others have one
/// bound together: a context that repeats its save within a body that is repeated, too, takes of the body's.
package enum RepeatedSave {
  /// How often something may be repeated.
  package final class Repetitions: Sendable {
    private let left: Mutex<Int>

    package init(_ count: Int) { left = Mutex(count) }

    /// Takes one; false if none is left.
    package func take() -> Bool {
      left.withLock { left in
        guard left > 0 else { return false }
        left -= 1
        return true
      }
    }
  }

  private static let most = 99
  @TaskLocal private static var shared: Repetitions?

  /// Those of the body that the caller is within; otherwise new ones, for a hundred attempts.
  package static var repetitions: Repetitions { shared ?? Repetitions(most) }

  /// Calls a body that reads a store, changes it and saves it; again where another process saved in between.
  ///
  /// - Parameter isConflict: Whether an error means that; by default, those of the coordinator.
  /// - Throws: The errors of the body; after a hundred attempts also that of another save.
  package static func run<Result>(
    where isConflict: (any Error) -> Bool = { isConflict($0) }, _ body: () throws -> Result
  ) throws -> Result {
    let repetitions = repetitions
    return try $shared.withValue(repetitions) {
      while true {
        do { return try body() } catch {
          guard isConflict(error), repetitions.take() else { throw error }
        }
      }
    }
  }

  /// Whether an error of the coordinator means that another process saved the store since it was read.
  package static func isConflict(_ error: any Error) -> Bool {
    guard let error = error as? PersistentStoreError else { return false }
    return error.code == .changedOnDisk || error.code == .retry
  }
}
