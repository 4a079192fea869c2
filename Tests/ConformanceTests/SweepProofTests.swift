import CConformance
import Foundation
import Glibc
import Testing

@testable import AtomicStoreConformance

extension Harness {
  /// Seven calls that change something, and three that do not.
  private static func sevenCalls(in folder: String) throws {
    let path = folder + "/seven"
    func check(_ result: Int) throws {
      if result < 0 { throw ExpectationFailure(expected: "the call works", actual: "errno \(errno)") }
    }
    let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL, 0o600)  // 1
    try check(Int(descriptor))
    try check(Glibc.write(descriptor, "abc", 3))  // 2
    try check(Glibc.write(descriptor, "def", 3))  // 3
    try check(Int(fsync(descriptor)))  // 4
    try check(Int(close(descriptor)))  // 5
    try check(Int(rename(path, path + " renamed")))  // 6
    let reading = open(path + " renamed", O_RDONLY)
    var byte: UInt8 = 0
    try check(Glibc.read(reading, &byte, 1))
    try check(Int(close(reading)))
    try check(Int(unlink(path + " renamed")))  // 7
  }

  static let sweepChecks: [CheckDefinition] = [
    CheckDefinition(
      "OWN-11", "Seven calls are seven", from: "the harness's own tests", by: "they are made, failed and cut one by one"
    ) { check in
      let counting = try FaultPlan(CSF_COUNT)
      guard
        case .value = try check.attempt(
          "make seven calls", faults: counting,
          {
            try sevenCalls(in: $0.folder)
            return true
          })
      else {
        throw ExpectationFailure(expected: "the calls work", actual: "they do not")
      }
      try check.expectEqual(counting.calls, 7, "calls")
      try check.expectEqual(counting.reads, 1, "reads")
      try check.expectEqual(
        counting.changes.map(\.what), ["create", "write", "write", "sync", "close", "rename", "unlink"], "what they are"
      )
      for place in 1...7 {
        let failing = try FaultPlan(CSF_FAIL, at: place, error: ENOSPC)
        let end = try check.attempt("fail call \(place)", faults: failing) { session in
          defer { for name in ["/seven", "/seven renamed"] { unlink(session.folder + name) } }
          do { try sevenCalls(in: session.folder) } catch {
            return errno == ENOSPC || "\(error)".contains("errno \(ENOSPC)")
          }
          return false
        }
        guard case .value(true) = end else {
          throw ExpectationFailure(expected: "call \(place) fails with no space", actual: "\(end)")
        }
        try check.expect(failing.wasReached, "call \(place) is reached", "it is not")
        let killing = try FaultPlan(CSF_KILL, at: place)
        let killed = try check.attempt("be killed at call \(place)", faults: killing) {
          try sevenCalls(in: $0.folder)
          return true
        }
        guard case .crashed(SIGKILL) = killed else {
          throw ExpectationFailure(expected: "killed at call \(place)", actual: "\(killed)")
        }
        try check.expect(killing.wasReached, "call \(place) is reached", "it is not")
        for name in ["/seven", "/seven renamed"] { unlink(check.folder + name) }
      }
      let beyond = try FaultPlan(CSF_FAIL, at: 8, error: ENOSPC)
      guard
        case .value = try check.attempt(
          "fail an eighth", faults: beyond,
          {
            try sevenCalls(in: $0.folder)
            return true
          })
      else {
        throw ExpectationFailure(expected: "an eighth call is not made", actual: "it was")
      }
      try check.expect(!beyond.wasReached, "an eighth call is not reached", "it is")
    },
    CheckDefinition(
      "OWN-12", "A sweep over a save that makes fewer calls each time", from: "the harness's own tests", by: "a sweep"
    ) { check in
      var saving = try check.saveCase()
      // The first save, which is counted, makes more calls than those that follow.
      let marker = check.folder + "/saved"
      let inner = saving
      saving.action = { session in
        let isFirst = !Files.exists(marker)
        Files.write([1], to: marker)
        if isFirst { for _ in 0..<5 { unlink(session.folder + "/nothing") } }
        return try inner.save(session)
      }
      try check.sweep(saving, CSF_FAIL, error: ENOSPC, "a full disk", savesAgain: false)
    },
  ]
}

@Suite("Sweeps prove that they were effective", .enabled(if: Harness.isReady)) struct SweepProofTests {
  @Test("this program replaces the system calls, as every test target that runs checks must")
  func replaced() { #expect(csf_has_replaced_calls() != 0) }

  @Test("every intercepted call is counted, named, and reached when it is to fail")
  func known() throws {
    let result = try Harness.check("OWN-11").outcome()
    #expect(result.outcome == .passed, "\(result.explanation.map { "\($0.expected): \($0.actual)" } ?? "")")
  }

  @Test("a sweep has a known outcome for each call")
  func strip() throws {
    let result = try Harness.check("SAV-03").outcome()
    #expect(result.outcome == .passed)
    #expect(result.strip.count >= 5 && Set(result.strip) == ["OLD", "NEW"], "\(result.strip)")
    #expect(result.strip.first == "OLD" && result.strip.last == "NEW")
  }

  @Test("a fault that was not reached ends the sweep as a failure")
  func notReached() throws {
    let result = try Harness.check("OWN-12").outcome()
    #expect(result.outcome == .failed)
    #expect(
      result.explanation?.expected.contains("the call is made again") == true, "\(result.explanation?.expected ?? "")")
  }

  @Test(
    "where calls cannot be intercepted, checks that inject failures fail, and so does the one that finds no calls",
    arguments: ["SAV-01", "SAV-03", "SAV-08", "INI-04", "INI-12", "OWN-11"])
  func blind(_ id: String) throws {
    let result = try Harness.check(id, isBlind: true).outcome()
    #expect(result.outcome == .failed)
    #expect(result.explanation?.expected.contains("sees the calls") == true, "\(result.explanation?.expected ?? "")")
    let report = ConformanceReport(storeType: "Calm", checks: [try Harness.check(id)], results: [result])
    #expect(!report.isSuccess)
  }
}
