import Foundation
import Testing

@Suite("What a command refuses, ignores or leaves behind") struct RefusalTests {
  private static func library() throws -> Folder {
    let folder = try Folder()
    for name in try FileManager.default.contentsOfDirectory(atPath: Command.samples + "/Library") {
      try FileManager.default.copyItem(atPath: Command.samples + "/Library/" + name, toPath: folder(name))
    }
    let made = try Command.run(
      "import", "authors.csv", "books.csv", "-o", "lib.xml", "--model", "Library.xcdatamodeld", in: folder.path)
    #expect(made.code == 0, "\(made.errors)")
    return folder
  }

  @Test(
    "an import that writes no store leaves no file behind",
    arguments: [
      ["t.csv", "-o", "x.unknown", "--write-model", "M.xcdatamodel"],
      ["t.csv", "u.csv", "-o", "x.unknown", "--reject", "bad"], ["t.csv", "-o", "x.unknown", "--reject", "bad.csv"],
      [
        "t.csv", "u.csv", "-o", "x.xml", "--reject", "bad", "--report", "r.csv", "--write-model", "M.xcdatamodeld",
        "--dry-run",
      ],
      ["t.csv", "u.csv", "-o", "x.xml", "--report", "r.csv", "--dry-run"],
      ["t.csv", "-o", "x.xml", "--write-model", "nowhere/M.xcdatamodel"],
    ])
  func leavings(_ arguments: [String]) throws {
    let folder = try Folder()
    try "id,n\n1,1\n".write(toFile: folder("t.csv"), atomically: false, encoding: .utf8)
    try "id,t_id\n1,1\n2,9\n".write(toFile: folder("u.csv"), atomically: false, encoding: .utf8)
    let result = try Command.run(arguments: ["import"] + arguments, in: folder.path)
    #expect(result.code == (arguments.contains("--reject") && arguments.contains("--dry-run") ? 0 : result.code))
    #expect(folder.names.sorted() == ["t.csv", "u.csv"], "\(folder.names) \(result.errors)")
  }

  @Test(
    "a model that cannot take the place of a directory leaves no store behind",
    arguments: ["M.xcdatamodel", "M.xcdatamodeld"], [true, false])
  func foreignDirectory(_ name: String, _ isDryRun: Bool) throws {
    let folder = try Folder()
    try "id,n\n1,1\n".write(toFile: folder("t.csv"), atomically: false, encoding: .utf8)
    try FileManager.default.createDirectory(atPath: folder(name) + "/mine", withIntermediateDirectories: true)
    let arguments = ["import", "t.csv", "-o", "x.xml", "--write-model", name, "--force"]
    let result = try Command.run(arguments: arguments + (isDryRun ? ["--dry-run"] : []), in: folder.path)
    #expect(result.code == 73, "\(result.errors)")
    #expect(result.errors.contains("'mine', which is not part of a model"), "\(result.errors)")
    #expect(folder.names.sorted() == [name, "t.csv"] && folder.names.count == 2, "\(folder.names)")
    #expect(FileManager.default.fileExists(atPath: folder(name) + "/mine"))
  }

  @Test(
    "a model file appears with the store, and replaces an earlier one", arguments: ["M.xcdatamodel", "M.xcdatamodeld"])
  func modelFile(_ name: String) throws {
    let folder = try Folder()
    for number in 1...2 {
      try "id,n\(number)\n1,1\n".write(toFile: folder("t.csv"), atomically: false, encoding: .utf8)
      let result = try Command.run(
        "import", "T=t.csv", "-o", "x.xml", "--write-model", name, "--force", in: folder.path)
      #expect(result.code == 0, "\(result.errors)")
      #expect(folder.names.sorted() == [name, "t.csv", "x.xml"], "\(folder.names)")
      let shown = try Command.run("model", "show", name, in: folder.path)
      #expect(shown.output.contains("n\(number)"), "\(shown.output)\(shown.errors)")
    }
  }

  @Test("an import that fails after the store was written says so")
  func afterTheStore() throws {
    let folder = try Folder()
    try "id,n\n1,1\n1,x\n".write(toFile: folder("t.csv"), atomically: false, encoding: .utf8)
    let result = try Command.shell("\"$0\" import T=t.csv -o x.xml --reject - >&-", in: folder.path)
    #expect(result.code == 74 && result.errors.contains("the store was written"), "\(result.code) \(result.errors)")
    #expect(folder.names.sorted() == ["t.csv", "x.xml"], "\(folder.names)")
  }

  @Test(
    "a comparison of different types in a column is refused like one in a predicate",
    arguments: ["SUBQUERY(books, $b, $b.title == 5).@count", "TERNARY(name == 5, 1, 2)"])
  func columnTypes(_ column: String) throws {
    let folder = try Self.library()
    let result = try Command.run(
      "fetch", "lib.xml", "--entity", "Author", "--columns", column, in: folder.path)
    #expect(result.code == 64 && result.errors.contains("--columns"), "\(result.code) \(result.output)\(result.errors)")
  }

  @Test("a JSON key without a value is a problem, a Boolean is its word, and 1e2 is 100")
  func keys() throws {
    let folder = try Folder()
    func references(_ key: String) throws -> Command.Result {
      try Command.shell(
        "\"$0\" import T=t.json -o o.xml --force && \"$0\" fetch o.xml --entity T --columns objectID --format csv",
        in: {
          try "[\n{\"id\": \(key), \"n\": 1}]".write(toFile: folder("t.json"), atomically: false, encoding: .utf8)
          return folder.path
        }())
    }
    for key in ["\"\"", "\" \""] {
      let result = try references(key)
      #expect(result.code == 65 && result.errors.contains("t.json:2:"), "\(result.errors)")
      #expect(result.errors.contains("the key has no value"), "\(result.errors)")
    }
    #expect(try references("true").output == "objectID\nT/true\n")
    #expect(try references("1e2").output == "objectID\nT/100\n")
    #expect(try references("1.0").output == "objectID\nT/1\n")
  }

  @Test(
    "a mapping file that names what the models do not have is refused by name",
    arguments: [
      (#"{"entities": {"Bok": {"drop": ["language"]}}}"#, ["Bok", "did you mean 'Book'?"]),
      (#"{"entities": {"Book": {"drop": ["langage"]}}}"#, ["Book.langage", "did you mean 'language'?"]),
      (#"{"entities": {"Book": {"properties": {"titel": "title"}, "drop": ["language"]}}}"#, ["Book.titel"]),
      (#"{"drop": ["Loans"], "entities": {"Book": {"drop": ["language"]}}}"#, ["Loans", "did you mean 'Loan'?"]),
      ("{\n  \"drop\": [}\n", ["m.json:2:"]), (#"{"drops": []}"#, ["m.json", "drops"]),
    ])
  func mapping(_ text: String, _ messages: [String]) throws {
    let folder = try Self.library()
    try text.write(toFile: folder("m.json"), atomically: false, encoding: .utf8)
    let result = try Command.run(
      "migrate", "lib.xml", "--model", "Library.xcdatamodeld/Library.xcdatamodel", "--mapping", "m.json", "-o", "x.xml",
      in: folder.path)
    #expect(result.code == 65, "\(result.errors)")
    for message in messages { #expect(result.errors.contains(message), "\(result.errors)") }
  }

  @Test("fetch --count counts rows where rows are printed, not objects")
  func counting() throws {
    let folder = try Self.library()
    for option in [["--distinct", "--columns", "author.fullName"], ["--group", "author.fullName"]] {
      let base = ["fetch", "lib.xml", "--entity", "Book"] + option
      let rows = try Command.run(arguments: base + ["--format", "ndjson"], in: folder.path)
      let count = try Command.run(arguments: base + ["--count"], in: folder.path)
      #expect(
        count.output == "\(rows.output.split(separator: "\n").count)\n" && count.output != "10\n", "\(count.output)")
    }
  }

  @Test(
    "options of fetch and edits that make no sense are refused with what is wrong",
    arguments: [
      ("fetch lib.xml --entity Book --having @count>1", 64, ["--having", "--group"]),
      ("fetch lib.xml --entity Book --json --format csv", 64, ["--json", "csv"]),
      ("fetch lib.xml --entity Book --sort nope", 64, ["--sort: 'nope'"]),
      ("fetch lib.xml --entity Book --columns nope", 64, ["--columns: 'nope'"]),
      ("fetch lib.xml --entity Book --columns avg:(price)", 64, ["did you mean 'average:'?"]),
      ("set lib.xml --entity Book --all price=abc", 64, ["'price=abc': unknown key 'abc'", "price:=abc"]),
      ("insert lib.xml --entity Author fullName:=X born:=31.12.2020", 65, ["is not of type Date: write it as"]),
    ])
  func usage(_ arguments: String, _ code: Int32, _ messages: [String]) throws {
    let folder = try Self.library()
    let result = try Command.run(arguments: arguments.split(separator: " ").map(String.init), in: folder.path)
    #expect(result.code == code, "\(result.code): \(result.errors)")
    for message in messages { #expect(result.errors.contains(message), "\(result.errors)") }
  }

  @Test("a database is migrated where it is; a dry run leaves every byte, also where nothing can be written")
  func databaseInPlace() throws {
    let folder = try Folder()
    let models = Command.samples + "/Library/Library.xcdatamodeld/"
    let tables = ["authors.csv", "books.csv"].map { Command.samples + "/Library/" + $0 }
    let made = try Command.run(
      arguments: ["import"] + tables + ["-o", "d.sqlgraph", "--model", models + "Library.xcdatamodel"],
      in: folder.path)
    try #require(made.code == 0, "\(made.errors)")
    let before = try Data(contentsOf: URL(filePath: folder("d.sqlgraph")))
    let migrate = ["migrate", "d.sqlgraph", "--in-place", "--model", models + "Library 2.xcdatamodel"]
    let rehearsed = try Command.run(arguments: migrate + ["--dry-run"], in: folder.path)
    #expect(rehearsed.code == 0, "\(rehearsed.errors)")
    #expect(try Data(contentsOf: URL(filePath: folder("d.sqlgraph"))) == before)
    let done = try Command.run(arguments: migrate, in: folder.path)
    #expect(done.code == 0, "\(done.errors)")
    #expect(try Command.run(arguments: migrate, in: folder.path).code == 0)
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    #expect(names == ["d.sqlgraph"])
    let model = try Command.run("model", "diff", "d.sqlgraph", models + "Library 2.xcdatamodel", in: folder.path)
    #expect(model.code == 0, "\(model.output) \(model.errors)")
  }
}
