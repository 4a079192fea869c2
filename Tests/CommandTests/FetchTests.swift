import Foundation
import Testing

@Suite("atomicstore fetch and predicate") struct FetchCommandTests {
  @Test("objects are printed as a table, CSV, JSON and one JSON object per line")
  func formats() throws {
    let table = try Command.run(
      "fetch", Command.company, "--entity", "Employee", "--columns", "badge,department.name", "--where",
      "badge BETWEEN {1000, 1002}",
      "--sort", "-badge")
    #expect(table.code == 0)
    #expect(table.output == "badge  department.name\n-----  ---------------\n 1002  Entwicklung\n 1001  Entwicklung\n")
    let csv = try Command.run(
      "fetch", Command.company, "--entity", "Employee", "--columns", "badge,nickname", "--where", "badge == 1001",
      "--format", "csv")
    #expect(csv.output == "badge,nickname\n1001,\"\"\n")
    let lines = try Command.run(
      "fetch", Command.company, "--entity", "Employee", "--columns", "badge,department", "--where", "badge == 1001",
      "--format", "ndjson")
    #expect(lines.output == "{\"badge\":1001,\"department\":{\"entity\":\"Department\",\"reference\":1}}\n")
    let json =
      try Command.run("fetch", Command.company, "--entity", "Employee", "--limit", "2", "--json").json()
      as? [[String: Any]]
    #expect(json?.count == 2)
  }

  @Test("rows are counted, grouped, and filtered by aggregates of the group")
  func groups() throws {
    let counted = try Command.run("fetch", Command.company, "--entity", "Employee", "--count")
    #expect(counted.output == "6\n")
    let none = try Command.run(
      "fetch", Command.company, "--entity", "Employee", "--no-subentities", "--count", "--json")
    #expect((try none.json() as? [String: Any])?["count"] as? Int == 4)
    let groups = try Command.run(
      "fetch", Command.company, "--entity", "Employee", "--group", "department.name", "--having", "@count > 2",
      "--columns", "department.name,@count,max:(badge)", "--format", "csv")
    #expect(groups.output == "department.name,@count,max:(badge)\nEntwicklung,4,2147483647\n")
  }

  @Test("--explain prints how the objects would be found, and no objects")
  func explain() throws {
    func explain(_ arguments: String...) throws -> String {
      let result = try Command.run(
        arguments: ["fetch", Command.company, "--entity", "Employee", "--explain"] + arguments)
      #expect(result.code == 0)
      return result.output
    }
    #expect(try explain() == "all\n")
    #expect(try explain("--where", "badge == 1001") == "columns\n")
    #expect(try explain("--where", "uppercase:(name) == 'ADA'") == "columns\n")
    let objects = try explain("--where", "FUNCTION(name, 'uppercase') == 'ADA'")
    #expect(objects.hasPrefix("objects: 'FUNCTION(name, \"uppercase\") == \"ADA\"'"))
    let json =
      try Command.run("fetch", Command.company, "--entity", "Employee", "--explain", "--json").json() as? [String: Any]
    #expect(json?["method"] as? String == "all" && json?["reason"] is NSNull)
  }

  @Test("the columns shown by default are the object and its properties, also those with a dot in their name")
  func dottedNames() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appending(path: "people.csv").path(percentEncoded: false)
    try Data("first.name,age\nAda,36\n".utf8).write(to: URL(filePath: file))
    let result = try Command.run("fetch", file, "--entity", "people", "--format", "csv")
    #expect(result.code == 0)
    #expect(result.output == "objectID,first.name,age\npeople/1,Ada,36\n")
  }

  @Test(
    "CSV has the same cells whether rows are read from columns or computed from objects",
    arguments: [
      (Command.company, "Employee"), (Command.company, "Department"),
      (Command.samples + "/Company/Company.plist", "Project"),
    ])
  func sameCells(_ store: String, _ entity: String) throws {
    try expectSameCells(["fetch", store, "--entity", entity])
  }

  @Test("CSV has the same cells also for objects whose references need quotes")
  func sameReferences() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appending(path: "codes.csv").path(percentEncoded: false)
    let codes = ["plain", "\"a, b\"", "\"x\"\"y\"", "é", "\"ends \"", "back\\slash"]
    let text = "code,n\n" + codes.enumerated().map { "\($1),\($0)\n" }.joined()
    try Data(text.utf8).write(to: URL(filePath: file))
    try expectSameCells(["fetch", file, "--entity", "codes", "--read-option", "key=code"])
  }

  private func expectSameCells(_ arguments: [String]) throws {
    let plain = try Command.run(arguments: arguments + ["--columns", "*", "--format", "csv"])
    // What is not a property is computed, and with it the whole row.
    let computed = try Command.run(arguments: arguments + ["--columns", "*,1 + 1 AS two", "--format", "csv"])
    #expect(plain.code == 0 && computed.code == 0)
    let header = computed.output.prefix { $0 != "\n" }
    #expect(header.hasSuffix(",two"))
    let rows = computed.output.dropFirst(header.count).replacingOccurrences(of: ",2\n", with: "\n")
    #expect(plain.output == header.dropLast(4) + rows)
  }

  static let longPath = String(repeating: "manager.", count: 400) + "name"

  @Test(
    "an invalid request is refused with the reason and exit code 64",
    arguments: [
      (["--entity", "Employe"], "did you mean 'Employee'"),
      (["--entity", "Employee", "--where", "nmae == 1"], "did you mean 'name'"),
      (["--entity", "Employee", "--where", "name ="], "column 7"),
      (["--entity", "Employee", "--columns", "a b"], "--columns"),
      (["--entity", "Employee", "--sort", "department"], "no order"),
      (["--entity", "Employee", "--limit=-1"], "--limit"),
      (["--entity", "Employee", "--where", "projects == 1"], "ANY"),
      (["--entity", "Employee", "--limit", "-1"], "--limit must be 0 or more, not -1"),
      (["--entity", "Employee", "--offset", "-1"], "--offset must be 0 or more, not -1"),
      (["--entity", "Employee", "--columns", ""], "--columns"),
      (["--entity", "Employee", "--columns", ","], "--columns"),
      (["--entity", "Employee", "--columns", "name,,badge"], "--columns"),
      (["--entity", "Employee", "--group", "name", "--columns", ""], "--columns"),
      (["--entity", "Employee", "--group", " "], "--group"),
      (["--entity", "Employee", "--sort", ""], "--sort"),
      (["--entity", "Employee", "--columns", "name,name", "--format", "json"], "'name'"),
      (["--entity", "Employee", "--columns", "name,name", "--format", "ndjson"], "'name'"),
      (["--entity", "employee"], "did you mean 'Employee'"),
      (["--entity", "Employee", "--where", "name > 5"], "CAST(name, \"NSNumber\")"),
      (["--entity", "Employee", "--where", "hired > 'now'"], "'2001-01-31'"),
      (["--entity", "Employee", "--where", "hired > 5"], "'2001-01-31'"),
      (["--entity", "Employee", "--where", "badge == '5'"], "without quotes"),
      (["--entity", "Employee", "--count", "--where", "name == 5"], "--where"),
      (["--entity", "Employee", "--where", "ANY projects.title > 5"], "'projects.title' is a string"),
      (["--entity", "Employee", "--group", "name", "--having", "max:(name) > 5"], "--having"),
      (["--entity", "Employee", "--group", "name", "--having", "name > 5"], "--having"),
      (["--entity", "Employee", "--step-limit", "0"], "--step-limit"),
      (["--entity", "Employee", "--sort", longPath], "at most 300"),
      (["--entity", "Employee", "--group", longPath], "at most 300"),
      (["--entity", "Employee", "--limit", "0", "--where", "nmae == 1"], "name"),
    ])
  func refusals(_ arguments: [String], _ word: String) throws {
    let result = try Command.run(arguments: ["fetch", Command.company] + arguments)
    #expect(result.code == 64)
    #expect(result.output.isEmpty)
    #expect(result.errors.contains(word), "\(result.errors)")
  }

  @Test("a comparison of a number with a column without types is refused with a hint how to write it")
  func untyped() throws {
    let folder = try Folder()
    try Data("sku,qty\na,4\nb,6\nc,7\n".utf8).write(to: URL(filePath: folder("p.csv")))
    let refused = try Command.run("fetch", folder("p.csv"), "--entity", "p", "--where", "qty > 5")
    #expect(
      refused.code == 64 && refused.errors.contains("'qty' is a string")
        && refused.errors.contains("CAST(qty, \"NSNumber\")"), "\(refused.errors)")
    let found = try Command.run(
      "fetch", folder("p.csv"), "--entity", "p", "--where", "CAST(qty, 'NSNumber') > 5", "--columns", "sku", "--format",
      "csv")
    #expect(found.output == "sku\nb\nc\n", "\(found.output)\(found.errors)")
    let converted = try Command.run(
      "convert", folder("p.csv"), folder("q.plist"), "--entity", "p", "--where", "qty > 5")
    #expect(
      converted.code == 64 && converted.errors.contains("--where: ") && converted.errors.contains("'qty' is a string"),
      "\(converted.errors)")
    #expect(folder.names == ["p.csv"])
  }

  @Test("dates are written as ISO 8601")
  func dates() throws {
    let folder = try Folder()
    let rows = "id:Reference,name:String,born:Date\n1,Voltaire,1694-11-21T00:00:00Z\n2,Zola,1840-04-02T00:00:00Z\n"
    try Data(rows.utf8).write(to: URL(filePath: folder("Author.csv")))
    for text in ["born > '1800-01-01'", "born > CAST('1800-01-01', 'NSDate')", "born == '1840-04-02T01:00:00+01:00'"] {
      let found = try Command.run(
        "fetch", folder("Author.csv"), "--entity", "Author", "--where", text, "--columns", "name", "--format", "csv")
      #expect(found.output == "name\nZola\n", "\(text): \(found.output)\(found.errors)")
    }
  }

  @Test("a predicate that needs too many steps ends with an error that names the limit and the option")
  func steps() throws {
    let result = try Command.run(
      "fetch", Command.company, "--entity", "Employee", "--where",
      "SUBQUERY(department.employees, $x, $x.department.employees.@count > 0).@count > 3",
      "--step-limit", "20")
    #expect(
      result.code == 65 && result.errors.contains("20 steps") && result.errors.contains("--step-limit"),
      "\(result.errors)")
    #expect(result.errors.contains("SUBQUERY(department.employees"))
  }

  @Test("a column may be repeated if the format has no keys")
  func twice() throws {
    let csv = try Command.run(
      "fetch", Command.company, "--entity", "Employee", "--columns", "badge,badge", "--where", "badge == 1001",
      "--format", "csv")
    #expect(csv.output == "badge,badge\n1001,1001\n")
  }

  @Test("a limit of 0 means no rows, with every output format")
  func noRows() throws {
    func output(_ more: String...) throws -> String {
      try Command.run(arguments: ["fetch", Command.company, "--entity", "Employee", "--limit", "0"] + more).output
    }
    #expect(try output("--count") == "0\n")
    #expect(try output("--columns", "@count", "--format", "csv") == "@count\n")
    #expect(try output("--columns", "name", "--format", "csv") == "name\n")
    #expect(try output("--json") == "[]\n")
    #expect(try output("--format", "ndjson") == "")
  }

  @Test("if nothing matches, a message on standard error says so", arguments: ["table", "csv", "ndjson"])
  func nothing(_ format: String) throws {
    let result = try Command.run(
      "fetch", Command.company, "--entity", "Employee", "--columns", "name", "--where", "badge < 0", "--format", format)
    #expect(result.code == 0 && result.errors.contains("nothing matched"), "\(result.errors)")
    #expect(try Command.run("fetch", Command.company, "--entity", "Employee", "--format", format).errors.isEmpty)
  }

  @Test(
    "cells are quoted where necessary: an empty string, commas, quotes, line breaks, leading or trailing spaces; JSON escapes line separators"
  )
  func quoting() throws {
    let folder = try Folder()
    let texts = ["", "a,b", "say \"x\"", "two\nlines", " before", "after ", "Ü—\u{2028}—", "plain", "\"\u{301}"]
    // By scalars: a quote with a mark on it is a quote.
    let rows = texts.enumerated().map {
      "\($0),\"\($1.unicodeScalars.map { $0 == "\"" ? "\"\"" : String($0) }.joined())\"\n"
    }.joined()
    try Data(("id:Reference,text:String\n" + rows + "99,\n").utf8).write(to: URL(filePath: folder("Note.csv")))
    // The only column of a table has nulls in quotes, too: blank lines are skipped.
    let csv = try Command.run("fetch", folder("Note.csv"), "--entity", "Note", "--columns", "text", "--format", "csv")
    #expect(
      csv.output
        == "text\n\"\"\n\"a,b\"\n\"say \"\"x\"\"\"\n\"two\nlines\"\n\" before\"\n\"after \"\nÜ—\u{2028}—\nplain\n\"\"\"\u{301}\"\n\"\"\n",
      "\(csv.output)\(csv.errors)")
    for arguments in [
      ["fetch", folder("Note.csv"), "--entity", "Note", "--json"], ["dump", folder("Note.csv"), "--json"],
    ] {
      let result = try Command.run(arguments: arguments)
      #expect(!result.output.contains("\u{2028}") && result.output.contains("\\u2028"))
      let objects =
        try result.json() as? [[String: Any]] ?? (result.json() as? [String: Any])?["objects"] as? [[String: Any]]
      let values = try #require(objects).map { ($0["values"] as? [String: Any] ?? $0)["text"] as? String }
      #expect(values == texts + [nil])
    }
    let lines = try Command.run("fetch", folder("Note.csv"), "--entity", "Note", "--format", "ndjson").output.split(
      separator: "\n")
    #expect(lines.count == 10 && lines[2].hasSuffix("\"text\":\"say \\\"x\\\"\"}"))
  }

  @Test("a predicate is checked and printed in full; an error has its column")
  func predicate() throws {
    let good = try Command.run("predicate", "a=1 && b contains[CD] 'x'")
    #expect(good.code == 0)
    #expect(good.output.hasPrefix("a == 1 AND b CONTAINS[cd] \"x\"\n  and\n"))
    let bad = try Command.run("predicate", "a CONATINS 'x'")
    #expect(bad.code == 1)
    #expect(bad.errors.contains("column 3"))
    #expect(bad.errors.contains("CONTAINS"))
    let file = NSTemporaryDirectory() + "predicates-\(UUID().uuidString)"
    try "\"a == 1\"\n\"a ==\"\n".write(toFile: file, atomically: true, encoding: .utf8)
    defer { try? FileManager.default.removeItem(atPath: file) }
    let all = try Command.run("predicate", "--file", file)
    #expect(all.code == 1)
    #expect(all.output.hasSuffix("1 parsed, 1 refused\n"))
  }
}
