import Glibc

/// A lock that one function takes and another one gives back, on the same thread: `Mutex` is bound to a closure.
///
/// `@unchecked Sendable`: the pointer is constant, and freed when no caller can exist any more.
final class SaveGate: @unchecked Sendable {
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>

  init() {
    mutex = .allocate(capacity: 1)
    mutex.initialize(to: pthread_mutex_t())
    var attributes = pthread_mutexattr_t()
    pthread_mutexattr_init(&attributes)
    pthread_mutexattr_settype(&attributes, CInt(PTHREAD_MUTEX_ERRORCHECK))
    pthread_mutex_init(mutex, &attributes)
    pthread_mutexattr_destroy(&attributes)
  }

  deinit {
    pthread_mutex_destroy(mutex)
    mutex.deinitialize(count: 1)
    mutex.deallocate()
  }

  /// Waits for the lock.
  ///
  /// - Returns: False if the calling thread has it already: waiting would never end.
  func lock() -> Bool { pthread_mutex_lock(mutex) == 0 }
  /// Gives the lock back, from the thread that took it.
  func unlock() { pthread_mutex_unlock(mutex) }
}
