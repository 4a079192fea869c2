import Glibc
import Synchronization

/// Where a store is staged, and where it will be.
struct StagingLocation: Sendable {
  /// Where the result goes, links followed; for a result without a name, what errors name.
  let targetPath: String
  /// Where it is until then: beside the target.
  let stagedPath: String
  let faults: FaultPlan?
  /// Held as long as anything of it is on the disk.
  let use = StagedItemUse()
}

/// Marks a staged file or directory as in use, so that no other process takes it for stale.
final class StagedItemUse: Sendable {
  private let descriptor = Mutex<Int32?>(nil)

  deinit { end() }

  /// Marks the item at a path, and no other one any more.
  func mark(_ path: String) {
    end()
    let new = StagedItems.hold(path)
    descriptor.withLock { $0 = new }
  }

  func end() {
    descriptor.withLock { descriptor in
      if let open = descriptor { close(open) }
      descriptor = nil
    }
  }
}
