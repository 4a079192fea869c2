import Foundation
import Testing

@Suite("atomicstore conform") struct ConformTests {
  struct Bad: Sendable, CustomTestStringConvertible {
    var arguments: [String]
    var code: Int32
    /// What the message must name.
    var words: String
    init(_ arguments: String, _ code: Int32, _ words: String) {
      self.arguments = arguments.split(separator: " ").map(String.init)
      self.code = code
      self.words = words
    }
    var testDescription: String { arguments.joined(separator: " ") }
  }

  static let bad: [Bad] = [
    Bad("conform", 64, "--type"), Bad("conform --type Nothing", 64, "Nothing"),
    Bad("conform --type XML --only VAL-99", 64, "VAL-99"),
    Bad("conform --type XML --only VAL-07 --only nonsense", 64, "nonsense"),
    Bad("conform --type XML --only VAL-07 --profile hostile", 64, "VAL-07"),
    Bad("conform --type XML --profile nonsense", 64, "nonsense"),
    Bad("conform --type XML --smoke --profile scale", 64, "no check"),
    Bad("conform --selftest --fault noSuchFault", 64, "conform list --faults"),
    Bad("conform --selftest --only VAL-99", 64, "VAL-99"),
    Bad("conform --selftest --only VAL-07 --fault nanBecomesZero", 64, "none of these checks"),
    Bad("conform --selftest --smoke", 64, "--smoke"),
    Bad("conform --selftest --type XML", 64, "--type"),
    Bad("conform --type XML --fault nanBecomesZero", 64, "--selftest"),
    Bad("conform --selftest --fault nanBecomesZero --fault noSuchFault", 64, "noSuchFault"),
    Bad("conform --type XML --only VAL-07 --report report.pdf", 64, "report.pdf"),
    Bad("conform --type XML --only VAL-07 --seed x", 64, "seed"),
    Bad("conform --type XML --only VAL-07 --report no/such/folder.json", 73, "folder.json"),
    Bad("conform --type XML --fuzz 0", 64, "0.01"), Bad("conform --type XML --corpus found", 64, "--fuzz"),
    Bad("conform --type XML --fuzz 1 --only VAL-07", 64, "--only"),
    Bad("conform --type SQLiteGraph --fuzz 1", 64, "loaded whole"),
    Bad("conform --type CSV --write-option layout=pile", 64, "folder, file"),
    Bad("conform --type CSV --write-option unknown=1", 64, "unknown"),
    Bad("conform --type CSV --write-option layout", 64, "name=value"),
    Bad("conform --type SQLiteGraph --write-option layout=file", 64, "written whole"),
    Bad("conform --selftest --write-option layout=file", 64, "--write-option"),
    Bad("conform explain VAL-99", 64, "VAL-99"),
    Bad("conform --type XML --plugin missing.so --only VAL-07", 66, "missing.so"),
  ]

  @Test("an invalid request is refused, and nothing is written", arguments: bad)
  func refused(_ bad: Bad) throws {
    let folder = try Folder()
    let result = try Command.run(arguments: bad.arguments, in: folder.path)
    #expect(result.code == bad.code, "\(result.output)\(result.errors)")
    #expect(result.errors.contains(bad.words), "\(result.errors)")
    #expect(folder.names.isEmpty)
  }

  @Test("the checks run with an option of the format, which the command of a failure repeats")
  func writeOption() throws {
    // A directory has a model; a table alone is not recognized when it was cut at the end of a line.
    let whole = try Command.run("conform", "--type", "CSV", "--only", "INI-16")
    #expect(whole.code == 0, "\(whole.output)\(whole.errors)")
    // A check that fails keeps its files.
    let folder = try Folder()
    let table = try Command.run(
      arguments: ["conform", "--type", "CSV", "--only", "INI-16", "--write-option", "layout=file"],
      environment: ["TMPDIR": folder.path])
    #expect(table.code == 1, "\(table.output)\(table.errors)")
    #expect(table.output.contains("--type CSV --write-option 'layout=file' --only INI-16"), "\(table.output)")
  }

  @Test("one check is run with the given seed, and all reports contain it")
  func one() throws {
    let folder = try Folder()
    // As the command that a failure names, and with reports.
    let result = try Command.run(
      "conform", "--type", "XML", "--only", "REL-03", "--seed", "18446744073709551615", "--report", "r.json",
      "--report", "r.xml", "--report",
      "r.html", "--report", "r.txt", in: folder.path)
    #expect(result.code == 0, "\(result.output)\(result.errors)")
    #expect(folder.names == ["r.html", "r.json", "r.txt", "r.xml"])
    let json = try #require(
      try JSONSerialization.jsonObject(with: Data(contentsOf: URL(filePath: folder("r.json")))) as? [String: Any])
    let checks = try #require(json["checks"] as? [[String: Any]])
    let outcome = try #require(checks.first?["result"] as? [String: Any])
    #expect(checks.count == 1 && checks[0]["id"] as? String == "REL-03")
    #expect(outcome["outcome"] as? String == "passed" && (outcome["seed"] as? NSNumber)?.uint64Value == .max)
    for name in ["r.xml", "r.html", "r.txt"] {
      #expect(try String(contentsOfFile: folder(name), encoding: .utf8).contains("REL-03"))
    }
    // One check of many is not enough for a claim.
    #expect((json["claims"] as? [String: String])?["core"] == "not claimed")
    let coverage = try #require((json["coverage"] as? [String: [String: Int]])?["core"])
    let all = try #require(coverage["of"])
    #expect(coverage["run"] == 1 && all > 100)
    for name in ["r.html", "r.txt"] {
      #expect(try String(contentsOfFile: folder(name), encoding: .utf8).contains("core: not claimed (1 of \(all) run)"))
    }
    #expect(result.output.contains("core: not claimed (1 of \(all) run)") && !result.output.contains("full"))
    // A report that is there is not replaced, unless that is asked for; the checks are not run before that is known.
    let again = try Command.run("conform", "--type", "XML", "--only", "REL-03", "--report", "r.json", in: folder.path)
    #expect(again.code == 73 && again.errors.contains("r.json"))
    #expect(
      try Command.run("conform", "--type", "XML", "--only", "REL-03", "--report", "r.json", "--force", in: folder.path)
        .code == 0)
  }

  @Test("a single fault can be planted, and its checks find it")
  func fault() throws {
    let result = try Command.run("conform", "--selftest", "--fault", "nanBecomesZero")
    #expect(result.code == 0, "\(result.output)\(result.errors)")
    #expect(result.output.contains("caught   nanBecomesZero") && result.output.contains("by VAL-08"))
    #expect(result.output.hasSuffix("1 fault, 1 caught, 0 dead checks\n"))
  }

  @Test("a single check can be tested, with the faults that it should find")
  func selfTestOfOne() throws {
    let result = try Command.run("conform", "--selftest", "--only", "val-08")
    #expect(result.code == 0, "\(result.output)\(result.errors)")
    let lines = result.output.split(separator: "\n")
    #expect(
      lines.count > 1 && lines.dropLast().allSatisfy { $0.hasPrefix("caught") && $0.hasSuffix("by VAL-08") },
      "\(result.output)")
  }

  @Test("a format's reader is given changed files for as long as asked")
  func fuzz() throws {
    let folder = try Folder()
    let result = try Command.run("conform", "--type", "XML", "--fuzz", "0.02", "--report", "r.json", in: folder.path)
    #expect(result.code == 0 && result.output.contains("FUZ-01  pass"), "\(result.output)\(result.errors)")
    #expect(folder.names == ["r.json"])
  }

  @Test("a check is explained as JSON, also one that is left out; faults are listed")
  func json() throws {
    let check = try #require(try Command.run("conform", "explain", "VAL-07", "--json").json() as? [String: Any])
    #expect(check["id"] as? String == "VAL-07" && (check["catches"] as? [[String: String]])?.isEmpty == false)
    let left = try #require(try Command.run("conform", "explain", "VAL-26", "--json").json() as? [String: Any])
    #expect((left["leftOut"] as? String)?.contains("HBP-07") == true)
    let faults = try #require(try Command.run("conform", "list", "--faults", "--json").json() as? [[String: String]])
    #expect(faults.count > 100 && faults.contains { $0["name"] == "nanBecomesZero" })
    #expect(try Command.run("conform", "list", "--faults").output.contains("nanBecomesZero: "))
  }

  @Test("the list contains every check and every one that is left out; the schema is JSON")
  func list() throws {
    let list = try Command.run("conform", "list").output
    for id in ["REG-01", "TRA-08", "VAL-26  left out: ", "SAV-23  left out: "] { #expect(list.contains(id), "\(id)") }
    let json = try #require(try Command.run("conform", "list", "--json").json() as? [[String: Any]])
    #expect(json.count > 240 && json.allSatisfy { $0["id"] is String && $0["source"] is String })
    #expect(try Command.run("conform", "--schema").json() is [String: Any])
    #expect(try Command.run("conform", "explain", "val-26").output.contains("HBP-07"))
  }

  @Test("checks that go on in a new process come to their end", arguments: ["CNV-07", "SAV-16"])
  func elsewhere(_ id: String) throws {
    let result = try Command.run("conform", "--type", "CSV", "--only", id)
    #expect(result.code == 0 && result.output.contains("\(id)  pass"), "\(result.output)")
  }
}
