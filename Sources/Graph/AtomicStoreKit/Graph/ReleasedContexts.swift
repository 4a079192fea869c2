import Glibc
import Synchronization

/// What happens when a property of an object is read whose context no longer exists. The property reads as nil or
/// empty.
public enum ReleasedContextReaction: Sendable {
  /// A line on standard error names the object; at most ten times in a process. The default.
  case warn
  /// Nothing: only ``ManagedObject/accessError`` has the error.
  case ignore
  /// The closure is called with the error. A program under test can end itself there.
  case call(@Sendable (ManagedObjectError) -> Void)
}

/// Reports reads of objects that were used after their contexts were released.
enum ReleasedContexts {
  private struct State {
    var reaction = ReleasedContextReaction.warn
    var warningCount = 0
  }
  private static let state = Mutex(State())

  static var reaction: ReleasedContextReaction {
    get { state.withLock { $0.reaction } }
    set { state.withLock { $0.reaction = newValue } }
  }

  static func report(_ error: ManagedObjectError) {
    let (reaction, isAmongFirst) = state.withLock { state in
      state.warningCount += 1
      return (state.reaction, state.warningCount <= 10)
    }
    switch reaction {
    case .ignore: return
    case .call(let body): body(error)
    case .warn:
      guard isAmongFirst else { return }
      var line = "warning: \(error.message), so its properties read as nil; keep the context while objects are used\n"
      line.withUTF8 { _ = write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }
  }
}
