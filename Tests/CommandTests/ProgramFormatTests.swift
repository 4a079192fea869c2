import Foundation
import TestSupport
import Testing

/// Store types that are programs, as `new-format` writes them.
@Suite("Formats as programs") struct ProgramFormatTests {
  /// The languages whose interpreters are on this machine.
  static let languages = [("python", "python3", "py"), ("javascript", "node", "js")]
  /// The programs that are checked in this run: each starts its interpreter hundreds of times.
  static let checked = ["python", "javascript", "columns", "pieces"].share(of: "programs that are checked")
  static func has(_ program: String) -> Bool {
    (try? Command.run(arguments: ["-c", "command -v \(program)"], program: "/bin/sh").code) == 0
  }

  @Test(
    "new-format writes the sample under another name, which passes the quick checks",
    arguments: languages)
  func written(_ language: String, _ interpreter: String, _ suffix: String) throws {
    let folder = try Folder()
    let sample = try String(contentsOfFile: "\(Command.samples)/Programs/tabular.\(suffix)", encoding: .utf8)
    for name in ["Tabular", "Other"] {
      let made = try Command.run("new-format", name, "--language", language, in: folder.path)
      #expect(made.code == 0, "\(made.errors)")
      let path = folder("\(name)/\(name.lowercased()).\(suffix)")
      let text = sample.replacing("Tabular", with: name).replacing("tabular", with: name.lowercased())
      #expect(try String(contentsOfFile: path, encoding: .utf8) == text)
      #expect(FileManager.default.isExecutableFile(atPath: path))
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder(name)).count == 1)
    }
    guard Self.has(interpreter) else { return }
    let plugin = "Other/other.\(suffix)"
    if Self.checked.contains(language) {
      let checked = try Command.run(
        "conform", "--smoke", "--type", "Other", "--plugin", plugin, in: folder.path)
      #expect(checked.code == 0, "\(checked.output)")
    }
    for arguments in [
      ["convert", Command.company, "c.other"], ["diff", Command.company, "c.other"],
      ["convert", "c.other", "c.xml"],
    ] {
      let result = try Command.run(arguments: arguments + ["--plugin", plugin], in: folder.path)
      #expect(result.code == 0, "\(arguments): \(result.output) \(result.errors)")
    }
  }

  @Test(
    "the tests of this machine include all languages",
    .enabled(if: languages.allSatisfy { has($0.1) }, "python3 or node is missing"))
  func interpreters() {}

  @Test("a program that fails is named with the reason, and the other types are listed")
  func bad() throws {
    let folder = try Folder()
    try Self.write("#!/bin/sh\nkill -9 $$\n", to: folder("bad"))
    let result = try Command.run("formats", "--plugin", "./bad", in: folder.path)
    #expect(result.code == 65)
    #expect(result.errors.contains("the program ./bad was ended by signal 9 (Killed), when it was asked to describe"))
    #expect(result.output.contains("XML: ") && result.output.contains("CSV: "))
    let used = try Command.run("inspect", Command.company, "--plugin", "./bad", in: folder.path)
    #expect(used.code == 65 && used.errors.contains("./bad"))
    // In the directory of plug-ins it takes nothing along either.
    try FileManager.default.createDirectory(
      atPath: folder("data/atomicstore/plugins"), withIntermediateDirectories: true)
    try FileManager.default.moveItem(atPath: folder("bad"), toPath: folder("data/atomicstore/plugins/bad"))
    let environment = ["XDG_DATA_HOME": folder("data")]
    let listed = try Command.run(arguments: ["formats"], environment: environment)
    #expect(listed.code == 0 && listed.output.contains("bad: the program "), "\(listed.output.suffix(500))")
    let unknown = try Command.run(
      arguments: ["inspect", Command.root + "/README.md"], environment: environment)
    #expect(unknown.code == 65 && unknown.errors.contains("was ended by signal 9"), "\(unknown.errors)")
  }

  @Test(
    "an executable in the directory of plug-ins is a program, unless others may write to it",
    .enabled(if: has("python3"), "python3 is not on this machine"))
  func installed() throws {
    let folder = try Folder()
    let plugins = folder("data/atomicstore/plugins")
    try FileManager.default.createDirectory(atPath: plugins, withIntermediateDirectories: true)
    let program = plugins + "/tabular.py"
    try FileManager.default.copyItem(atPath: Command.samples + "/Programs/tabular.py", toPath: program)
    try Data("Not a plug-in.\n".utf8).write(to: URL(filePath: plugins + "/README"))
    for (mode, code) in [(0o755, 0), (0o775, 64)] {
      try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: program)
      let result = try Command.run(
        arguments: ["convert", Command.company, folder("c\(mode).tabular")],
        environment: ["XDG_DATA_HOME": folder("data")])
      #expect(result.code == Int32(code), "\(result.errors)")
      if code != 0 { #expect(result.errors.contains("tabular.py: other users may write to it")) }
    }
  }

  @Test("damage is an error with the line", .enabled(if: has("python3"), "python3 is not on this machine"))
  func damage() throws {
    let folder = try Folder()
    let plugin = Command.samples + "/Programs/tabular.py"
    _ = try Command.run("convert", Command.company, "c.tabular", "--plugin", plugin, in: folder.path)
    var lines = try String(contentsOfFile: folder("c.tabular"), encoding: .utf8).components(separatedBy: "\n")
    lines[3] = "{"
    try lines.joined(separator: "\n").write(toFile: folder("c.tabular"), atomically: false, encoding: .utf8)
    let result = try Command.run("inspect", "c.tabular", "--json", "--plugin", plugin, in: folder.path)
    let error = try result.error()
    #expect(result.code == 65 && error["line"] as? Int == 4 && error["code"] as? String == "malformed", "\(error)")
  }

  @Test(
    "a program that ends, or takes much memory, when it reads a damaged store fails the checks; fuzzing keeps small ones",
    .enabled(if: has("python3"), "python3 is not on this machine"))
  func careless() throws {
    let folder = try Folder()
    let sample = try String(contentsOfFile: Command.samples + "/Programs/tabular.py", encoding: .utf8)
    let strict = "except (ValueError, RecursionError) as error:"
    let counted = "count = self.header(source, header)[1]"
    #expect(sample.contains(strict) && sample.contains(counted))
    try Self.write(
      sample.replacing(strict, with: "except RecursionError as error:")
        .replacing(counted, with: counted + "\n        b\"x\" * min(count, 1 << 28)"), to: folder("careless.py"))
    let arguments = ["--type", "Tabular", "--plugin", "./careless.py"]
    let checked = try Command.run(
      arguments: ["conform", "--only", "HOS-01", "--only", "HOS-02"] + arguments, in: folder.path)
    #expect(checked.code == 1 && checked.output.contains("ended with exit code 1"), "\(checked.output)")
    #expect(checked.output.contains("HOS-02 failed"), "\(checked.output)")
    let fuzzed = try Command.run(
      arguments: ["conform", "--fuzz", "0.05", "--corpus", "found"] + arguments, in: folder.path)
    #expect(fuzzed.code == 1 && fuzzed.output.contains("found/1.tabular, "), "\(fuzzed.output)")
    let sizes = try FileManager.default.contentsOfDirectory(atPath: folder("found")).map {
      try Data(contentsOf: URL(fileURLWithPath: folder("found/\($0)"))).count
    }
    #expect((sizes.min() ?? .max) < 100, "\(sizes)")
  }

  /// What is added to the sample, and the check that it fails.
  static let endings = [
    (
      "AUT-01", "checksum = []",
      "checksum = [\"crafted\"]\n\n    def crafted(self, source, target):\n        raise SystemExit(7)"
    ),
    (
      "HOS-16", "checksum = []",
      "checksum = [\"recompute\"]\n\n    def recompute(self, source, target):\n        raise SystemExit(7)"
    ),
    ("REG-09", "{\"atomicstore\": 1, \"type\"", "{\"recognizes\": True, \"atomicstore\": 1, \"type\""),
  ]

  @Test(
    "a program that ends when it makes files for a check, or recognizes content, fails the check",
    .enabled(if: has("python3"), "python3 is not on this machine"), arguments: endings)
  func ends(_ check: String, _ old: String, _ new: String) throws {
    let folder = try Folder()
    let sample = try String(contentsOfFile: Command.samples + "/Programs/tabular.py", encoding: .utf8)
    #expect(sample.contains(old))
    try Self.write(sample.replacing(old, with: new), to: folder("ends.py"))
    let result = try Command.run(
      arguments: ["conform", "--type", "Tabular", "--only", check, "--plugin", "./ends.py"], in: folder.path)
    #expect(
      result.code == 1 && result.output.contains("the program ./ends.py ended with exit code"), "\(result.output)")
  }

  @Test(
    "a format that changes a value is refused in place by 'set' and by 'patch', and the store stays",
    .enabled(if: has("python3"), "python3 is not on this machine"), arguments: ["set", "patch"])
  func changesValues(_ verb: String) throws {
    let folder = try Folder()
    let sample = try String(contentsOfFile: Command.samples + "/Programs/tabular.py", encoding: .utf8)
    let line = "target.write(text(item) + b\"\\n\")"
    #expect(sample.contains(line))
    let changed = line.replacing("text(item)", with: "text(item).replace(b'lossy', b'tidy')")
    try Self.write(sample.replacing(line, with: changed), to: folder("lossy.py"))
    let made = try Command.shell(
      """
      set -e
      "$0" convert \(Command.company) c.tabular --plugin ./lossy.py
      "$0" set \(Command.company) --entity Department --where "name == 'Entwicklung'" name:=lossy -o d.xml
      "$0" diff \(Command.company) d.xml --patch >p.json || [ $? = 1 ]
      """, in: folder.path)
    #expect(made.code == 0, "\(made.errors)")
    let before = try Data(contentsOf: URL(filePath: folder("c.tabular")))
    let arguments =
      verb == "patch"
      ? ["c.tabular", "p.json"]
      : ["c.tabular", "--entity", "Department", "--where", "name == 'Entwicklung'", "name:=lossy"]
    let result = try Command.run(arguments: [verb] + arguments + ["--plugin", "./lossy.py"], in: folder.path)
    #expect(result.code == 65 && result.errors.contains("Tabular failed verification"), "\(result.errors)")
    #expect(try Data(contentsOf: URL(filePath: folder("c.tabular"))) == before)
  }

  /// A format whose stores are directories, in the words of the sample.
  static let pieces = """
    #!/usr/bin/env python3
    from tabular import StoreError, Tabular, parse, serve, text

    class Pieces(Tabular):
        store_type = "Pieces"
        traits = {"summary": "A file for each entity", "extensions": ["pieces"], "layout": "folder"}
        signatures = [{"member": "index", "text": '{"store":"Pieces"'}]

        def header(self, source, header=None):
            return super().header(source, parse(next(source.lines("index"), b""), 1))

        def load(self, source, entities):
            count = 0
            for name in sorted({member["name"] for member in source.members} - {"index"}):
                for number, line in enumerate(source.lines(name), 1):
                    count += 1
                    yield {**parse(line, number, member=name), "line": number, "member": name}
            if count != self.header(source)[1]:
                raise StoreError("malformed", "objects are missing", member="index", line=1)

        def save(self, metadata, objects, count, target):
            header = {"store": self.store_type, "version": 1, "objects": count, **metadata}
            target.write(text(header) + b"\\n", "index")
            for item in objects:
                target.write(text(item) + b"\\n", item["entity"])

    serve(Pieces)
    """

  @Test("a store of a program may be a directory", .enabled(if: has("python3"), "python3 is not on this machine"))
  func directory() throws {
    let folder = try Folder()
    try FileManager.default.copyItem(atPath: Command.samples + "/Programs/tabular.py", toPath: folder("tabular.py"))
    try Self.write(Self.pieces, to: folder("pieces.py"))
    func run(_ arguments: String...) throws -> Command.Result {
      try Command.run(arguments: arguments + ["--plugin", "./pieces.py"], in: folder.path)
    }
    #expect(try run("convert", Command.company, "c.pieces").code == 0)
    #expect(try run("diff", Command.company, "c.pieces").code == 0)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder("c.pieces")).contains("index"))
    if Self.checked.contains("pieces") {
      let checked = try run("conform", "--smoke", "--type", "Pieces")
      #expect(checked.code == 0, "\(checked.output)")
    }
    // An error of an object has the path of its member, in which alone its line counts.
    let people = folder("c.pieces/Employee")
    let lines = try String(contentsOfFile: people, encoding: .utf8)
    let name = try #require(lines.firstRange(of: "\"name\":\""))
    try lines.replacingCharacters(in: name, with: "\"nom\":\"").write(
      toFile: people, atomically: false, encoding: .utf8)
    let object = try run("inspect", "c.pieces", "--json").error()
    #expect(object["file"] as? String == "c.pieces/Employee" && object["line"] as? Int == 1, "\(object)")
    // An error in a member has its path.
    try lines.write(toFile: people, atomically: false, encoding: .utf8)
    try FileManager.default.removeItem(atPath: folder("c.pieces/Department"))
    let error = try run("inspect", "c.pieces", "--json").error()
    #expect(error["file"] as? String == "c.pieces/index" && error["line"] as? Int == 1, "\(error)")
  }

  /// What the programs of a file and of a directory are changed to do, and what the check expects instead.
  static let places = [
    ("tabular", "item[\"line\"] = number", "item[\"line\"] = number + 1", "the error names line 3"),
    ("pieces", ", \"member\": name}", "}", "the error names the file Sample of the store"),
  ]

  @Test(
    "a program whose errors name another line, or no file of a directory, fails the checks",
    .enabled(if: has("python3"), "python3 is not on this machine"), arguments: places)
  func place(_ program: String, _ old: String, _ new: String, _ expected: String) throws {
    let folder = try Folder()
    let sample = try String(contentsOfFile: Command.samples + "/Programs/tabular.py", encoding: .utf8)
    try Self.write(sample, to: folder("tabular.py"))
    try Self.write(Self.pieces, to: folder("pieces.py"))
    let text = try String(contentsOfFile: folder("\(program).py"), encoding: .utf8)
    #expect(text.contains(old))
    try Self.write(text.replacing(old, with: new), to: folder("\(program).py"))
    let result = try Command.run(
      "conform", "--type", program.capitalized, "--only", "VAL-04", "--plugin", "./\(program).py", in: folder.path)
    #expect(result.code == 1 && result.output.contains(expected), "\(result.output)")
  }

  /// What a program does when it is asked to save, the exit code, and what the error says.
  static let saves = [
    (#"printf '{"write":10}\nhalf'; exit 1"#, 65, "ended with exit code 1, after 4 of 10 bytes"),
    (
      #"printf '{"write":4}\nhalf'; kill -9 $$"#, 65,
      "was ended by signal 9 (Killed), when it was asked to save a store"
    ),
    (#"printf '{"write":4,"member":"a"}\nhalf'"#, 65, "wrote bytes of a 'member' of a file"),
    (#"echo '{"saved":false}'"#, 65, "wrote neither bytes nor 'saved'"),
    (#"echo '{"error":{"code":"unsupportedByFormat","message":"no dates"}}'"#, 65, "no dates"),
    ("sleep 600", 69, "did nothing for 500 ms"),
  ]

  @Test("a program that fails to save is named, and no file is left", arguments: saves)
  func failedSave(_ body: String, _ code: Int, _ expected: String) throws {
    let folder = try Folder()
    try Self.write(
      """
      #!/bin/sh
      while read -r request; do
        case "$request" in
        *'"do":"describe"'*) echo '{"atomicstore":1,"type":"Peer","traits":{"extensions":["peer"]},"signatures":[{"text":"PEER"}]}' ;;
        *'"do":"save"'*) \(body) ;;
        esac
      done

      """, to: folder("peer"))
    let result = try Command.run(
      arguments: ["convert", Command.company, "c.peer", "--plugin", "./peer"], in: folder.path,
      environment: ["ATOMICSTORE_PROGRAM_SECONDS": code == 69 ? "0.5" : "60"])
    #expect(result.code == Int32(code) && result.errors.contains(expected), "\(result.code): \(result.errors)")
    #expect(folder.names == ["peer"], "\(folder.names)")
  }

  @Test("a kind is refused for programs, and so is a directory that is not a checkout")
  func options() throws {
    for (arguments, code, reason) in [
      (["--kind", "folder"], 64, "goes with --language swift"), (["--kit", "/"], 66, "does not exist there"),
    ] {
      let result = try Command.run(arguments: ["new-format", "Other", "--language", "python"] + arguments)
      #expect(result.code == code && result.errors.contains(reason), "\(result.errors)")
    }
  }

  static func write(_ script: String, to path: String) throws {
    try Data(script.utf8).write(to: URL(filePath: path))
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
  }
}
