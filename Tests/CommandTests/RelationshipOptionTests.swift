import Foundation
import Testing

@Suite("Relationships that contradict each other, and options, on the command line") struct RelationshipOptionTests {
  /// The sample store as a CSV folder in which employee 6 is moved to department 1, at one end alone.
  private func edited(_ folder: borrowing Folder) throws -> String {
    let path = folder("Company.csvstore")
    #expect(try Command.run("convert", Command.company, path).code == 0)
    let file = URL(filePath: path + "/Employee.csv")
    let text = try String(contentsOf: file, encoding: .utf8)
    let column = try #require(
      text.split(separator: "\n").first?.split(separator: ",").firstIndex { $0.hasPrefix("department->") })
    let records = text.split(separator: "\n", omittingEmptySubsequences: false).map { record in
      guard record.hasPrefix("6,") else { return String(record) }
      var cells = record.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
      cells[column] = "1"
      return cells.joined(separator: ",")
    }
    try records.joined(separator: "\n").write(to: file, atomically: false, encoding: .utf8)
    return path
  }

  @Test(
    "one edited cell: inspect counts it, all other commands refuse it with both locations, and the option repairs it")
  func contradiction() throws {
    let folder = try Folder()
    let path = try edited(folder)
    let inspected = try Command.run("inspect", path, "--read-option", "edited=accept")
    #expect(inspected.code == 0)
    #expect(
      inspected.output.contains(
        "inverses 2 that contradict each other, the first: Employee/6.department names Department/1"),
      "\(inspected.output)")
    let report = try #require(
      try Command.run("inspect", path, "--read-option", "edited=accept", "--json").json() as? [String: Any])
    #expect(report["inverseDisagreements"] as? Int == 2)
    for arguments in [["convert", path, folder("new.xml")], ["dump", path], ["fetch", path, "--entity", "Employee"]] {
      let refused = try Command.run(arguments: arguments + ["--read-option", "edited=accept"])
      #expect(
        refused.code == 65 && refused.errors.contains("Employee.csv:") && refused.errors.contains("Department.csv:"),
        "\(refused.errors)")
    }
    let repaired = try Command.run(
      "convert", path, folder("new.xml"), "--read-option", "edited=accept", "--read-option", "inverses=from-to-one")
    #expect(
      repaired.code == 0 && repaired.errors.contains("Department.employees: changed to agree with 'department' (2)"),
      "\(repaired.errors)")
    let counts = try Command.run(
      "fetch", folder("new.xml"), "--entity", "Department", "--columns", "name,employees.@count", "--format", "csv")
    #expect(counts.output.contains("Entwicklung,5") && counts.output.contains("営業部,1"), "\(counts.output)")
  }

  @Test(
    "an option for the other direction is a usage error, and the message names the direction",
    arguments: [
      (["convert", "SRC", "NEW.csvstore", "--write-option", "header=no"], "for reading"),
      (["convert", "SRC", "NEW.xml", "--write-option", "parser=libxml2"], "for reading"),
      (["inspect", "SRC", "--read-option", "schema=omit"], "for writing"),
      (["metadata", "get", "SRC", "--read-option", "schema=omit"], "for writing"),
      (["metadata", "set", "SRC", "Key", "value", "--read-option", "schema=omit"], "for writing"),
    ])
  func direction(_ arguments: [String], _ word: String) throws {
    let folder = try Folder()
    let source = folder("source.xml")
    try FileManager.default.copyItem(atPath: Command.company, toPath: source)
    let before = try Data(contentsOf: URL(filePath: source))
    let result = try Command.run(
      arguments: arguments.map { $0 == "SRC" ? source : $0.hasPrefix("NEW") ? folder($0) : $0 })
    #expect(result.code == 64 && result.errors.contains(word), "\(result.errors)")
    #expect(try Data(contentsOf: URL(filePath: source)) == before)
  }

  @Test("formats lists the options of every format with their direction")
  func listed() throws {
    let text = try Command.run("formats").output
    for line in [
      "--read-option inverses=…:", "(refuse, to-one-as-stored, as-stored, from-to-one, from-to-many)",
      "--read-option dangling=…:",
      "--read-option delimiter=…:",
      "--write-option delimiter=…:", "--write-option schema=…:",
    ] { #expect(text.contains(line), "\(line)") }
    #expect(!text.contains("--write-option dateFormat") && !text.contains("--read-option schema"))
  }
}
