import AtomicStoreSPI
import FoundationEssentials
import Glibc
import Synchronization

/// Many checks at once, in a few worker processes.
package struct ConformanceRun: Sendable {
  /// The checks to run.
  var checks: [ConformanceCheck]
  /// The seed for the random choices of the checks.
  var seed: UInt64
  /// How many run at the same time.
  var width: Int

  /// Creates a run; at least one check runs at a time.
  package init(_ checks: [ConformanceCheck], seed: UInt64 = 1, width: Int = 2) {
    self.checks = checks
    self.seed = seed
    self.width = max(1, width)
  }

  /// Runs them all.
  ///
  /// - Parameter progress: Told after each check: how many are done, and the last one. From any thread.
  /// - Returns: A result for each, in the order of the checks.
  package func results(progress: @escaping @Sendable (Int, ConformanceResult) -> Void = { _, _ in })
    -> [ConformanceResult]
  {
    for check in checks { WorkerServer.serveIfAsked(check.subject) }
    let board = Board(count: checks.count)
    var threads: [pthread_t] = []
    for _ in 0..<min(width, checks.count) {
      let work = Work(run: self, board: board, progress: progress)
      var thread = pthread_t()
      let started = pthread_create(
        &thread, nil,
        { raw in
          guard let raw else { return nil }
          Unmanaged<Work>.fromOpaque(raw).takeRetainedValue().go()
          return nil
        }, Unmanaged.passRetained(work).toOpaque())
      if started == 0 { threads.append(thread) } else { Unmanaged.passUnretained(work).release() }
    }
    if threads.isEmpty { Work(run: self, board: board, progress: progress).go() }
    for thread in threads { pthread_join(thread, nil) }
    for pool in Set(checks.map { ObjectIdentifier(WorkerPool.shared(for: $0.subject)) }) {
      checks.first { ObjectIdentifier(WorkerPool.shared(for: $0.subject)) == pool }.map {
        WorkerPool.shared(for: $0.subject).conclude()
      }
    }
    return board.results()
  }

  /// Whether this process is one that checks run in, started by another that hands them out.
  package static var isWorker: Bool { WorkerServer.wasAsked }

  /// Ends all processes that checks run in, and removes what they wrote: for a program that was asked to stop. No check
  /// of this process comes to its end afterwards.
  package static func abandonAll() { WorkerPool.abandonAll() }

  private final class Board: Sendable {
    private struct State {
      var next = 0
      var done = 0
      var results: [ConformanceResult?]
    }
    private let state: Mutex<State>
    init(count: Int) { state = Mutex(State(results: Array(repeating: nil, count: count))) }
    func take() -> Int? {
      state.withLock { state in
        guard state.next < state.results.count else { return nil }
        state.next += 1
        return state.next - 1
      }
    }
    func put(_ result: ConformanceResult, at place: Int) -> Int {
      state.withLock { state in
        state.results[place] = result
        state.done += 1
        return state.done
      }
    }
    func results() -> [ConformanceResult] { state.withLock { $0.results.compactMap { $0 } } }
  }

  private final class Work: Sendable {
    let run: ConformanceRun
    let board: Board
    let progress: @Sendable (Int, ConformanceResult) -> Void
    init(run: ConformanceRun, board: Board, progress: @escaping @Sendable (Int, ConformanceResult) -> Void) {
      self.run = run
      self.board = board
      self.progress = progress
    }
    func go() {
      while let place = board.take() {
        let result = run.checks[place].outcome(seed: run.seed)
        progress(board.put(result, at: place), result)
      }
    }
  }
}
