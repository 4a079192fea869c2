import Foundation
import Testing

@Suite("Input of atomicstore") struct InputTests {
  /// Every subcommand that reads, with `PATH` for what it reads.
  static let readers: [[String]] = [
    ["inspect", "PATH"], ["dump", "PATH"], ["fetch", "PATH", "--entity", "Employee"], ["convert", "PATH", "new.plist"],
    ["convert", "PATH", "-", "--to", "XML"],
    ["metadata", "get", "PATH"], ["model", "show", "PATH"], ["diff", "PATH", Command.company],
  ]
  static let files =
    readers + [
      ["metadata", "set", "PATH", "k", "v"], ["predicate", "--file", "PATH"],
      ["inspect", Command.company, "--model", "PATH"],
    ]

  static func run(_ arguments: [String], _ path: String, input: Data? = nil, in folder: borrowing Folder) throws
    -> Command.Result
  {
    try Command.run(arguments: arguments.map { $0 == "PATH" ? path : $0 }, input: input, in: folder.path)
  }

  @Test("a missing file is exit code 66 in every command, with and without an extension", arguments: files)
  func missing(_ arguments: [String]) throws {
    let folder = try Folder()
    try FileManager.default.createSymbolicLink(atPath: folder("loop"), withDestinationPath: "loop")
    for path in ["nope", "nope.xml", "no/where.plist", "", "loop", String(repeating: "x", count: 5000) + ".xml"] {
      let result = try Self.run(arguments, path, in: folder)
      #expect(result.code == (arguments[0] == "diff" ? 2 : 66), "\(path.prefix(20)): \(result.code) \(result.errors)")
      #expect(result.output.isEmpty)
      #expect(!result.errors.contains("a new store") && !result.errors.contains("a new one"), "\(result.errors)")
      if path.hasPrefix("nope") {
        #expect(result.errors.contains("\(path): the file does not exist"), "\(result.errors)")
      }
    }
    #expect(folder.names == ["loop"])
  }

  @Test("an empty file is exit code 65 and is reported as empty, also on standard input", arguments: readers)
  func empty(_ arguments: [String]) throws {
    let folder = try Folder()
    try Data().write(to: URL(filePath: folder("zero.xml")))
    let expected: Int32 = arguments[0] == "diff" ? 2 : 65
    for (path, words) in [("-", "standard input is empty"), ("zero.xml", "zero.xml: the file is empty")] {
      let result = try Self.run(arguments, path, input: Data(), in: folder)
      #expect(result.code == expected && result.errors.contains(words), "\(path): \(result.code) \(result.errors)")
    }
    #expect(folder.names == ["zero.xml"])
  }

  @Test("standard input is accepted by every command that reads, and leaves no files behind", arguments: readers)
  func standardInput(_ arguments: [String]) throws {
    let folder = try Folder()
    let work = try Folder()
    let bytes = try Data(contentsOf: URL(filePath: Command.company))
    let result = try Command.run(
      arguments: arguments.map { $0 == "PATH" ? "-" : $0 }, input: bytes, in: folder.path,
      environment: ["TMPDIR": work.path])
    #expect(result.code == 0, "\(result.errors)")
    #expect(work.names.isEmpty)
  }

  @Test("predicates and models can be read from standard input")
  func otherInput() throws {
    let predicates = try Command.run("predicate", "--file", "-", input: Data("\"a == 1\"\n\"b ==\"\n".utf8))
    #expect(
      predicates.code == 1 && predicates.output.contains("-:2: column")
        && predicates.output.hasSuffix("1 parsed, 1 refused\n"), "\(predicates.output)")
    let model = try Data(
      contentsOf: URL(filePath: Command.samples + "/Company/Company.xcdatamodeld/Company.xcdatamodel/contents"))
    let shown = try Command.run("model", "show", "-", input: model)
    #expect(shown.code == 0 && shown.output.contains("Manager: Employee\n"), "\(shown.errors)")
    let changed = try Command.run("metadata", "set", "-", "k", "v", input: model)
    #expect(changed.code == 64 && changed.errors.contains("specify a file"))
    #expect(try Command.run("predicate", "--file", "-", input: Data([0xFF])).code == 65)
  }

  @Test("errors in standard input name it, not a file that the user does not know", arguments: [[], ["--json"]])
  func named(_ more: [String]) throws {
    let bytes = try Data(contentsOf: URL(filePath: Command.company)).prefix(2000)
    let work = try Folder()
    for arguments in [["inspect", "-"], ["convert", "-", "-", "--to", "CSV"], ["model", "show", "-"]] {
      let result = try Command.run(arguments: arguments + more, input: bytes, environment: ["TMPDIR": work.path])
      #expect(result.code == 65)
      #expect(result.errors.contains("standard input") && !result.errors.contains(work.path), "\(result.errors)")
      if !more.isEmpty, arguments[0] != "model" { #expect(try result.error()["file"] as? String == "standard input") }
    }
  }

  @Test("a directory that was edited since it was saved is invalid data, unless edits are accepted", arguments: readers)
  func edited(_ arguments: [String]) throws {
    let folder = try Folder()
    let path = Command.samples + "/Damaged/edited.csvstore"
    // Metadata and model are read without the rows; the entity of the fetch is another store's.
    guard !["metadata", "model", "fetch"].contains(arguments[0]) else { return }
    let result = try Self.run(arguments, path, in: folder)
    #expect(result.code == (arguments[0] == "diff" ? 2 : 65), "\(result.errors)")
    #expect(result.errors.contains("edited=accept") && folder.names.isEmpty)
    let accepted = try Self.run(arguments + ["--read-option", "edited=accept"], path, in: folder)
    #expect(accepted.code == (arguments[0] == "diff" ? 2 : 0) || arguments[0] == "diff", "\(accepted.errors)")
  }

  @Test(
    "an unknown entity is exit code 64 in every command, with the existing entities listed",
    arguments: [
      ["dump", Command.company, "--entity", "Employe"], ["fetch", Command.company, "--entity", "Employe"],
      ["convert", Command.company, "new.xml", "--entity", "Employe"],
      ["predicate", "a == 1", "--model", Command.samples + "/Company/Company.xcdatamodeld", "--entity", "Employe"],
    ])
  func unknownEntity(_ arguments: [String]) throws {
    let folder = try Folder()
    let result = try Command.run(arguments: arguments, in: folder.path)
    #expect(result.code == 64 && result.errors.contains("Employee"), "\(result.errors)")
    #expect(folder.names.isEmpty)
  }
}
