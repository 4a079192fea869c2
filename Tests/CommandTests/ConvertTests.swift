import Foundation
import TestSupport
import Testing

@Suite("atomicstore convert") struct ConvertTests {
  @Test("a store is converted to every format, the source is not changed, and diff finds no differences")
  func allFormats() throws {
    let folder = try Folder()
    let before = try Data(contentsOf: URL(filePath: Command.company))
    let date = try FileManager.default.attributesOfItem(atPath: Command.company)[.modificationDate] as? Date
    #expect(try Command.run("convert", Command.company, folder("a.csvstore")).code == 0)
    #expect(try Command.run("convert", folder("a.csvstore"), folder("b.plist")).code == 0)
    let last = try Command.run("convert", folder("b.plist"), folder("c.xml"))
    #expect(last.code == 0)
    // Quiet on success: standard error is not a terminal here.
    #expect(last.output.isEmpty && last.errors.isEmpty)
    let diff = try Command.run("diff", Command.company, folder("c.xml"))
    #expect(diff.code == 0 && diff.output.isEmpty)
    #expect(try Data(contentsOf: URL(filePath: folder("c.xml"))) == before)
    #expect(try Data(contentsOf: URL(filePath: Command.company)) == before)
    #expect(try FileManager.default.attributesOfItem(atPath: Command.company)[.modificationDate] as? Date == date)
    #expect(folder.names == ["a.csvstore", "b.plist", "c.xml"])
  }

  @Test("an empty file may be replaced; any other file only with --force")
  func overwriting() throws {
    let folder = try Folder()
    try Data().write(to: URL(filePath: folder("r.xml")))
    let plist = Command.samples + "/Company/Company.plist"
    #expect(try Command.run("convert", plist, folder("r.xml")).code == 0)
    let made = try Data(contentsOf: URL(filePath: folder("r.xml")))
    let refused = try Command.run("convert", Command.samples + "/FriendInfo/FriendInfo.plist", folder("r.xml"))
    #expect(refused.code == 73)
    #expect(refused.errors.contains("r.xml"))
    #expect(try Data(contentsOf: URL(filePath: folder("r.xml"))) == made)
    #expect(
      try Command.run("convert", Command.samples + "/FriendInfo/FriendInfo.plist", folder("r.xml"), "--force").code == 0
    )
    #expect(try Data(contentsOf: URL(filePath: folder("r.xml"))) != made)
  }

  @Test("a store is not converted onto itself, even under another path", arguments: ["same", "symbolic", "hard"])
  func itself(_ way: String) throws {
    let folder = try Folder()
    try FileManager.default.copyItem(atPath: Command.company, toPath: folder("a.xml"))
    let before = try Data(contentsOf: URL(filePath: folder("a.xml")))
    var other = "a.xml"
    if way == "symbolic" {
      other = "b.xml"
      try FileManager.default.createSymbolicLink(atPath: folder(other), withDestinationPath: "a.xml")
    } else if way == "hard" {
      other = "b.xml"
      try FileManager.default.linkItem(atPath: folder("a.xml"), toPath: folder(other))
    }
    #expect(try Command.run("convert", folder("a.xml"), folder(other), "--force").code == 73)
    #expect(try Data(contentsOf: URL(filePath: folder("a.xml"))) == before)
  }

  @Test("a dry run writes nothing and reports what it would do")
  func dryRun() throws {
    let folder = try Folder()
    let result = try Command.run("convert", Command.company, folder("a.plist"), "--dry-run", "--json")
    #expect(result.code == 0 && folder.names.isEmpty)
    let report = try #require(try result.json() as? [String: Any])
    #expect(report["objects"] as? Int == 12 && report["dryRun"] as? Bool == true)
    #expect(report["targetType"] as? String == "BinaryPropertyList")
  }

  @Test("a dry run refuses what a conversion would refuse", arguments: ["nodir/x.xml", "file/x.xml", "taken.xml"])
  func dryRunRefusal(_ target: String) throws {
    let folder = try Folder()
    for name in ["file", "taken.xml"] { try Data("x".utf8).write(to: URL(filePath: folder(name))) }
    let real = try Command.run("convert", Command.company, target, in: folder.path)
    let dry = try Command.run("convert", Command.company, target, "--dry-run", in: folder.path)
    #expect(real.code == 73 && dry.code == 73 && !dry.errors.isEmpty, "\(dry.errors)\(real.errors)")
    #expect(folder.names == ["file", "taken.xml"])
  }

  @Test("- stands for standard input and output")
  func streams() throws {
    let bytes = try Data(contentsOf: URL(filePath: Command.samples + "/Company/Company.plist"))
    let result = try Command.run("convert", "-", "-", "--to", "XML", input: bytes)
    #expect(result.code == 0)
    #expect(result.data == (try Data(contentsOf: URL(filePath: Command.company))))
    let missing = try Command.run("convert", Command.company, "-")
    #expect(missing.code == 64 && missing.output.isEmpty)
  }

  @Test("one entity is converted to a single CSV file, and what was left out is reported, not lost")
  func oneEntity() throws {
    let result = try Command.run("convert", Command.company, "-", "--to", "CSV", "--write-option", "entity=Employee")
    #expect(result.code == 0)
    #expect(result.output.hasPrefix("id:Reference Employee,active:Boolean,"))
    #expect(result.output.contains("Department/1"))
    #expect(result.errors.contains("Employee.department: kept as text"))
    let unknown = try Command.run("convert", Command.company, "-", "--to", "CSV", "--write-option", "entity=Unknown")
    #expect(unknown.code == 64 && unknown.output.isEmpty && unknown.errors.contains("Employee"))
  }

  @Test("--new-uuid gives the copy a new UUID and changes nothing else")
  func newIdentity() throws {
    let folder = try Folder()
    #expect(try Command.run("convert", Command.company, folder("a.plist"), "--new-uuid").code == 0)
    let diff = try Command.run("diff", Command.company, folder("a.plist"), "--json")
    #expect(diff.code == 1)
    let differences = try #require(try diff.json() as? [[String: Any]])
    #expect(differences.count == 1 && differences[0]["kind"] as? String == "identity")
    #expect(try Command.run("diff", Command.company, folder("a.plist"), "--ignore-uuid").code == 0)
  }

  @Test("a model may be specified, and one that does not match is refused with the differences")
  func models() throws {
    let folder = try Folder()
    let model = Command.samples + "/Company/Company.xcdatamodeld"
    #expect(try Command.run("convert", Command.company, folder("a.plist"), "--model", model).code == 0)
    let other = try Command.run(
      "convert", Command.company, folder("b.plist"), "--model", Command.samples + "/FriendInfo/FriendInfo.xcdatamodeld")
    #expect(other.code == 65 && other.errors.contains("Employee: only in the store"))
    #expect(folder.names == ["a.plist"])
    // Apple's own text has no names in their case: the model does.
    #expect(try Command.run("convert", Command.company, folder("o.xml"), "--write-option", "schema=omit").code == 0)
    #expect(try Command.run("diff", Command.company, folder("o.xml"), "--model", model).code == 0)
    #expect(try Command.run("diff", Command.company, folder("o.xml"), "--ignore-name-case", "--quiet").code <= 1)
  }

  @Test("an interrupt leaves neither a result nor temporary files")
  func interrupted() throws {
    let folder = try Folder()
    // Large enough that the signal comes before the end.
    var rows = "id:Reference,name:String\n"
    for row in 0..<400_000 { rows += "\(row),\"name, of \(row)\"\n" }
    try Data(rows.utf8).write(to: URL(filePath: folder("big.csv")))
    let process = Process()
    process.executableURL = URL(filePath: try #require(Command.path))
    process.arguments = ["convert", folder("big.csv"), folder("big.xml")]
    process.environment = TestEnvironment.variables()
    process.standardError = FileHandle.nullDevice
    try process.run()
    Thread.sleep(forTimeInterval: 0.3)
    kill(process.processIdentifier, SIGINT)
    process.waitUntilExit()
    if process.terminationStatus == 130 {
      #expect(folder.names == ["big.csv"])
    } else {
      // A fast machine was done: then the result is whole.
      #expect(process.terminationStatus == 0 && folder.names == ["big.csv", "big.xml"])
    }
  }

  static let wrong: [([String], Int32)] = [
    (["missing.xml", "a.plist"], 66), (["SOURCE", "no/a.plist"], 73), (["SOURCE", "a.odd"], 64),
    (["SOURCE", "a.plist", "--to", "Nothing"], 64), (["SOURCE", "a.plist", "--from", "CSV"], 65),
    (["SOURCE", "a.plist", "--write-option", "color=red"], 64),
    (["SOURCE", "a.plist", "--read-option", "color"], 64),
    (["SOURCE"], 64), (["SOURCE", "a.plist", "--nonsense"], 64), (["DAMAGED", "a.plist"], 65),
  ]

  @Test("each error has its exit code, and nothing is created", arguments: wrong)
  func exitCodes(_ arguments: [String], _ code: Int32) throws {
    let folder = try Folder()
    let list = arguments.map {
      $0 == "SOURCE"
        ? Command.company
        : $0 == "DAMAGED"
          ? Command.samples + "/Damaged/bad-number.csv"
          : $0.hasPrefix("-") || $0.contains("=") || !$0.contains(".") ? $0 : folder($0)
    }
    #expect(try Command.run(arguments: ["convert"] + list).code == code)
    #expect(folder.names.isEmpty)
  }
}

@Suite("atomicstore convert --entity") struct ConvertSubsetTests {
  static func count(_ path: String, _ entity: String) throws -> String {
    try Command.run("fetch", path, "--entity", entity, "--count").output
  }

  @Test(
    "a subset keeps references and the relationships within it, in all formats",
    arguments: ["a.xml", "a.plist", "a.csvstore"])
  func formats(_ name: String) throws {
    let folder = try Folder()
    let result = try Command.run(
      "convert", Command.company, folder(name), "--entity", "Employee", "--where", "department.name == 'Entwicklung'",
      "--related", "nullify", "--json")
    #expect(result.code == 0, "\(result.errors)")
    let report = try #require(try result.json() as? [String: Any])
    #expect(report["objects"] as? Int == 4)
    #expect(report["entities"] as? [String: Int] == ["Employee": 3, "Manager": 1])
    let selections = try #require(report["selections"] as? [[String: Any]])
    #expect(selections.contains { $0["subject"] as? String == "Employee.department" && $0["count"] as? Int == 3 })
    let dump = try Command.run("dump", folder(name)).output
    #expect(
      dump.contains("\nEmployee/3\n") && dump.contains("  buddy: Employee/4\n")
        && dump.contains("  manager: Manager/8\n"))
    // The one report that stayed behind is cut on this side too.
    #expect(dump.contains("  reports: Employee/4\n") && !dump.contains("Manager/7") && !dump.contains("department:"))
    // What is left out is in neither, all else is equal.
    let diff = try #require(try Command.run("diff", Command.company, folder(name), "--json").json() as? [[String: Any]])
    #expect(diff.filter { $0["kind"] as? String == "deleted" }.count == 8)
    #expect(!diff.contains { ["inserted", "identity", "metadata"].contains($0["kind"] as? String) })
  }

  @Test("a closure includes everything reachable; an ordered relationship keeps its order")
  func closure() throws {
    let folder = try Folder()
    let made = try Command.run(
      "convert", Command.company, folder("a.xml"), "--entity", "Project", "--related", "closure")
    #expect(made.code == 0)
    // Everybody works on something, or for someone who does.
    #expect(try Command.run("diff", Command.company, folder("a.xml")).code == 0)
    let part = try Command.run(
      "convert", Command.company, folder("b.csvstore"), "--entity", "Project", "--where",
      "SELF != nil AND title != 'Landing'", "--related", "nullify")
    #expect(part.code == 0, "\(part.errors)")
    #expect(try Self.count(folder("b.csvstore"), "Project") == "3\n")
    #expect(part.errors.contains("Project.milestones: references to objects outside"))
  }

  @Test(
    "without --related the first relationship that leaves the subset is an error that names it, and nothing is created")
  func failing() throws {
    let folder = try Folder()
    for arguments in [[], ["--related", "fail"]] {
      let result = try Command.run(
        arguments: ["convert", Command.company, folder("a.xml"), "--entity", "Department"] + arguments)
      #expect(result.code == 65)
      #expect(
        result.errors.contains("Department") && result.errors.contains("'employees' leads to Employee/3"),
        "\(result.errors)")
    }
    let json = try Command.run("convert", Command.company, folder("a.xml"), "--entity", "Department", "--json")
    let error = try #require(
      (try JSONSerialization.jsonObject(with: Data(json.errors.utf8)) as? [String: Any])?["error"] as? [String: Any])
    #expect(
      error["entity"] as? String == "Department" && error["property"] as? String == "employees"
        && error["reference"] as? String == "1")
    #expect(folder.names.isEmpty)
  }

  @Test("a subset may be empty; a dry run and --force work as for the whole store")
  func empty() throws {
    let folder = try Folder()
    let arguments = ["convert", Command.company, folder("a.plist"), "--entity", "Employee", "--where", "badge < 0"]
    #expect(try Command.run(arguments: arguments + ["--dry-run"]).code == 0)
    #expect(folder.names.isEmpty)
    let made = try Command.run(arguments: arguments)
    #expect(made.code == 0 && made.errors.contains("nothing matched"), "\(made.errors)")
    #expect(try Self.count(folder("a.plist"), "Employee") == "0\n")
    #expect(try Command.run(arguments: arguments).code == 73)
    #expect(try Command.run(arguments: arguments + ["--force"]).code == 0)
    let stream = try Command.run(
      "convert", Command.company, "-", "--to", "XML", "--entity", "Manager", "--related", "nullify", "--new-uuid")
    #expect(stream.code == 0 && stream.output.contains("type=\"MANAGER\""), "\(stream.output.prefix(200))")
  }

  @Test(
    "an invalid request is refused with exit code 64",
    arguments: [
      (["--entity", "Employe"], "did you mean 'Employee'"),
      (["--entity", "Employee", "--where", "nmae == 1"], "did you mean 'name'"),
      (["--entity", "Employee", "--where", "name ="], "column 7"),
      (["--entity", "Employee", "--entity", "Project", "--where", "TRUEPREDICATE"], "--entity once"),
      (["--where", "badge == 1"], "--where requires --entity"),
      (["--related", "closure"], "--related requires --entity"),
      (["--entity", "Employee", "--related", "all"], "closure"),
    ])
  func refusals(_ arguments: [String], _ word: String) throws {
    let folder = try Folder()
    let result = try Command.run(arguments: ["convert", Command.company, folder("a.xml")] + arguments)
    #expect(result.code == 64)
    #expect(result.errors.contains(word), "\(result.errors)")
    #expect(folder.names.isEmpty)
  }

  @Test("errors are JSON with --json, also usage errors of a predicate")
  func jsonErrors() throws {
    let folder = try Folder()
    let result = try Command.run(
      "convert", Command.company, folder("a.xml"), "--entity", "Employee", "--where", "name =", "--json")
    let error = try #require(try JSONSerialization.jsonObject(with: Data(result.errors.utf8)) as? [String: Any])
    #expect(result.code == 64 && error["exitCode"] as? Int == 64)
  }
}
