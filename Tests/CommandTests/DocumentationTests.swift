import Foundation
import Testing

/// The examples of documentation pages do what the pages say.
@Suite("Examples in the documentation") struct DocumentationTests {
  /// Pages with blocks ```console, and the samples in a copy of which these run, one after the other.
  static let pages = [
    ("ImportingAndChecking", "Library"), ("Migrating", "Library"), ("EditingAndMerging", "Library"),
    ("ComparingAndPatching", "Library"), ("ValuesInJSON", "Library"),
  ]

  /// A line after `$ ` is a command, other lines what it prints; `[exit code N]` is what it ends with.
  struct Example: CustomStringConvertible {
    var command: String
    var output = ""
    var exitCode: Int32 = 0
    var description: String { command }
  }

  static func examples(_ page: String) throws -> [Example] {
    try examples(at: "\(Command.root)/Sources/Graph/AtomicStoreKit/AtomicStoreKit.docc/\(page).md")
  }

  static func examples(at path: String) throws -> [Example] {
    var examples: [Example] = []
    var isInside = false
    for line in try String(contentsOfFile: path, encoding: .utf8).split(
      separator: "\n", omittingEmptySubsequences: false)
    {
      if line.hasPrefix("```") {
        isInside = line == "```console"
      } else if isInside, line.hasPrefix("$ ") {
        examples.append(Example(command: String(line.dropFirst(2))))
      } else if isInside, !examples.isEmpty {
        if line.hasPrefix("[exit code "), let code = Int32(line.dropFirst(11).dropLast()) {
          examples[examples.count - 1].exitCode = code
        } else {
          examples[examples.count - 1].output += line + "\n"
        }
      }
    }
    return examples
  }

  @Test("each command of a page prints what the page shows, and ends with its exit code", arguments: pages)
  func run(_ page: String, _ sample: String) throws {
    let folder = try Folder()
    for name in try FileManager.default.contentsOfDirectory(atPath: Command.samples + "/" + sample) {
      try FileManager.default.copyItem(atPath: "\(Command.samples)/\(sample)/\(name)", toPath: folder(name))
    }
    try Self.run(try Self.examples(page), in: folder.path)
  }

  @Test("each command of the README prints what the README shows, in a copy of the sample stores")
  func readme() throws {
    let folder = try Folder()
    try FileManager.default.copyItem(atPath: Command.samples, toPath: folder("samples"))
    let examples = try Self.examples(at: Command.root + "/README.md")
    #expect(examples.filter { $0.command.hasPrefix("atomicstore ") }.count > 10)
    try Self.run(examples, in: folder("samples"))
  }

  @Test(
    "the picture of a terminal shows what the command prints",
    .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/python3"), "python3 is not on this machine"))
  func picture() throws {
    let result = try Command.shell("\(Command.root)/Scripts/picture --check \"$0\"")
    #expect(result.code == 0, "\(result.errors)")
  }

  @Test(
    "each command has a manual page, with its synopsis and options",
    .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/python3"), "python3 is not on this machine"))
  func manual() throws {
    let folder = try Folder()
    let result = try Command.shell("\(Command.root)/Scripts/manual \"$1\" \"$0\"", folder.path)
    #expect(result.code == 0, "\(result.errors)")
    let pages = folder.names
    for name in ["atomicstore", "atomicstore-convert", "atomicstore-metadata-get", "atomicstore-model-lint"] {
      #expect(pages.contains(name + ".1"), "\(pages)")
    }
    for page in pages {
      let text = try String(contentsOfFile: folder(page), encoding: .utf8)
      #expect(text.contains(".SH NAME\n") && text.contains(".SH SYNOPSIS\n"), "\(page)")
      // A line that begins with a dot is a macro: all that are used are known.
      let macros = Set(text.split(separator: "\n").filter { $0.hasPrefix(".") }.map { $0.prefix { $0 != " " } })
      #expect(macros.isSubset(of: [".TH", ".SH", ".SS", ".PP", ".TP", ".in", ".nf", ".fi"]), "\(page): \(macros)")
    }
    let main = try String(contentsOfFile: folder("atomicstore.1"), encoding: .utf8)
    for heading in ["STORE TYPES", "OPTIONS OF STORE TYPES", "PREDICATES", "EXIT STATUS"] {
      #expect(main.contains(".SH \(heading)\n"))
    }
  }

  @Test("the demonstration shows what it says, and fails if the command does not do it")
  func demo() throws {
    let folder = try Folder()
    func demo(_ program: String) throws -> Command.Result {
      try Command.run(
        arguments: [program], environment: ["TMPDIR": folder.path], program: Command.root + "/Scripts/demo")
    }
    let result = try demo(try #require(Command.path))
    #expect(result.code == 0, "\(result.errors)")
    for text in ["1,3,4,Entwicklung", "Middlemarch", "did you mean 'title'?", "~ Book/4.price", "nothing was written"] {
      #expect(result.output.contains(text), "\(result.output)")
    }
    let broken = try demo("/bin/true")
    #expect(broken.code == 1 && !broken.output.contains("The files are in"), "\(broken.output)")
  }

  private static func run(_ examples: [Example], in folder: String) throws {
    #expect(examples.count > 2)
    for example in examples {
      // The command is a function of the shell, so that it is found in pipes too.
      let result = try Command.shell(
        "atomicstore() { \"$0\" \"$@\"; }; { \(example.command)\n} 2>&1", in: folder)
      #expect(result.output == example.output, "\(example.command)")
      #expect(result.code == example.exitCode, "\(example.command)")
    }
  }
}
