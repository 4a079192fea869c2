import Glibc

/// A lock whose owner can wait until another thread has changed what it protects.
///
/// `@unchecked Sendable`: the two pointers never change, and are used through POSIX calls only, which any thread may
/// make.
package final class ThreadCondition: @unchecked Sendable {
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

  package init() {
    mutex.initialize(to: pthread_mutex_t())
    condition.initialize(to: pthread_cond_t())
    pthread_mutex_init(mutex, nil)
    pthread_cond_init(condition, nil)
  }

  deinit {
    pthread_cond_destroy(condition)
    pthread_mutex_destroy(mutex)
    condition.deallocate()
    mutex.deallocate()
  }

  package func withLock<Value>(_ body: () throws -> Value) rethrows -> Value {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return try body()
  }

  /// Gives up the lock, which the caller holds, until `broadcast` is called; it may return earlier.
  package func wait() { pthread_cond_wait(condition, mutex) }

  package func broadcast() { pthread_cond_broadcast(condition) }
}
