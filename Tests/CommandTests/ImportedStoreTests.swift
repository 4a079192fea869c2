import Foundation
import Testing

@Suite("What an import makes breaks no rule that other changes would not break") struct ImportedStoreTests {
  /// Models of parents with at most two children, and teams with at least two members; `Loose` has no such rules, and
  /// `Plain` no derived attribute either, which `Bare` does not have at all.
  private static func folder() throws -> Folder {
    let folder = try Folder()
    let path = folder.path
    func write(
      _ name: String, most: String = "", least: String = "", longest: String = "", total: String = "total",
      derivation: String
    ) throws {
      try FileManager.default.createDirectory(
        atPath: path + "/\(name).xcdatamodel", withIntermediateDirectories: false)
      try """
      <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
      <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">
          <entity name="P"><attribute name="code" attributeType="String" \(longest)/>
              <attribute name="\(total)" optional="YES" attributeType="Integer 64" \(derivation)/>
              <relationship name="kids" optional="YES" toMany="YES" \(most) destinationEntity="K" inverseName="p" inverseEntity="K"/>
              <relationship name="tags" optional="YES" toMany="YES" \(most) destinationEntity="K" inverseName="tagged" inverseEntity="K"/></entity>
          <entity name="K"><attribute name="w" optional="YES" attributeType="Integer 64"/>
              <relationship name="p" optional="YES" maxCount="1" destinationEntity="P" inverseName="kids" inverseEntity="P"/>
              <relationship name="tagged" optional="YES" toMany="YES" destinationEntity="P" inverseName="tags" inverseEntity="P"/></entity>
          <entity name="Team"><relationship name="members" toMany="YES" \(least) destinationEntity="M" inverseName="team" inverseEntity="M"/></entity>
          <entity name="M"><attribute name="n" optional="YES" attributeType="String"/>
              <relationship name="team" optional="YES" maxCount="1" destinationEntity="Team" inverseName="members" inverseEntity="Team"/></entity>
      </model>
      """.write(toFile: path + "/\(name).xcdatamodel/contents", atomically: false, encoding: .utf8)
    }
    let sum = #"derived="YES" derivationExpression="kids.@sum.w""#
    try write(
      "Strict", most: #"maxCount="2""#, least: #"minCount="2""#, longest: #"maxValueString="3""#, derivation: sum)
    try write("Loose", derivation: sum)
    try write("Plain", derivation: "")
    try write("Bare", total: "other", derivation: "")
    for (name, text) in [
      ("P", "id,code\n1,ab\n2,cd\n"), ("K", "id,w,p\n1,5,1\n2,7,1\n3,,\n"), ("Team", "id,x\n1,\n"),
      ("M", "id,n,team\n1,a,1\n2,b,1\n3,c,\n"),
    ] { try text.write(toFile: folder("\(name).csv"), atomically: false, encoding: .utf8) }
    return folder
  }

  private static func make(_ store: String, _ folder: borrowing Folder, model: String = "Strict") throws {
    let made = try Command.run(
      "import", "P.csv", "K.csv", "Team.csv", "M.csv", "-o", store, "--model", "\(model).xcdatamodel", in: folder.path)
    try #require(made.code == 0, "\(made.errors)")
  }

  @Test(
    "records that give an object of a store too many others, or take those that it needs, are refused with their lines",
    arguments: ["s.xml", "s.sqlgraph", "s.sqlite"],
    [
      ("K", "--upsert key", "id,p\n3,1\n", ":2 (K/3.p): P/1.kids has 3 objects, at most 2 are allowed"),
      ("K", "--upsert key", #"[{"id":3,"p":1}]"#, ":1 (K/3.p): P/1.kids has 3 objects, at most 2 are allowed"),
      ("K", "--append", "id,p\n8,2\n9,1\n", ":3 (K/9.p): P/1.kids has 3 objects, at most 2 are allowed"),
      ("P", "--upsert key", "id,kids\n2,1 2 3\n", ":2 (P/2.kids): 3 objects, at most 2 are allowed"),
      ("P", "--upsert key", "id,tags\n2,1 2 3\n", ":2 (P/2.tags): 3 objects, at most 2 are allowed"),
      ("K", "--upsert key", "id,tagged\n1,1\n2,1\n3,1\n", ":4 (K/3.tagged): P/1.tags has 3 objects, at most 2"),
      ("K", "--upsert K.w", "w,p\n9,1\n", ":2 (K.p): P/1.kids has 3 objects, at most 2 are allowed"),
      ("M", "--upsert key", "id,team\n1,\n", ":2 (M/1.team): Team/1.members has 1 object, at least 2 are needed"),
      ("M", "--upsert key", "id,team\n1,\n2,\n", ":2 (M/1.team): this leaves Team/1 without 'members'"),
      ("Team", "--upsert key", "id,members\n1,2\n", ":2 (Team/1.members): 1 object, at least 2 are needed"),
      ("Team", "--append", "id,members\n7,3\n", ":2 (Team/7.members): 1 object, at least 2 are needed"),
    ])
  func counts(_ store: String, _ change: (entity: String, option: String, table: String, message: String)) throws {
    let folder = try Self.folder()
    try Self.make(store, folder)
    let before = try Command.run("convert", store, "before.xml", in: folder.path)
    try #require(before.code == 0, "\(before.errors)")
    let result = try Command.run(
      arguments: ["import", "\(change.entity)=-", "--into", store]
        + change.option.split(separator: " ").map(String.init), input: Data(change.table.utf8), in: folder.path)
    #expect(result.code == 65 && result.errors.contains("standard input" + change.message), "\(result.errors)")
    #expect(try Command.run("diff", "before.xml", store, in: folder.path).code == 0)
    #expect(try Command.run("check", store, in: folder.path).code == 0)
  }

  @Test("a new store is refused in the same way, whatever the tables are", arguments: ["csv", "json", "arrow"])
  func fresh(_ form: String) throws {
    let folder = try Self.folder()
    try Self.make("loose.xml", folder, model: "Loose")
    let changed = try Command.run(
      "set", "loose.xml", "--entity", "K", "--all", "p:=P/1", in: folder.path)
    try #require(changed.code == 0, "\(changed.errors)")
    var tables: [String] = []
    for entity in ["P", "K"] {
      let table = try Command.run(
        "fetch", "loose.xml", "--entity", entity, "--columns", entity == "K" ? "objectID,w,p" : "objectID,code",
        "--format", form, in: folder.path)
      try #require(table.code == 0, "\(table.errors)")
      tables.append("\(entity)=\(entity)1.\(form)")
      try table.data.write(to: URL(filePath: folder("\(entity)1.\(form)")))
    }
    let arguments = ["import"] + tables + ["-o", "new.xml", "--model", "Strict.xcdatamodel"]
    let result = try Command.run(arguments: arguments, in: folder.path)
    #expect(
      result.code == 65 && result.errors.contains("(K/3.p): P/1.kids has 3 objects, at most 2 are allowed"),
      "\(result.errors)")
    let rejected = try Command.run(arguments: arguments + ["--reject", "bad"], in: folder.path)
    #expect(rejected.code == 0, "\(rejected.errors)")
    let check = try Command.run("check", "new.xml", in: folder.path)
    #expect(check.code == 0, "\(check.output)")
    let rows = try Command.run("fetch", "new.xml", "--entity", "K", "--count", in: folder.path)
    #expect(rows.output == "2\n")
  }

  @Test("pairs of a join table count as well")
  func joined() throws {
    let folder = try Self.folder()
    let result = try Command.run(
      "import", "P.csv", "K.csv", "--join", "P.tags=-:p,k", "-o", "new.xml", "--model", "Strict.xcdatamodel",
      input: Data("p,k\n1,1\n1,2\n1,3\n".utf8), in: folder.path)
    #expect(
      result.code == 65 && result.errors.contains("(P/1.tags): 3 objects, at most 2 are allowed"), "\(result.errors)")
  }

  @Test("edited tables of a directory are checked as a store is", arguments: ["csv", "arrow"])
  func directory(_ form: String) throws {
    let folder = try Self.folder()
    try Self.make("strict.xml", folder)
    try Self.make("plain.xml", folder, model: "Plain")
    let made = try Command.run("tables", "strict.xml", "-o", "t", "--format", form, in: folder.path)
    try #require(made.code == 0, "\(made.errors)")
    func replace(_ entity: String, _ assignments: String...) throws -> Command.Result {
      let set = try Command.run(
        arguments: ["set", "plain.xml", "--entity", entity, "-o", "other.xml", "--force"] + assignments,
        in: folder.path)
      try #require(set.code == 0, "\(set.errors)")
      let other = try Command.run("tables", "other.xml", "-o", "u", "--format", form, "--force", in: folder.path)
      try #require(other.code == 0, "\(other.errors)")
      for name in ["P", "K"] {
        let target = folder("t/\(name).\(form)")
        try FileManager.default.removeItem(atPath: target)
        try FileManager.default.copyItem(
          atPath: folder(name == entity ? "u/\(name).\(form)" : "kept/\(name).\(form)"), toPath: target)
      }
      return try Command.run(
        arguments: ["import", "t", "-o", "new.xml", "--force"]
          + (form == "csv" ? ["--read-option", "edited=accept"] : []), in: folder.path)
    }
    try FileManager.default.copyItem(atPath: folder("t"), toPath: folder("kept"))
    for (entity, assignments, message) in [
      ("P", ["--where", "code == 'ab'", "code:=abcd"], "(P/1.code): 'abcd' breaks the rule: at most 3 characters"),
      ("K", ["--where", "w == 5", "w=\(Int64.max)"], "(P/1.total): is 12, but the derived attribute has a result"),
      ("K", ["--where", "w == nil", "p:=P/1"], "(P/1.kids): 3 objects, at most 2 are allowed"),
    ] {
      let result = try replace(entity, assignments[0], assignments[1], assignments[2])
      #expect(result.code == 65 && result.errors.contains(message), "\(result.errors)")
      #expect(!folder.names.contains("new.xml"))
    }
    // What is derived follows an edit of another table.
    let computed = try replace("K", "--where", "w == 5", "w=50")
    #expect(computed.code == 0 && computed.errors.hasPrefix("note: P.total: "), "\(computed)")
    let total = try Command.run(
      "fetch", "new.xml", "--entity", "P", "--limit", "1", "--columns", "total", in: folder.path)
    #expect(total.output.hasSuffix("57\n"), "\(total.output)")
    try FileManager.default.removeItem(atPath: folder("new.xml"))
    let good = try replace("P", "--where", "code == 'ab'", "code:=xyz")
    #expect(good.code == 0, "\(good.errors)")
    let diff = try Command.run("diff", "strict.xml", "new.xml", in: folder.path)
    #expect(diff.output == "~ P/1.code: \"ab\" → \"xyz\"\n", "\(diff.output)\(diff.errors)")
  }

  @Test("a derived attribute without a value is computed, and one that a store has wrongly comes back as it is")
  func derivedTables() throws {
    let folder = try Self.folder()
    try Self.make("strict.xml", folder)
    #expect(try Command.run("tables", "strict.xml", "-o", "t", in: folder.path).code == 0)
    let table = try String(contentsOfFile: folder("t/P.csv"), encoding: .utf8)
    #expect(table.contains(",12"), "\(table)")
    try table.replacing(",12", with: ",").write(toFile: folder("t/P.csv"), atomically: false, encoding: .utf8)
    let filled = try Command.run(
      "import", "t", "-o", "filled.xml", "--read-option", "edited=accept", in: folder.path)
    #expect(filled.code == 0, "\(filled.errors)")
    #expect(try Command.run("diff", "strict.xml", "filled.xml", in: folder.path).code == 0)
    let text = try String(contentsOfFile: folder("strict.xml"), encoding: .utf8)
    for (number, wrong) in [text.replacing(">12<", with: ">11<"), text.replacing(">ab<", with: ">abcd<")].enumerated() {
      #expect(wrong != text)
      try wrong.write(toFile: folder("wrong\(number).xml"), atomically: false, encoding: .utf8)
      #expect(try Command.run("tables", "wrong\(number).xml", "-o", "w\(number)", in: folder.path).code == 0)
      let back = try Command.run("import", "w\(number)", "-o", "back\(number).xml", in: folder.path)
      #expect(back.code == 0, "\(back.errors)")
      #expect(try Command.run("diff", "wrong\(number).xml", "back\(number).xml", in: folder.path).code == 0)
    }
    // What was broken may stay as it was, not become something else that is wrong.
    let broken = try String(contentsOfFile: folder("w1/P.csv"), encoding: .utf8)
    try broken.replacing("abcd", with: "abcde").write(toFile: folder("w1/P.csv"), atomically: false, encoding: .utf8)
    let other = try Command.run("import", "w1", "-o", "other.xml", "--read-option", "edited=accept", in: folder.path)
    #expect(other.code == 65 && other.errors.contains("'abcde' breaks the rule"), "\(other)")
  }

  @Test("warnings that a store has many of do not hide what an edit of its tables breaks")
  func manyWarnings() throws {
    let folder = try Self.folder()
    let teams = "id,x\n" + (1...10_001).map { "\($0),\n" }.joined()
    try teams.write(toFile: folder("Team.csv"), atomically: false, encoding: .utf8)
    try Self.make("many.xml", folder, model: "Loose")
    #expect(try Command.run("tables", "many.xml", "-o", "t", in: folder.path).code == 0)
    let table = try String(contentsOfFile: folder("t/P.csv"), encoding: .utf8)
    try table.replacing("ab", with: "").write(toFile: folder("t/P.csv"), atomically: false, encoding: .utf8)
    let result = try Command.run("import", "t", "-o", "new.xml", "--read-option", "edited=accept", in: folder.path)
    #expect(result.code == 65 && result.errors.contains("(P/1.code): a value is needed"), "\(result)")
  }

  @Test("a derived attribute that its type cannot hold is refused, whatever changes what it is computed of")
  func overflow() throws {
    let folder = try Self.folder()
    try Self.make("s.xml", folder)
    try Self.make("p.xml", folder, model: "Plain")
    func run(_ arguments: String..., input: String? = nil, code: Int32 = 0) throws -> Command.Result {
      let result = try Command.run(arguments: arguments, input: input.map { Data($0.utf8) }, in: folder.path)
      #expect(result.code == code, "\(arguments): \(result.errors)")
      return result
    }
    let most = Int64.max
    let refusal = "P/1.total: the derived attribute has a result that its type cannot hold"
    let table = "id,w\n1,\(most)\n"
    let updated = try run("import", "K=-", "--into", "s.xml", "--upsert", "key", input: table, code: 65)
    #expect(updated.errors.contains(refusal), "\(updated.errors)")
    _ = try run("import", "K=-", "--into", "p.xml", "--upsert", "key", input: table)
    let migrated = try run("migrate", "p.xml", "--model", "Strict.xcdatamodel", "-o", "m.xml", code: 65)
    #expect(migrated.errors.contains(refusal), "\(migrated.errors)")
    _ = try run("set", "s.xml", "--entity", "K", "--where", "w == 5", "w=\(most - 7)", "-o", "a.xml")
    _ = try run("set", "s.xml", "--entity", "K", "--where", "w == 7", "w=\(most - 5)", "-o", "b.xml")
    let merged = try run("merge", "--base", "s.xml", "a.xml", "b.xml", "-o", "m.xml", code: 65)
    #expect(merged.errors.contains(refusal), "\(merged.errors)")
    // Nothing is lost where the attribute is new.
    try Self.make("bare.xml", folder, model: "Bare")
    _ = try run("import", "K=-", "--into", "bare.xml", "--upsert", "key", input: table)
    _ = try run("migrate", "bare.xml", "--model", "Strict.xcdatamodel", "-o", "new.xml")
    #expect(try run("check", "new.xml").output.contains("P/1.total: is null, but the derived attribute has a result"))
    let patch = """
      {"atomicstorePatch": 1, "changes": [{"kind": "changed", "entity": "K", "reference": 1,
        "property": "w", "old": 5, "new": \(most)}]}
      """
    #expect(try run("patch", "s.xml", "-", input: patch, code: 65).errors.contains(refusal))
    // A store that has it already can be changed in other ways.
    let text = try String(contentsOfFile: folder("s.xml"), encoding: .utf8)
    try text.replacing(">5<", with: ">\(most)<").write(toFile: folder("w.xml"), atomically: false, encoding: .utf8)
    let check = try run("check", "w.xml").output
    #expect(check.contains("warning: P/1.total: is 12, but the derived attribute has a result"), "\(check)")
    _ = try run("import", "K=-", "--into", "w.xml", "--upsert", "key", "-o", "w2.xml", input: "id,w\n3,4\n")
    _ = try run("merge", "--base", "w.xml", "w.xml", "w2.xml", "-o", "w3.xml")
    _ = try run("migrate", "w3.xml", "--model", "Loose.xcdatamodel", "-o", "w4.xml")
  }
}
