import Foundation
import TestSupport
import Testing

/// A share of what `Scripts/faults` does: `Scripts/full faults` does all of it.
@Suite("Faults of system calls, of every command that writes", .serialized) struct FaultSweepTests {
  private static func sweep(_ arguments: String...) throws -> Command.Result {
    let path = try #require(Command.path, "the command was not built")
    return try Command.run(
      arguments: ["python3", Command.root + "/Scripts/faults", "--command", path] + arguments, program: "/usr/bin/env")
  }

  @Test(
    "leave the old or the new, whole, and nothing that the next run does not remove",
    arguments: [
      "convert-xml", "convert-external", "convert-external-force", "convert-external-removed", "convert-renumber",
      "set-csvstore", "insert-csvstore", "patch-sqlgraph", "migrate-xml", "import-new", "import-database",
      "model-convert-force", "model-swift-changed", "new-format", "report", "check-fix", "convert-sqlite",
      "tables-force", "import-tables", "extract", "set-sqlite", "set-sqlite-log", "set-sqlite-copy", "import-sqlite",
    ].share(of: "fault sweeps"))
  func share(_ name: String) throws {
    // Other calls in each run: the sweep of all of them finds nothing.
    let seed = TestShare.asked.seed
    let result = try Self.sweep("--share", "5", "--seed", seed, "--jobs", "1", name)
    #expect(result.code == 0, "\(result.output)\(result.errors)")
    // Four faults at five calls.
    #expect(result.output.contains("1 cases, 20 runs, 0 problems"), "\(result.output)")
  }

  @Test("a case that does not exist is an error that names it")
  func unknown() throws {
    let result = try Self.sweep("convert-xml", "convert-xlm")
    #expect(result.code == 1 && result.errors.contains("convert-xlm") && result.output.isEmpty, "\(result.errors)")
  }
}
