import Foundation
import TestSupport
import Testing

@Suite("What tests share") struct TestSupportTests {
  @Test("without a share, and with all, every case runs", arguments: ["all", "seed/1"])
  func all(_ text: String) throws {
    let share = try #require(TestShare(text))
    #expect(share.of(Array(0..<100), "list", name: { "\($0)" }).count == 100)
    #expect(share.of(5..<105, "list") == Array(5..<105))
  }

  @Test("the same seed takes the same fifth, and another seed or list another one")
  func fifth() throws {
    let cases = (0..<300).map { "CHECK-\($0)" }
    func taken(_ seed: String, _ list: String = "XML") -> [String] {
      TestShare(seed: seed, divisor: 5).of(cases, list, name: { $0 })
    }
    #expect(taken("a") == taken("a"))
    #expect(taken("a") != taken("b") && taken("a") != taken("a", "CSV"))
    for seed in ["a", "b", "7fe1", "02b7737d"] { #expect((35...90).contains(taken(seed).count), "\(seed)") }
    // Every case comes within some dozens of commits.
    let seeds = (0..<60).map { "commit \($0)" }
    #expect(Set(seeds.flatMap { taken($0) }) == Set(cases))
  }

  @Test("cases that always run do, and a list never becomes empty")
  func always() throws {
    let share = TestShare(seed: "x", divisor: 1000)
    #expect(share.of([1, 2, 3], "list", always: { $0 == 2 }, name: { "\($0)" }).contains(2))
    #expect(share.of([1, 2, 3], "list", name: { "\($0)" }).count >= 1)
    #expect(share.of([Int](), "list", name: { "\($0)" }).isEmpty)
    #expect(share.of(0..<3, "list").count == 1 && share.of(0..<0, "list").isEmpty)
  }

  @Test("a fifth of a range is every fifth number, and five fifths are all of it")
  func ranges() throws {
    var shares: Set<[Int]> = []
    for seed in 0..<40 { shares.insert(TestShare(seed: "\(seed)", divisor: 5).of(10..<60, "bytes")) }
    #expect(shares.allSatisfy { share in zip(share, share.dropFirst()).allSatisfy { $1 - $0 == 5 } })
    #expect(shares.count == 5 && shares.flatMap { $0 }.sorted() == Array(10..<60))
  }

  @Test("a text that is not a share is refused", arguments: ["", "5", "seed/0", "seed/x", "/5", "seed/-1", "seed"])
  func refused(_ text: String) {
    #expect(TestShare(text) == nil)
  }

  @Test("programs find the same environment on every machine")
  func environment() throws {
    let output = try ChildProcess.output(of: "env", [], environment: ["ADDED": "1"])
    let lines = output.split(separator: "\n")
    for line in ["NO_COLOR=1", "TERM=dumb", "LC_ALL=C.UTF-8", "TZ=UTC", "ADDED=1", "XDG_DATA_HOME=/nonexistent"] {
      #expect(lines.contains { $0 == line }, "\(line)")
    }
    for name in ["COLUMNS", "LANG", "ATOMICSTORE_PLUGIN_PATH", "ATOMICSTORE_JOBS", "ATOMICSTORE_TEST_SHARE"] {
      #expect(!lines.contains { $0.hasPrefix(name + "=") }, "\(name)")
    }
    let home = try ChildProcess.output(of: "env", [], environment: ["HOME": "/tmp"])
    #expect(!home.contains("XDG_DATA_HOME") && home.contains("HOME=/tmp\n"))
  }

  @Test("programs are ended by signals, whatever the shell that started the tests ignores")
  func signals() throws {
    let process = Process()
    process.executableURL = URL(filePath: "/bin/grep")
    process.arguments = ["SigIgn", "/proc/self/status"]
    process.environment = TestEnvironment.variables()
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let status = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    process.waitUntilExit()
    let ignored = try #require(status.split(separator: "\t").last.flatMap { UInt64($0.dropLast(), radix: 16) })
    for number in [SIGHUP, SIGINT, SIGQUIT, SIGTERM] { #expect(ignored >> UInt64(number - 1) & 1 == 0, "\(number)") }
  }

  @Test("the directory of the tests is absolute, however they were started")
  func products() {
    #expect(TestEnvironment.products.hasPrefix("/") && !TestEnvironment.products.contains("/../"))
    #expect(TestEnvironment.built("no such program") == nil)
  }

  @Test("a program's end, output and errors are returned")
  func ends() throws {
    let folder = try Folder()
    let result = try ChildProcess.run(
      "/bin/sh", ["-c", "cat; pwd; echo bad >&2; exit 3"], input: Data("in\n".utf8), in: folder.path)
    #expect(result.code == 3 && result.errors == "bad\n" && result.output.hasPrefix("in\n/"))
    #expect(try ChildProcess.run("/bin/sh", ["-c", "kill -TERM $$"]).code == 1000 + SIGTERM)
    #expect(throws: ChildProcess.Failure.self) { try ChildProcess.run("/no/such/program", []) }
    let failure = #expect(throws: ChildProcess.Failure.self) {
      try ChildProcess.output(of: "/bin/sh", ["-c", "echo reason >&2; exit 1"])
    }
    #expect(failure?.description.contains("ended with 1: reason") == true)
  }
}
