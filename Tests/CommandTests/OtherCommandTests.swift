import Foundation
import Testing

@Suite("atomicstore's other commands") struct OtherCommandTests {
  @Test("inspect prints types, counts and metadata, as text and as JSON")
  func inspect() throws {
    let text = try Command.run("inspect", Command.company)
    #expect(text.code == 0 && text.output.contains("Employee") && text.output.contains("Übersee & Söhne"))
    let report = try #require(try Command.run("inspect", Command.company, "--json").json() as? [String: Any])
    #expect(report["type"] as? String == "XML" && report["objects"] as? Int == 12)
    let entities = try #require(report["entities"] as? [[String: Any]])
    let employee = try #require(entities.first { $0["name"] as? String == "Employee" })
    #expect(employee["count"] as? Int == 4)
  }

  @Test("a truncated store is refused with line and column, and nothing is written")
  func truncated() throws {
    let folder = try Folder()
    let bytes = try Data(contentsOf: URL(filePath: Command.company)).prefix(2000)
    try bytes.write(to: URL(filePath: folder("t.xml")))
    let result = try Command.run("inspect", folder("t.xml"))
    #expect(result.code == 65 && result.output.isEmpty)
    #expect(result.errors.range(of: "t\\.xml:[0-9]+:[0-9]+: ", options: .regularExpression) != nil, "\(result.errors)")
    let json = try Command.run("inspect", folder("t.xml"), "--json")
    let error = try #require(try JSONSerialization.jsonObject(with: Data(json.errors.utf8)) as? [String: Any])
    let details = try #require(error["error"] as? [String: Any])
    #expect(json.code == 65 && details["line"] as? Int != nil && details["code"] as? String == "malformed")
    #expect(folder.names == ["t.xml"])
  }

  @Test("the exit code of diff is 0, 1 or 2")
  func diff() throws {
    let folder = try Folder()
    let plist = Command.samples + "/Company/Company.plist"
    #expect(try Command.run("diff", Command.company, plist).code == 0)
    try FileManager.default.copyItem(atPath: plist, toPath: folder("a.plist"))
    #expect(try Command.run("metadata", "set", folder("a.plist"), "note", "x").code == 0)
    let different = try Command.run("diff", Command.company, folder("a.plist"))
    #expect(different.code == 1 && different.output == "~ metadata note: (none) → \"x\"\n")
    for trouble in [folder("missing.xml"), Command.samples + "/Damaged/truncated.xml"] {
      let result = try Command.run("diff", Command.company, trouble)
      #expect(result.code == 2 && result.output.isEmpty && !result.errors.isEmpty)
    }
  }

  @Test(
    "metadata is set and read, and objects and UUID are kept", arguments: ["xml", "plist", "csvstore", "arrowstore"])
  func metadata(_ fileExtension: String) throws {
    let folder = try Folder()
    let store = folder("a." + fileExtension)
    try FileManager.default.copyItem(atPath: Command.samples + "/Company/Company." + fileExtension, toPath: store)
    #expect(try Command.run("metadata", "set", store, "note", "hä?").code == 0)
    #expect(try Command.run("metadata", "set", store, "count", "7", "--type", "integer").code == 0)
    #expect(try Command.run("metadata", "get", store, "note").output == "hä?\n")
    let all = try #require(try Command.run("metadata", "get", store, "--json").json() as? [String: Any])
    #expect(all["count"] as? Int == 7 && all["NSStoreUUID"] as? String == "5B1D9F0C-58F3-4C5A-9E0B-0C0FFEE0C0DE")
    #expect(try Command.run("metadata", "set", store, "note", "--remove").code == 0)
    #expect(try Command.run("metadata", "get", store, "note").code == 1)
    #expect(try Command.run("diff", Command.company, store, "--ignore-metadata").code == 0)
    #expect(try Command.run("metadata", "set", store, "NSStoreUUID", "x").code == 65)
    #expect(try Command.run("metadata", "set", store, "n", "x", "--type", "integer").code == 64)
  }

  @Test("dump prints the same text for the same graph in every format")
  func dump() throws {
    let texts = try ["xml", "plist", "csvstore"].map {
      try Command.run("dump", Command.samples + "/Company/Company." + $0).output
    }
    #expect(texts[0] == texts[1] && texts[1] == texts[2])
    #expect(texts[0].contains("\nProject/9\n") && texts[0].contains("  title: \"Apollo\"\n"))
    let json = try #require(
      try Command.run("dump", Command.company, "--entity", "Project", "--json").json() as? [String: Any])
    #expect((json["objects"] as? [Any])?.count == 4)
  }

  @Test(
    "any difference between two stores is a difference between their dumps: nothing is abbreviated",
    arguments: ["plist", "xml"])
  func wholeMetadata(_ type: String) throws {
    let folder = try Folder()
    let long = String(repeating: "0123456789", count: 100)
    var dumps: [String] = []
    for end in ["a", "b"] {
      let store = folder(end + "." + type)
      #expect(try Command.run("convert", Command.company, store).code == 0)
      #expect(try Command.run("metadata", "set", store, "note", long + end).code == 0)
      dumps.append(try Command.run("dump", store).output)
    }
    #expect(dumps[0] != dumps[1] && dumps[0].contains("metadata note: \"\(long)a\"\n"))
  }

  @Test("dump prints dates as ISO 8601, or as seconds if that is not exact")
  func dates() throws {
    let folder = try Folder()
    let rows = "id:Reference,born:Date\n1,1840-04-02T12:00:00.5Z\n2,@1e300\n3,1799-01-01\n"
    try Data(rows.utf8).write(to: URL(filePath: folder("Author.csv")))
    let text = try Command.run("dump", folder("Author.csv")).output
    for line in ["  born: 1840-04-02T12:00:00.5Z\n", "  born: @1e+300\n", "  born: 1799-01-01T00:00:00Z\n"] {
      #expect(text.contains(line), "\(text)")
    }
    let json = try #require(try Command.run("dump", folder("Author.csv"), "--json").json() as? [String: Any])
    let values = (json["objects"] as? [[String: Any]])?.compactMap {
      ($0["values"] as? [String: Any])?["born"] as? String
    }
    #expect(
      values?.count == 3 && values?.first == "1840-04-02T12:00:00.5Z" && values?[1].hasPrefix("@1e") == true,
      "\(String(describing: values))")
    try Data(rows.replacingOccurrences(of: "12:00:00.5", with: "12:00:01").utf8).write(
      to: URL(filePath: folder("other.csv")))
    let difference = try Command.run(
      "diff", folder("Author.csv"), folder("other.csv"), "--read-option", "entity=Author", "--ignore-uuid",
      "--ignore-metadata")
    #expect(
      difference.output == "~ Author/1.born: 1840-04-02T12:00:00.5Z → 1840-04-02T12:00:01Z\n",
      "\(difference.output)\(difference.errors)")
  }

  @Test("a metadata key that looks like further lines of a dump is quoted")
  func forgedLines() throws {
    let folder = try Folder()
    try FileManager.default.copyItem(atPath: Command.samples + "/Company/Company.plist", toPath: folder("a.plist"))
    #expect(try Command.run("metadata", "set", folder("a.plist"), "a: \"x\"\nmetadata b", "y").code == 0)
    let text = try Command.run("dump", folder("a.plist")).output
    #expect(
      text.contains(#"metadata "a: \"x\"\nmetadata b": "y""#) && !text.contains("\nmetadata b"), "\(text.prefix(2000))")
  }

  @Test("model show prints the model of a model file or a store")
  func model() throws {
    let file = try Command.run("model", "show", Command.samples + "/Company/Company.xcdatamodeld")
    #expect(file.code == 0)
    #expect(
      file.output.contains("Manager: Employee\n") && file.output.contains("  milestones ->> Project.partOf (ordered)\n")
    )
    #expect(try Command.run("model", "show", Command.company).output == file.output)
    let json = try #require(try Command.run("model", "show", Command.company, "--json").json() as? [String: Any])
    #expect((json["entities"] as? [Any])?.count == 5)
    #expect(try Command.run("model", "show", Command.samples + "/Damaged/not-a-store.xml").code == 65)
  }

  @Test("formats lists all formats")
  func formats() throws {
    let list = try #require(try Command.run("formats", "--json").json() as? [[String: Any]])
    #expect(
      list.compactMap { $0["type"] as? String } == [
        "Arrow", "BinaryPropertyList", "CSV", "CoreDataBinary", "CoreDataSQLite", "PostgreSQL", "SQLiteGraph", "XML",
      ])
    #expect(try Command.run("formats").output.contains("--read-option key=…"))
  }

  @Test("a closed pipe is not an error")
  func brokenPipe() throws {
    #expect(try Command.shell("\"$0\" dump \"$1\" | head -n 1 >/dev/null", Command.company).code == 0)
  }
}
