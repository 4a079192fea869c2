import Glibc
import Synchronization

extension PersistentStoreCoordinator {
  /// Called with an entry for each opened, saved or removed store, each conflict, each slow fetch, each change by
  /// another process, and what failed; on the thread on which that happens. Nil, the default: nothing is logged, and
  /// nothing is measured for it.
  ///
  /// It must not use the coordinator or its contexts. The module `StoreLogging` passes entries to a swift-log `Logger`.
  public var log: (@Sendable (StoreLogEntry) -> Void)? {
    get { storeLog.body }
    set { storeLog.body = newValue }
  }

  /// From how many seconds on a fetch is logged as slow, with its plan; 0.1 by default.
  public var slowFetchThreshold: Double {
    get { storeLog.slowFetchThreshold }
    set { storeLog.slowFetchThreshold = newValue }
  }

  /// Whether entries are wanted.
  @inline(__always) package var isLogging: Bool { storeLog.isOn.load(ordering: .relaxed) }

  /// Logs, if anyone wants it.
  package func log(_ level: StoreLogEntry.Level, _ message: String, _ metadata: @autoclosure () -> [String: String]) {
    guard isLogging, let body = storeLog.body else { return }
    body(StoreLogEntry(level: level, message: message, metadata: metadata()))
  }

  /// Seconds since some time, for durations.
  package static var clock: Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  /// A duration for a log, in seconds.
  package static func seconds(since start: Double) -> String {
    let microseconds = Int(((clock - start) * 1e6).rounded())
    let digits = String(microseconds % 1_000_000)
    return "\(microseconds / 1_000_000)." + String(repeating: "0", count: 6 - digits.count) + digits
  }
}
