import Foundation
import Testing

@Suite("atomicstore diff and patch") struct PatchCommandTests {
  /// A directory with the library as a.xml, and with other prices and a note as b.xml.
  private static func stores(_ folder: borrowing Folder) throws {
    for name in try FileManager.default.contentsOfDirectory(atPath: Command.samples + "/Library") {
      try FileManager.default.copyItem(atPath: Command.samples + "/Library/" + name, toPath: folder(name))
    }
    let made = try Command.shell(
      """
      set -e
      "$0" import authors.csv books.csv -o a.xml --model Library.xcdatamodeld/Library.xcdatamodel
      "$0" set a.xml --entity Book --where "price > 25" price:=1.10 -o b.xml
      "$0" metadata set b.xml note x
      """, in: folder.path)
    #expect(made.code == 0, "\(made.errors)")
  }

  @Test("diff --json has typed values: numbers, references, null, and the type of the property")
  func typedValues() throws {
    let folder = try Folder()
    try Self.stores(folder)
    let result = try Command.run("diff", "a.xml", "b.xml", "--json", in: folder.path)
    #expect(result.code == 1)
    let list = try #require(try result.json() as? [[String: Any]])
    #expect(list.count == 3)
    #expect(list[0]["kind"] as? String == "metadata" && list[0]["old"] is NSNull && list[0]["new"] as? String == "x")
    #expect(list[1]["reference"] as? Int == 4 && list[1]["type"] as? String == "Decimal")
    #expect(result.output.contains("\"old\": 38.00,\n    \"new\": 1.10\n"), "\(result.output)")
  }

  @Test(
    "a store that is patched in place keeps its form: columns, delimiter and line ends, and formulas that were defused")
  func formInPlace() throws {
    let folder = try Folder()
    let third = "sku;name;price\r\n1;=1+1;2\r\n2;b;3\r\n"
    try third.write(toFile: folder("Item.csv"), atomically: false, encoding: .utf8)
    let made = try Command.shell(
      """
      set -e
      mkdir new && sed 's/b;3/c;3/' Item.csv > new/Item.csv
      "$0" import Item.csv -o a.csvstore --write-option formulas=defuse
      "$0" convert a.csvstore b.csvstore --write-option formulas=defuse
      "$0" set b.csvstore --entity Item --where "name == 'b'" name:=c
      """, in: folder.path)
    #expect(made.code == 0, "\(made.errors)")
    for (one, other, changed) in [
      ("Item.csv", "new/Item.csv", "new/Item.csv"), ("a.csvstore", "b.csvstore", "b.csvstore/Item.csv"),
    ] {
      let patch = try Command.run("diff", one, other, "--patch", "--ignore-metadata", in: folder.path)
      #expect(patch.code == 1, "\(patch.errors)")
      try patch.data.write(to: URL(filePath: folder("p.json")))
      let result = try Command.run("patch", one, "p.json", in: folder.path)
      #expect(result.code == 0, "\(result.errors)")
      let file = one.hasSuffix(".csv") ? one : one + "/Item.csv"
      #expect(
        try String(contentsOfFile: folder(file), encoding: .utf8)
          == String(contentsOfFile: folder(changed), encoding: .utf8))
    }
    let options = try Command.run("patch", "Item.csv", "p.json", "--write-option", "delimiter=tab", in: folder.path)
    #expect(options.code == 64 || options.code == 1, "\(options.errors)")
  }

  @Test("diff --entity includes sub-entities, and refuses a name that neither store has")
  func entities() throws {
    let folder = try Folder()
    let company = Command.samples + "/Company/Company.xml"
    let made = try Command.run(
      "set", company, "nickname:=x", "--entity", "Manager", "--all", "-o", "b.xml", in: folder.path)
    #expect(made.code == 0, "\(made.errors)")
    #expect(try Command.run("diff", company, "b.xml", "--entity", "Employee", "--quiet", in: folder.path).code == 1)
    #expect(try Command.run("diff", company, "b.xml", "--entity", "Department", "--quiet", in: folder.path).code == 0)
    let unknown = try Command.run("diff", company, "b.xml", "--entity", "Manger", in: folder.path)
    #expect(unknown.code == 64 || unknown.code == 2, "\(unknown.code)")
    #expect(unknown.errors.contains("did you mean 'Manager'?"), "\(unknown.errors)")
  }

  @Test("patch in place, refused where it does not fit, from standard input, and undone; the source of -o stays")
  func patching() throws {
    let folder = try Folder()
    try Self.stores(folder)
    let patch = try Command.run("diff", "a.xml", "b.xml", "--patch", in: folder.path)
    #expect(patch.code == 1 && patch.errors == "")
    try patch.data.write(to: URL(filePath: folder("p.json")))
    let before = try Data(contentsOf: URL(filePath: folder("a.xml")))
    #expect(try Command.run("patch", "a.xml", "p.json", "-o", "c.csvstore", in: folder.path).code == 0)
    #expect(try Command.run("diff", "b.xml", "c.csvstore", in: folder.path).code == 0)
    let dry = try Command.run("patch", "a.xml", "p.json", "--dry-run", in: folder.path)
    #expect(
      dry.code == 0
        && dry.output
          == "~ metadata note: (none) → \"x\"\n~ Book/4.price: 38.00 → 1.10\n~ Book/10.price: 29.00 → 1.10\n",
      "\(dry.output)")
    #expect(try Data(contentsOf: URL(filePath: folder("a.xml"))) == before)
    let json = try Command.run(arguments: ["patch", "a.xml", "-", "--json"], input: patch.data, in: folder.path)
    let applied = try json.json() as? [String: Any]
    #expect(json.code == 0 && applied?["changes"] as? Int == 3, "\(json.errors)")
    #expect(try Command.run("diff", "a.xml", "b.xml", in: folder.path).code == 0)
    let after = try Data(contentsOf: URL(filePath: folder("a.xml")))
    let again = try Command.run("patch", "a.xml", "p.json", "--json", in: folder.path)
    #expect(again.code == 1)
    let error = try again.error()
    #expect((error["conflicts"] as? [Any])?.count == 3 && error["code"] as? String == "conflict")
    #expect(try Data(contentsOf: URL(filePath: folder("a.xml"))) == after)
    #expect(try Command.run("patch", "a.xml", "p.json", "--reverse", in: folder.path).code == 0)
    #expect(
      try Command.run("fetch", "a.xml", "--entity", "Book", "--where", "price > 25", "--count", in: folder.path).output
        == "2\n")
  }

  @Test(
    "what cannot be is a usage error, or invalid data",
    arguments: [
      ("patch - - -o x.xml", 64), ("patch - p.json", 64), ("patch a.xml nosuch.json", 66),
      ("patch a.xml books.csv", 65),
      ("diff a.xml b.xml --patch --key title", 2), ("diff a.xml b.xml --key =title", 2),
      ("diff a.xml b.xml --key tilte", 2),
      ("diff a.xml b.xml --key Book=author", 2),
    ] as [(String, Int32)])
  func misuse(_ arguments: String, _ code: Int32) throws {
    let folder = try Folder()
    try Self.stores(folder)
    try Data("{}".utf8).write(to: URL(filePath: folder("p.json")))
    let result = try Command.shell("\"$0\" \(arguments) < a.xml", in: folder.path)
    #expect(result.code == code && result.output == "" && !result.errors.isEmpty, "\(result.errors)")
  }

  @Test("diff has colors on a terminal only, and not with NO_COLOR; what the store holds cannot add any")
  func colors() throws {
    let folder = try Folder()
    try Self.stores(folder)
    #expect(try Command.run("metadata", "set", folder("b.xml"), "note", "x\u{1B}[31m", in: folder.path).code == 0)
    func shown(_ environment: [String: String]) throws -> String {
      String(
        decoding: try Terminal.run(
          ["diff", folder("a.xml"), folder("b.xml")], columns: 200,
          environment: ["NO_COLOR": "", "TERM": "xterm"].merging(environment) { $1 }
        ).output, as: UTF8.self)
    }
    let plain = try Command.run("diff", folder("a.xml"), folder("b.xml"))
    #expect(!plain.output.contains("\u{1B}"))
    let colored = try shown([:])
    #expect(colored.contains("\u{1B}[33m~ Book/4.price: 38.00 → 1.10\u{1B}[0m"), "\(colored.debugDescription)")
    #expect(colored.components(separatedBy: "\u{1B}").count == 7)
    #expect(try !shown(["NO_COLOR": "1"]).contains("\u{1B}"))
    #expect(try !shown(["TERM": "dumb"]).contains("\u{1B}"))
  }

  /// Writes a patch.
  private static func patch(_ folder: borrowing Folder, _ changes: String...) throws {
    let text = #"{"atomicstorePatch": 1, "changes": ["# + changes.joined(separator: ", ") + "]}"
    try Data(text.utf8).write(to: URL(filePath: folder("p.json")))
  }

  private static func change(_ reference: Int, _ property: String, _ old: String, _ new: String) -> String {
    #"{"kind": "changed", "entity": "Department", "reference": \#(reference), "property": "\#(property)", "#
      + #""old": \#(old), "new": \#(new)}"#
  }

  /// The references and floors of the company's departments, by name.
  private static func departments() throws -> [(reference: Int, name: String, floor: Int)] {
    let found = try Command.run(
      "fetch", Command.company, "--entity", "Department", "--where", "floor != nil", "--columns", "SELF,name,floor",
      "--json")
    let rows = try #require(try found.json() as? [[String: Any]])
    return try rows.map { row in
      let id = try #require(row["SELF"] as? [String: Any])
      return (
        try #require(id["reference"] as? Int), try #require(row["name"] as? String), try #require(row["floor"] as? Int)
      )
    }
  }

  @Test(
    "a patch whose result breaks the model's rules is refused with the objects and properties, and changes nothing",
    arguments: ["c.xml", "c.sqlgraph"])
  func rules(_ store: String) throws {
    let folder = try Folder()
    #expect(try Command.run("convert", Command.company, folder(store)).code == 0)
    let before = try Data(contentsOf: URL(filePath: folder(store)))
    let all = try Self.departments()
    let (first, second) = (all[0], all[1])
    try Self.patch(
      folder, Self.change(second.reference, "name", "\"\(second.name)\"", "\"\(first.name)\""),
      Self.change(first.reference, "floor", "\(first.floor)", "999"))
    for more in [[], ["--dry-run"], ["-o", "new.xml"]] {
      let result = try Command.run(arguments: ["patch", store, "p.json"] + more, in: folder.path)
      #expect(result.code == 1 && result.output.isEmpty, "\(result.output)")
      #expect(
        result.errors.contains("Department/\(first.reference).floor: 999 breaks the rule: at most 40")
          && result.errors.contains("Department/\(second.reference).name: '\(first.name)' is also that of"),
        "\(result.errors)")
    }
    #expect(try Data(contentsOf: URL(filePath: folder(store))) == before)
    #expect(!folder.names.contains("new.xml"))
    let json = try Command.run("patch", store, "p.json", "--json", in: folder.path)
    let conflicts = try #require(try json.error()["conflicts"] as? [[String: Any]])
    #expect(conflicts.compactMap { $0["property"] as? String }.sorted() == ["floor", "name"])
  }

  @Test("a required value that a patch removes is refused, too")
  func requiredValue() throws {
    let folder = try Folder()
    let first = try Self.departments()[0]
    try Self.patch(folder, Self.change(first.reference, "name", "\"\(first.name)\"", "null"))
    let result = try Command.run("patch", Command.company, "p.json", "-o", "new.xml", in: folder.path)
    #expect(result.code == 1 && result.errors.contains(".name: a value is needed"), "\(result.errors)")
  }

  @Test("a store that breaks a rule already can be patched; what breaks it may stay, not change to what breaks it, too")
  func invalidBefore() throws {
    let folder = try Folder()
    let first = try Self.departments()[0]
    var text = try String(contentsOfFile: Command.company, encoding: .utf8)
    let floor = "<attribute name=\"floor\" type=\"int16\">\(first.floor)</attribute>"
    try #require(text.contains(floor))
    text.replace(floor, with: floor.replacing(">\(first.floor)<", with: ">999<"), maxReplacements: 1)
    try Data(text.utf8).write(to: URL(filePath: folder("c.xml")))
    let check = try Command.run("check", "c.xml", in: folder.path)
    #expect(check.code == 1 && check.output.contains("999 breaks the rule"), "\(check.output) \(check.errors)")
    let wrong = try #require(
      try Command.run(
        "fetch", "c.xml", "--entity", "Department", "--where", "floor == 999", "--columns", "SELF", "--format", "csv",
        in: folder.path
      ).output.split(separator: "\n").last.flatMap { Int($0.split(separator: "/").last ?? "") })
    let name = try #require(try Self.departments().first { $0.reference == wrong }).name
    try Self.patch(folder, Self.change(wrong, "name", "\"\(name)\"", "\"Other\""))
    let patched = try Command.run("patch", "c.xml", "p.json", in: folder.path)
    #expect(patched.code == 0, "\(patched.errors)")
    try Self.patch(folder, Self.change(wrong, "floor", "999", "998"))
    let changed = try Command.run("patch", "c.xml", "p.json", in: folder.path)
    #expect(changed.code == 1 && changed.errors.contains("998 breaks the rule"), "\(changed.errors)")
    let other = try #require(try Self.departments().first { $0.reference != wrong })
    try Self.patch(folder, Self.change(other.reference, "floor", "\(other.floor)", "999"))
    let refused = try Command.run("patch", "c.xml", "p.json", in: folder.path)
    #expect(
      refused.code == 1 && refused.errors.contains("Department/\(other.reference).floor")
        && !refused.errors.contains("Department/\(wrong)"), "\(refused.errors)")
  }

  @Test("a property that a patch sets twice is refused as that, an attribute as well as a relationship")
  func setTwice() throws {
    let folder = try Folder()
    let first = try Self.departments()[0]
    try Self.patch(
      folder, Self.change(first.reference, "floor", "\(first.floor)", "7"),
      Self.change(first.reference, "floor", "\(first.floor)", "8"))
    let result = try Command.run("patch", Command.company, "p.json", "-o", "new.xml", in: folder.path)
    #expect(
      result.code == 1 && result.errors.contains(".floor: the patch sets it twice, to 7 and to 8")
        && !result.errors.contains("other end"), "\(result.errors)")
  }
}
