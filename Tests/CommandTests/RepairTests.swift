import Foundation
import TestSupport
import Testing

@Suite("atomicstore check --fix, and what cannot be read or written") struct RepairTests {
  /// A company in which a project names an employee who does not name it back.
  private static func contradicting(_ folder: borrowing Folder) throws {
    let text = try String(contentsOfFile: Command.company, encoding: .utf8)
    let link = #"destination="PROJECT" idrefs="z10">"#
    #expect(text.contains(link))
    try text.replacing(link, with: #"destination="PROJECT">"#).write(
      toFile: folder("a.xml"), atomically: false, encoding: .utf8)
  }

  @Test(
    "both rules keep the links that either end of a many-to-many relationship has",
    arguments: ["from-to-many", "from-to-one"])
  func manyToMany(_ rule: String) throws {
    let folder = try Folder()
    try Self.contradicting(folder)
    #expect(try Command.run("check", "a.xml", in: folder.path).code == 1)
    let opened = try Command.run("convert", "a.xml", "b.plist", in: folder.path)
    #expect(opened.code == 65 && opened.errors.contains("inverses=from-to-many keeps the links"), "\(opened.errors)")
    let repaired = try Command.run(
      "check", "a.xml", "--fix", "inverses=\(rule)", "-o", "b.xml", in: folder.path)
    #expect(repaired.code == 0, "\(repaired.output)\(repaired.errors)")
    #expect(
      repaired.errors.contains("repaired: Employee.projects: changed to agree with 'members' (1)"), "\(repaired.errors)"
    )
    #expect(try Command.run("diff", Command.company, "b.xml", in: folder.path).output == "")
  }

  @Test(
    "what --fix does not repair is copied and listed",
    arguments: ["inverses=as-stored", "dangling=nullify", "damaged=skip-object"])
  func unrepaired(_ fix: String) throws {
    let folder = try Folder()
    try Self.contradicting(folder)
    for more in [[], ["--dry-run"]] {
      let result = try Command.run(
        arguments: ["check", "a.xml", "--fix", fix, "-o", "b.xml", "--force"] + more, in: folder.path)
      #expect(result.code == 1, "\(result.errors)")
      #expect(
        result.output.contains("Project/10.members: names Employee/4, whose 'projects' does not"), "\(result.output)")
    }
    #expect(
      try Command.run("check", "b.xml", in: folder.path).output == Command.run("check", "a.xml", in: folder.path).output
    )
  }

  /// A company as a database, with a statement run on it.
  private static func database(_ folder: borrowing Folder, _ statement: String) throws {
    let made = try Command.run("convert", Command.company, folder("a.sqlgraph"))
    #expect(made.code == 0, "\(made.errors)")
    try ChildProcess.output(of: "sqlite3", [folder("a.sqlgraph"), statement])
  }

  @Test("a reference that damaged=skip-object leaves out of a database is a loss like that of a file")
  func danglingInDatabase() throws {
    let folder = try Folder()
    try Self.database(folder, "UPDATE Employee SET favourite = 999 WHERE id = 3")
    let lost = "(Employee/3.favourite): reference left out: Record/999 does not exist"
    for target in ["b.xml", "b.sqlgraph"] {
      let refused = try Command.run(
        "convert", "a.sqlgraph", target, "--read-option", "damaged=skip-object", in: folder.path)
      #expect(refused.code == 65 && refused.errors.contains(lost), "\(refused.errors)")
    }
    #expect(folder.names == ["a.sqlgraph"])
    let fixed = try Command.run(
      "check", "a.sqlgraph", "--fix", "damaged=skip-object", "-o", "b.xml", in: folder.path)
    #expect(fixed.code == 0 && fixed.errors.contains(lost), "\(fixed.errors)")
  }

  @Test(
    "a value that a column of a database cannot have is an error with entity and property",
    arguments: [
      ["check", "a.sqlgraph"], ["convert", "a.sqlgraph", "b.xml"], ["fetch", "a.sqlgraph", "--entity", "Employee"],
      ["set", "a.sqlgraph", "--entity", "Employee", "--all", "name:=x"],
    ])
  func wrongValue(_ arguments: [String]) throws {
    let folder = try Folder()
    try Self.database(folder, "UPDATE Employee SET badge = 'x', salary = 'y' WHERE id = 7")
    let result = try Command.run(arguments: arguments, in: folder.path)
    #expect(result.code != 0, "\(result.output)")
    #expect((result.output + result.errors).contains("(Manager.badge): the row 7 has no valid value"), "\(result)")
  }

  @Test("a store without permission to read ends check with 77", .enabled(if: geteuid() == 0, "needs another user"))
  func unreadable() throws {
    let folder = try Folder()
    try FileManager.default.copyItem(atPath: Command.company, toPath: folder("a.xml"))
    chmod(folder.path, 0o755)
    chmod(folder("a.xml"), 0)
    let program = try #require(Command.path)
    try FileManager.default.copyItem(atPath: program, toPath: folder("program"))
    let line = "setpriv --reuid=65534 --regid=65534 --clear-groups \"$1/program\" check \"$1/a.xml\""
    let result = try Command.shell(line, folder.path)
    #expect(result.code == 77 && result.errors.contains("Permission denied"), "\(result.errors)")
    #expect(try Command.run("check", folder("none.xml")).code == 66)
    try "".write(toFile: folder("empty.xml"), atomically: false, encoding: .utf8)
    #expect(try Command.run("check", folder("empty.xml")).code == 65)
  }

  @Test("a directory that takes no files is a result that cannot be created; a server that refuses is unavailable")
  func exitCodes() throws {
    let proc = try Command.run("convert", Command.company, "/proc/x.xml")
    #expect(proc.code == 73, "\(proc.errors)")
    #expect(try Command.run("inspect", "postgresql://127.0.0.1:1/postgres?schema=x").code == 69)
    #expect(try Command.run("help", "exit-codes").output.contains("69   not available: a database server"))
  }

  @Test("a negative zero stays one; a number that would become 0, and a JSON number with leading zeros, are problems")
  func numbers() throws {
    let folder = try Folder()
    try NodeStore.make(in: folder)
    try NodeStore.shell("\"$0\" set t.xml --entity Node --where 'i == 1' d:=-0.0", in: folder)
    let zero = try Command.run(
      "fetch", "t.xml", "--entity", "Node", "--where", "i == 1", "--columns", "d", "--format", "csv", in: folder.path)
    #expect(zero.output.contains("-0.0"), "\(zero.output)")
    try "id,d\n5,1e-400\n6,0e-400\n".write(toFile: folder("Node.csv"), atomically: false, encoding: .utf8)
    let small = try Command.run("import", "Node.csv", "-o", "s.xml", "--model", "T.xcdatamodel", in: folder.path)
    #expect(
      small.code == 65 && small.errors.contains("'1e-400' is too small for a Double")
        && !small.errors.contains("0e-400'"),
      "\(small.errors)")
    try "[{\"id\":1,\"a\":007}]".write(toFile: folder("R.json"), atomically: false, encoding: .utf8)
    let json = try Command.run("import", "R.json", "-o", "r.xml", in: folder.path)
    #expect(json.code == 65 && json.errors.contains("does not begin with 0"), "\(json.errors)")
    try "[{\"id\":1,\"a\":0},{\"id\":2,\"a\":-0.5}]".write(toFile: folder("R.json"), atomically: false, encoding: .utf8)
    #expect(try Command.run("import", "R.json", "-o", "r.xml", in: folder.path).code == 0)
  }

  @Test("the mean of numbers whose sum is greater than any double, and of decimals")
  func means() throws {
    let folder = try Folder()
    try NodeStore.writeModel(
      "<entity name=\"R\" syncable=\"YES\">\(NodeStore.attribute("d", "Double") + NodeStore.attribute("m", "Decimal"))</entity>",
      to: folder("M.xcdatamodel"))
    try "id,d,m\n1,1.7e308,0.1\n2,1.7e308,0.2\n".write(toFile: folder("R.csv"), atomically: false, encoding: .utf8)
    try NodeStore.shell("\"$0\" import R.csv -o r.xml --model M.xcdatamodel", in: folder)
    let result = try Command.run("inspect", "r.xml", "--stats", "--json", in: folder.path)
    let means = result.output.split(separator: "\n").filter { $0.contains("\"mean\"") }.compactMap {
      $0.split(separator: " ").last.map { $0.filter { $0 != "," } }
    }
    #expect(means == ["1.7e+308", "0.15"], "\(result.output)")
  }

  @Test("a conversion to one CSV file says that the UUID is left out")
  func identity() throws {
    let folder = try Folder()
    try NodeStore.make(in: folder)
    let result = try Command.run(
      "convert", "t.xml", "tags.csv", "--write-option", "entity=Tag", in: folder.path)
    #expect(result.code == 0 && result.errors.contains("as asked: UUID "), "\(result.errors)")
  }
}
