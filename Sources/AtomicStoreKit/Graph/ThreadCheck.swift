import Glibc
import Synchronization

/// Checks that a context is used only on the thread that created the check.
///
/// A violation does not end the program: a function that throws throws ``ManagedObjectError/Code/wrongThread``, and any
/// other does nothing. Both are reported. Fetches, saves, faults that fire, insertions, deletions and changed values
/// are checked; reading an object whose values are already there is not, since that must be fast.
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

  func violation(in name: String?) -> ManagedObjectError? {
    guard pthread_equal(thread, pthread_self()) == 0 else { return nil }
    let error = ManagedObjectError(
      .wrongThread,
      "the context\(name.map { " '\($0)'" } ?? "") was used on a thread other than its own; "
        + "pass IDs to the other thread, or use a BackgroundContext there")
    found.withLock { if $0.count < 100 { $0.append(error) } }
    report?(error)
    return error
  }
}
