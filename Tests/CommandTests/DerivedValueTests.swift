import Foundation
import Testing

@Suite("Derived attributes and uniqueness, whatever changes a store") struct DerivedValueTests {
  /// A directory with a model of people, each with a search text derived from the name, which is unique; pets derive
  /// the name of their owner.
  private static func folder() throws -> Folder {
    let folder = try Folder()
    try FileManager.default.createDirectory(atPath: folder("D.xcdatamodel"), withIntermediateDirectories: false)
    try """
    <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
    <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">
        <entity name="P" syncable="YES">
            <attribute name="name" optional="YES" attributeType="String" maxValueString="20"/>
            <attribute name="search" optional="YES" attributeType="String" derived="YES" derivationExpression="canonical:(name)"/>
            <relationship name="pets" optional="YES" toMany="YES" destinationEntity="Pet" inverseName="owner" inverseEntity="Pet"/>
            <uniquenessConstraints><uniquenessConstraint><constraint value="name"/></uniquenessConstraint></uniquenessConstraints>
        </entity>
        <entity name="Pet" syncable="YES">
            <attribute name="kind" optional="YES" attributeType="String"/>
            <attribute name="ownerName" optional="YES" attributeType="String" derived="YES" derivationExpression="owner.name"/>
            <relationship name="owner" optional="YES" maxCount="1" destinationEntity="P" inverseName="pets" inverseEntity="P"/>
        </entity>
    </model>
    """.write(toFile: folder("D.xcdatamodel/contents"), atomically: false, encoding: .utf8)
    try "id,name\n1,Grace Hopper\n2,Ada Lovelace\n".write(
      toFile: folder("p.csv"), atomically: false, encoding: .utf8)
    try "id,kind,owner_id\n1,cat,1\n2,dog,2\n".write(toFile: folder("pet.csv"), atomically: false, encoding: .utf8)
    let made = try Command.run(
      "import", "p.csv", "pet.csv", "-o", "d.xml", "--model", "D.xcdatamodel", in: folder.path)
    #expect(made.code == 0, "\(made.errors)")
    return folder
  }

  private static func values(_ store: String, _ entity: String, _ columns: String, _ folder: borrowing Folder) throws
    -> [Substring]
  {
    let result = try Command.run(
      "fetch", store, "--entity", entity, "--columns", columns, "--format", "csv", "--sort", columns, in: folder.path)
    #expect(result.code == 0, "\(result.errors)")
    return result.output.split(separator: "\n").dropFirst().map { $0 }
  }

  @Test("import computes derived attributes, also of objects that follow, with and without --into and --upsert")
  func importing() throws {
    let folder = try Self.folder()
    #expect(try Self.values("d.xml", "P", "search", folder) == ["ada lovelace", "grace hopper"])
    #expect(try Self.values("d.xml", "Pet", "ownerName", folder) == ["Ada Lovelace", "Grace Hopper"])
    for (table, options) in [("3,Edsger\n", []), ("1,Gräce\n", ["--upsert", "key"])] {
      let result = try Command.run(
        arguments: ["import", "P=-", "--into", "d.xml"] + options, input: Data("id,name\n\(table)".utf8),
        in: folder.path)
      #expect(result.code == 0, "\(result.errors)")
    }
    #expect(try Self.values("d.xml", "P", "search", folder) == ["ada lovelace", "edsger", "grace"])
    #expect(try Self.values("d.xml", "Pet", "ownerName", folder) == ["Ada Lovelace", "Gräce"])
    #expect(try Command.run("check", "d.xml", in: folder.path).code == 0)
  }

  @Test("a part of a store has derived attributes of what it contains", arguments: ["nullify", "closure"])
  func subset(_ related: String) throws {
    let folder = try Self.folder()
    let made = try Command.run(
      "convert", "d.xml", "part.xml", "--entity", "Pet", "--related", related, in: folder.path)
    #expect(made.code == 0, "\(made.errors)")
    #expect(
      try Self.values("part.xml", "Pet", "kind,ownerName", folder)
        == (related == "nullify" ? ["cat,", "dog,"] : ["cat,Grace Hopper", "dog,Ada Lovelace"]))
    let check = try Command.run("check", "part.xml", in: folder.path)
    #expect(check.code == 0 && check.errors + check.output == "", "\(check.errors)\(check.output)")
  }

  @Test("a column of a derived attribute is skipped if it has that value, and a problem with its line if not")
  func columns() throws {
    let folder = try Self.folder()
    func run(_ search: String) throws -> Command.Result {
      try Command.run(
        "import", "P=-", "-o", "x.xml", "--model", "D.xcdatamodel",
        input: Data("id,name,search\n1,Ada,\(search)\n".utf8),
        in: folder.path)
    }
    let other = try run("zzz")
    #expect(
      other.code == 65 && other.errors.contains("standard input:2 (P/1.search): 'zzz' is given"), "\(other.errors)")
    #expect(!folder.names.contains("x.xml"))
    let equal = try run("ada")
    #expect(equal.code == 0, "\(equal.errors)")
  }

  @Test("an update by a column of a derived attribute is refused with its line, also if nothing else changes")
  func updatedColumn() throws {
    let folder = try Self.folder()
    let before = try Data(contentsOf: URL(filePath: folder("d.xml")))
    func run(_ record: String, _ options: String...) throws -> Command.Result {
      try Command.run(
        arguments: ["import", "P=-", "--into", "d.xml", "--upsert", "key"] + options,
        input: Data("id,name,search\n\(record)\n".utf8), in: folder.path)
    }
    let other = try run("1,Grace Hopper,zzz")
    #expect(
      other.code == 65 && other.errors.contains("standard input:2 (P/1.search): 'zzz' is given"), "\(other.errors)")
    #expect(try Data(contentsOf: URL(filePath: folder("d.xml"))) == before)
    // The derived value, and the one that the store has of the old name, are what an exported table holds.
    for record in ["1,Grace Hopper,grace hopper", "1,Grace,grace hopper", "1,Grace Hopper,"] {
      let result = try run(record, "-o", "x.xml", "--force")
      #expect(result.code == 0, "\(record): \(result.errors)")
    }
  }

  @Test("a patch computes derived attributes, and refuses other values of them")
  func patching() throws {
    let folder = try Self.folder()
    func patch(_ property: String, _ old: String, _ new: String) throws -> Command.Result {
      let text = """
        {"atomicstorePatch": 1, "changes": [{"kind": "changed", "entity": "P", "reference": 1,
          "property": "\(property)", "old": "\(old)", "new": "\(new)"}]}
        """
      return try Command.run("patch", "d.xml", "-", input: Data(text.utf8), in: folder.path)
    }
    let refused = try patch("search", "grace hopper", "zzz")
    #expect(refused.code == 1 && refused.errors.contains("is derived: canonical:(name) gives"), "\(refused.errors)")
    let result = try patch("name", "Grace Hopper", "GRACE")
    #expect(result.code == 0, "\(result.errors)")
    #expect(try Self.values("d.xml", "P", "search", folder) == ["ada lovelace", "grace"])
    #expect(try Self.values("d.xml", "Pet", "ownerName", folder) == ["Ada Lovelace", "GRACE"])
  }

  @Test("set and insert refuse a derived attribute by name", arguments: ["set", "insert"])
  func editing(_ command: String) throws {
    let folder = try Self.folder()
    let before = try Data(contentsOf: URL(filePath: folder("d.xml")))
    let choice = command == "set" ? ["--all"] : []
    let result = try Command.run(
      arguments: [command, "d.xml", "--entity", "P", "search:=zzz"] + choice, in: folder.path)
    #expect(
      result.code == 64 && result.errors.contains("'search' is derived from canonical:(name)"), "\(result.errors)")
    #expect(try Data(contentsOf: URL(filePath: folder("d.xml"))) == before)
  }

  @Test("nothing of a replaced value is left in derived attributes, of any object")
  func anonymizing() throws {
    let folder = try Self.folder()
    let result = try Command.run(
      "anonymize", "d.xml", "P.name=hash", "--salt", "s", "-o", "shown.xml", in: folder.path)
    #expect(result.code == 0, "\(result.errors)")
    let text = try String(contentsOfFile: folder("shown.xml"), encoding: .utf8).lowercased()
    #expect(!text.contains("grace") && !text.contains("ada love"))
    let names = try Self.values("shown.xml", "P", "name", folder)
    #expect(try names.count == 2 && Self.values("shown.xml", "P", "search", folder) == names)
    #expect(try Self.values("shown.xml", "Pet", "ownerName", folder) == names)
    #expect(try Command.run("check", "shown.xml", in: folder.path).code == 0)
  }

  @Test(
    "anonymize refuses what check would refuse, with entity, property and rule",
    arguments: [
      ("P.name=fixed:x", "uniqueness constraint"),
      ("P.name=sequence:a-very-long-prefix-of-names-", "at most 20 characters"),
      ("P.search=mask", "derived from canonical:(name)"),
    ])
  func refusing(_ rule: String, _ message: String) throws {
    let folder = try Self.folder()
    let result = try Command.run("anonymize", "d.xml", rule, "-o", "shown.xml", in: folder.path)
    #expect(result.code == 64 && result.errors.contains(message), "\(result.code): \(result.errors)")
    let property = rule.prefix { $0 != "=" }.dropFirst(2)
    #expect(result.errors.contains(property), "\(result.errors)")
    #expect(!folder.names.contains("shown.xml"))
  }

  @Test("check warns of a derived value that its derivation does not give")
  func checking() throws {
    let folder = try Self.folder()
    let text = try String(contentsOfFile: folder("d.xml"), encoding: .utf8)
    #expect(text.contains("grace hopper"))
    try text.replacing("grace hopper", with: "someone").write(
      toFile: folder("d.xml"), atomically: false, encoding: .utf8)
    let result = try Command.run("check", "d.xml", in: folder.path)
    #expect(result.code == 0, "\(result.errors)")
    #expect(
      (result.output + result.errors).contains(
        "warning: P/1.search: is 'someone', but canonical:(name) gives 'grace hopper'"), "\(result.output)")
  }

  @Test("import reports values that are not unique with file and line, of tables and of the store")
  func uniqueness() throws {
    let folder = try Self.folder()
    let table = Data("id,name\n5,Alan\n4,Alan\n6,Ada Lovelace\n7,\n8,\n".utf8)
    let fresh = try Command.run(
      "import", "P=-", "-o", "x.xml", "--model", "D.xcdatamodel", input: table, in: folder.path)
    #expect(
      fresh.code == 65
        && fresh.errors.contains(
          "standard input:3 (P/4.name): 'Alan' is not unique, as the model requires: line 2 has it as well"),
      "\(fresh.errors)")
    let into = try Command.run("import", "P=-", "--into", "d.xml", input: table, in: folder.path)
    #expect(into.code == 65 && into.errors.contains("2 problems"), "\(into.errors)")
    #expect(
      into.errors.contains("standard input:4 (P/6.name): 'Ada Lovelace' is not unique")
        && into.errors.contains("P/2 in the store has it already"), "\(into.errors)")
    let rejected = try Command.run(
      "import", "P=-", "--into", "d.xml", "--reject", "bad.csv", input: table, in: folder.path)
    #expect(rejected.code == 0, "\(rejected.errors)")
    #expect(try String(contentsOfFile: folder("bad.csv"), encoding: .utf8) == "id,name\n4,Alan\n6,Ada Lovelace\n")
    #expect(try Command.run("check", "d.xml", in: folder.path).code == 0)
  }
}
