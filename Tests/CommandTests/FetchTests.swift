import Foundation
import Testing

@Suite("atomicstore fetch and predicate") struct FetchCommandTests {
  @Test("objects are printed as a table, CSV, JSON and one JSON object on a line")
  func formats() throws {
    let table = try Command.run(
      "fetch", Command.company, "--entity", "Employee", "--columns", "badge,department.name", "--where", "badge BETWEEN {1000, 1002}",
      "--sort", "-badge")
    #expect(table.code == 0)
    #expect(table.output == "badge  department.name\n-----  ---------------\n1002   Entwicklung\n1001   Entwicklung\n")
    let csv = try Command.run(
      "fetch", Command.company, "--entity", "Employee", "--columns", "badge,nickname", "--where", "badge == 1001", "--format", "csv")
    #expect(csv.output == "badge,nickname\n1001,\"\"\n")
    let lines = try Command.run(
      "fetch", Command.company, "--entity", "Employee", "--columns", "badge,department", "--where", "badge == 1001", "--format", "ndjson")
    #expect(lines.output == "{\"badge\":1001,\"department\":\"Department/1\"}\n")
    let json = try Command.run("fetch", Command.company, "--entity", "Employee", "--limit", "2", "--json").json() as? [[String: Any]]
    #expect(json?.count == 2)
  }

  @Test("rows are counted, grouped, and chosen by what a group comes to")
  func groups() throws {
    let counted = try Command.run("fetch", Command.company, "--entity", "Employee", "--count")
    #expect(counted.output == "6\n")
    let none = try Command.run("fetch", Command.company, "--entity", "Employee", "--no-subentities", "--count", "--json")
    #expect((try none.json() as? [String: Any])?["count"] as? Int == 4)
    let groups = try Command.run(
      "fetch", Command.company, "--entity", "Employee", "--group", "department.name", "--having", "@count > 2",
      "--columns", "department.name,@count,max:(badge)", "--format", "csv")
    #expect(groups.output == "department.name,@count,max:(badge)\nEntwicklung,4,2147483647\n")
  }

  @Test(
    "what cannot be asked is refused with the reason and exit code 64",
    arguments: [
      (["--entity", "Employe"], "did you mean 'Employee'"), (["--entity", "Employee", "--where", "nmae == 1"], "did you mean 'name'"),
      (["--entity", "Employee", "--where", "name ="], "column 7"), (["--entity", "Employee", "--columns", "a b"], "--columns"),
      (["--entity", "Employee", "--sort", "department"], "no order"), (["--entity", "Employee", "--limit=-1"], "--limit"),
      (["--entity", "Employee", "--where", "projects == 1"], "ANY"),
    ])
  func refusals(_ arguments: [String], _ word: String) throws {
    let result = try Command.run(arguments: ["fetch", Command.company] + arguments)
    #expect(result.code == 64)
    #expect(result.output.isEmpty)
    #expect(result.errors.contains(word), "\(result.errors)")
  }

  @Test("a predicate is checked and printed in full; a refused one points at its column")
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
