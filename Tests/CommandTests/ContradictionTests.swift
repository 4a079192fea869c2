import Foundation
import Testing

@Suite("Stores that break their model's rules: they are shown, and only what a change breaks is refused")
struct ContradictionTests {
  private static func toOne(_ name: String, _ destination: String, _ inverse: String) -> String {
    "<relationship name=\"\(name)\" optional=\"YES\" maxCount=\"1\" deletionRule=\"Nullify\" destinationEntity=\"\(destination)\" inverseName=\"\(inverse)\" inverseEntity=\"\(destination)\"/>"
  }

  /// A note that names a state, which does not name it back, as in Apple's Notes: one.xml and one.sqlite.
  private static func makeOneToOne(in folder: borrowing Folder) throws {
    let title = NodeStore.attribute("title", "String")
    try NodeStore.writeModel(
      "<entity name=\"Note\" syncable=\"YES\">\(title)\(toOne("state", "State", "note"))</entity>"
        + "<entity name=\"State\" syncable=\"YES\">\(title)\(toOne("note", "Note", "state"))</entity>",
      to: folder("One.xcdatamodel"))
    try "id,title,state\n1,A,1\n2,B,\n".write(toFile: folder("Note.csv"), atomically: false, encoding: .utf8)
    try "id,title\n1,S\n".write(toFile: folder("State.csv"), atomically: false, encoding: .utf8)
    try NodeStore.shell("\"$0\" import Note.csv State.csv -o one.xml --model One.xcdatamodel", in: folder)
    let text = try String(contentsOfFile: folder("one.xml"), encoding: .utf8)
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
      guard line.contains("name=\"note\""), let start = line.range(of: " idrefs=\"") else { return String(line) }
      return line[..<start.lowerBound] + "></relationship>"
    }
    #expect(lines.joined(separator: "\n") != text)
    try lines.joined(separator: "\n").write(toFile: folder("one.xml"), atomically: false, encoding: .utf8)
    try NodeStore.shell("\"$0\" convert one.xml one.sqlite", in: folder)
  }

  @Test(
    "a one-to-one whose other end is null is shown as stored by every command, with a note",
    arguments: ["xml", "sqlite"])
  func oneToOne(_ kind: String) throws {
    let folder = try Folder()
    try Self.makeOneToOne(in: folder)
    let store = "one.\(kind)"
    for arguments in [
      ["dump", store], ["fetch", store, "--entity", "Note", "--columns", "title,state", "--format", "csv"],
      ["convert", store, "other.xml"], ["report", store, "-o", "page.html"], ["diff", store, "one.xml"],
    ] {
      let result = try Command.run(arguments: arguments, in: folder.path)
      #expect(result.code == 0, "\(arguments): \(result.errors)")
      #expect(
        result.errors.contains("note: ") && result.errors.contains("Note.state: read as stored, although 'note'"),
        "\(arguments): \(result.errors)")
      if ["dump", "fetch"].contains(arguments[0]) { #expect(result.output.contains("State/1"), "\(result.output)") }
    }
    #expect(try Command.run("diff", "one.xml", "other.xml", in: folder.path).output == "")
    // A model needs no objects.
    for arguments in [["model", "show", store], ["model", "convert", store, "M.xcdatamodel"]] {
      let result = try Command.run(arguments: arguments, in: folder.path)
      #expect(result.code == 0 && result.errors == "", "\(arguments): \(result.errors)")
    }
    let strict = try Command.run("dump", store, "--read-option", "inverses=refuse", in: folder.path)
    #expect(strict.code == 65 && strict.errors.contains("as-stored reads both"), "\(strict.errors)")
  }

  @Test("check names it, and every --fix of inverses repairs it", arguments: ["from-to-one", "from-to-many"])
  func fixed(_ rule: String) throws {
    let folder = try Folder()
    try Self.makeOneToOne(in: folder)
    let checked = try Command.run("check", "one.sqlite", in: folder.path)
    #expect(checked.code == 1 && checked.output.contains("Note/1.state: names State/1"), "\(checked.output)")
    for target in ["fixed.xml", "fixed.sqlite"] {
      let fixed = try Command.run(
        "check", "one.sqlite", "--fix", "inverses=\(rule)", "-o", target, in: folder.path)
      #expect(fixed.code == 0 && fixed.errors.contains("State.note: changed to agree with 'state'"), "\(fixed.errors)")
      #expect(try Command.run("check", target, in: folder.path).code == 0)
    }
  }

  @Test("set of something else keeps it; with --json the note is JSON")
  func set() throws {
    let folder = try Folder()
    try Self.makeOneToOne(in: folder)
    let before = try Command.run("dump", "one.xml", in: folder.path).output
    for more in [[], ["-o", "copy.plist"]] {
      let result = try Command.run(
        arguments: ["set", "one.xml", "--entity", "Note", "--where", "title == 'A'", "title:=C"] + more,
        in: folder.path)
      #expect(result.code == 0 && result.errors.contains("read as stored"), "\(result.errors)")
      try NodeStore.shell("\"$0\" set one.xml --entity Note --where \"title == 'C'\" title:=A", in: folder)
    }
    #expect(try Command.run("dump", "one.xml", in: folder.path).output == before)
    #expect(try Command.run("dump", "copy.plist", in: folder.path).output == before.replacing("\"A\"", with: "\"C\""))
    let json = try Command.run("fetch", "one.xml", "--entity", "Note", "--count", "--json", in: folder.path)
    let notes = try JSONSerialization.jsonObject(with: Data(json.errors.utf8)) as? [String: [String]]
    #expect(notes?["notes"]?.count == 1, "\(json.errors)")
  }

  // MARK: A to-many that is not optional

  private static func makeRecipes(in folder: borrowing Folder) throws {
    let name = NodeStore.attribute("n", "String")
    try NodeStore.writeModel(
      "<entity name=\"Recipe\" syncable=\"YES\">\(name)<relationship name=\"parts\" toMany=\"YES\" deletionRule=\"Cascade\" destinationEntity=\"Part\" inverseName=\"recipe\" inverseEntity=\"Part\"/></entity>"
        + "<entity name=\"Part\" syncable=\"YES\">\(name)\(toOne("recipe", "Recipe", "parts"))</entity>",
      to: folder("Recipes.xcdatamodel"))
    try "id,n\n1,a\n2,b\n".write(toFile: folder("Recipe.csv"), atomically: false, encoding: .utf8)
    try "id,n,recipe\n1,p,2\n".write(toFile: folder("Part.csv"), atomically: false, encoding: .utf8)
    try NodeStore.shell("\"$0\" import Recipe.csv Part.csv -o r.xml --model Recipes.xcdatamodel", in: folder)
  }

  @Test("a required to-many that was read empty is a warning of check, and nothing else refuses it")
  func readEmpty() throws {
    let folder = try Folder()
    try Self.makeRecipes(in: folder)
    let checked = try Command.run("check", "r.xml", in: folder.path)
    #expect(
      checked.code == 0 && checked.output == "warning: Recipe/1.parts: an object is needed\n", "\(checked.output)")
    try NodeStore.shell(
      """
      "$0" set r.xml --entity Recipe --where "n == 'a'" n:=c
      "$0" convert r.xml r.sqlite
      "$0" convert r.sqlite s.xml
      "$0" check s.xml
      """, in: folder)
    #expect(try Command.run("diff", "r.xml", "s.xml", in: folder.path).output == "")
  }

  @Test(
    "a required to-many that a command leaves empty is refused without the option",
    arguments: [
      ["insert", "r.xml", "--entity", "Recipe", "n:=new"],
      ["delete", "r.xml", "--entity", "Part", "--where", "n == 'p'"],
      ["set", "r.xml", "--entity", "Part", "--where", "n == 'p'", "recipe=nil"],
      ["patch", "r.xml", "p.json"],
    ])
  func leftEmpty(_ arguments: [String]) throws {
    let folder = try Folder()
    try Self.makeRecipes(in: folder)
    try NodeStore.shell(
      """
      cp r.xml q.xml
      "$0" set q.xml --entity Part --where "n == 'p'" recipe=nil --allow-empty-non-optional-to-many
      "$0" diff r.xml q.xml --patch > p.json || [ $? = 1 ]
      """, in: folder)
    let before = try Data(contentsOf: URL(filePath: folder("r.xml")))
    let refused = try Command.run(arguments: arguments, in: folder.path)
    #expect(refused.code != 0 && refused.code != 64, "\(refused.errors)")
    #expect(try Data(contentsOf: URL(filePath: folder("r.xml"))) == before)
    let allowed = try Command.run(arguments: arguments + ["--allow-empty-non-optional-to-many"], in: folder.path)
    #expect(allowed.code == 0, "\(allowed.errors)")
    #expect(try Command.run("check", "r.xml", in: folder.path).code == 0)
  }

  @Test("a new required to-many is empty after a migration")
  func migrated() throws {
    let folder = try Folder()
    let name = NodeStore.attribute("n", "String")
    try NodeStore.writeModel("<entity name=\"Recipe\" syncable=\"YES\">\(name)</entity>", to: folder("Old.xcdatamodel"))
    try "id,n\n1,a\n".write(toFile: folder("Recipe.csv"), atomically: false, encoding: .utf8)
    try NodeStore.shell("\"$0\" import Recipe.csv -o old.xml --model Old.xcdatamodel", in: folder)
    try Self.makeRecipes(in: folder)
    let migrated = try Command.run(
      "migrate", "old.xml", "--model", "Recipes.xcdatamodel", "-o", "new.xml", in: folder.path)
    #expect(migrated.code == 0, "\(migrated.errors)")
    #expect(try Command.run("check", "new.xml", in: folder.path).code == 0)
  }

  @Test(
    "a result with ends that contradict each other is replaced like any other",
    arguments: ["csvstore", "arrowstore", "plist"])
  func replaced(_ type: String) throws {
    let folder = try Folder()
    try Self.makeOneToOne(in: folder)
    let arguments = ["convert", "one.xml", "r." + type, "--read-option", "inverses=as-stored"]
    for more in [[], ["--force"], ["--force"]] {
      let made = try Command.run(arguments: arguments + more, in: folder.path)
      #expect(made.code == 0, "\(made.errors)")
    }
  }
}
