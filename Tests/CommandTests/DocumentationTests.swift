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
    let path = "\(Command.root)/Sources/AtomicStoreKit/AtomicStoreKit.docc/\(page).md"
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
    let examples = try Self.examples(page)
    #expect(examples.count > 2)
    for example in examples {
      // The command is a function of the shell, so that it is found in pipes too.
      let result = try Command.shell(
        "atomicstore() { \"$0\" \"$@\"; }; { \(example.command)\n} 2>&1", in: folder.path)
      #expect(result.output == example.output, "\(example.command)")
      #expect(result.code == example.exitCode, "\(example.command)")
    }
  }
}
