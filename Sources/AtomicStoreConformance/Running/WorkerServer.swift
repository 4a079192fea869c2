import AtomicStoreSPI
import CConformance
import FoundationEssentials
import Glibc

/// The process that checks run from. It does nothing but make copies of itself: each check runs in one that has touched no store.
enum WorkerServer {
  static let variable = "ATOMICSTORE_CONFORMANCE_WORKER"
  private static let control: Int32 = 3

  /// What the environment asks this process to serve: a type by its name in the program.
  static func name(of type: any AtomicStore.Type) -> String { String(reflecting: type) }

  /// Serves and ends the process, where it was started to.
  static func serveIfAsked(_ subject: ConformanceSubject) {
    guard let asked = getenv(variable).map({ String(cString: $0) }), asked == name(of: subject.type) else { return }
    serve(subject)
  }

  /// What this process was started to serve; nil in any other. Set once, before the first check.
  nonisolated(unsafe) private(set) static var served: ConformanceSubject?

  static func serve(_ subject: ConformanceSubject) -> Never {
    served = subject
    unsetenv(variable)
    signal(SIGPIPE, SIG_IGN)
    var pending: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while true {
      let got = read(control, &buffer, buffer.count)
      if got < 0, errno == EINTR { continue }
      guard got > 0 else { _exit(0) }
      pending += buffer[0..<got]
      while let end = pending.firstIndex(of: 0x0A) {
        let line = String(decoding: pending[..<end], as: UTF8.self)
        pending.removeFirst(end + 1)
        answer(handle(line, subject))
      }
    }
  }

  private static func answer(_ text: String) {
    let bytes = Array((text + "\n").utf8)
    _ = bytes.withUnsafeBytes { Glibc.write(control, $0.baseAddress, $0.count) }
  }

  /// `RUN check seed folder fault milliseconds limit blind`, separated by tabs.
  private static func handle(_ line: String, _ subject: ConformanceSubject) -> String {
    let fields = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
    guard fields.count == 8, fields[0] == "RUN", let seed = UInt64(fields[2]), let milliseconds = Int32(fields[5]),
      let definition = (Conformance.definitions + Checks.parts + subject.ownChecks).first(where: { $0.id == fields[1] })
    else { return "BAD" }
    let folder = fields[3]
    fflush(nil)
    let child = csf_fork()
    if child < 0 { return "BLOCKED" }
    if child == 0 {
      setpgid(0, 0)
      close(control)
      var subject = subject
      if !fields[4].isEmpty { subject.fault = fields[4] }
      subject.timeLimit = Int(fields[6])
      subject.isBlind = fields[7] == "1"
      let result = CheckRun(definition, subject, seed: seed, folder: folder).run()
      if let bytes = try? JSONEncoder().encode(result) { Files.write(Array(bytes), to: folder + ".result") }
      _exit(0)
    }
    var code: Int32 = 0
    var used: Int64 = 0
    let end = csf_wait_for_work(child, milliseconds, &code, &used)
    if end == 0 || end > 2 {
      kill(-child, SIGKILL)
      kill(child, SIGKILL)
      _ = csf_wait(child, 2000, &code)
      return end == 4 ? "SLOW \(used)" : "TIMEOUT"
    }
    // What it left running goes with it.
    kill(-child, SIGKILL)
    if end == 2 { return "CRASHED \(code)" }
    return code == 0 ? "DONE" : "EXITED \(code)"
  }
}

/// One check, in the process that is its own.
struct CheckRun {
  let definition: CheckDefinition
  let subject: ConformanceSubject
  let seed: UInt64
  let folder: String

  init(_ definition: CheckDefinition, _ subject: ConformanceSubject, seed: UInt64, folder: String) {
    self.definition = definition
    self.subject = subject
    self.seed = seed
    self.folder = folder
  }

  func run() -> ConformanceResult {
    var result = ConformanceResult(id: definition.id, outcome: .passed)
    result.seed = seed
    var subject = subject
    if let name = subject.fault {
      guard let faulty = Faults.plant(name, in: subject) else {
        result.outcome = .blocked
        result.reason = "there is no fault '\(name)'"
        return result
      }
      subject.type = faulty
    }
    if subject.isBlind { csf_blind(1) }
    // What is written anew only cannot be changed and saved, as nearly all of these do.
    if definition.needsWriting, subject.type.traits.writes != .all {
      result.outcome = .notApplicable
      result.reason = subject.type.traits.canWrite ? "writes is newOnly" : "canWrite is false"
      return result
    }
    let isRefusal: Bool
    switch definition.demand(subject.type.traits) {
    case .applies: isRefusal = false
    case .notApplicable(let trait):
      result.outcome = .notApplicable
      result.reason = trait
      return result
    case .refuses(let trait):
      isRefusal = true
      result.reason = trait
    }
    Files.makeFolder(folder)
    let lab = Lab(definition: definition, subject: subject, folder: folder, seed: seed, isRefusal: isRefusal)
    do {
      try definition.body(lab)
      result.outcome = isRefusal ? .refusalVerified : .passed
      if lab.record.expectations == 0 {
        result.outcome = .failed
        result.explanation = explanation(lab, Disappointment(expected: "something is looked at", actual: "the check looked at nothing"))
      }
    } catch let error as Disappointment {
      result.outcome = .failed
      result.explanation = explanation(lab, error)
    } catch let error as Blockage {
      result.outcome = .blocked
      result.reason = error.reason
    } catch let end as Inapplicable {
      result.outcome = .notApplicable
      result.reason = end.reason
    } catch let end as PhaseTrouble {
      result.outcome = end.isTimeOut ? .timedOut : end.isCrash ? .crashed : .failed
      result.explanation = explanation(lab, Disappointment(expected: end.expected, actual: end.actual))
    } catch {
      result.outcome = .failed
      result.explanation = explanation(lab, Disappointment(expected: "no error", actual: "\(error)"))
    }
    result.notes = lab.record.notes + lab.record.output
    result.strip = lab.record.strip
    return result
  }

  private func explanation(_ lab: Lab, _ error: Disappointment) -> ConformanceResult.Explanation {
    ConformanceResult.Explanation(
      rule: definition.title, source: definition.source, done: lab.record.done, expected: error.expected, actual: error.actual,
      causes: definition.likelyCauses, files: folder, command: subject.again(definition.id, seed: seed))
  }
}

/// A part of a check that ended otherwise than it should.
struct PhaseTrouble: Error {
  var expected: String
  var actual: String
  var isCrash = false
  var isTimeOut = false
}
