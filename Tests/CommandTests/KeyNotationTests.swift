import Foundation
import Testing

@Suite("atomicstore: one notation of keys in all options") struct KeyNotationTests {
  /// A table whose columns are called what the predicate language reserves, or could not read as a key.
  private static func table() throws -> Folder {
    let folder = try Folder()
    try "no,any,self,nil,first name,x.y,a-b,#tag\n2,2,2,2,2,2,2,2\n1,1,1,1,1,1,1,1\n3,3,3,3,3,3,3,3\n".write(
      toFile: folder("T.csv"), atomically: false, encoding: .utf8)
    return folder
  }

  private static func rows(_ arguments: String..., in folder: borrowing Folder) throws -> [String] {
    let result = try Command.run(
      arguments: ["fetch", "T.csv", "--entity", "T", "--format", "csv"] + arguments, in: folder.path)
    #expect(result.code == 0, "\(arguments): \(result.errors)")
    return result.output.split(separator: "\n").map { String($0) }
  }

  @Test(
    "a name alone is the property, with a number sign or without; the column has the property's name",
    arguments: [
      ("no", "no"), ("#no", "no"), ("any", "any"), ("#any", "any"), ("self", "self"), ("#self", "self"),
      ("nil", "nil"), ("#nil", "nil"), ("first name", "first name"), ("#\"first name\"", "first name"),
      ("x.y", "x.y"), ("#\"x.y\"", "x.y"), ("#'x.y'", "x.y"), ("a-b", "a-b"), ("#\"a-b\"", "a-b"),
      ("#tag", "#tag"), ("#\"#tag\"", "#tag"),
    ])
  func everywhere(_ key: String, _ name: String) throws {
    let folder = try Self.table()
    #expect(try Self.rows("--columns", key, in: folder) == [name, "2", "1", "3"])
    #expect(try Self.rows("--columns", key, "--sort", key, in: folder) == [name, "1", "2", "3"])
    #expect(try Self.rows("--columns", "no", "--sort", "-" + key, in: folder) == ["no", "3", "2", "1"])
    #expect(
      try Self.rows("--columns", "length:(#no) AS l,no", "--sort", "l,-" + key, in: folder)
        == ["l,no", "1,3", "1,2", "1,1"])
    #expect(Set(try Self.rows("--group", key, in: folder)) == [name + ",count", "1,1", "2,1", "3,1"])
    #expect(
      try Self.rows("--group", key, "--columns", key + ",@count", "--sort", key, in: folder)
        == [name + ",@count", "1,1", "2,1", "3,1"])
    #expect(
      try Self.rows("--group", key + " AS z", "--columns", "z,@count", "--sort", "-z", in: folder)
        == ["z,@count", "3,1", "2,1", "1,1"])
    let json = try Command.run(
      "fetch", "T.csv", "--entity", "T", "--columns", key, "--limit", "1", "--format", "ndjson", in: folder.path)
    #expect(json.output == "{\"\(name)\":\"2\"}\n")
    let same = try Command.run("diff", "T.csv", "T.csv", "--key", "T=" + key, in: folder.path)
    #expect(same.code == 0, "\(same.errors)")
    let files = try Command.run(
      "extract", "T.csv", "--entity", "T", "--property", key, "-o", "files", in: folder.path)
    #expect(files.code == 0, "\(files.errors)")
    let list = try String(contentsOfFile: folder("files/files.csv"), encoding: .utf8)
    #expect(list.contains(",\(name),"), "\(list)")
    let twice = try Command.run("set", "T.csv", "--entity", "T", "--all", key + ":=9", name + "='9'", in: folder.path)
    #expect(twice.code != 0 && twice.errors.contains("'\(name)' is set twice"), "\(twice.errors)")
    for (value, text) in [(":=9", "9"), ("='a=b'", "a=b")] {
      let result = try Command.run("set", "T.csv", "--entity", "T", "--all", key + value, in: folder.path)
      #expect(result.code == 0, "\(result.errors)")
      #expect(try Self.rows("--columns", key, in: folder) == [name, text, text, text])
    }
  }

  @Test(
    "without a property of that name, a word is what it is in predicates",
    arguments: [("yes", "yes\ntrue\n"), ("self", "self\nB/1\n"), ("SELF", "SELF\nB/1\n"), ("null", "null\n\"\"\n")])
  func reserved(_ text: String, _ output: String) throws {
    let folder = try Folder()
    try "a,b\n1,2\n".write(toFile: folder("B.csv"), atomically: false, encoding: .utf8)
    let result = try Command.run(
      "fetch", "B.csv", "--entity", "B", "--columns", text, "--format", "csv", in: folder.path)
    #expect(result.output == output, "\(result.errors)")
  }

  @Test(
    "a misspelt name is an unknown key with a suggestion in every option; another text is read as an expression",
    arguments: ["--columns", "--sort", "--group"])
  func mistakes(_ option: String) throws {
    let folder = try Self.table()
    for (text, message) in [
      ("first nam", "unknown key 'first nam' on T; did you mean 'first name'?"), ("sum:(", "a value is expected"),
      ("objectId", "unknown key 'objectId' on T"),
    ] {
      let result = try Command.run("fetch", "T.csv", "--entity", "T", option, text, in: folder.path)
      #expect(result.code == 64 && result.errors.contains("\(option): "), "\(result.errors)")
      #expect(result.errors.contains(message), "\(result.errors)")
    }
  }
}
