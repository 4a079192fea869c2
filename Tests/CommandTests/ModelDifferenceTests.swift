import Foundation
import Testing

@Suite("Stores of different models: diff --ignore-model, migrate --mapping and --convert-types")
struct ModelDifferenceTests {
  /// t.xml, and m.xml with the same objects, whose Node.i is of another type.
  private static func stores(_ folder: borrowing Folder, _ type: String, _ values: [String]) throws {
    try NodeStore.make(in: folder)
    let attributes =
      NodeStore.attribute("i", type) + NodeStore.attribute("d", "Double") + NodeStore.attribute("s", "String")
    try NodeStore.writeModel(NodeStore.entities(attributes), to: folder("M.xcdatamodel"))
    try FileManager.default.createDirectory(atPath: folder("new"), withIntermediateDirectories: true)
    try "id,i,d,s\n1,\(values[0]),0.5,one\n2,\(values[1]),1.5,two\n".write(
      toFile: folder("new/Node.csv"), atomically: false, encoding: .utf8)
    try NodeStore.shell(
      "\"$0\" import new/Node.csv SubNode.csv Tag.csv -o m.xml --model M.xcdatamodel", in: folder)
  }

  @Test("numbers of different types are compared by value", arguments: ["Integer 64", "Double", "Decimal", "Float"])
  func numbers(_ type: String) throws {
    let folder = try Folder()
    try Self.stores(folder, type, ["1", "9"])
    let different = try Command.run("diff", "t.xml", "m.xml", "--ignore-model", "--ignore-uuid", in: folder.path)
    let line = different.output.prefix { $0 != "\n" }
    #expect(
      different.code == 1 && ["~ Node/2.i: 2 → 9", "~ Node/2.i: 2.0 → 9.0"].contains(line), "\(different.output)")
    #expect(!different.output.contains("only in"))
    let back = try Command.run("diff", "m.xml", "t.xml", "--ignore-model", "--ignore-uuid", in: folder.path)
    #expect(back.code == 1 && back.output.hasSuffix("→ 2\n"), "\(back.output)")
    try NodeStore.shell("\"$0\" set m.xml --entity Node --where 'i == 9' i=2", in: folder)
    let same = try Command.run("diff", "t.xml", "m.xml", "--ignore-model", "--ignore-uuid", in: folder.path)
    #expect(same.code == 0 && same.output.isEmpty, "\(same.output)")
  }

  @Test("a property of another type is a difference, and the JSON lists what was not compared")
  func types() throws {
    let folder = try Folder()
    try Self.stores(folder, "String", ["1", "2"])
    let arguments = ["diff", "t.xml", "m.xml", "--ignore-model", "--ignore-uuid"]
    let text = try Command.run(arguments: arguments, in: folder.path)
    #expect(
      text.code == 1
        && text.output.hasPrefix(
          "~ Node.i: type differs: Integer 16 in t.xml, String in m.xml; not compared\n~ SubNode.i:"),
      "\(text.output)")
    let json = try Command.run(arguments: arguments + ["--json"], in: folder.path)
    let list = try #require(try json.json() as? [[String: Any]])
    #expect(json.code == 1 && list.map { $0["entity"] as? String } == ["Node", "SubNode"])
    #expect(list.allSatisfy { $0["kind"] as? String == "notCompared" && $0["isDifference"] as? Bool == true })
    #expect(try Command.run(arguments: arguments + ["--ignore", "Node.i"], in: folder.path).code == 0)
    #expect(try Command.run(arguments: arguments + ["--entity", "Tag"], in: folder.path).code == 0)
    // A number without an equal in the other type differs.
    try NodeStore.shell("\"$0\" migrate m.xml --model T.xcdatamodel --convert-types -o same.xml", in: folder)
    #expect(try Command.run("diff", "t.xml", "same.xml", "--ignore-uuid", in: folder.path).code == 0)
  }

  @Test("what only one model has is listed in JSON, and is not a difference")
  func onlyInOne() throws {
    let folder = try Folder()
    try NodeStore.make(in: folder)
    let attributes = NodeStore.attribute("i", "Integer 16") + NodeStore.attribute("d", "Double")
    try NodeStore.writeModel(NodeStore.entities(attributes), to: folder("M.xcdatamodel"))
    try NodeStore.shell("\"$0\" migrate t.xml --model M.xcdatamodel --allow-loss -o m.xml", in: folder)
    let json = try Command.run("diff", "t.xml", "m.xml", "--ignore-model", "--json", in: folder.path)
    let list = try #require(try json.json() as? [[String: Any]])
    #expect(json.code == 0, "\(json.output)")
    #expect(
      list.map { $0["message"] as? String } == [
        "Node.s: only in the model of t.xml", "SubNode.s: only in the model of t.xml",
      ])
  }

  @Test("--ignore ENTITY.PROPERTY includes the entity's sub-entities")
  func ignoredInSubentities() throws {
    let folder = try Folder()
    try NodeStore.make(in: folder)
    try NodeStore.shell("\"$0\" set t.xml --entity SubNode --all s:=other -o u.xml", in: folder)
    #expect(try Command.run("diff", "t.xml", "u.xml", in: folder.path).code == 1)
    #expect(try Command.run("diff", "t.xml", "u.xml", "--ignore", "Node.s", in: folder.path).code == 0)
    #expect(try Command.run("diff", "t.xml", "u.xml", "--ignore", "Tag.s", in: folder.path).code == 1)
  }

  @Test("a mapping file's rule for a property applies to sub-entities without a separate rule")
  func mappedSubentities() throws {
    let folder = try Folder()
    try NodeStore.make(in: folder)
    let attributes = NodeStore.attribute("i", "Integer 16") + NodeStore.attribute("title", "String")
    try NodeStore.writeModel(NodeStore.entities(attributes), to: folder("M.xcdatamodel"))
    for (rules, title) in [("", "SEVEN"), (#", "SubNode": { "properties": { "title": "s" } }"#, "seven")] {
      let mapping =
        #"{ "entities": { "Node": { "properties": { "title": "uppercase:(s)" }, "drop": ["d"] }\#(rules) } }"#
      try mapping.write(toFile: folder("map.json"), atomically: false, encoding: .utf8)
      try NodeStore.shell(
        "\"$0\" migrate t.xml --model M.xcdatamodel --mapping map.json -o m.xml --force", in: folder)
      let titles = try Command.run(
        "fetch", "m.xml", "--entity", "Node", "--columns", "title", "--sort", "i", "--format", "csv", in: folder.path)
      #expect(titles.output.replacing("\r", with: "") == "title\nONE\nTWO\n\(title)\n")
    }
  }

  @Test(
    "--convert-types refuses a text that is not what the number or date would be written as",
    arguments: [
      ("Integer 16", "01234"), ("Integer 16", "1.0"), ("Integer 16", "1e2"), ("Integer 64", "+5"),
      ("Date", "2020-01-01T00:00:00.123456789012Z"), ("Double", "0.10"), ("Decimal", "1e2"),
    ])
  func texts(_ type: String, _ text: String) throws {
    let folder = try Folder()
    try NodeStore.writeModel(
      "<entity name=\"R\" syncable=\"YES\">\(NodeStore.attribute("a", "String"))</entity>", to: folder("S.xcdatamodel"))
    try NodeStore.writeModel(
      "<entity name=\"R\" syncable=\"YES\">\(NodeStore.attribute("a", type))</entity>", to: folder("N.xcdatamodel"))
    try "id,a\n1,\"\(text)\"\n".write(toFile: folder("R.csv"), atomically: false, encoding: .utf8)
    try NodeStore.shell("\"$0\" import R.csv -o r.xml --model S.xcdatamodel", in: folder)
    let result = try Command.run(
      "migrate", "r.xml", "--model", "N.xcdatamodel", "--convert-types", "-o", "n.xml", in: folder.path)
    #expect(result.code == 65 && result.errors.contains("R.a: String → \(type)"), "\(result.errors)")
    #expect(result.errors.contains(text), "\(result.errors)")
    #expect(!folder.names.contains("n.xml"))
  }
}
