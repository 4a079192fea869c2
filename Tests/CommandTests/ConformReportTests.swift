import Foundation
import Testing

@Suite("atomicstore conform --matrix, --compare and --badge") struct ConformReportTests {
  /// A report on one check that passed, in `old.json`, and one in which it failed, in `new.json`.
  private static func reports(in folder: borrowing Folder) throws {
    let result = try Command.run(
      "conform", "--type", "XML", "--only", "REG-02", "--report", "old.json", "--badge", "old.svg", in: folder.path)
    try #require(result.code == 0, "\(result.output)\(result.errors)")
    let text = try String(contentsOfFile: folder("old.json"), encoding: .utf8)
    try write(text.replacing("\"outcome\" : \"passed\"", with: "\"outcome\" : \"failed\""), to: folder("new.json"))
    try write(text.replacing("\"storeType\" : \"XML\"", with: "\"storeType\" : \"Other\""), to: folder("other.json"))
    try write("{}", to: folder("empty.json"))
  }

  private static func write(_ text: String, to path: String) throws {
    try Data(text.utf8).write(to: URL(filePath: path))
  }

  @Test("two reports are compared: 0 if nothing became worse, 1 if something did")
  func compare() throws {
    let folder = try Folder()
    try Self.reports(in: folder)
    func compare(_ arguments: String...) throws -> Command.Result {
      try Command.run(arguments: ["conform", "--compare"] + arguments, in: folder.path)
    }
    let worse = try compare("old.json", "new.json")
    #expect(worse.code == 1 && worse.output.hasPrefix("worse   REG-02  passed -> failed: "), "\(worse.output)")
    #expect(worse.output.hasSuffix("1 worse, 0 better, 0 otherwise, 0 new, 0 gone\n"))
    let better = try compare("new.json", "old.json")
    #expect(better.code == 0 && better.output.hasPrefix("better  REG-02  failed -> passed: "))
    #expect(try compare("old.json", "old.json").code == 0)
    let json = try compare("old.json", "new.json", "--json")
    let document = try #require(try json.json() as? [String: Any])
    #expect(json.code == 1 && document["isWorse"] as? Bool == true)
  }

  @Test("reports are shown as a table, on standard output and as a page; a badge is written of one")
  func matrix() throws {
    let folder = try Folder()
    try Self.reports(in: folder)
    let table = try Command.run(
      "conform", "--matrix", "old.json", "other.json", "--report", "table.html", "--report", "table.json",
      in: folder.path)
    #expect(table.code == 0, "\(table.errors)")
    let lines = table.output.split(separator: "\n")
    #expect(lines[0].hasPrefix("format") && lines[2].hasPrefix("XML") && lines[3].hasPrefix("Other"))
    #expect(lines[2].contains(" run") && lines[2].contains("  -"))
    #expect(try String(contentsOfFile: folder("table.html"), encoding: .utf8).contains("<th scope=\"row\">Other</th>"))
    let json = try JSONSerialization.jsonObject(with: Data(contentsOf: URL(filePath: folder("table.json"))))
    #expect(((json as? [String: Any])?["formats"] as? [Any])?.count == 2)
    #expect(try String(contentsOfFile: folder("old.svg"), encoding: .utf8).contains("XML conformance"))
    let badge = try Command.run("conform", "--matrix", "new.json", "--badge", "new.svg", in: folder.path)
    #expect(badge.code == 0)
    #expect(try String(contentsOfFile: folder("new.svg"), encoding: .utf8).contains("1 of 1 checks failed"))
    // What is there is not replaced.
    let again = try Command.run("conform", "--matrix", "new.json", "--badge", "new.svg", in: folder.path)
    #expect(again.code == 73 && again.errors.contains("new.svg exists"))
    #expect(
      try Command.run("conform", "--matrix", "new.json", "--badge", "new.svg", "--force", in: folder.path).code == 0)
  }

  @Test("without reports, the checks of all types are run")
  func run() throws {
    let result = try Command.run("conform", "--matrix", "--only", "REG-02")
    #expect(result.code == 0, "\(result.output)\(result.errors)")
    for name in ["Arrow", "BinaryPropertyList", "CSV", "CoreDataBinary", "CoreDataSQLite", "XML"] {
      #expect(result.output.split(separator: "\n").contains { $0.hasPrefix(name + " ") }, "\(name): \(result.output)")
    }
    // A check that only stores have that are read and written in parts.
    let incremental = try Command.run("conform", "--matrix", "--only", "INC-02")
    #expect(incremental.output.contains("\nSQLiteGraph ") && !incremental.output.contains("\nXML "))
  }

  static let bad: [ConformTests.Bad] = [
    .init("conform --compare old.json", 64, "two reports"), .init("conform --compare", 64, "two reports"),
    .init("conform --compare old.json other.json", 64, "other.json about Other"),
    .init("conform --compare old.json missing.json", 66, "missing.json"),
    .init("conform --compare old.json empty.json", 65, "empty.json: not a conformance report"),
    .init("conform --compare old.json old.svg", 65, "old.svg"),
    .init("conform --compare old.json new.json --report x.html", 64, "--report"),
    .init("conform --compare old.json new.json --matrix", 64, "--matrix"),
    .init("conform --compare old.json new.json --smoke", 64, "--smoke"),
    .init("conform --matrix old.json new.json", 64, "both about XML"),
    .init("conform --matrix old.json other.json --badge x.svg", 64, "one format"),
    .init("conform --matrix --badge x.svg", 64, "one format"), .init("conform --matrix --type XML", 64, "--type"),
    .init("conform --matrix old.json --only REG-02", 64, "--only"),
    .init("conform --matrix old.json --report x.xml", 64, ".html, .json or .txt"),
    .init("conform --matrix old.json --badge x.png", 64, ".svg"),
    .init("conform --matrix old.json --badge no/x.svg", 73, "no/x.svg"),
    .init("conform --matrix empty.json", 65, "empty.json"),
    .init("conform old.json", 64, "--matrix or --compare"), .init("conform --selftest old.json", 64, "reports"),
    .init("conform --selftest --matrix", 64, "--matrix"),
  ]

  @Test("an invalid request is refused, and nothing is written")
  func refused() throws {
    let folder = try Folder()
    try Self.reports(in: folder)
    let names = folder.names
    for bad in Self.bad {
      let result = try Command.run(arguments: bad.arguments, in: folder.path)
      #expect(result.code == bad.code, "\(bad.testDescription): \(result.output)\(result.errors)")
      #expect(result.errors.contains(bad.words) && result.output.isEmpty, "\(bad.testDescription): \(result.errors)")
    }
    #expect(folder.names == names)
  }
}
