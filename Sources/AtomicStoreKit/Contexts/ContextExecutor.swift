import Glibc
import Synchronization

/// Runs the work of one actor on its own thread, one job after the other.
///
/// A save may wait for a disk, a lock or a database. Swift's own threads, of which there are as many as processors,
/// must not wait: other tasks would make no progress. A thread exists only while there is work.
final class ContextExecutor: SerialExecutor {
  private struct State {
    var jobs: [UnownedJob] = []
    var next = 0
    var isRunning = false
  }
  private let state = Mutex(State())

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let starts = state.withLock { state in
      state.jobs.append(job)
      defer { state.isRunning = true }
      return !state.isRunning
    }
    if starts { start() }
  }

  private func start() {
    var thread = pthread_t()
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    // As much as the main thread usually has: hooks and observers of programs run here.
    pthread_attr_setstacksize(&attributes, 8 << 20)
    defer { pthread_attr_destroy(&attributes) }
    let started = pthread_create(
      &thread, &attributes,
      { raw in
        guard let raw else { return nil }
        Unmanaged<ContextExecutor>.fromOpaque(raw).takeRetainedValue().run()
        return nil
      }, Unmanaged.passRetained(self).toOpaque())
    guard started != 0 else { return }
    Unmanaged.passUnretained(self).release()
    // The system has no more threads: then one of Swift's has to wait.
    Task.detached { self.run() }
  }

  private func run() {
    while let job = take() { job.runSynchronously(on: asUnownedSerialExecutor()) }
  }

  /// The next job; nil if there is none, and the thread ends.
  private func take() -> UnownedJob? {
    state.withLock { state in
      guard state.next < state.jobs.count else {
        state = State()
        return nil
      }
      defer { state.next += 1 }
      return state.jobs[state.next]
    }
  }
}
