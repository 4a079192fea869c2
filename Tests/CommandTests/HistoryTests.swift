import Foundation
import TestSupport
import Testing

@Suite("history") struct HistoryTests {
  private static let sample = Command.samples + "/History/History.sqlite"
  static let program = ["/usr/bin/sqlite3", "/usr/local/bin/sqlite3"].first {
    FileManager.default.isExecutableFile(atPath: $0)
  }

  private static func changes(_ result: Command.Result) throws -> [[String: Any]] {
    try #require(try result.json() as? [[String: Any]], "\(result.output)\(result.errors)")
  }

  /// A copy of the sample, changed by SQL.
  private static func edited(_ folder: borrowing Folder, _ sql: String) throws -> String {
    let path = folder("History.sqlite")
    try? FileManager.default.removeItem(atPath: path)
    try FileManager.default.copyItem(atPath: sample, toPath: path)
    // A statement may be longer than an argument.
    let script = folder("edit.sql")
    try Data(sql.utf8).write(to: URL(filePath: script))
    let result = try ChildProcess.run(try #require(program), [path, ".read \(script)"])
    try #require(result.code == 0, "\(result.errors)")
    return path
  }

  @Test("lists who changed which object when, with the changed properties and what deleted objects had")
  func text() throws {
    let result = try Command.run("history", Self.sample)
    #expect(result.code == 0 && result.errors.isEmpty, "\(result.errors)")
    #expect(
      result.output == """
        2026-03-01T09:00:00Z  author Ada  context viewContext  bundle com.example.notes  process Notes
          insert  Folder/1
          insert  Note/1
          insert  Note/2

        2026-03-02T18:30:00.25Z  author Ada  context viewContext  bundle com.example.notes  process Notes
          update  Note/1  body, modified, title

        2026-03-05T07:15:00Z  author Bob  context import  bundle com.example.notes  process Notes
          insert  Photo/3
          update  Photo/3  caption, a to-many relationship
          update  Folder/1  name, cover, notes
          delete  Note/2  had ident: 5B0C6E0A-1111-4000-8000-000000000002, modified: 2026-03-01T09:00:00Z, title: "Old ideas"

        2026-03-06T12:00:00Z  bundle com.example.notes
          delete  Tag/1

        """)
  }

  @Test(
    "a default that a file has once and thousands of rows have is refused, and takes no memory",
    .enabled(if: program != nil, "needs sqlite3"), arguments: [false, true])
  func shared(system: Bool) throws {
    let folder = try Folder()
    let long = String(repeating: "x", count: 500_000)
    let rows = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)"
    let path = try Self.edited(
      folder,
      system
        ? "CREATE TABLE ACLOUD(i); INSERT INTO ACLOUD \(rows) SELECT i FROM n; ALTER TABLE ACLOUD ADD COLUMN t DEFAULT '\(long)'"
        : "INSERT INTO ACHANGE(Z_PK, ZTRANSACTIONID, ZCHANGETYPE, ZENTITY, ZENTITYPK) \(rows) SELECT 1000 + i, 1, 0, 1, i FROM n; "
          + "ALTER TABLE ACHANGE ADD COLUMN ZTOMBSTONE9 DEFAULT '\(long)'")
    let result = try Command.run(arguments: ["history", path] + (system ? ["--system"] : []))
    #expect(result.code == 65 && result.output.isEmpty, "\(result.output.prefix(200))")
    #expect(result.errors.contains("more bytes than the size of the file allows"), "\(result.errors)")
  }

  @Test("JSON has an object for each change, with the same keys in all")
  func json() throws {
    let result = try Command.run("history", Self.sample, "--json")
    let changes = try Self.changes(result)
    #expect(changes.count == 9)
    for change in changes {
      #expect(
        change.keys.sorted() == [
          "author", "bundle", "change", "context", "entity", "process", "properties", "reference", "time", "tombstone",
        ])
    }
    #expect(changes[3]["properties"] as? [String] == ["body", "modified", "title"])
    #expect(changes[3]["time"] as? String == "2026-03-02T18:30:00.25Z")
    let deleted = changes[7]
    #expect(deleted["change"] as? String == "delete" && deleted["reference"] as? Int == 2)
    #expect(
      deleted["tombstone"] as? [String: String] == [
        "ident": "5B0C6E0A-1111-4000-8000-000000000002", "modified": "2026-03-01T09:00:00Z", "title": "Old ideas",
      ])
    #expect(changes[8]["author"] is NSNull && changes[8]["tombstone"] is NSNull)
  }

  @Test(
    "changes are chosen by entity, with its sub-entities, by author and by time",
    arguments: [
      (["--entity", "Note"], 6), (["--entity", "Photo"], 2), (["--entity", "Photo", "--entity", "Tag"], 3),
      (["--author", "Ada"], 4), (["--author", "Ada", "--author", "Bob"], 8), (["--author", "ada"], 0),
      (["--since", "2026-03-05"], 5), (["--since", "2026-03-05T07:15:00Z", "--until", "2026-03-06T13:00+01:00"], 4),
      (["--until", "2026-03-02"], 3), (["--entity", "Note", "--author", "Bob"], 3),
    ])
  func filters(_ options: [String], _ count: Int) throws {
    let result = try Command.run(arguments: ["history", Self.sample, "--json"] + options)
    #expect(try Self.changes(result).count == count, "\(result.output)\(result.errors)")
  }

  @Test(
    "mistakes are usage errors that say what is expected",
    arguments: [
      (["--entity", "Nots"], "did you mean 'Note'?"), (["--since", "yesterday"], "--since: 'yesterday' is not a time"),
      (["--until", "2026-13-01"], "--until: '2026-13-01' is not a time"),
      (["--system", "--entity", "Note"], "--system prints whole tables"),
    ])
  func mistakes(_ options: [String], _ message: String) throws {
    let result = try Command.run(arguments: ["history", Self.sample] + options)
    #expect(result.code == 64 && result.errors.contains(message), "\(result.errors)")
  }

  @Test("stores without a history have an empty list", arguments: ["Company.xml", "Company.plist", "Company.csvstore"])
  func without(_ name: String) throws {
    let path = Command.samples + "/Company/" + name
    for options in [[], ["--system"]] {
      let json = try Command.run(arguments: ["history", path, "--json"] + options)
      #expect(json.code == 0 && json.output == "[]\n" && json.errors.isEmpty, "\(json.errors)")
      let text = try Command.run(arguments: ["history", path] + options)
      #expect(text.code == 0 && text.output.isEmpty && text.errors.isEmpty)
    }
    #expect(try Command.run("history", Command.root + "/README.md").code == 65)
    #expect(try Command.run("history", path + ".absent").code == 66)
  }

  @Test("databases list their history in the same form")
  func databases() throws {
    let folder = try Folder()
    let path = folder("db.sqlgraph")
    try #require(try Command.run("convert", Command.company, path).code == 0)
    let before = try Self.changes(try Command.run("history", path, "--json")).count
    let base = ["--entity", "Employee", "--where", "badge == 1001"]
    try #require(try Command.run(arguments: ["set", path] + base + ["salary=1"]).code == 0)
    let made = try Command.run("insert", path, "--entity", "Department", "name=\"New\"", "floor=3")
    try #require(made.code == 0, "\(made.errors)")
    let gone = try Command.run("delete", path, "--entity", "Department", "--where", "name == 'New'")
    try #require(gone.code == 0, "\(gone.errors)")
    let changes = try Self.changes(try Command.run("history", path, "--json")).dropFirst(before)
    #expect(changes.map { $0["change"] as? String } == ["update", "insert", "delete"], "\(changes)")
    #expect(changes.map { $0["entity"] as? String } == ["Employee", "Department", "Department"])
    #expect(changes.first?["properties"] as? [String] == ["salary"])
    #expect(changes.first?["bundle"] is NSNull && changes.first?["tombstone"] is NSNull)
    let only = try Self.changes(try Command.run("history", path, "--json", "--entity", "Employee"))
    #expect(only.allSatisfy { $0["entity"] as? String == "Employee" } && !only.isEmpty)
    #expect(try Command.run("history", path, "--system", "--json").output == "[]\n")
  }

  @Test("the store is not changed, and nothing is left beside it")
  func unchanged() throws {
    let folder = try Folder()
    let path = folder("h.sqlite")
    try FileManager.default.copyItem(atPath: Self.sample, toPath: path)
    let before = try Data(contentsOf: URL(fileURLWithPath: path))
    #expect(try Command.run("history", path).code == 0)
    #expect(try Command.run("history", path, "--system").code == 0)
    #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before && folder.names == ["h.sqlite"])
  }

  @Test("--system prints the tables that hold nothing of the objects")
  func system() throws {
    let text = try Command.run("history", Self.sample, "--system")
    #expect(
      text.output == """
        ANSCKRECORDMETADATA: 2 rows
          Z_PK: 1, Z_ENT: 16010, Z_OPT: 1, ZENTITYID: 2, ZENTITYPK: 1, ZCKRECORDNAME: "2E4D1B7C-RECORD", ZENCODEDRECORD: <62706c6973743030>
          Z_PK: 2, Z_ENT: 16010, Z_OPT: 1, ZENTITYID: 3, ZENTITYPK: 3, ZCKRECORDNAME: "A77B90D1-RECORD"

        """, "\(text.output)\(text.errors)")
    let tables = try Self.changes(try Command.run("history", Self.sample, "--system", "--json"))
    #expect(tables.count == 1 && tables[0]["table"] as? String == "ANSCKRECORDMETADATA")
    #expect((tables[0]["columns"] as? [String])?.count == 7)
    let rows = try #require(tables[0]["rows"] as? [[String: Any]])
    #expect(rows.count == 2 && rows[1]["ZENCODEDRECORD"] == nil && rows[1]["ZENTITYPK"] as? Int == 3)
  }

  // MARK: Stores of other versions, and damaged ones

  @Test(
    "older tables have texts instead of keys, and fewer columns",
    .enabled(if: HistoryTests.program != nil, "needs sqlite3"))
  func older() throws {
    let folder = try Folder()
    let path = try Self.edited(
      folder,
      """
      DROP TABLE ATRANSACTION; DROP TABLE ACHANGE; DROP TABLE ATRANSACTIONSTRING;
      CREATE TABLE ATRANSACTION ( Z_PK INTEGER PRIMARY KEY, ZTIMESTAMP TIMESTAMP, ZAUTHOR VARCHAR );
      CREATE TABLE ACHANGE ( Z_PK INTEGER PRIMARY KEY, ZCHANGETYPE INTEGER, ZENTITY INTEGER, ZENTITYPK INTEGER, ZTRANSACTIONID INTEGER );
      INSERT INTO ATRANSACTION VALUES (7, 0, 'Eve'); INSERT INTO ACHANGE VALUES (1, 1, 2, 5, 7);
      """)
    let result = try Command.run("history", path)
    #expect(result.output == "2001-01-01T00:00:00Z  author Eve\n  update  Note/5\n", "\(result.errors)")
    #expect(result.errors.isEmpty)
  }

  @Test("without a model, properties are listed as bits", .enabled(if: HistoryTests.program != nil, "needs sqlite3"))
  func withoutModel() throws {
    let folder = try Folder()
    let path = try Self.edited(folder, "UPDATE Z_METADATA SET Z_PLIST = NULL")
    let result = try Command.run("history", path)
    #expect(result.code == 0 && result.output.contains("  update  Note/1  bit 1, bit 3, bit 4\n"), "\(result.output)")
    #expect(result.output.contains("had ZTOMBSTONE0: <5b0c6e0a"))
    let named = try Command.run(
      "history", path, "--model", Command.samples + "/History/History.xcdatamodel", "--entity", "Note")
    #expect(named.output.contains("  update  Note/1  body, modified, title\n"), "\(named.output)\(named.errors)")
    #expect(try Command.run("history", path, "--entity", "Note").output.contains("Photo/3"))
  }

  @Test(
    "what is odd is listed or noted, and the rest as it is",
    .enabled(if: HistoryTests.program != nil, "needs sqlite3"),
    arguments: [
      ("DELETE FROM ATRANSACTIONSTRING WHERE Z_PK = 1", "context viewContext", "is not there (2)"),
      ("UPDATE ATRANSACTION SET ZAUTHORTS = 'x' WHERE Z_PK = 1", "context viewContext", "is not there"),
      ("UPDATE ACHANGE SET ZENTITY = 99 WHERE Z_PK = 4", "update  entity 99/1  bit 1, bit 3, bit 4", nil),
      ("UPDATE ACHANGE SET ZENTITY = -9223372036854775807 WHERE Z_PK = 1", "entity -9223372036854775807", nil),
      ("UPDATE ACHANGE SET ZCOLUMNS = X'5801' WHERE Z_PK = 4", "body, modified, title, bit 15", "ACHANGE.ZCOLUMNS"),
      ("UPDATE ACHANGE SET ZCOLUMNS = zeroblob(100000) WHERE Z_PK = 4", "update  Note/1\n", nil),
      ("UPDATE ACHANGE SET ZCOLUMNS = 'text' WHERE Z_PK = 4", "update  Note/1\n", nil),
      ("UPDATE ACHANGE SET ZENTITYPK = 9223372036854775807 WHERE Z_PK = 1", "Folder/9223372036854775807", nil),
      ("UPDATE ATRANSACTION SET ZTIMESTAMP = 1e300 WHERE Z_PK = 1", "@1e+300  author Ada", nil),
      ("UPDATE ACHANGE SET ZTOMBSTONE0 = 'text', ZTOMBSTONE1 = 'text' WHERE Z_PK = 8", "had ident: \"text\"", nil),
      (
        "ALTER TABLE ACHANGE ADD COLUMN ZTOMBSTONE9 VARCHAR; UPDATE ACHANGE SET ZTOMBSTONE9 = 'x'",
        "ZTOMBSTONE9: \"x\"", nil
      ),
      ("UPDATE ATRANSACTIONSTRING SET ZNAME = 'A' || char(10) || 'da' WHERE Z_PK = 1", "author \"A\\nda\"", nil),
      ("DROP TABLE ACHANGE", "2026-03-06T12:00:00Z", nil),
    ] as [(String, String, String?)])
  func odd(_ sql: String, _ output: String, _ note: String?) throws {
    let folder = try Folder()
    let path = try Self.edited(folder, sql)
    let result = try Command.run("history", path)
    #expect(result.code == 0 && result.output.contains(output), "\(result.output)\(result.errors)")
    if let note {
      #expect(result.errors.contains(note), "\(result.errors)")
    } else {
      #expect(result.errors.isEmpty, "\(result.errors)")
    }
  }

  @Test(
    "a damaged row is refused with its table and key, and left out with damaged=skip-object",
    .enabled(if: HistoryTests.program != nil, "needs sqlite3"),
    arguments: [
      ("UPDATE ACHANGE SET ZCHANGETYPE = 7 WHERE Z_PK = 4", "the row with Z_PK 4 of ACHANGE is damaged", 8),
      ("UPDATE ACHANGE SET ZCHANGETYPE = 'x' WHERE Z_PK = 4", "the row with Z_PK 4 of ACHANGE is damaged", 8),
      ("UPDATE ACHANGE SET ZENTITY = NULL WHERE Z_PK = 1", "no entity number or no key", 8),
      ("UPDATE ACHANGE SET ZENTITYPK = X'00' WHERE Z_PK = 1", "no entity number or no key", 8),
      ("UPDATE ACHANGE SET ZTRANSACTIONID = 77 WHERE Z_PK = 9", "its transaction, 77, is not in ATRANSACTION", 8),
      ("UPDATE ATRANSACTION SET ZTIMESTAMP = NULL WHERE Z_PK = 1", "the row with Z_PK 1 of ATRANSACTION", 6),
      ("UPDATE ATRANSACTIONSTRING SET ZNAME = X'00' WHERE Z_PK = 1", "the row with Z_PK 1 of ATRANSACTIONSTRING", 9),
    ] as [(String, String, Int)])
  func damaged(_ sql: String, _ message: String, _ count: Int) throws {
    let folder = try Folder()
    let path = try Self.edited(folder, sql)
    let result = try Command.run("history", path)
    #expect(result.code == 65 && result.errors.contains(message), "\(result.errors)")
    #expect(result.errors.contains("--read-option damaged=skip-object"), "\(result.errors)")
    let rest = try Command.run("history", path, "--json", "--read-option", "damaged=skip-object")
    #expect(try Self.changes(rest).count == count, "\(rest.output)")
    #expect(rest.errors.contains("left out because it is damaged"), "\(rest.errors)")
  }

  @Test(
    "a store with changes and no transactions is refused", .enabled(if: HistoryTests.program != nil, "needs sqlite3"))
  func withoutTransactions() throws {
    let folder = try Folder()
    let path = try Self.edited(folder, "DROP TABLE ATRANSACTION")
    let result = try Command.run("history", path)
    #expect(result.code == 65 && result.errors.contains("and not ATRANSACTION"), "\(result.errors)")
  }

  @Test("the sample is what its script makes", .enabled(if: HistoryTests.program != nil, "needs sqlite3"))
  func script() throws {
    let folder = try Folder()
    let made = try Command.run(
      arguments: [Command.root + "/Scripts/make-history-sample", folder.path],
      environment: ["ATOMICSTORE": try #require(Command.path)], program: "/bin/bash")
    try #require(made.code == 0, "\(made.errors)")
    for words in [["history"], ["history", "--system"], ["dump"]] {
      let new = try Command.run(arguments: words + [folder("History.sqlite")])
      #expect(new.output == (try Command.run(arguments: words + [Self.sample]).output), "\(words)")
    }
  }
}
