import AtomicStoreSPI
import CConformance
import CProcesses
import FoundationEssentials
import Glibc
import Synchronization

/// The process that checks run from. It does nothing but make copies of itself: each check runs in one that has touched
/// no store.
enum WorkerServer {
  static let variable = "ATOMICSTORE_CONFORMANCE_WORKER"
  private static let control: Int32 = 3

  /// What a worker has open: the control stream, and standard error if someone looks at it.
  static func descriptors(control: Int32) -> [Int32] {
    [-1, -1, getenv("ATOMICSTORE_CONFORMANCE_TALK") == nil ? -1 : 2, control]
  }

  /// What the environment asks this process to serve: a type by its name in the program, with the types that it is
  /// checked beside, the functions that its author supplied, and further checks. A program may check one type with and
  /// without each of them.
  static func name(of subject: ConformanceSubject) -> String {
    let types = ([subject.type] + subject.others).map { String(reflecting: $0) }
    let supplied = [
      ("crafted", subject.crafted != nil), ("duplicate", subject.duplicate != nil), ("payload", subject.payload != nil),
      ("recomputeChecksum", subject.recomputeChecksum != nil), ("newerVersion", subject.newerVersion != nil),
    ]
    return (types + supplied.filter(\.1).map(\.0) + subject.ownChecks.map(\.id)).joined(separator: " ")
  }

  /// Serves and ends the process, where it was started to.
  static func serveIfAsked(_ subject: ConformanceSubject) {
    guard let asked = getenv(variable).map({ String(cString: $0) }), asked == name(of: subject) else { return }
    serve(subject)
  }

  /// Whether this process was started to serve, also once it does: tests that run beside each other in it must not
  /// start workers, each of which would start further ones.
  static let wasAsked = getenv(variable) != nil
  /// Whether this is the copy of a worker that runs a check, which may need another process.
  static let runsCheck = Atomic(false)

  static func serve(_ subject: ConformanceSubject) -> Never {
    _ = wasAsked
    unsetenv(variable)
    signal(SIGPIPE, SIG_IGN)
    csf_adopt()
    var pending: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while true {
      let got = read(control, &buffer, buffer.count)
      if got < 0, errno == EINTR { continue }
      guard got > 0 else { _exit(0) }
      pending += buffer[0..<got]
      while let end = pending.firstIndex(of: .lineFeed) {
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

  /// `RUN check seed folder fault milliseconds limit blind runs URL`, separated by tabs. The URL comes with each check:
  /// a program may check one type at several.
  private static func handle(_ line: String, _ subject: ConformanceSubject) -> String {
    let fields = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
    guard fields.count == 10, fields[0] == "RUN", let seed = UInt64(fields[2]), let milliseconds = Int32(fields[5]),
      let definition = (Checks.all + Checks.allParts + subject.ownChecks).first(where: {
        $0.id == fields[1]
      })
    else { return "BAD" }
    let folder = fields[3]
    let before = children()
    defer { endOrphans(besides: before) }
    fflush(nil)
    let child = csf_fork()
    if child < 0 { return "BLOCKED" }
    if child == 0 {
      setpgid(0, 0)
      close(control)
      runsCheck.store(true, ordering: .relaxed)
      var subject = subject
      if !fields[4].isEmpty { subject.fault = fields[4] }
      subject.timeLimit = Int(fields[6]).map { .milliseconds($0) }
      subject.isBlind = fields[7] == "1"
      subject.runs = Int(fields[8])
      subject.url = fields[9].isEmpty ? nil : fields[9]
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
      _ = cpr_wait(child, 2000, &code)
      return end == 4 ? "SLOW \(used)" : end == 3 ? "STOPPED" : "TIMEOUT"
    }
    // What it left running goes with it.
    kill(-child, SIGKILL)
    if end == 2 { return "CRASHED \(code)" }
    return code == 0 ? "DONE" : "EXITED \(code)"
  }

  private static func children() -> Set<pid_t> {
    var list = [pid_t](repeating: 0, count: 256)
    let count = csf_children(&list, Int32(list.count))
    return Set(list.prefix(Int(count)))
  }

  /// Ends what a check left running outside its group, such as programs that its processes started, and what these
  /// left.
  private static func endOrphans(besides known: Set<pid_t>) {
    for _ in 0..<100 {
      let orphans = children().subtracting(known)
      if orphans.isEmpty { return }
      for orphan in orphans {
        kill(-orphan, SIGKILL)
        kill(orphan, SIGKILL)
        var code: Int32 = 0
        _ = cpr_wait(orphan, 100, &code)
      }
    }
  }
}
