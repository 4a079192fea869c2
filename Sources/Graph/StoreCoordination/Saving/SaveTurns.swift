import Glibc

/// Gives a context whose save was overtaken the next turn, so that no save of a process fails or waits forever because
/// other saves are faster.
///
/// Saves are optimistic: a context computes its changes against the stores' current versions and publishes them if
/// those are still current. A context that was overtaken takes the turn; saves that begin then wait until it is done.
/// While the holder runs hooks or observers, the turn is suspended, since they may save other contexts, or wait for
/// threads that do: no save waits for code outside the kit. Saves on the holder's own thread do not wait in any case.
///
/// `@unchecked Sendable`: `holder`, `thread` and `isSuspended` are read and written only while `mutex` is locked; the
/// two pointers never change and are freed when no caller can exist any more.
package final class SaveTurns: @unchecked Sendable {
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let changed: UnsafeMutablePointer<pthread_cond_t>
  private var holder: ObjectIdentifier?
  private var thread = pthread_self()
  private var isSuspended = false

  init() {
    mutex = .allocate(capacity: 1)
    mutex.initialize(to: pthread_mutex_t())
    pthread_mutex_init(mutex, nil)
    changed = .allocate(capacity: 1)
    changed.initialize(to: pthread_cond_t())
    pthread_cond_init(changed, nil)
  }

  deinit {
    pthread_cond_destroy(changed)
    changed.deinitialize(count: 1)
    changed.deallocate()
    pthread_mutex_destroy(mutex)
    mutex.deinitialize(count: 1)
    mutex.deallocate()
  }

  private func locked<Result>(_ body: () -> Result) -> Result {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return body()
  }

  private var mustWait: Bool { holder != nil && !isSuspended && pthread_equal(thread, pthread_self()) == 0 }

  /// Waits while a context that was overtaken has the turn.
  package func pass() {
    locked { while mustWait { pthread_cond_wait(changed, mutex) } }
  }

  /// Takes the turn, after the context that has it.
  ///
  /// - Parameter taker: The context that saves. It is not retained.
  /// - Returns: False if the holder runs hooks or observers, which may be the caller.
  package func take(_ taker: some AnyObject) -> Bool {
    locked {
      while mustWait { pthread_cond_wait(changed, mutex) }
      guard holder == nil else { return false }
      holder = ObjectIdentifier(taker)
      thread = pthread_self()
      return true
    }
  }

  /// Called by the holder before and after hooks.
  package func suspend(_ suspends: Bool) {
    locked {
      isSuspended = suspends
      if suspends { pthread_cond_broadcast(changed) }
    }
  }

  /// Called by the holder when its save has succeeded or failed.
  package func release() {
    locked {
      holder = nil
      isSuspended = false
      pthread_cond_broadcast(changed)
    }
  }
}
