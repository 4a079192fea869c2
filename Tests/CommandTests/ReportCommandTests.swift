import Foundation
import Glibc
import Testing

@Suite("atomicstore report, model diagram, model lint") struct ReportCommandTests {
  private static let model = Command.samples + "/Company/Company.xcdatamodeld"

  @Test("report writes a page, does not replace a file without --force, and leaves nothing else behind")
  func report() throws {
    let folder = try Folder()
    let page = folder("company.html")
    let first = try Command.run("report", Command.company, "-o", page)
    #expect(first.code == 0 && first.output.isEmpty && first.errors.isEmpty, "\(first.errors)")
    let text = try String(contentsOfFile: page, encoding: .utf8)
    #expect(text.hasPrefix("<!DOCTYPE html>") && text.hasSuffix("</html>\n") && text.contains("<h1>Company.xml</h1>"))
    let again = try Command.run("report", Command.company, "-o", page)
    #expect(again.code == 73 && again.errors.contains("--force"))
    #expect(try Command.run("report", Command.company, "-o", page, "--force").code == 0)
    #expect(try String(contentsOfFile: page, encoding: .utf8) == text)
    #expect(try Command.run("report", Command.company).output == text)
    #expect(try Command.run("report", Command.company, "-o", folder("none") + "/x.html").code == 73)
    #expect(try Command.run("report", Command.company, "-o", folder.path).code == 73)
    #expect(try Command.run("report", folder("missing.xml"), "-o", folder("y.html")).code == 66)
    #expect(folder.names == ["company.html"])
    let json = try Command.run("report", Command.company, "-o", folder("z.html"), "--json").json() as? [String: Any]
    #expect(json?["objects"] as? Int == 12 && json?["problems"] as? Int == 1)
    #expect(json?["output"] as? String == folder("z.html"))
  }

  @Test("report --json prints JSON: without -o no page is made, and with -o - the page is what is printed")
  func reportAsJSON() throws {
    let result = try Command.run("report", Command.company, "--json")
    let json = try result.json() as? [String: Any]
    #expect(result.code == 0 && json?["objects"] as? Int == 12 && json?["problems"] as? Int == 1)
    #expect(json?["output"] is NSNull && json?["store"] as? String == Command.company)
    let page = try Command.run("report", Command.company, "--json", "-o", "-")
    #expect(page.output.hasPrefix("<!DOCTYPE html>") && page.errors.contains("\"objects\": 12"), "\(page.errors)")
  }

  @Test("report of two stores shows what diff finds, and changes neither")
  func comparison() throws {
    let folder = try Folder()
    let (changed, page) = (folder("new.xml"), folder("diff.html"))
    let edit = try Command.run(
      "set", Command.company, "--entity", "Employee", "--where", "salary > 0", "salary=salary+1", "-o", changed)
    #expect(edit.code == 0, "\(edit.errors)")
    let result = try Command.run("report", Command.company, changed, "-o", page, "--json")
    let json = try #require(try result.json() as? [String: Any])
    let summary = try Command.run("diff", Command.company, changed, "--summary", "--json").json() as? [String: Any]
    let entities = try #require(summary?["entities"] as? [String: [String: Int]])
    #expect(json["changed"] as? Int == entities.values.reduce(0) { $0 + ($1["changed"] ?? 0) })
    #expect(json["added"] as? Int == 0 && json["removed"] as? Int == 0)
    let text = try String(contentsOfFile: page, encoding: .utf8)
    #expect(text.contains("<h1>Company.xml → new.xml</h1>") && text.contains("<option value=\"salary\">"))
    #expect(try Command.run("report", Command.company, changed, "-o", changed, "--force").code == 73)
    #expect(try Command.run("report", "-", "-", "-o", page, "--force").code == 64)
    #expect(try Command.run("report", Command.company, folder("missing.xml")).code == 66)
  }

  @Test("report matches objects by the properties that diff does with --key, and refuses it for one store")
  func comparedKeys() throws {
    let folder = try Folder()
    let table = folder("Employee.csv")
    for (name, rows) in [("old", "1,Ann,5\n2,Bob,6\n3,Cyd,7"), ("new", "11,Bob,6\n12,Ann,9\n13,Dan,1")] {
      try Data("id,name,salary\n\(rows)\n".utf8).write(to: URL(filePath: table))
      #expect(try Command.run("import", table, "-o", folder("\(name).xml")).code == 0)
    }
    func counts(_ arguments: String...) throws -> [Int] {
      let result = try Command.run(
        arguments: ["report", folder("old.xml"), folder("new.xml"), "--json"] + arguments, in: folder.path)
      #expect(result.code == 0, "\(result.errors)")
      let json = try result.json() as? [String: Any]
      return ["changed", "added", "removed"].compactMap { json?[$0] as? Int }
    }
    #expect(try counts() == [0, 3, 3])
    #expect(try counts("--key", "name") == [1, 1, 1])
    #expect(try counts("--key", "Employee=name,salary") == [0, 2, 2])
    let page = try Command.run("report", folder("old.xml"), folder("new.xml"), "--key", "name")
    #expect(page.code == 0 && page.output.contains("Ann") && !page.output.contains("Bob"), "\(page.errors)")
    for arguments in [["old.xml", "--key", "name"], ["old.xml", "new.xml", "--key", "nome"]] {
      let result = try Command.run(arguments: ["report"] + arguments, in: folder.path)
      #expect(result.code == 64 && result.output.isEmpty, "\(result.code) \(result.errors)")
    }
  }

  @Test("report of two stores with different models shows both models, and compares what both have")
  func comparedModels() throws {
    let folder = try Folder()
    let old = folder("old.csv")
    try Data("id,name,age\n1,Ann,30\n".utf8).write(to: URL(filePath: old))
    let new = folder("new.csv")
    try Data("id,name,city\n1,Anna,Rome\n".utf8).write(to: URL(filePath: new))
    for name in ["old", "new"] {
      let result = try Command.run("import", "Person=\(folder(name + ".csv"))", "-o", folder(name + ".xml"))
      #expect(result.code == 0, "\(result.errors)")
    }
    let page = try Command.run("report", folder("old.xml"), folder("new.xml"))
    #expect(page.code == 0, "\(page.errors)")
    #expect(page.output.contains("&quot;Anna&quot;") && page.output.contains("class=\"row removed\"") == false)
    #expect(
      page.output.contains("Person.city: only in the model of") && page.output.contains("aria-label=\"Both models\""))
  }

  @Test("--open needs a file, and says where the page is if nothing can show it")
  func opened() throws {
    let folder = try Folder()
    #expect(try Command.run("report", Command.company, "--open", "-o", "-").code == 64)
    let page = folder("page.html")
    let result = try Command.run(
      arguments: ["report", Command.company, "--open", "-o", page], environment: ["PATH": folder.path])
    #expect(result.code == 69 && result.errors.contains("\(page) was written"), "\(result.errors)")
    #expect(folder.names == ["page.html"])
  }

  @Test("what is made of a private store is private")
  func permissions() throws {
    let folder = try Folder()
    let store = folder("private.xml")
    try FileManager.default.copyItem(atPath: Command.company, toPath: store)
    #expect(chmod(store, 0o600) == 0)
    #expect(try Command.run("report", store, "-o", folder("page.html")).code == 0)
    #expect(
      try Command.run("fetch", store, "--entity", "Employee", "--format", "arrow", "-o", folder("rows.arrow")).code == 0
    )
    for name in ["page.html", "rows.arrow"] {
      let mode = try FileManager.default.attributesOfItem(atPath: folder(name))[.posixPermissions] as? NSNumber
      #expect(mode?.intValue == 0o600)
    }
    #expect(try Command.run("report", store, "-o", store, "--force").code == 73)
  }

  @Test("report shows stores that other commands refuse, with what is wrong in them")
  func damaged() throws {
    let dangling = Command.samples + "/Damaged/dangling.xml"
    #expect(try Command.run("inspect", dangling).code == 65)
    let page = try Command.run("report", dangling)
    #expect(page.code == 0 && page.output.contains("does not exist"), "\(page.errors)")
    #expect(try Command.run("report", Command.samples + "/Damaged/truncated.plist").code == 65)
  }

  @Test(
    "diagram draws in four forms, of model files and of stores",
    arguments: [
      ("svg", "<svg xmlns"), ("html", "<!DOCTYPE html>"), ("dot", "digraph model {"), ("mermaid", "classDiagram\n"),
    ])
  func diagram(_ format: String, _ start: String) throws {
    let result = try Command.run("model", "diagram", Self.model, "--format", format)
    #expect(result.code == 0 && result.output.hasPrefix(start), "\(result.errors)")
    #expect(result.output.contains("Employee") && result.output.contains("deny"))
    let store = try Command.run("model", "diagram", Command.company, "--format", format)
    #expect(store.code == 0)
    if format != "html" { #expect(store.output == result.output) }
  }

  @Test("diff --diagram draws both models with the exit code of diff, and needs models")
  func changes() throws {
    let folder = try Folder()
    let file = folder("changes.svg")
    let result = try Command.run(
      "model", "diff", Self.model, Command.samples + "/Library/Library.xcdatamodeld", "--diagram", "-o", file)
    #expect(result.code == 1 && result.output.isEmpty, "\(result.errors)")
    let text = try String(contentsOfFile: file, encoding: .utf8)
    #expect(text.contains("class=\"box added\"") && text.contains("class=\"box removed\""))
    #expect(try Command.run("model", "diff", Self.model, Command.company, "--diagram").code == 0)
    #expect(try Command.run("model", "diff", Self.model, Command.company, "-o", file).code == 2)
  }

  @Test("the exit code of lint follows the level; rules can be switched off; unknown ones are refused with the nearest")
  func lint() throws {
    let found = try Command.run("model", "lint", Self.model)
    #expect(found.code == 1)
    #expect(found.output.contains("warning: Employee.favourite: the relationship has no inverse [no-inverse]\n"))
    #expect(found.errors == "1 warning, 1 note\n")
    #expect(try Command.run("model", "lint", Self.model, "--disable", "no-inverse").code == 0)
    #expect(try Command.run("model", "lint", Self.model, "--fail-on", "error").code == 0)
    let strict = try Command.run("model", "lint", Self.model, "--disable", "no-inverse", "--fail-on", "note")
    #expect(strict.code == 1)
    let none = try Command.run(
      "model", "lint", Self.model, "--disable", "no-inverse,unindexed-constraint", "--fail-on", "note")
    #expect(none.code == 0 && none.output.isEmpty)
    let wrong = try Command.run("model", "lint", Self.model, "--disable", "no-invers")
    #expect(wrong.code == 64 && wrong.errors.contains("did you mean 'no-inverse'?"))
    #expect(try Command.run("model", "lint").code == 64)
    #expect(try Command.run("model", "lint", "/nonexistent").code == 66)
    let rules = try Command.run("model", "lint", "--rules")
    #expect(rules.code == 0 && rules.output.split(separator: "\n").count > 20)
  }

  @Test("lint prints JSON and SARIF with the lines of the model file")
  func lintFormats() throws {
    let json = try #require(try Command.run("model", "lint", Self.model, "--json").json() as? [String: Any])
    let findings = try #require(json["findings"] as? [[String: Any]])
    #expect(findings.map { $0["rule"] as? String } == ["unindexed-constraint", "no-inverse"])
    let line = try #require(findings[1]["line"] as? Int)
    let contents = try String(contentsOfFile: Self.model + "/Company.xcdatamodel/contents", encoding: .utf8)
    #expect(contents.split(separator: "\n", omittingEmptySubsequences: false)[line - 1].contains("favourite"))
    let log = try #require(try Command.run("model", "lint", Self.model, "--sarif").json() as? [String: Any])
    let results = try #require((log["runs"] as? [[String: Any]])?.first?["results"] as? [[String: Any]])
    #expect(results.count == 2)
  }

  @Test("an invalid model is linted, and its errors are findings")
  func invalid() throws {
    let folder = try Folder()
    let text = """
      <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0"><entity name="A">
      <relationship name="b" maxCount="1" destinationEntity="Nothing"/></entity></model>
      """
    try Data(text.utf8).write(to: URL(filePath: folder("contents")))
    let result = try Command.run("model", "lint", folder("contents"), "--disable", "no-inverse", "--fail-on", "error")
    #expect(result.code == 1 && result.output.contains("[invalid-model]"), "\(result.output)\(result.errors)")
  }
}
