import AtomicStoreSPI
import CProcesses
import FoundationEssentials
import Glibc
import Synchronization

/// Worker processes, a few, that checks are handed to. Started when the first check is run, and again when one is lost.
final class WorkerPool: Sendable {
  /// How the program is started again: its own file, with its own arguments, but of tests only those of one target.
  struct Launch: Sendable {
    var path: String
    var arguments: [String]

    /// - Parameter target: The target of the test that a worker is to come by: of others it would run tests until then,
    ///   and each of them might start workers.
    static func again(_ target: String) -> Launch {
      var arguments = CommandLine.arguments
      if arguments.isEmpty { arguments = ["worker"] }
      // The tests that were chosen have the subject among them.
      if arguments.contains("--testing-library"), !arguments.contains("--filter") {
        arguments += ["--filter", "^\(target)\\."]
      }
      // Where the shell found it is not where it is.
      return Launch(path: "/proc/self/exe", arguments: arguments)
    }
  }

  private struct Worker {
    var process: pid_t
    var control: Int32
  }
  private struct State {
    var idle: [Worker] = []
    /// All that were started and have not ended.
    var running: Set<pid_t> = []
    var last = 0
    var isAbandoned = false
  }
  private let state = Mutex(State())
  private let launch: Launch
  private let name: String
  let root: String

  private static let pools = Mutex<[String: WorkerPool]>([:])

  static func shared(for subject: ConformanceSubject) -> WorkerPool {
    let name = WorkerServer.name(of: subject)
    _ = removesDirectories
    return pools.withLock { pools in
      if let pool = pools[name] { return pool }
      let pool = WorkerPool(.again(subject.testTarget), name)
      pools[name] = pool
      return pool
    }
  }

  init(_ launch: Launch, _ name: String) {
    self.launch = launch
    self.name = name
    let base = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
    root = "\(base)/atomicstore-conformance-\(getpid())-\(UInt32.random(in: 0...UInt32.max))"
  }

  /// Takes away the files of the checks that passed, and the folder if it is empty then.
  func conclude() {
    state.withLock { state in
      for worker in state.idle {
        close(worker.control)
        kill(worker.process, SIGTERM)
        var code: Int32 = 0
        _ = cpr_wait(worker.process, 1000, &code)
        state.running.remove(worker.process)
      }
      state.idle = []
    }
    rmdir(root)
  }

  /// Removes the directories of all pools when the process ends: those that are empty, since the files of a check that
  /// failed are kept for inspection.
  private static let removesDirectories: Bool = {
    atexit { for pool in WorkerPool.pools.withLock({ Array($0.values) }) { rmdir(pool.root) } }
    return true
  }()

  /// The files of all checks, those that failed included.
  static func removeAllFiles() {
    for pool in pools.withLock({ Array($0.values) }) { Files.remove(pool.root) }
  }

  /// Ends the workers of all pools, and with them what they run, and removes their files.
  static func abandonAll() {
    for pool in pools.withLock({ Array($0.values) }) { pool.abandon() }
  }

  private func abandon() {
    state.withLock { state in
      state.isAbandoned = true
      for process in state.running {
        kill(-process, SIGKILL)
        kill(process, SIGKILL)
      }
      // What they ran goes with them, and may write until it is gone.
      for _ in 0..<50 {
        Files.remove(root)
        if access(root, F_OK) != 0 { break }
        usleep(10_000)
      }
    }
  }

  /// Stops a thread that would go on with the checks of a pool that was abandoned: the process is about to end.
  private static func waitForTheEnd(_ state: State) {
    while state.isAbandoned { pause() }
  }

  /// Held by a check that uses the one URL that all have.
  private static let urlInUse = Mutex(())

  func run(_ definition: CheckDefinition, _ subject: ConformanceSubject, seed: UInt64) -> ConformanceResult {
    guard subject.url != nil else { return runNow(definition, subject, seed: seed) }
    return Self.urlInUse.withLock { _ in runNow(definition, subject, seed: seed) }
  }

  private func runNow(
    _ definition: CheckDefinition, _ subject: ConformanceSubject, seed: UInt64
  ) -> ConformanceResult {
    // A worker that comes by other tests before it serves is ended from outside, and would leave its folders.
    guard Self.startsWorkers else {
      var result = ConformanceResult(id: definition.id, outcome: .blocked)
      result.reason = "a worker process starts no others"
      return result
    }
    let start = ContinuousClock.now
    let number = state.withLock { state in
      Self.waitForTheEnd(state)
      state.last += 1
      Files.makeFolder(root)
      return state.last
    }
    let folder = "\(root)/\(number)-\(definition.id)"
    var result = attempt(definition, subject, seed, folder)
    let spent = ContinuousClock.now - start
    result.seconds = Double(spent.components.seconds) + Double(spent.components.attoseconds) * 1e-18
    result.seed = seed
    Files.remove(folder + ".result")
    if !result.outcome.isFailure { Files.remove(folder) }
    return result
  }

  private func attempt(
    _ definition: CheckDefinition, _ subject: ConformanceSubject, _ seed: UInt64, _ folder: String
  ) -> ConformanceResult {
    var result = ConformanceResult(id: definition.id, outcome: .blocked)
    let most = Duration.seconds(definition.timeLimit)
    let limit = subject.timeLimit.map { min($0 * 2, most) } ?? most
    // A worker that is lost is not the check's fault: another one is tried, once. So it is with a copy of a worker that
    // stops: in a program of several threads, it may wait for a lock that one of them held when the copy was made.
    for isLast in [false, true] {
      guard let worker = take() else {
        result.reason = "no worker process could be started: \(launch.path)"
        return result
      }
      let line = [
        "RUN", definition.id, "\(seed)", folder, subject.fault ?? "", "\(limit.milliseconds)",
        subject.timeLimit.map { "\($0.milliseconds)" } ?? "",
        subject.isBlind ? "1" : "0", subject.runs.map { "\($0)" } ?? "", subject.url ?? "",
      ].joined(separator: "\t")
      guard send(line, to: worker), let answer = receive(from: worker, milliseconds: limit.milliseconds * 10 + 20_000)
      else {
        discard(worker, itsFiles: folder)
        result.reason = "the worker process ended or says nothing"
        continue
      }
      if answer == "STOPPED", !isLast {
        discard(worker, itsFiles: folder)
        continue
      }
      give(worker)
      if answer == "DONE", let bytes = Files.read(folder + ".result"),
        let read = try? JSONDecoder().decode(ConformanceResult.self, from: Data(bytes))
      {
        return read
      }
      let parts = answer.split(separator: " ")
      switch parts.first {
      case "TIMEOUT", "STOPPED": result.outcome = .timedOut
      case "CRASHED": result.outcome = .crashed
      case "SLOW":
        result.reason = Phase.slowMachine(limit.milliseconds, used: Int64(parts.last ?? "") ?? 0)
        return result
      case "BLOCKED", "BAD":
        result.reason = "the worker answers \(answer)"
        return result
      default: result.outcome = .crashed
      }
      let what =
        result.outcome == .timedOut
        ? "it was stopped after \(limit.text) \(CheckContext.limitWords)"
        : parts.first == "CRASHED"
          ? "its process was ended by signal \(parts.last ?? "?")" : "its process ended by itself (\(answer))"
      result.explanation = .init(
        rule: definition.title, source: definition.source, done: [], expected: "the check comes to its end",
        actual: what,
        causes: definition.likelyCauses(in: subject), files: folder, command: subject.again(definition.id, seed: seed))
      return result
    }
    return result
  }

  // MARK: Workers

  /// Whether this process may start workers: one that is or will be a worker itself may not, but the copy of it that
  /// runs a check may.
  private static var startsWorkers: Bool {
    !WorkerServer.wasAsked || WorkerServer.runsCheck.load(ordering: .relaxed)
  }

  private func take() -> Worker? {
    if let worker = state.withLock({ state in
      Self.waitForTheEnd(state)
      return state.idle.popLast()
    }) {
      return worker
    }
    guard Self.startsWorkers else { return nil }
    var pair: [Int32] = [0, 0]
    guard cpr_socketpair(&pair) == 0 else { return nil }
    defer { close(pair[1]) }
    var environment = ProcessInfo.processInfo.environment
    environment[WorkerServer.variable] = name
    // Where a crash is known by its signal, no one waits for a backtrace; that takes seconds.
    environment["SWIFT_BACKTRACE"] = "enable=no"
    var arguments = launch.arguments.map { strdup($0) }
    arguments.append(nil)
    var variables = environment.map { strdup("\($0.key)=\($0.value)") }
    variables.append(nil)
    defer { for text in arguments + variables { free(text) } }
    // The program itself, not the shell's idea of it.
    var path = [CChar](repeating: 0, count: 4096)
    let length = readlink(launch.path, &path, path.count - 1)
    let program =
      length > 0 ? String(decoding: path[0..<length].map { UInt8(bitPattern: $0) }, as: UTF8.self) : launch.path
    let process = cpr_spawn(program, arguments, variables, nil, WorkerServer.descriptors(control: pair[1]), 4)
    guard process > 0 else {
      close(pair[0])
      return nil
    }
    state.withLock { state in
      // It came too late to be ended with the others.
      if state.isAbandoned { kill(process, SIGKILL) }
      Self.waitForTheEnd(state)
      state.running.insert(process)
    }
    return Worker(process: process, control: pair[0])
  }

  private func give(_ worker: Worker) { state.withLock { $0.idle.append(worker) } }

  /// Ends a worker. What it left is not there for the next.
  private func discard(_ worker: Worker, itsFiles folder: String) {
    defer { for path in [folder, folder + ".result"] { Files.remove(path) } }
    close(worker.control)
    kill(-worker.process, SIGKILL)
    kill(worker.process, SIGKILL)
    var code: Int32 = 0
    _ = cpr_wait(worker.process, 2000, &code)
    state.withLock { state in
      Self.waitForTheEnd(state)
      state.running.remove(worker.process)
    }
  }

  private func send(_ line: String, to worker: Worker) -> Bool {
    let bytes = Array((line + "\n").utf8)
    return bytes.withUnsafeBytes { Glibc.send(worker.control, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      == bytes.count
  }

  private func receive(from worker: Worker, milliseconds: Int) -> String? {
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 256)
    let end = ContinuousClock.now + .milliseconds(milliseconds)
    while ContinuousClock.now < end {
      var poll = pollfd(fd: worker.control, events: Int16(POLLIN), revents: 0)
      let ready = Glibc.poll(&poll, 1, 200)
      if ready < 0, errno != EINTR { return nil }
      guard ready > 0 else { continue }
      let got = Glibc.read(worker.control, &buffer, buffer.count)
      guard got > 0 else { return nil }
      bytes += buffer[0..<got]
      if bytes.last == .lineFeed { return String(decoding: bytes.dropLast(), as: UTF8.self) }
    }
    return nil
  }
}
