import AtomicStoreSPI

/// Runs work on the elements of a list in several threads, and delivers the results in the order of the list.
///
/// The results that wait for an earlier one are bounded: workers pause if one element takes much longer than the
/// others.
package enum OrderedWorkers {
  /// How far a worker may be ahead of the result that is delivered next.
  private static let windowPerWorker = 32

  /// Returns when all results were delivered, or `deliver` failed, and no worker runs any more.
  ///
  /// - Parameters:
  ///   - work: Called once for each index below `count`, in any thread.
  ///   - deliver: Called in this thread, with one result after the other.
  /// - Throws: The error of `deliver`, after which no more work is begun.
  package static func run<Result: Sendable>(
    count: Int, workers: Int, _ work: @escaping @Sendable (Int) -> Result, deliver: (Result) throws -> Void
  ) throws {
    let workers = max(1, min(workers, count))
    let queue = ResultQueue<Result>(count: count, window: workers * windowPerWorker)
    let body: @Sendable () -> Void = {
      while let index = queue.claim() { queue.put(work(index), at: index) }
      queue.leave()
    }
    var started = 0
    while started < workers, SystemThread.detach(body) { started += 1 }
    queue.expect(started)
    // Without any thread, this one does the work.
    guard started > 0 else {
      for index in 0..<count { try deliver(work(index)) }
      return
    }
    // A worker may be writing: the process must not end before it has finished or discarded its files.
    defer { queue.stopAndWait() }
    while let result = queue.take() { try deliver(result) }
  }
}

/// The indices that are to be worked on, and the results that are to be delivered.
private final class ResultQueue<Result: Sendable>: @unchecked Sendable {
  // Every variable below is read and written only within `withLock` of this condition.
  private let condition = ThreadCondition()
  private var next = 0
  private var delivered = 0
  private var results: [Int: Result] = [:]
  private var isStopped = false
  /// Below 0 while workers have left that were not counted yet.
  private var running = 0
  private let count: Int
  private let window: Int

  init(count: Int, window: Int) {
    self.count = count
    self.window = window
  }

  /// Counts the workers that run, or have left already.
  func expect(_ workers: Int) { condition.withLock { running += workers } }

  /// The next index; nil if there is no more work.
  func claim() -> Int? {
    condition.withLock {
      while !isStopped, next < count, next >= delivered + window { condition.wait() }
      guard !isStopped, next < count else { return nil }
      next += 1
      return next - 1
    }
  }

  func put(_ result: Result, at index: Int) {
    condition.withLock {
      results[index] = result
      if index == delivered { condition.broadcast() }
    }
  }

  /// The result after the last one that was taken; nil at the end.
  func take() -> Result? {
    condition.withLock {
      guard delivered < count else { return nil }
      while true {
        if let result = results.removeValue(forKey: delivered) {
          delivered += 1
          condition.broadcast()
          return result
        }
        condition.wait()
      }
    }
  }

  /// Called by each worker once, at its end.
  func leave() {
    condition.withLock {
      running -= 1
      condition.broadcast()
    }
  }

  func stopAndWait() {
    condition.withLock {
      isStopped = true
      condition.broadcast()
      while running > 0 { condition.wait() }
    }
  }
}
