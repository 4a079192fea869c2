import AtomicStoreKit
import AtomicStoreSPI
import CConformance
import CProcesses
import FoundationEssentials
import Glibc

/// What a process sends back. The value is bytes, so that nothing here is compiled again for each type of value.
private struct Envelope: Codable {
  var value: Data?
  var error: PhaseError?
  var failure: ExpectationFailure?
  /// Why the check is not about this store.
  var notApplicable: String?
  /// What a program of the format did instead of answering: what a crash is in a format in Swift.
  var programFailure: String?
  var lostOutput = false

  /// Runs a body, and keeps its value or its error.
  init(of body: () throws -> Data?) {
    do { value = try body() } catch let error as ExpectationFailure {
      failure = error
    } catch let end as NotApplicable {
      notApplicable = end.reason
    } catch {
      // The stack's error has the store's below it, where it is one of a store.
      let inner = (error as? ManagedObjectError)?.underlying ?? error
      let known = inner as? PersistentStoreError
      self.error = known.map { PhaseError($0) } ?? PhaseError(code: nil, text: "\(error)")
      if let known, known.isProgramFailure { programFailure = known.description }
    }
    programFailure = programFailure ?? ProgramFailures.first
  }

  /// How the process ended that sent it.
  ///
  /// - Parameter isFailing: Whether calls of the process were made to fail.
  func end(isFailing: Bool = false) throws -> PhaseEnd<Data> {
    if let programFailure, !isFailing { throw ProgramFailures.failure(programFailure) }
    if let failure { throw failure }
    if let notApplicable { throw NotApplicable(reason: notApplicable) }
    if let error { return .refused(error) }
    return value.map { .value($0) } ?? .exited(code: 0)
  }
}

/// What a process did to its standard output, which is not a store's to use.
struct PhaseOutput {
  /// As many as the stream holds, at most.
  var bytes = 0
  /// Closed, or made something else.
  var isLost = false
  /// The beginning of what it wrote to standard error.
  var errors = ""

  var text: String? {
    if isLost { return "it closed standard output" }
    return bytes > 0 ? "it wrote \(bytes > 60_000 ? "more than 60000" : "\(bytes)") bytes to standard output" : nil
  }
}

/// Runs a closure in a process that has not touched the store: a copy of this one, which never does.
enum Phase {
  /// That what is tested is not to blame: limits are of processor time, and other processes do not count.
  static func slowMachine(_ milliseconds: Int, used: Int64) -> String {
    "the machine is too slow, or too busy: in thirty times its limit a process was given \(used) ms of processor time, of \(milliseconds)"
  }

  /// Runs a closure in this process, which is the check's own: for stores that end with their process.
  static func runHere(_ body: () throws -> Data?) throws -> PhaseEnd<Data> {
    try Envelope(of: body).end()
  }

  /// What waits in a pipe, as text; of much of it the beginning.
  private static func beginning(of end: Int32) -> String {
    var bytes = [UInt8](repeating: 0, count: min(Int(csf_waiting(end)), 2000))
    let count = bytes.isEmpty ? 0 : Glibc.read(end, &bytes, bytes.count)
    return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
  }

  /// - Parameter body: Returns the value as bytes; nil if it cannot be made bytes.
  static func run(
    file: String, milliseconds: Int, faults: UnsafeMutablePointer<csf_state>?, memory: Int64 = 0, seconds: Int64 = 0,
    output: (PhaseOutput) -> Void = { _ in }, _ body: () throws -> Data?
  ) throws -> PhaseEnd<Data> {
    fflush(nil)
    var pipe: [Int32] = [-1, -1]
    guard csf_output(&pipe) == 0 else {
      throw Skipped(reason: "no pipe can be made: \(String(cString: strerror(errno)))")
    }
    var errors: [Int32] = [-1, -1]
    guard csf_output(&errors) == 0 else {
      close(pipe[0])
      close(pipe[1])
      throw Skipped(reason: "no pipe can be made: \(String(cString: strerror(errno)))")
    }
    var said = PhaseOutput()
    defer {
      said.bytes = Int(csf_waiting(pipe[0]))
      said.errors = beginning(of: errors[0])
      for end in pipe + errors { close(end) }
      output(said)
    }
    let child = csf_fork()
    if child < 0 { throw Skipped(reason: "no process can be started: \(String(cString: strerror(errno)))") }
    if child == 0 {
      csf_take_output(pipe[1], 1)
      csf_take_output(errors[1], 2)
      csf_limit(memory, seconds)
      if let faults { csf_arm(faults) }
      var envelope = Envelope(of: body)
      csf_disarm()
      fflush(nil)
      envelope.lostOutput = csf_has_output(pipe[1]) == 0
      let bytes = (try? JSONEncoder().encode(envelope)).map { Array($0) } ?? []
      Files.write(bytes, to: file)
      _exit(0)
    }
    var code: Int32 = 0
    var used: Int64 = 0
    let end = csf_wait_for_work(child, Int32(clamping: milliseconds), &code, &used)
    switch end {
    case 0, 3, 4:
      kill(child, SIGKILL)
      _ = cpr_wait(child, 1000, &code)
      if end == 4 { throw Skipped(reason: slowMachine(milliseconds, used: used)) }
      return .timedOut
    case 2: return .crashed(signal: code)
    default:
      let bytes = Files.read(file)
      unlink(file)
      guard code == 0, let bytes, let envelope = try? JSONDecoder().decode(Envelope.self, from: Data(bytes)) else {
        return .exited(code: code)
      }
      said.isLost = envelope.lostOutput
      // Calls that fail because the check wants it may be those that reach the program.
      let isFailing = faults.map { $0.pointee.mode != Int32(CSF_COUNT.rawValue) } ?? false
      return try envelope.end(isFailing: isFailing)
    }
  }
}

extension Duration {
  var milliseconds: Int { Int(self / .milliseconds(1)) }
  /// Such as `2 s` and `0.2 s`.
  var text: String { milliseconds.isMultiple(of: 1000) ? "\(milliseconds / 1000) s" : "\(self / .seconds(1)) s" }
}
