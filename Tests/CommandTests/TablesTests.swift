import Foundation
import Testing

@Suite("atomicstore tables") struct TablesTests {
  private static let stores = [
    ("Company/Company.xml", nil), ("Company/Company.plist", nil), ("Company/Company.csvstore", nil),
    ("Company/Company.arrowstore", nil), ("FriendInfo/FriendInfo.xml", nil), ("People/People.sqlite", nil),
    ("People/People.sqlite", "People/People.xcdatamodel"), ("People/Live.sqlite", "People/People.xcdatamodel"),
    ("History/History.sqlite", "History/History.xcdatamodel"),
  ]

  @Test("import makes the same store of the tables of each sample store", arguments: stores, ["csv", "arrow"])
  func samples(_ sample: (String, String?), _ format: String) throws {
    let folder = try Folder()
    let store = "\(Command.samples)/\(sample.0)"
    let model = sample.1.map { ["--model", "\(Command.samples)/\($0)"] } ?? []
    let made = try Command.run(arguments: ["tables", store, "-o", folder("t"), "--format", format] + model)
    try #require(made.code == 0, "\(made.errors)")
    let back = try Command.run("import", folder("t"), "-o", folder("b.xml"))
    try #require(back.code == 0, "\(back.errors)")
    let diff = try Command.run(arguments: ["diff", store, folder("b.xml")] + model)
    #expect(diff.code == 0, "\(diff.output)\(diff.errors)")
    #expect(try Command.run("diff", folder("b.xml"), folder("b.xml"), "--json").code == 0)
  }

  @Test("tables have a key, keys of to-ones and join tables, which --json describes")
  func content() throws {
    let folder = try Folder()
    let made = try Command.run("tables", Command.company, "-o", folder("t"), "--json")
    let json = try #require(try made.json() as? [String: Any])
    let tables = try #require(json["tables"] as? [[String: Any]])
    #expect(
      tables.compactMap { $0["table"] as? String } == [
        "Employee", "Record", "Employee_projects", "Project_milestones", "Project_related",
      ])
    #expect(
      tables[0]["foreignKeys"] as? [String: String] == [
        "buddy": "Employee", "department": "Record", "favourite": "Record", "manager": "Employee",
      ])
    #expect(
      (tables[0]["entities"] as? [[String: Any]])?.compactMap { $0["entity"] as? String } == ["Employee", "Manager"])
    #expect(
      try String(contentsOfFile: folder("t/Project_milestones.csv"), encoding: .utf8)
        == "id,owner,member,position\n1,9,12,1\n2,9,11,2\n")
    let header = try String(contentsOfFile: folder("t/Record.csv"), encoding: .utf8).prefix { $0 != "\n" }
    #expect(header == "id,entity,createdAt,uuid,budget,floor,headcount,name,site,head,notes,title,partOf")
    let again = try Command.run("tables", Command.company, "-o", folder("t"))
    #expect(again.code == 73 && again.errors.contains("--force replaces it"), "\(again.errors)")
    #expect(try Command.run("tables", Command.company, "-o", folder("t"), "--force").code == 0)
  }

  @Test("options for one CSV file are refused", arguments: ["layout=file", "entity=Employee"])
  func singleFile(_ option: String) throws {
    let folder = try Folder()
    let result = try Command.run("tables", Command.company, "-o", folder("t"), "--write-option", option)
    #expect(result.code == 64 && result.errors.contains("is for one CSV file"), "\(result.errors)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
  }

  @Test("what was left out of a damaged store is a loss, which --allow-loss allows, as convert does")
  func damaged() throws {
    let folder = try Folder()
    let arguments = [
      "tables", "\(Command.samples)/Damaged/ragged.csv", "-o", folder("t"), "--read-option", "damaged=skip-object",
    ]
    let refused = try Command.run(arguments: arguments)
    #expect(refused.code == 65 && refused.errors.contains("--allow-loss"), "\(refused.errors)")
    let made = try Command.run(arguments: arguments + ["--allow-loss"])
    #expect(made.code == 0 && made.errors.contains("not-loaded"), "\(made.errors)")
  }

  @Test("tables that another program changed are imported if that is asked for, and their errors name row and column")
  func changed() throws {
    let folder = try Folder()
    #expect(try Command.run("tables", Command.company, "-o", folder("t")).code == 0)
    let joins = folder("t/Employee_projects.csv")
    let whole = try String(contentsOfFile: joins, encoding: .utf8)
    func imported(_ rows: String, _ options: String...) throws -> Command.Result {
      try (whole + rows).write(toFile: joins, atomically: false, encoding: .utf8)
      return try Command.run(arguments: ["import", folder("t"), "-o", folder("b.xml"), "--force"] + options)
    }
    let refused = try imported("5,3,11\n")
    #expect(refused.code == 65 && refused.errors.contains("--read-option edited=accept"), "\(refused.errors)")
    #expect(try imported("5,3,11\n", "--read-option", "edited=accept").code == 0)
    #expect(
      try Command.run("diff", Command.company, folder("b.xml")).output == """
        ~ Employee/3.projects: [Project/9, Project/10] → [Project/9, Project/10, Project/11]
        ~ Project/11.members: [] → [Employee/3]

        """)
    let dangling = try imported("5,99,11\n", "--read-option", "edited=accept")
    #expect(
      dangling.code == 65 && dangling.errors.contains("Employee_projects.csv:6 (Employee_projects/5.owner)"),
      "\(dangling.errors)")
  }

  @Test("a directory of tables is a whole store: options for tables of other programs are refused, and damage is")
  func whole() throws {
    let folder = try Folder()
    #expect(try Command.run("tables", Command.company, "-o", folder("t")).code == 0)
    for options in [
      ["--into", Command.company], ["--key", "A=b"], ["--reject", folder("r")], ["--decimal", "comma"],
    ] {
      let result = try Command.run(arguments: ["import", folder("t"), "-o", folder("b.xml")] + options)
      #expect(result.code == 64 && result.errors.contains("\(options[0]) is not for a directory"), "\(result.errors)")
    }
    let metadata = folder("t/metadata.plist")
    let text = try String(contentsOfFile: metadata, encoding: .utf8)
    try String(text.prefix(text.count / 2)).write(toFile: metadata, atomically: false, encoding: .utf8)
    let damaged = try Command.run("import", folder("t"), "-o", folder("b.xml"))
    #expect(damaged.code == 65 && damaged.errors.contains("metadata.plist"), "\(damaged.errors)")
    #expect(folder.names == ["t"])
  }

  @Test("standard output, an empty path, and a directory that is not of tables are refused")
  func places() throws {
    let folder = try Folder()
    try FileManager.default.createDirectory(atPath: folder("full"), withIntermediateDirectories: false)
    try "x".write(toFile: folder("full/a.txt"), atomically: false, encoding: .utf8)
    for (place, code, text) in [
      ("-", 64, "-o names a directory"), ("", 64, "an empty path"), (folder("full"), 73, "--force replaces it"),
      (folder("none/t"), 73, "does not exist"),
    ] as [(String, Int32, String)] {
      let result = try Command.run("tables", Command.company, "-o", place)
      #expect(result.code == code && result.errors.contains(text), "\(place): \(result.errors)")
    }
    let forced = try Command.run("tables", Command.company, "-o", folder("full"), "--force")
    #expect(forced.code == 73 && folder.names == ["full"], "\(forced.errors)")
    let options = try Command.run(
      "tables", Command.company, "-o", folder("t"), "--format", "arrow", "--write-option", "bom=yes")
    #expect(options.code == 64 && options.errors.contains("'bom'"), "\(options.errors)")
  }
}
