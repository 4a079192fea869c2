import Dispatch
import Synchronization

/// How a server ended, for the thread that waits for it.
final class ServingEnd: Sendable {
  private let result = Mutex<Result<Void, any Error>?>(nil)
  private let done = DispatchSemaphore(value: 0)

  func set(_ value: Result<Void, any Error>) {
    result.withLock { $0 = value }
    done.signal()
  }

  func wait() throws {
    done.wait()
    try result.withLock { $0 }?.get()
  }
}
