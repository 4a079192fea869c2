import AtomicStoreSPI
import FoundationEssentials
import Glibc
import Synchronization

/// Many checks at once, in a few worker processes.
public struct ConformanceRun: Sendable {
  /// The checks to run.
  public var checks: [ConformanceCheck]
  /// The seed for the random choices of the checks.
  public var seed: UInt64
  /// How many run at the same time.
  public var width: Int

  /// Creates a run; at least one check runs at a time.
  public init(_ checks: [ConformanceCheck], seed: UInt64 = 1, width: Int = 2) {
    self.checks = checks
    self.seed = seed
    self.width = max(1, width)
  }

  /// Runs them all.
  ///
  /// - Parameter progress: Told after each check: how many are done, and the last one. From any thread.
  /// - Returns: A result for each, in the order of the checks.
  public func results(progress: @escaping @Sendable (Int, ConformanceResult) -> Void = { _, _ in }) -> [ConformanceResult] {
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
      checks.first { ObjectIdentifier(WorkerPool.shared(for: $0.subject)) == pool }.map { WorkerPool.shared(for: $0.subject).conclude() }
    }
    return board.results()
  }

  /// Whether this process is one that checks run in, started by another that hands them out.
  package static var isWorker: Bool { getenv(WorkerServer.variable) != nil }

  /// Ends all processes that checks run in, and removes what they wrote: for a program that was told to stop. No check of this
  /// process comes to its end afterwards.
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

/// The harness put to the test: each fault that can be planted, with the checks that must catch it.
public struct ConformanceSelfTest: Sendable {
  /// What came of planting one fault.
  public struct Finding: Sendable {
    /// The name of the fault.
    public var fault: String
    /// What a store with that fault does wrong.
    public var text: String
    /// The checks that caught it.
    public var caughtBy: [String]
    /// Those that name it, and did not.
    public var missedBy: [String]
    /// Those that caught it by a crash or a hang, which proves nothing.
    public var brokenIn: [String]
    /// Unrelated checks that failed too, of those that were tried.
    public var unrelated: [String]
    /// How many unrelated checks were tried.
    public var tried: Int

    /// Whether all checks that name the fault caught it by a failure, and at most half of the unrelated ones failed.
    public var isSound: Bool {
      !caughtBy.isEmpty && missedBy.isEmpty && brokenIn.isEmpty && unrelated.count * 2 <= tried
    }
  }
  /// One for each fault that was planted.
  public var findings: [Finding]
  /// Checks that no fault made fail.
  public var deadChecks: [String]
  /// Faults that checks name and that cannot be planted.
  public var unknownFaults: [String]

  /// Whether each fault was caught as it should be, each check caught a fault, and each fault that checks name exists.
  public var isSuccess: Bool { !findings.isEmpty && findings.allSatisfy(\.isSound) && deadChecks.isEmpty && unknownFaults.isEmpty }
  /// How many faults were caught as they should be.
  public var caught: Int { findings.filter(\.isSound).count }

  /// Plants each fault in turn in one of the formats, the first whose traits let the check run.
  ///
  /// - Parameters:
  ///   - subjects: The formats that faults are planted in.
  ///   - width: How many checks run at the same time.
  ///   - names: The faults to plant; all of them if empty.
  ///   - checks: The checks to try, with the faults that they must catch; all of them if empty.
  ///   - progress: Called after each fault, from any thread: how many are done, and how many there are.
  public static func run(
    in subjects: [ConformanceSubject], width: Int = 2, faults names: [String] = [], checks: [String] = [],
    progress: @escaping @Sendable (Int, Int) -> Void = { _, _ in }
  ) -> ConformanceSelfTest {
    let definitions = Conformance.definitions.filter { checks.isEmpty || checks.contains($0.id) }
    let faults = Faults.all.filter { fault in checks.isEmpty || definitions.contains { $0.catches.contains(fault.name) } }
    return run(in: subjects, definitions, faults, width: width, faults: names, progress: progress)
  }

  /// The same with other checks and faults: what judges the harness is tested too.
  static func run(
    in subjects: [ConformanceSubject], _ definitions: [CheckDefinition], _ all: [Fault], width: Int = 2, faults names: [String] = [],
    progress: @escaping @Sendable (Int, Int) -> Void = { _, _ in }
  ) -> ConformanceSelfTest {
    let faults = all.filter { names.isEmpty || names.contains($0.name) }
    var plans: [(fault: Fault, definition: CheckDefinition, isNamed: Bool)] = []
    for fault in faults {
      let own = definitions.filter { $0.catches.contains(fault.name) }
      for definition in own { plans.append((fault, definition, true)) }
      for definition in definitions where unrelatedIDs.contains(definition.id) && !definition.catches.contains(fault.name) {
        plans.append((fault, definition, false))
      }
    }
    let candidates = plans.map { plan in
      let fit = subjects.filter { subject in
        if case .applies = plan.definition.demand(subject.type.traits) { true } else { false }
      }
      return (fit.isEmpty ? Array(subjects.prefix(1)) : fit).map { subject in
        var subject = subject
        subject.fault = plan.fault.name
        return ConformanceCheck(definition: plan.definition, subject: subject)
      }
    }
    let total = plans.count
    var results = ConformanceRun(candidates.map { $0[0] }, width: width).results { done, _ in progress(done, total) }
    // Checks of one kind of file find out by looking at what the store wrote: then the next format has its turn.
    for turn in 1..<max(subjects.count, 1) {
      let again = plans.indices.filter { results[$0].outcome == .notApplicable && candidates[$0].count > turn }
      guard !again.isEmpty else { break }
      let more = ConformanceRun(again.map { candidates[$0][turn] }, width: width).results()
      for (place, result) in zip(again, more) { results[place] = result }
    }
    // Failures are what is wanted here: nobody looks into their files.
    for result in results { if let files = result.explanation?.files { Files.remove(files) } }
    var findings: [Finding] = []
    for fault in faults {
      var finding = Finding(fault: fault.name, text: fault.text, caughtBy: [], missedBy: [], brokenIn: [], unrelated: [], tried: 0)
      for (plan, result) in zip(plans, results) where plan.fault.name == fault.name {
        if plan.isNamed {
          switch result.outcome {
          case .failed: finding.caughtBy.append(plan.definition.id)
          case .crashed, .timedOut: finding.brokenIn.append(plan.definition.id)
          default: finding.missedBy.append(plan.definition.id)
          }
        } else {
          finding.tried += 1
          if result.outcome.isFailure { finding.unrelated.append(plan.definition.id) }
        }
      }
      findings.append(finding)
    }
    let caughtSomething = Set(findings.flatMap(\.caughtBy))
    return ConformanceSelfTest(
      findings: findings,
      deadChecks: names.isEmpty ? definitions.map(\.id).filter { !caughtSomething.contains($0) } : [],
      unknownFaults: Set(definitions.flatMap(\.catches) + names).subtracting(all.map(\.name)).sorted())
  }

  /// Checks far apart from each other: a fault that fails most of them is more than one.
  static let unrelatedIDs: Set<String> = ["REG-02", "INI-02", "MET-03", "LOD-01", "VAL-01", "VAL-29", "REL-01", "REF-04", "CHG-10", "REM-01"]
}
