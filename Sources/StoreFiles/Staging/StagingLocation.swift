import Glibc
import Synchronization

/// The paths of a store before and after it is published.
struct StagingLocation: Sendable {
  /// The path of the result, with links followed; for a result without a name, the name for errors.
  let targetPath: String
  /// The path until then: beside the target.
  let stagedPath: String
  let faults: FaultPlan?
  /// Held as long as anything of it is on disk.
  let use = StagedItemUse()
}

/// Marks a staged file or directory as in use, so that no other process takes it for stale.
final class StagedItemUse: Sendable {
  private let descriptor = Mutex<Int32?>(nil)

  deinit { end() }

  /// Marks the item at a path, and no longer any other.
  func mark(_ path: String) {
    end()
    let new = StagedItems.hold(path)
    descriptor.withLock { $0 = new }
  }

  func end() {
    descriptor.withLock { descriptor in
      if let open = descriptor { DatabaseFileHold.close(open) }
      descriptor = nil
    }
  }
}
