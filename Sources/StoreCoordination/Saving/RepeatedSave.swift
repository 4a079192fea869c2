import AtomicStoreSPI

/// Changes a store in place, based on what it holds at the time of saving: what other processes save meanwhile is kept.
///
/// Each failure means that another save succeeded, so all of them make progress.
package enum RepeatedSave {
  private static let attempts = 100

  /// Calls a body that reads a store, changes it and saves it; again where another process saved in between.
  ///
  /// - Parameter isConflict: Whether an error means that; by default, those of the coordinator.
  /// - Throws: The errors of the body; after a hundred attempts also that of another save.
  package static func run<Result>(
    where isConflict: (any Error) -> Bool = { isConflict($0) }, _ body: () throws -> Result
  ) throws -> Result {
    var attempt = 1
    while true {
      do {
        return try body()
      } catch {
        guard attempt < attempts, isConflict(error) else { throw error }
        attempt += 1
      }
    }
  }

  /// Whether an error of the coordinator means that another process saved the store since it was read.
  package static func isConflict(_ error: any Error) -> Bool {
    guard let error = error as? PersistentStoreError else { return false }
    return error.code == .changedOnDisk || error.code == .retry
  }
}
