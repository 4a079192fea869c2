import AtomicStoreSPI
import Glibc

/// Gives a context whose save was overtaken the next turn, so that no save of a process fails or waits forever because
/// other saves are faster.
///
/// Saves are optimistic: a context computes its changes against the stores' current versions and publishes them if
/// those are still current. A context that was overtaken takes the turn; saves that begin then wait until it is done.
/// While the holder runs hooks or observers, the turn is suspended, since they may save other contexts, or wait for
/// threads that do: no save waits for code outside the kit. Saves on the holder's own thread do not wait in any case.
///
/// `@unchecked Sendable`: `holder`, `thread` and `isSuspended` are read and written only while `changed` is locked.
package final class SaveTurns: @unchecked Sendable {
  private let changed = ThreadCondition()
  private var holder: ObjectIdentifier?
  private var thread = pthread_self()
  private var isSuspended = false

  private var mustWait: Bool { holder != nil && !isSuspended && pthread_equal(thread, pthread_self()) == 0 }

  /// Waits while a context that was overtaken has the turn.
  package func pass() {
    changed.withLock { while mustWait { changed.wait() } }
  }

  /// Takes the turn, after the context that has it.
  ///
  /// - Parameter taker: The context that saves. It is not retained.
  /// - Returns: False if the holder runs hooks or observers, which may be the caller.
  package func take(_ taker: some AnyObject) -> Bool {
    changed.withLock {
      while mustWait { changed.wait() }
      guard holder == nil else { return false }
      holder = ObjectIdentifier(taker)
      thread = pthread_self()
      return true
    }
  }

  /// Called by the holder before and after hooks.
  package func suspend(_ suspends: Bool) {
    changed.withLock {
      isSuspended = suspends
      if suspends { changed.broadcast() }
    }
  }

  /// Called by the holder when its save has succeeded or failed.
  package func release() {
    changed.withLock {
      holder = nil
      isSuspended = false
      changed.broadcast()
    }
  }
}
