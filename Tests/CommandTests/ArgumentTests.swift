import Foundation
import Testing

@Suite("Arguments of atomicstore") struct ArgumentTests {
  @Test(
    "an argument that is not UTF-8 is refused with its number, and nothing is done",
    arguments: [
      (#""$0" metadata set a.xml k "$(printf '\377\376')""#, "argument 5"),
      (#""$0" convert a.xml "$(printf 'new\377.xml')""#, #"new\xff.xml"#),
      (#""$0" fetch a.xml --entity "$(printf 'E\303')""#, "argument 4"),
    ])
  func notUTF8(_ line: String, _ words: String) throws {
    let folder = try Folder()
    try FileManager.default.copyItem(atPath: Command.company, toPath: folder("a.xml"))
    let result = try Command.shell(line, in: folder.path)
    #expect(
      result.code == 64 && result.errors.contains("not UTF-8") && result.errors.contains(words), "\(result.errors)")
    #expect(folder.names == ["a.xml"])
    #expect(try Data(contentsOf: URL(filePath: folder("a.xml"))) == Data(contentsOf: URL(filePath: Command.company)))
  }

  @Test(
    "a word that begins with a dash and is not an option is an error with a hint, and nothing is done",
    arguments: [
      ["convert", Command.company, "-hash.xml"], ["convert", Command.company, "-h.xml"], ["inspect", "-hello"],
      ["dump", "-x"],
      ["convert", Command.company, "--hash.xml"], ["diff", Command.company, "-other.xml"],
      ["metadata", "set", "a.xml", "-key", "value"],
      ["fetch", Command.company, "--entity", "-Employee"],
      ["fetch", Command.company, "--entity", "Employee", "--where", "-hired > 3"],
      ["conform", "explain", "-hal"], ["new-format", "-helper"], ["predicate", "-h == 3"], ["model", "show", "-hm"],
      ["formats", "-hf"],
    ])
  func dashes(_ arguments: [String]) throws {
    let folder = try Folder()
    let result = try Command.run(arguments: arguments, in: folder.path)
    #expect(result.code == 64 && result.output.isEmpty, "\(result.output)\(result.errors)")
    #expect(result.errors.contains("./-name") && result.errors.contains("after --"), "\(result.errors)")
    #expect(folder.names.isEmpty)
    #expect(try Command.run(arguments: arguments + ["--json"], in: folder.path).error()["code"] as? String == "usage")
  }

  @Test("a file whose name begins with a dash is named with its directory or after two dashes")
  func dashedFiles() throws {
    let folder = try Folder()
    #expect(try Command.run("convert", Command.company, "./-hash.xml", in: folder.path).code == 0)
    #expect(try Command.run("convert", "--", Command.company, "-h.plist", in: folder.path).code == 0)
    #expect(folder.names == ["-h.plist", "-hash.xml"])
    #expect(try Command.run("inspect", "-h").output.contains("USAGE"))
    #expect(
      try Command.run("fetch", Command.company, "--entity", "Employee", "--sort", "-badge", "--columns", "badge").code
        == 0)
  }

  @Test(
    "errors of arguments are JSON with --json, wherever it is on the command line",
    arguments: [
      ["--json"], ["nonsense", "--json"], ["inspect", "--json"], ["inspect", "--json", "--nonsense", "x"],
      ["fetch", "x", "--entity", "E", "--limit", "y", "--json"],
      ["conform", "explain", "VAL-99", "--json"], ["conform", "--profile", "nonsense", "--json"],
      ["conform", "--json"],
    ])
  func jsonErrors(_ arguments: [String]) throws {
    let result = try Command.run(arguments: arguments)
    #expect(result.code == 64 && result.output.isEmpty)
    let error = try result.error()
    #expect(error["code"] as? String == "usage" && (error["message"] as? String)?.isEmpty == false)
  }

  @Test(
    "a predicate's error has its option, column and text as JSON",
    arguments: [("--where", "name ="), ("--having", "a ="), ("--columns", "a b")])
  func predicateErrors(_ option: String, _ text: String) throws {
    let result = try Command.run("fetch", Command.company, "--entity", "Employee", option, text, "--json")
    let error = try result.error()
    #expect(result.code == 64 && error["code"] as? String == "predicate" && error["option"] as? String == option)
    #expect(error["column"] as? Int != nil && error["text"] as? String == text)
  }

  @Test(
    "a write error is reported with the system's message and its exit code",
    arguments: [
      ("--help", 74), ("dump \"$1\"", 74), ("inspect \"$1\" --json", 74), ("fetch \"$1\" --entity Employee", 74),
      ("convert \"$1\" - --to CSV --write-option entity=Employee", 74),
      ("diff \"$1\" \"$1\" --json", 2), ("conform list", 74),
    ])
  func fullDisk(_ arguments: String, _ code: Int) throws {
    let result = try Command.shell("\"$0\" \(arguments) >/dev/full", Command.company)
    #expect(result.code == Int32(code), "\(result.errors)")
    #expect(
      result.errors.contains("cannot write to standard output: No space left on device")
        && !result.errors.contains("NSCocoa"), "\(result.errors)")
  }

  @Test("the help of conform lists the options of the program it runs")
  func conformHelp() throws {
    for arguments in [["conform", "--help"], ["help", "conform"]] {
      let help = try Command.run(arguments: arguments)
      #expect(help.code == 0)
      for word in ["--type", "--only", "--selftest", "--report", "--matrix", "--badge", "SUBCOMMANDS:", "explain"] {
        #expect(help.output.contains(word), "\(arguments): \(word)\n\(help.output)")
      }
    }
  }
}
