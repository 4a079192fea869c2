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

/// Marks staged files and directories, and what a commit moves aside, as in use, so that neither another thread nor
/// another process takes them for stale.
final class StagedItemUse: Sendable {
  private let descriptor = Mutex<Int32?>(nil)
  private let paths = Mutex<Set<String>>([])

  deinit { end() }

  /// Lists a path until the use ends. Call it before there is anything at the path. A signal does not remove the item.
  func reserve(_ path: String) {
    paths.withLock { _ = $0.insert(path) }
    StagedItems.keep(path)
  }

  /// Marks the item at a path for other processes, and no longer any other.
  func mark(_ path: String) {
    unmark()
    let new = StagedItems.hold(path)
    descriptor.withLock { $0 = new }
  }

  func end() {
    unmark()
    paths.withLock { paths in
      for path in paths { StagedItems.remove(path) }
      paths = []
    }
  }

  private func unmark() {
    descriptor.withLock { descriptor in
      if let open = descriptor { DatabaseFileHold.close(open) }
      descriptor = nil
    }
  }
}
