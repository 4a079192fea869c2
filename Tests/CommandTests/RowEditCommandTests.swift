import Foundation
import TestSupport
import Testing

/// The sqlite3 program.
enum SQLiteProgram {
  static let path: String? = ["/usr/bin/sqlite3", "/usr/local/bin/sqlite3"].first {
    FileManager.default.isExecutableFile(atPath: $0)
  }
}

@Suite(
  "Commands change rows of Core Data's SQLite stores",
  .enabled(if: SQLiteProgram.path != nil, "needs the sqlite3 program"))
struct RowEditCommandTests {
  /// A folder with `People.xcdatamodel` and `p.sqlite`, of that model, in which there are tables and columns that the
  /// kit does not know.
  private static func people(_ folder: borrowing Folder) throws {
    try shell(
      """
      bash '\(Command.root)/Scripts/make-sqlite-samples' . && mv Plain.sqlite p.sqlite && sqlite3 p.sqlite "
      CREATE TABLE MINE (x); INSERT INTO MINE VALUES (7);
      ALTER TABLE ZPERSON ADD COLUMN ZEXTRA VARCHAR; UPDATE ZPERSON SET ZEXTRA = 'extra ' || Z_PK"
      """, folder)
  }

  @discardableResult
  private static func shell(_ line: String, _ folder: borrowing Folder) throws -> Command.Result {
    let result = try Command.shell(line, in: folder.path)
    #expect(result.code == 0, "\(line): \(result.errors)")
    return result
  }

  private static func lines(_ name: String, _ sql: String, _ folder: borrowing Folder) throws -> [String] {
    try shell("sqlite3 \(name) \"\(sql)\"", folder).output.split(separator: "\n").map(String.init)
  }

  @Test("the acceptance of the issue: every object changes, and a table of another program stays")
  func acceptance() throws {
    let folder = try Folder()
    try Self.shell("\"$0\" convert '\(Command.samples)/FriendInfo/FriendInfo.xml' f.sqlite", folder)
    try Self.shell("sqlite3 f.sqlite 'create table MINE(x); insert into MINE values(7)'", folder)
    try Self.shell("\"$0\" set f.sqlite --entity FriendInfo --where 'ranking > 0' ranking=ranking+1", folder)
    #expect(try Self.lines("f.sqlite", "select min(Z_OPT), (select x from MINE) from ZFRIENDINFO", folder) == ["2|7"])
    try Self.shell("\"$0\" check f.sqlite", folder)
  }

  /// A command with the store as `STORE`, what changes in the dump, and a question with its answer.
  struct Edit: CustomTestStringConvertible {
    let command: String
    let gone: Int
    let new: Int
    let sql: String
    let answer: [String]
    var testDescription: String { command }
  }

  static let edits = [
    Edit(
      command: "set STORE --entity Person --where 'age == 41' name:=Augusta", gone: 1, new: 1,
      sql: "SELECT ZNAME, Z_OPT, ZEXTRA FROM ZPERSON WHERE Z_PK = 1", answer: ["Augusta|2|extra 1"]),
    Edit(
      command: "insert STORE --entity Employee name:=New manager:=Employee/2", gone: 2, new: 3,
      sql: "SELECT Z_PK, Z_ENT, Z1_MANAGER FROM ZPERSON WHERE ZNAME = 'New'", answer: ["10|2|2"]),
    // With its tag's row, and the tag, which has changed.
    Edit(
      command: "delete STORE --entity Tag --where \"label == 'red'\"", gone: 3, new: 1,
      sql: "SELECT * FROM Z_1TAGS", answer: ["1|2|2048", "2|2|2048"]),
    Edit(
      command: "import Person=more.csv --into STORE --upsert key", gone: 2, new: 3,
      sql: "SELECT Z_PK, ZNAME, ZEXTRA FROM ZPERSON WHERE Z_PK IN (1, 11) ORDER BY 1",
      answer: ["1|Imported|extra 1", "11|Added|"]),
    Edit(
      command: "patch STORE patch.json", gone: 1, new: 1,
      sql: "SELECT ZNAME FROM ZPERSON WHERE Z_PK = 9", answer: ["Patched"]),
    Edit(
      command: "merge STORE other.sqlite --on-conflict last --allow-loss --force -o STORE", gone: 1, new: 1,
      sql: "SELECT ZLABEL, Z_OPT FROM ZTAG WHERE Z_PK = 2", answer: ["merged|2"]),
  ]

  private static func prepare(_ folder: borrowing Folder) throws {
    try people(folder)
    try Data("id,name\n1,Imported\n11,Added\n".utf8).write(to: URL(filePath: folder("more.csv")))
    let patch =
      #"{"atomicstorePatch": 1, "changes": [{"kind": "changed", "entity": "Person", "reference": 9, "property": "name", "old": null, "new": "Patched"}]}"#
    try Data(patch.utf8).write(to: URL(filePath: folder("patch.json")))
    // The kit's own model makes a store readable without another file.
    try shell(
      """
      "$0" convert p.sqlite m.sqlite --model People.xcdatamodel --allow-loss
      sqlite3 p.sqlite "ATTACH 'm.sqlite' AS m; UPDATE Z_METADATA SET Z_PLIST = (SELECT Z_PLIST FROM m.Z_METADATA)"
      cp p.sqlite other.sqlite; sqlite3 other.sqlite "UPDATE ZTAG SET ZLABEL = 'merged' WHERE Z_PK = 2"
      """, folder)
  }

  @Test("each of the six changes rows in place, and only those", arguments: edits)
  func inPlace(_ edit: Edit) throws {
    let folder = try Folder()
    try Self.prepare(folder)
    let before = try Self.lines("p.sqlite", ".dump", folder)
    let inode = try FileManager.default.attributesOfItem(atPath: folder("p.sqlite"))[.systemFileNumber] as? Int
    try Self.shell("\"$0\" " + edit.command.replacing("STORE", with: "p.sqlite"), folder)
    let after = try Self.lines("p.sqlite", ".dump", folder)
    #expect(try Self.lines("p.sqlite", edit.sql, folder) == edit.answer)
    let (gone, new) = (before.filter { !after.contains($0) }, after.filter { !before.contains($0) })
    #expect((gone.count, new.count) == (edit.gone, edit.new), "\(gone) \(new)")
    // Another program that has it open has the same file.
    #expect(try FileManager.default.attributesOfItem(atPath: folder("p.sqlite"))[.systemFileNumber] as? Int == inode)
    try Self.shell("\"$0\" check p.sqlite", folder)
    #expect(try Self.lines("p.sqlite", "PRAGMA integrity_check", folder) == ["ok"])
  }

  @Test("with -o the same rows change in a copy, and the store stays as it is", arguments: edits)
  func copies(_ edit: Edit) throws {
    let folder = try Folder()
    try Self.prepare(folder)
    let (bytes, before) = (
      try Data(contentsOf: URL(filePath: folder("p.sqlite"))), try Self.lines("p.sqlite", ".dump", folder)
    )
    let command = edit.command.replacing(" --force -o STORE", with: "").replacing("STORE", with: "p.sqlite")
    try Self.shell("\"$0\" \(command) -o copy.sqlite", folder)
    #expect(try Data(contentsOf: URL(filePath: folder("p.sqlite"))) == bytes)
    let after = try Self.lines("copy.sqlite", ".dump", folder)
    #expect(try Self.lines("copy.sqlite", edit.sql, folder) == edit.answer)
    let (gone, new) = (before.filter { !after.contains($0) }, after.filter { !before.contains($0) })
    #expect((gone.count, new.count) == (edit.gone, edit.new), "\(gone) \(new)")
    try Self.shell("\"$0\" check copy.sqlite", folder)
  }

  @Test(
    "a store is not changed in place to another model, and a copy gets it, whatever is other in it",
    arguments: [
      (#"name="name""#, #"name="name" versionHashModifier="2""#),
      (#"name="name""#, #"name="name" defaultValueString="x""#),
      (#"allowsExternalBinaryDataStorage="YES""#, ""),
      (#"name="tags" optional="YES""#, #"name="tags" optional="YES" maxCount="9""#),
    ])
  func otherModel(_ old: String, _ new: String) throws {
    let folder = try Folder()
    try Self.prepare(folder)
    try FileManager.default.copyItem(atPath: folder("People.xcdatamodel"), toPath: folder("New.xcdatamodel"))
    let contents = try String(contentsOfFile: folder("New.xcdatamodel/contents"), encoding: .utf8)
    try #require(contents.contains(old), "\(contents)")
    try contents.replacing(old, with: new).write(
      toFile: folder("New.xcdatamodel/contents"), atomically: false, encoding: .utf8)
    let bytes = try Data(contentsOf: URL(filePath: folder("p.sqlite")))
    try Self.shell("\"$0\" migrate p.sqlite --model New.xcdatamodel --allow-loss -o new.sqlite", folder)
    let model = try Command.run("model", "diff", "new.sqlite", "New.xcdatamodel", in: folder.path)
    #expect(model.code == 0, "\(model)")
    for command in [
      ["migrate", "p.sqlite", "--in-place"], ["merge", "p.sqlite", "new.sqlite", "-o", "p.sqlite", "--force"],
    ] {
      let result = try Command.run(
        arguments: command + ["--model", "New.xcdatamodel", "--allow-loss"], in: folder.path)
      #expect(result.code == 65 && result.errors.contains("if the model changes"), "\(result)")
      #expect(try Data(contentsOf: URL(filePath: folder("p.sqlite"))) == bytes)
    }
  }

  @Test("a copy has the external data that it names, also on standard output")
  func externalData() throws {
    let folder = try Folder()
    try Self.people(folder)
    try Self.shell(
      """
      "$0" set External.sqlite --model People.xcdatamodel --entity Person --where "name == 'has it'" age=5 -o c.sqlite
      "$0" set External.sqlite --model People.xcdatamodel --entity Person --where "name == 'has it'" age=5 -o - --to CoreDataSQLite > out.sqlite
      """, folder)
    let sql = "SELECT ZAGE FROM ZPERSON WHERE Z_PK = 1"
    #expect(try Self.lines("c.sqlite", sql, folder) == ["5"])
    let copied = try FileManager.default.contentsOfDirectory(atPath: folder(".c_SUPPORT/_EXTERNAL_DATA"))
    #expect(copied == ["6E2B1C3A-0000-4000-8000-000000000001"])
    #expect(
      try Self.lines(
        "out.sqlite", "SELECT substr(hex(ZPHOTO), 1, 2), length(ZPHOTO) FROM ZPERSON WHERE Z_PK = 1", folder)
        == ["01|65"])
  }

  @Test("a program that has the store open sees the change", arguments: ["DELETE", "WAL"])
  func reader(_ mode: String) throws {
    let folder = try Folder()
    try Self.people(folder)
    let script = """
      PRAGMA journal_mode=\(mode);
      SELECT ZNAME FROM ZPERSON WHERE Z_PK = 1;
      .shell "\(try #require(Command.path))" set p.sqlite --model People.xcdatamodel --entity Person --where 'age == 41' name:=Augusta
      SELECT ZNAME FROM ZPERSON WHERE Z_PK = 1;
      """
    try Data(script.utf8).write(to: URL(filePath: folder("script.sql")))
    let result = try Self.shell("sqlite3 p.sqlite < script.sql", folder)
    #expect(result.output == "\(mode.lowercased())\nAda\nAugusta\n", "\(result.errors)")
  }

  @Test("a program that writes to the store keeps it from being changed")
  func locked() throws {
    let folder = try Folder()
    try Self.people(folder)
    let script = """
      BEGIN IMMEDIATE; UPDATE ZPERSON SET ZAGE = 42 WHERE Z_PK = 1;
      .shell "\(try #require(Command.path))" set p.sqlite --model People.xcdatamodel --entity Person --all name:=x 2> errors; echo $?
      COMMIT;
      """
    try Data(script.utf8).write(to: URL(filePath: folder("script.sql")))
    let result = try Self.shell("sqlite3 p.sqlite < script.sql", folder)
    #expect(result.output == "74\n", "\(result.output)")
    #expect(
      try String(contentsOf: URL(filePath: folder("errors")), encoding: .utf8).contains("another program has locked"))
    #expect(try Self.lines("p.sqlite", "SELECT ZNAME, ZAGE FROM ZPERSON WHERE Z_PK = 1", folder) == ["Ada|42"])
  }

  @Test("history=ignore changes a store with a history, and says what a reader of the history will miss")
  func history() throws {
    let folder = try Folder()
    try Self.people(folder)
    try Self.shell("sqlite3 History.sqlite 'DROP TRIGGER Z_DA_ZTEAM'", folder)
    let set = "\"$0\" set History.sqlite --model People.xcdatamodel --entity Person --all name:=x"
    let refused = try Command.shell(set, in: folder.path)
    #expect(refused.code == 65 && refused.errors.contains("history=ignore"), "\(refused.errors)")
    for more in [" -o copy.sqlite", ""] {
      let done = try Self.shell(set + " --write-option history=ignore" + more, folder)
      #expect(done.errors.contains("will not learn of them"), "\(done.errors)")
    }
    for name in ["History", "copy"] {
      #expect(try Self.lines(name + ".sqlite", "SELECT ZNAME FROM ZPERSON", folder) == ["x"])
      #expect(try Self.lines(name + ".sqlite", "SELECT count(*) FROM ACHANGE", folder) == ["2"])
    }
  }

  @Test("a guessed model changes attributes, and neither inserts nor deletes")
  func guessed() throws {
    let folder = try Folder()
    try Self.people(folder)
    try Self.shell("\"$0\" set p.sqlite --entity Tag --where 'LABEL == \"red\"' LABEL:=green", folder)
    #expect(try Self.lines("p.sqlite", "SELECT ZLABEL FROM ZTAG", folder) == ["green", "blau"])
    let before = try Data(contentsOf: URL(filePath: folder("p.sqlite")))
    for line in ["delete p.sqlite --entity Tag --all", "insert p.sqlite --entity Tag LABEL:=x"] {
      let result = try Command.shell("\"$0\" \(line)", in: folder.path)
      #expect(result.code == 65 && result.errors.contains("without the store's model"), "\(result.errors)")
    }
    #expect(try Data(contentsOf: URL(filePath: folder("p.sqlite"))) == before)
  }
}
