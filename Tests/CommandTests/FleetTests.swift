import CommandSupport
import Foundation
import Testing

@Suite("Lists of stores in one process") struct FleetTests {
  /// The lines of a run, each of which is a JSON object.
  private static func lines(_ result: Command.Result) throws -> [[String: Any]] {
    try result.output.split(separator: "\n").map {
      try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any], "\($0)")
    }
  }

  /// A directory with `count` stores, and the list of their relative paths.
  private static func stores(_ count: Int, in folder: borrowing Folder) throws -> [String] {
    try (0..<count).map { index in
      let name = "in/\(index % 3)/s\(index).xml"
      let path = folder(name)
      try FileManager.default.createDirectory(
        atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
      try FileManager.default.copyItem(atPath: Command.company, toPath: path)
      return name
    }
  }

  private static func input(_ paths: [String], separator: String = "\n") -> Data {
    Data((paths.joined(separator: separator) + separator).utf8)
  }

  static let hasStrace =
    (try? Command.run(arguments: ["-c", "strace -o /dev/null true"], program: "/bin/sh").code) == 0

  @Test(
    "results in one directory are made without listing it for each of them",
    .enabled(if: hasStrace, "strace is not on this machine, or is not allowed"))
  func directoryListings() throws {
    func listings(_ count: Int) throws -> Int {
      let folder = try Folder()
      let paths = try Self.stores(count, in: folder)
      let result = try Command.shell(
        "printf '%s\\n' \(paths.joined(separator: " ")) | strace -f -o trace -e trace=getdents64 \"$0\" "
          + "convert --files-from - -o out --to BinaryPropertyList --jobs 1 >/dev/null", in: folder.path)
      #expect(result.code == 0, "\(result.errors)")
      return try String(contentsOfFile: folder("trace"), encoding: .utf8).split(separator: "\n").count
    }
    // The results are in three directories.
    #expect(try listings(24) == listings(6))
  }

  @Test("a directory of results that is itself a store is refused for each of them, and the others are made")
  func preparedDirectory() throws {
    let folder = try Folder()
    let paths = try Self.stores(6, in: folder)
    try FileManager.default.createDirectory(atPath: folder("out/in"), withIntermediateDirectories: true)
    #expect(try Command.run("convert", Command.company, folder("out/in/1"), "--to", "CSV").code == 0)
    let refused = try Command.run(
      arguments: ["convert", "--files-from", "-", "-o", folder("out"), "--to", "BinaryPropertyList", "--jobs", "1"],
      input: Self.input(paths), in: folder.path)
    #expect(try Self.lines(refused).compactMap { $0["exitCode"] as? Int } == [0, 73, 0, 0, 73, 0], "\(refused.output)")
  }

  @Test("--jobs limits the threads that treat one store, and changes no byte of the result")
  func oneStore() throws {
    let folder = try Folder()
    var results: [Data] = []
    for jobs in ["1", "2"] {
      let target = folder("company\(jobs).plist")
      let result = try Command.run("convert", Command.company, target, "--jobs", jobs)
      #expect(result.code == 0)
      results.append(try Data(contentsOf: URL(filePath: target)))
    }
    #expect(results[0] == results[1])
    let refused = try Command.run("convert", Command.company, folder("none.plist"), "--jobs", "0")
    #expect(refused.code == 64 && refused.errors.contains("--jobs must be 1 to 256, not 0"))
  }

  @Test(
    "each store is a line in the order of the list, whatever the number of workers, and a bad one stops nothing",
    arguments: [
      ["inspect"], ["check"], ["fetch", "--entity", "Employee", "--columns", "badge"],
      ["fetch", "--entity", "Employee", "--count"],
    ])
  func order(_ command: [String]) throws {
    let folder = try Folder()
    var paths = try Self.stores(12, in: folder)
    try Data("not a store".utf8).write(to: URL(filePath: folder("bad.xml")))
    try Data().write(to: URL(filePath: folder("empty.xml")))
    paths.insert("bad.xml", at: 5)
    paths += ["missing.xml", "empty.xml"]
    let results = try ["1", "2", "9"].map {
      try Command.run(
        arguments: command + ["--files-from", "-", "--jobs", $0], input: Self.input(paths), in: folder.path)
    }
    let lines = try Self.lines(results[0])
    #expect(lines.map { $0["path"] as? String } == paths)
    for result in results {
      #expect(result.code == 1)
      #expect(result.data == results[0].data)
      #expect(result.errors == results[0].errors)
    }
    // `check` lists what it cannot read as a finding.
    let bad: [Int?] = command == ["check"] ? [1, 66, 65] : [65, 66, 65]
    #expect([5, 13, 14].map { lines[$0]["exitCode"] as? Int } == bad)
    #expect(lines.filter { $0["exitCode"] as? Int == 0 }.count == 12)
    #expect(lines.allSatisfy { ($0["result"] == nil) == ($0["error"] != nil) })
    #expect(results[0].errors.contains("15 stores: 12 succeeded"))
    let first = command == ["check"] ? "missing.xml" : "bad.xml"
    #expect(results[0].errors.contains("the first: \(first): "))
    #expect(!results[0].errors.contains("\(first): \(first)"))
  }

  @Test("the result of a store is what the command prints with --json for it alone")
  func sameAsAlone() throws {
    let folder = try Folder()
    let list = folder("list")
    try Self.input([Command.company]).write(to: URL(filePath: list))
    for command in [["inspect", "--stats"], ["check"], ["fetch", "--entity", "Employee"]] {
      let alone = try Command.run(arguments: command + [Command.company, "--json"])
      let many = try Command.run(arguments: command + ["--files-from", list])
      #expect(many.code == 0, "\(many.errors)")
      let result = try #require(try Self.lines(many).first?["result"] as? [String: Any])
      let expected = try alone.json()
      #expect((result["rows"] ?? result) as? NSObject == expected as? NSObject)
    }
  }

  @Test("paths may be separated by NUL, contain line feeds, and '-' among them is a file")
  func separators() throws {
    let folder = try Folder()
    for name in ["a\nb.xml", "-"] { try FileManager.default.copyItem(atPath: Command.company, toPath: folder(name)) }
    let result = try Command.run(
      arguments: ["inspect", "--files-from", "-"], input: Self.input(["a\nb.xml", "-"], separator: "\0"),
      in: folder.path)
    #expect(result.code == 0, "\(result.errors)")
    #expect(try Self.lines(result).map { $0["path"] as? String } == ["a\nb.xml", "./-"])
    let list = StoreList(Array("a\n\nb".utf8) + [0xFF, UInt8(ascii: "\n")])
    #expect(list.entries.map(\.path) == ["a", "b\u{FFFD}"])
    #expect(list.entries.map { $0.problem == nil } == [true, false])
    #expect(StoreList([]).entries.isEmpty)
  }

  @Test("the summary is JSON with --json, and an empty list succeeds")
  func summary() throws {
    let folder = try Folder()
    let some = try Command.run(
      arguments: ["inspect", "--json", "--files-from", "-"], input: Self.input([Command.company, folder("none.xml")]))
    let summary = try #require(try JSONSerialization.jsonObject(with: Data(some.errors.utf8)) as? NSDictionary)
    #expect(
      summary == [
        "stores": 2, "succeeded": 1, "withFindings": 0, "failed": 1, "exitCodes": ["0": 1, "66": 1],
      ])
    let none = try Command.run(arguments: ["check", "--files-from", "-"], input: Data())
    #expect(none.code == 0 && none.output.isEmpty && none.errors.contains("0 stores"))
  }

  @Test(
    "what is wrong for every store is a usage error, before a store is read",
    arguments: [
      (["inspect", "--files-from", "-", Command.company], 64, "one store too many"),
      (["inspect", Command.company, "--jobs", "257"], 64, "--jobs must be 1 to 256, not 257"),
      (["inspect"], 64, "missing argument"), (["convert", Command.company], 64, "missing argument"),
      (["inspect", "--files-from", "-", "--jobs", "0"], 64, "1 to 256"),
      (["inspect", "--files-from", "-", "--from", "Nonsense"], 64, "Nonsense"),
      (["inspect", "--files-from", "/nonexistent/list"], 66, "list of stores"),
      (["check", "--files-from", "-", "--fix", "inverses=from-to-one", "-o", "x"], 64, "one store"),
      (["fetch", "--files-from", "-", "--entity", "Employee", "--where", "badge >"], 64, "--where"),
      (["fetch", "--files-from", "-", "--entity", "Employee", "--format", "csv"], 64, "--format"),
      (["convert", "--files-from", "-", "-o", "out"], 64, "--to"),
      (["convert", "--files-from", "-", "--to", "CSV"], 64, "-o"),
      (["convert", "--files-from", "-", "-o", "-", "--to", "CSV"], 64, "directory"),
      (["convert", Command.company, "x.csvstore", "-o", "out"], 64, "--files-from"),
    ])
  func usage(_ arguments: [String], _ code: Int32, _ words: String) throws {
    let folder = try Folder()
    let result = try Command.run(arguments: arguments, input: Self.input([Command.company]), in: folder.path)
    #expect(result.code == code && result.output.isEmpty)
    #expect(result.errors.contains(words), "\(result.errors)")
    #expect(folder.names.isEmpty)
  }

  @Test("convert keeps the paths below the directory, and replaces nothing without --force")
  func convert() throws {
    let folder = try Folder()
    let paths = try Self.stores(7, in: folder)
    let arguments = ["convert", "--files-from", "-", "-o", "out", "--to", "BinaryPropertyList"]
    let first = try Command.run(arguments: arguments, input: Self.input(paths), in: folder.path)
    #expect(first.code == 0, "\(first.output)\(first.errors)")
    for (path, line) in zip(paths, try Self.lines(first)) {
      let target = "out/" + path.dropLast(3) + "plist"
      #expect((line["result"] as? [String: Any])?["target"] as? String == target)
      #expect(try Command.run("diff", path, target, in: folder.path).code == 0)
    }
    let before = try Data(contentsOf: URL(filePath: folder("out/in/0/s0.plist")))
    let second = try Command.run(arguments: arguments, input: Self.input(paths), in: folder.path)
    #expect(second.code == 1)
    #expect(try Self.lines(second).allSatisfy { $0["exitCode"] as? Int == 73 })
    #expect(try Data(contentsOf: URL(filePath: folder("out/in/0/s0.plist"))) == before)
    #expect(try Command.run(arguments: arguments + ["--force"], input: Self.input(paths), in: folder.path).code == 0)
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: folder("out/in/1")).sorted() == ["s1.plist", "s4.plist"])
  }

  @Test("convert writes databases that are files, and refuses those that are not")
  func databases() throws {
    let folder = try Folder()
    let paths = try Self.stores(3, in: folder)
    func convert(_ paths: [String], _ output: String, to type: String) throws -> Command.Result {
      try Command.run(
        arguments: ["convert", "--files-from", "-", "-o", output, "--to", type], input: Self.input(paths),
        in: folder.path)
    }
    #expect(try convert(paths, "out", to: "SQLiteGraph").code == 0)
    let databases = paths.map { "out/" + $0.dropLast(3) + "sqlgraph" }
    for (path, database) in zip(paths, databases) {
      #expect(try Command.run("diff", path, database, in: folder.path).code == 0)
    }
    #expect(try convert(databases, "back", to: "XML").code == 0)
    for path in paths { #expect(try Command.run("diff", path, "back/out/" + path, in: folder.path).code == 0) }
    let refused = try convert(paths, "server", to: "PostgreSQL")
    #expect(refused.code == 64)
    #expect(refused.errors.contains("files"))
  }

  @Test("two stores never have one result, none is outside the directory, and none replaces a store of the list")
  func collisions() throws {
    let folder = try Folder()
    try FileManager.default.createDirectory(atPath: folder("sub"), withIntermediateDirectories: true)
    for name in ["a.xml", "b.2024", "sub/c.xml"] {
      try FileManager.default.copyItem(atPath: Command.company, toPath: folder(name))
    }
    #expect(try Command.run("convert", "a.xml", "a.plist", in: folder.path).code == 0)
    let result = try Command.run(
      arguments: ["convert", "--files-from", "-", "-o", "out/", "--to", "CSV"],
      input: Self.input(["a.xml", "a.plist", "./b.2024", "sub/../a.xml", "sub/c.xml"]), in: folder.path)
    #expect(try Self.lines(result).map { $0["exitCode"] as? Int } == [0, 73, 0, 73, 0])
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: folder("out")).sorted() == [
        "a.csvstore", "b.2024.csvstore", "sub",
      ])
    let before = try Data(contentsOf: URL(filePath: folder("a.plist")))
    let inPlace = try Command.run(
      arguments: ["convert", "--files-from", "-", "-o", ".", "--to", "BinaryPropertyList", "--force"],
      input: Self.input(["a.xml", "a.plist", "sub/c.xml"]), in: folder.path)
    #expect(try Self.lines(inPlace).map { $0["exitCode"] as? Int } == [73, 73, 0], "\(inPlace.output)")
    #expect(try Data(contentsOf: URL(filePath: folder("a.plist"))) == before)
  }

  @Test("a dry run reports every store and creates nothing")
  func dryRun() throws {
    let folder = try Folder()
    let paths = try Self.stores(3, in: folder)
    let result = try Command.run(
      arguments: ["convert", "--files-from", "-", "-o", "out", "--to", "CSV", "--dry-run"], input: Self.input(paths),
      in: folder.path)
    #expect(result.code == 0, "\(result.output)")
    #expect(try Self.lines(result).allSatisfy { ($0["result"] as? [String: Any])?["dryRun"] as? Bool == true })
    #expect(folder.names == ["in"])
  }

  @Test("a reader that closes the output ends the command quietly, without staged files")
  func closedOutput() throws {
    let folder = try Folder()
    let paths = try Self.stores(60, in: folder)
    try Self.input(paths).write(to: URL(filePath: folder("list")))
    let result = try Command.shell(
      #""$0" fetch --files-from list --entity Employee | head -1 | wc -l; test -z "$(find . -name '.*' -type f)""#,
      in: folder.path)
    #expect(result.code == 0 && result.output.contains("1"), "\(result.errors)")
  }
}
