import Foundation
import Testing

@Suite("atomicstore convert") struct ConvertTests {
  @Test("a store goes through all formats, the source stays as it is, and diff finds nothing")
  func allFormats() throws {
    let folder = try Folder()
    let before = try Data(contentsOf: URL(filePath: Command.company))
    let date = try FileManager.default.attributesOfItem(atPath: Command.company)[.modificationDate] as? Date
    #expect(try Command.run("convert", Command.company, folder("a.csvstore")).code == 0)
    #expect(try Command.run("convert", folder("a.csvstore"), folder("b.plist")).code == 0)
    let last = try Command.run("convert", folder("b.plist"), folder("c.xml"))
    #expect(last.code == 0)
    // Quiet on success: standard error is no terminal here.
    #expect(last.output.isEmpty && last.errors.isEmpty)
    let diff = try Command.run("diff", Command.company, folder("c.xml"))
    #expect(diff.code == 0 && diff.output.isEmpty)
    #expect(try Data(contentsOf: URL(filePath: folder("c.xml"))) == before)
    #expect(try Data(contentsOf: URL(filePath: Command.company)) == before)
    #expect(try FileManager.default.attributesOfItem(atPath: Command.company)[.modificationDate] as? Date == date)
    #expect(folder.names == ["a.csvstore", "b.plist", "c.xml"])
  }

  @Test("a file of zero bytes may be filled; anything else only with --force")
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
    #expect(try Command.run("convert", Command.samples + "/FriendInfo/FriendInfo.plist", folder("r.xml"), "--force").code == 0)
    #expect(try Data(contentsOf: URL(filePath: folder("r.xml"))) != made)
  }

  @Test("a store is not converted onto itself, however it is named", arguments: ["same", "symbolic", "hard"])
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

  @Test("a dry run writes nothing and says what it would do")
  func dryRun() throws {
    let folder = try Folder()
    let result = try Command.run("convert", Command.company, folder("a.plist"), "--dry-run", "--json")
    #expect(result.code == 0 && folder.names.isEmpty)
    let report = try #require(try result.json() as? [String: Any])
    #expect(report["objects"] as? Int == 12 && report["dryRun"] as? Bool == true)
    #expect(report["targetType"] as? String == "BinaryPropertyList")
  }

  @Test("standard input and output stand for files")
  func streams() throws {
    let bytes = try Data(contentsOf: URL(filePath: Command.samples + "/Company/Company.plist"))
    let result = try Command.run("convert", "-", "-", "--to", "XML", input: bytes)
    #expect(result.code == 0)
    #expect(result.data == (try Data(contentsOf: URL(filePath: Command.company))))
    let missing = try Command.run("convert", Command.company, "-")
    #expect(missing.code == 64 && missing.output.isEmpty)
  }

  @Test("one entity goes to a single CSV file, and what was left out is reported, not lost")
  func oneEntity() throws {
    let result = try Command.run("convert", Command.company, "-", "--to", "CSV", "--write-option", "entity=Employee")
    #expect(result.code == 0)
    #expect(result.output.hasPrefix("id:Reference,active:Boolean,"))
    #expect(result.output.contains("Department/1"))
    #expect(result.errors.contains("Employee.department: kept as text"))
    let unknown = try Command.run("convert", Command.company, "-", "--to", "CSV", "--write-option", "entity=Nobody")
    #expect(unknown.code == 64 && unknown.output.isEmpty && unknown.errors.contains("Employee"))
  }

  @Test("--new-uuid gives the copy an identity of its own and changes nothing else")
  func newIdentity() throws {
    let folder = try Folder()
    #expect(try Command.run("convert", Command.company, folder("a.plist"), "--new-uuid").code == 0)
    let diff = try Command.run("diff", Command.company, folder("a.plist"), "--json")
    #expect(diff.code == 1)
    let differences = try #require(try diff.json() as? [[String: Any]])
    #expect(differences.count == 1 && differences[0]["kind"] as? String == "identity")
    #expect(try Command.run("diff", Command.company, folder("a.plist"), "--ignore-uuid").code == 0)
  }

  @Test("a model may be given, and one that does not match names what differs")
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

  @Test("an interrupt leaves neither result nor litter")
  func interrupted() throws {
    let folder = try Folder()
    // Large enough that the signal comes before the end.
    var rows = "id:Reference,name:String\n"
    for row in 0..<400_000 { rows += "\(row),\"name, of \(row)\"\n" }
    try Data(rows.utf8).write(to: URL(filePath: folder("big.csv")))
    let process = Process()
    process.executableURL = URL(filePath: try #require(Command.path))
    process.arguments = ["convert", folder("big.csv"), folder("big.xml")]
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
    (["SOURCE", "a.plist", "--write-option", "colour=red"], 64), (["SOURCE", "a.plist", "--read-option", "colour"], 64),
    (["SOURCE"], 64), (["SOURCE", "a.plist", "--nonsense"], 64), (["DAMAGED", "a.plist"], 65),
  ]

  @Test("what is wrong has its exit code, and nothing is made", arguments: wrong)
  func exitCodes(_ arguments: [String], _ code: Int32) throws {
    let folder = try Folder()
    let list = arguments.map {
      $0 == "SOURCE" ? Command.company : $0 == "DAMAGED" ? Command.samples + "/Damaged/bad-number.csv"
        : $0.hasPrefix("-") || $0.contains("=") || !$0.contains(".") ? $0 : folder($0)
    }
    let process = Process()
    process.executableURL = URL(filePath: try #require(Command.path))
    process.arguments = ["convert"] + list
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    #expect(process.terminationStatus == code)
    #expect(folder.names.isEmpty)
  }
}
