import AtomicStoreSPI
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
    if SystemThread.detach({ self.run() }) { return }
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
