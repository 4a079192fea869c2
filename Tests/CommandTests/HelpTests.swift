import Foundation
import TestSupport
import Testing

@Suite("Help, near misses and completions") struct HelpTests {
  private static func help(_ words: [String], width: Int) throws -> String {
    let result = try Command.run(arguments: words + ["--help"], environment: ["COLUMNS": "\(width)"])
    #expect(result.code == 0)
    return result.output
  }

  @Test(
    "a help text has no line that is wider than the terminal, except for examples and for words that do not fit",
    arguments: [["convert"], ["import"], ["fetch"], ["merge"], ["model", "lint"], ["metadata", "set"], []],
    [40, 80, 120])
  func width(_ words: [String], _ width: Int) throws {
    for line in try Self.help(words, width: width).split(separator: "\n") where line.count > width {
      let isExample = line.hasPrefix("  ") && !line.hasPrefix("      ")
      let isOneWord = line.split(separator: " ").count == 1
      #expect(isExample || isOneWord, "\(line)")
    }
  }

  @Test("a paragraph is wrapped once: only its last line may be short", arguments: [60, 80, 100])
  func wrappedOnce(_ width: Int) throws {
    let text = try Self.help(["convert"], width: width)
    let paragraph = try #require(text.components(separatedBy: "\n\n").first { $0.hasPrefix("The source's type") })
    let lines = paragraph.split(separator: "\n")
    for (line, next) in zip(lines, lines.dropFirst()) {
      let word = try #require(next.split(separator: " ").first)
      #expect(line.count + 1 + word.count > width, "'\(word)' fits behind: \(line)")
    }
  }

  @Test("examples are never broken", arguments: [30, 80])
  func examples(_ width: Int) throws {
    let example = """
      atomicstore fetch Company.xml --entity Employee --where "salary > 5000 AND department.name == 'Sales'" --sort -salary
      """
    #expect(try Self.help(["fetch"], width: width).contains("\n  \(example)\n"))
    let merge = "git config merge.atomicstore.driver 'atomicstore merge --base %O %A %B -o %A --force'"
    #expect(try Self.help(["merge"], width: width).contains("\n  \(merge)\n"))
  }

  @Test(
    "help has pages about topics",
    arguments: [
      ("topics", "predicates"), ("formats", "CoreDataSQLite (.sqlite"), ("options", "maximumObjects=…"),
      ("formats", "SQLiteGraph (.sqlgraph"), ("formats", "PostgreSQL (postgres"), ("predicates", "SUBQUERY"),
      ("exit-codes", "77   permission denied"),
    ])
  func topics(_ name: String, _ content: String) throws {
    let result = try Command.run("help", name)
    #expect(result.code == 0 && result.errors.isEmpty)
    #expect(result.output.contains(content), "\(result.output)")
  }

  @Test(
    "a misspelt name is answered with the one that was meant",
    arguments: [
      (["convrt", "a", "b"], "unknown command 'convrt'; did you mean 'convert'?"),
      (["metadata", "gte", "x"], "metadata: unknown command 'gte'; did you mean 'get'?"),
      (["help", "predicats"], "unknown command 'predicats'; did you mean 'predicate'?"),
      (["xyzzy"], "unknown command 'xyzzy'; choose one of inspect, fetch"),
      (["convert", Command.company, "x.foo", "--to", "CVS"], "did you mean 'CSV'?"),
      (["inspect", Command.company, "--from", "xmll"], "did you mean 'XML'?"),
      (["fetch", Command.company, "--entity", "Emploee"], "did you mean 'Employee'?"),
      (["fetch", Command.company, "--entity", "Employee", "--columns", "nmae"], "did you mean 'name'?"),
      (["fetch", Command.company, "--entity", "Employee", "--sort", "-nmae"], "did you mean 'name'?"),
      (["set", Command.company, "--entity", "Employee", "--all", "nmae=1", "--dry-run"], "did you mean 'name'?"),
    ])
  func nearMiss(_ words: [String], _ answer: String) throws {
    let result = try Command.run(arguments: words)
    #expect(result.code == 64 && result.errors.contains(answer), "\(result.errors)")
    let error = try Command.run(arguments: words + ["--json"]).error()
    #expect((error["message"] as? String)?.contains(answer) == true)
  }

  @Test(
    "--color, NO_COLOR and TERM decide about colors, and a pipe has none",
    arguments: [
      ([], [:], false, false), ([], TestEnvironment.colors, false, true),
      ([], ["NO_COLOR": "1", "TERM": "xterm"], false, false), ([], ["NO_COLOR": "", "TERM": "dumb"], false, false),
      (["--color", "always"], TestEnvironment.colors, true, true),
      (["--color", "always"], ["NO_COLOR": "1"], true, true),
      (["--color", "never"], TestEnvironment.colors, false, false),
    ] as [([String], [String: String], Bool, Bool)])
  func colors(_ options: [String], _ environment: [String: String], _ onPipe: Bool, _ onTerminal: Bool) throws {
    let folder = try Folder()
    let other = folder("other.xml")
    let made = try Command.run("set", Command.company, "--entity", "Department", "--all", "floor=7", "-o", other)
    try #require(made.code == 0, "\(made.errors)")
    for words in [["fetch", Command.company, "--entity", "Employee"], ["diff", Command.company, other]] {
      let result = try Command.run(arguments: words + options, environment: environment)
      #expect(result.output.contains("\u{1B}[") == onPipe, "\(words[0])")
    }
    let (bytes, _) = try Terminal.run(
      ["fetch", Command.company, "--entity", "Project"] + options, columns: 80, environment: environment)
    #expect(bytes.contains(0x1B) == onTerminal)
  }

  @Test("numbers are at the right of their column, and other values at the left")
  func alignment() throws {
    let output = try Command.run("fetch", Command.company, "--entity", "Employee", "--columns", "badge,name,salary")
      .output
    let lines = output.split(separator: "\n").map(String.init)
    #expect(lines.contains("      1001  Zoë \"Zo\" O’Hara, Jr.  65000.0"), "\(output)")
    #expect(lines[0] == "     badge  name                   salary")
    #expect(lines.allSatisfy { !$0.hasSuffix(" ") })
  }

  @Test("--vertical prints a line for each value, and none is cut")
  func vertical() throws {
    let words = [
      "fetch", Command.company, "--entity", "Employee", "--where", "badge == 1001", "--columns", "badge,name",
    ]
    let result = try Command.run(arguments: words + ["--vertical"])
    #expect(result.output == "badge: 1001\n name: Zoë \"Zo\" O’Hara, Jr.\n")
    #expect(try Command.run(arguments: words + ["--format", "vertical"]).output == result.output)
    let (narrow, _) = try Terminal.run(words + ["--vertical", "--color", "never"], columns: 10)
    #expect(String(decoding: narrow, as: UTF8.self).replacingOccurrences(of: "\r", with: "") == result.output)
    for other in [["--json"], ["--format", "csv"]] {
      #expect(try Command.run(arguments: words + ["--vertical"] + other).code == 64)
    }
  }

  /// What bash offers for the last of some words.
  private static func completions(_ words: [String]) throws -> [String] {
    let script = """
      source <("$0" --generate-completion-script bash)
      atomicstore() { "$PROGRAM" "$@"; }
      COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}
      _atomicstore atomicstore "${@: -1}" "${@: -2:1}"
      printf '%s\\n' "${COMPREPLY[@]}"
      """
    let folder = try Folder()
    let program = try #require(Command.path)
    try FileManager.default.createSymbolicLink(atPath: folder("atomicstore"), withDestinationPath: program)
    let path = folder.path + ":" + (ProcessInfo.processInfo.environment["PATH"] ?? "")
    let result = try Command.run(
      arguments: ["-c", script, program] + words, environment: ["PATH": path, "PROGRAM": program],
      program: "/bin/bash")
    return result.output.split(separator: "\n").map(String.init)
  }

  @Test(
    "shells complete types, and the entities and properties of the store that the line names",
    arguments: [
      (["convert", Command.company, "x", "--to", "C"], ["CSV", "CoreDataBinary", "CoreDataSQLite"]),
      (["fetch", Command.company, "--entity", "Em"], ["Employee"]),
      (["fetch", Command.company, "--entity", "Employee", "--columns", "name,dep"], ["name,department"]),
      (["fetch", Command.company, "--entity", "Employee", "--columns", "department.na"], ["department.name"]),
      (["set", Command.company, "--entity", "Employee", "sal"], ["salary="]),
      (["fetch", "no-such-file", "--entity", "E"], []),
    ])
  func completion(_ words: [String], _ expected: [String]) throws {
    #expect(try Self.completions(["atomicstore"] + words).sorted() == expected.sorted())
  }
}
