import Glibc
import Synchronization

/// Checks that a context is used only on the thread that created the check.
///
/// A violation is reported and changes nothing else: the operation does the same as without the check, so that a
/// program behaves the same with it and without. Fetches, saves, faults that fire, insertions, deletions and changed
/// values are checked; reading an object whose values are already there is not, since that must be fast.
///
/// ```swift
/// context.threadCheck = ThreadCheck { error in print(error) }
/// ```
public final class ThreadCheck: Sendable {
  private let thread = pthread_self()
  private let report: (@Sendable (ManagedObjectError) -> Void)?
  private let found = Mutex<[ManagedObjectError]>([])

  /// Creates a check for the current thread.
  ///
  /// - Parameter report: Called for each violation, on the thread that is not allowed to use the context.
  public init(report: (@Sendable (ManagedObjectError) -> Void)? = nil) { self.report = report }

  /// The first hundred violations. It may be read on any thread.
  public var violations: [ManagedObjectError] { found.withLock { $0 } }

  /// - Parameter name: The name of the context.
  func check(_ name: String?) {
    guard pthread_equal(thread, pthread_self()) == 0 else { return }
    let error = ManagedObjectError(
      .wrongThread,
      "the context\(name.map { " '\($0)'" } ?? "") was used on a thread other than its own; "
        + "pass IDs to the other thread, or use a BackgroundContext there")
    found.withLock { if $0.count < 100 { $0.append(error) } }
    report?(error)
  }
}
