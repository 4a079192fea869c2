import AtomicStoreSPI
import Foundation
import Glibc
import Testing

@testable import AtomicStoreConformance

@Suite("Stores that disrupt the harness", .enabled(if: Harness.isReady)) struct BreakerTests {
  struct Breaker: Sendable, CustomTestStringConvertible {
    var fault: String
    var outcome: ConformanceResult.Outcome
    /// What the story must tell.
    var words: String
    var testDescription: String { fault }
    var id: String { outcome == .failed ? "PRO-01" : "REG-02" }
  }

  static let breakers: [Breaker] = [
    Breaker(fault: "trapsAtSave", outcome: .crashed, words: "a Swift trap"),
    Breaker(fault: "trapsAtLoad", outcome: .crashed, words: "a Swift trap"),
    Breaker(fault: "trapsInTraits", outcome: .crashed, words: "ended by signal"),
    Breaker(fault: "hangsAtSave", outcome: .timedOut, words: "stopped after 1 s"),
    Breaker(fault: "hangsInTraits", outcome: .timedOut, words: "stopped after 2 s"),
    Breaker(fault: "exitsAtSave", outcome: .crashed, words: "ended by itself, with 0"),
    Breaker(fault: "exitsInTraits", outcome: .crashed, words: "ended by itself"),
    Breaker(fault: "killsParent", outcome: .crashed, words: "signal 9"),
    Breaker(fault: "killsGroup", outcome: .crashed, words: "signal 9"),
    Breaker(fault: "closesStandardOutput", outcome: .failed, words: "closed standard output"),
    Breaker(fault: "floodsOutput", outcome: .failed, words: "more than 60000 bytes to standard output"),
  ]

  /// One run: each breaker, and a check of a store with nothing wrong after it.
  static let run: (checks: [ConformanceCheck], results: [ConformanceResult])? = {
    let checks = try? breakers.flatMap { breaker in
      [
        try Harness.check(breaker.id, fault: breaker.fault, limit: breaker.outcome == .timedOut ? .seconds(1) : nil),
        try Harness.check("REG-02"),
      ]
    }
    return checks.map { ($0, ConformanceRun($0).results()) }
  }()

  @Test(
    "each kind of failure is reported as such, on its own check, and the next check is run", arguments: breakers.indices
  )
  func pinned(_ place: Int) throws {
    let breaker = Self.breakers[place]
    let results = try #require(Self.run?.results)
    #expect(results.count == Self.breakers.count * 2)
    let (broken, next) = (results[place * 2], results[place * 2 + 1])
    #expect(broken.id == breaker.id && broken.outcome == breaker.outcome, "\(breaker): \(broken.outcome)")
    #expect(
      broken.explanation?.actual.contains(breaker.words) == true, "\(breaker): \(broken.explanation?.actual ?? "")")
    #expect(next.id == "REG-02" && next.outcome == .passed)
  }

  @Test("a run with one of them is not a success, and counts each by its kind")
  func counted() throws {
    let run = try #require(Self.run)
    let report = ConformanceReport(storeType: "Calm", checks: run.checks, results: run.results)
    #expect(!report.isSuccess && report.count(.passed) == Self.breakers.count)
    for outcome in [ConformanceResult.Outcome.crashed, .timedOut, .failed] {
      #expect(report.count(outcome) == Self.breakers.filter { $0.outcome == outcome }.count)
    }
  }

  @Test("output of a store to standard output does not affect other checks, and is noted")
  func noted() throws {
    let result = try Harness.check("REG-02", fault: "floodsOutput").outcome()
    #expect(result.outcome == .passed)
    #expect(result.notes.contains { $0.contains("more than 60000 bytes to standard output") }, "\(result.notes)")
  }

  @Test("a limit also applies to a check that is run directly")
  func limited() throws {
    let check = try Harness.check("REG-02", fault: "hangsAtSave").limited(to: .seconds(1))
    // Without that limit it would take thirty times as much, of the processor.
    let result = check.outcome()
    #expect(result.outcome == .timedOut && result.explanation?.actual.contains("stopped after 1 s") == true)
  }

  @Test("limits are in processor time; a check that waits endlessly is stopped after ten times as long")
  func waiting() throws {
    let result = try Harness.check("REG-02", fault: "waitsAtSave", limit: .milliseconds(300)).outcome()
    #expect(result.outcome == .timedOut, "\(result)")
  }

  @Test("a copy of a worker that stops before its check ends is not the check's fault once")
  func stops() throws {
    let result = try Harness.check("OWN-22", limit: .milliseconds(300)).outcome()
    #expect(result.outcome == .passed, "\(result)")
  }

  @Test("what a check left running is ended, also in a group of processes that it made")
  func orphans() throws {
    let result = try Harness.check("OWN-23").outcome()
    #expect(result.outcome == .passed, "\(result)")
    let process = try #require(result.notes.first.flatMap { pid_t($0) })
    #expect(kill(process, 0) == -1 && errno == ESRCH, "process \(process) goes on")
  }

  @Test("a busy check that gets no processor time is blocked, and the machine is named as the cause")
  func slow() throws {
    let result = try Harness.check("REG-02", fault: "slowAtSave", limit: .milliseconds(300)).outcome()
    #expect(result.outcome == .blocked && result.reason?.contains("the machine is too slow") == true, "\(result)")
  }

  @Test("a check whose worker is lost ends with it, is tried once more, and then reported as blocked")
  func lost() throws {
    let result = try Harness.check("OWN-21").outcome()
    #expect(result.outcome == .blocked && result.reason?.contains("worker process ended") == true, "\(result.outcome)")
    let note = Harness.lostNote(in: WorkerPool.shared(for: Harness.subject).root)
    defer { unlink(note) }
    let processes = try String(contentsOfFile: note, encoding: .utf8).split(separator: "\n").compactMap { pid_t($0) }
    #expect(processes.count == 2)
    for process in processes {
      // Its end may take a moment; no one waits for it but the system.
      var waits = 0
      while kill(process, 0) == 0, waits < 1_000 {
        usleep(10_000)
        waits += 1
      }
      #expect(kill(process, 0) != 0, "process \(process) goes on")
    }
  }
}

extension Harness {
  static func lostNote(in root: String) -> String { root + "/lost" }

  static let losingChecks: [CheckDefinition] = [
    CheckDefinition(
      "OWN-21", "A worker can be lost", from: "the harness's own tests", by: "the check kills it, and goes on"
    ) { check in
      let root = check.folder.split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 }
      let note = open(lostNote(in: root), O_WRONLY | O_CREAT | O_APPEND, 0o600)
      let line = Array("\(getpid())\n".utf8)
      _ = line.withUnsafeBytes { write(note, $0.baseAddress, $0.count) }
      kill(getppid(), SIGKILL)
      hang()
    },
    CheckDefinition(
      "OWN-22", "A copy can stop", from: "the harness's own tests", by: "the check waits endlessly the first time"
    ) { check in
      let note = check.folder + ".stopped"
      if unlink(note) != 0 {
        Files.write([], to: note)
        while true { pause() }
      }
      try check.expectKept(Graph.values(.string, [.string("a")]), "a text")
    },
    CheckDefinition(
      "OWN-23", "A check can leave a process", from: "the harness's own tests",
      by: "a process of a check starts another"
    ) { check in
      let left = try check.process("start it") { _ in
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP))
        var child: pid_t = -1
        var arguments = [strdup("sleep"), strdup("1000"), nil]
        posix_spawnp(&child, "sleep", nil, &attributes, &arguments, nil)
        return child
      }
      try check.expect(left > 0 && kill(left, 0) == 0, "a process", "it was not started")
      check.note("\(left)")
    },
  ]
}
