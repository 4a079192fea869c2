import Foundation
import Testing

/// Numbers by which a file names things: keys, entity numbers, super-entities, positions. Some values mean something
/// else to a reader ("none"), or lead back to the same row.
@Suite("Identities in files") struct HostileIdentityTests {
  private static let program = ["/usr/bin/sqlite3", "/usr/local/bin/sqlite3"].first {
    FileManager.default.isExecutableFile(atPath: $0)
  }
  /// Those that have been taken for "none", the least and the greatest, and the row's own key.
  static let values = ["0", "-1", "1", "9223372036854775807", "-9223372036854775808", "rowid"]

  @Test(
    "a database in which one number is 0, -1, its own row's, the least or the greatest is read or refused, in little memory",
    .enabled(if: HostileIdentityTests.program != nil, "needs the sqlite3 program"),
    arguments: ["People.sqlite", "Company.sqlgraph"], values)
  func databases(name: String, value: String) throws {
    let folder = try Folder()
    let original = folder(name)
    if name == "People.sqlite" {
      try FileManager.default.copyItem(atPath: Command.samples + "/People/People.sqlite", toPath: original)
    } else {
      #expect(try Command.run("convert", Command.company, original).code == 0)
    }
    let sqlite = try #require(Self.program)
    let columns = try Command.run(
      arguments: [
        original,
        "SELECT m.name, p.name FROM sqlite_master m JOIN pragma_table_info(m.name) p WHERE m.type = 'table' AND p.type LIKE 'INT%'",
      ], program: sqlite
    ).output.split(separator: "\n").map { $0.split(separator: "|").map(String.init) }
    #expect(columns.count > 10)
    for column in columns {
      let copy = folder("copy-" + name)
      try? FileManager.default.removeItem(atPath: copy)
      try FileManager.default.copyItem(atPath: original, toPath: copy)
      let (table, name) = (column[0], column[1])
      // The least row and the greatest are changed one at a time: a constraint may refuse both.
      for row in ["max"] {
        let sql =
          "UPDATE OR IGNORE \"\(table)\" SET \"\(name)\" = \(value) WHERE rowid = (SELECT \(row)(rowid) FROM \"\(table)\")"
        let edited = try Command.run(arguments: [copy, sql], program: sqlite)
        // A table without row numbers, or one that refuses the value.
        guard edited.code == 0 else { continue }
        let result = try Command.shell("ulimit -v 1500000; exec \"$0\" inspect \"$1\"", copy)
        #expect(
          [0, 65].contains(result.code),
          "\(table).\(name) = \(value) in the \(row) row: \(result.code) \(result.errors.prefix(500))")
        #expect(result.code == 0 || !result.errors.isEmpty)
      }
    }
  }

  @Test("an entity with number 0 is not its own super-entity")
  func entityNumberZero() throws {
    let sqlite = try #require(Self.program)
    let folder = try Folder()
    let path = folder("z.sqlite")
    try FileManager.default.copyItem(atPath: Command.samples + "/People/People.sqlite", toPath: path)
    let edit = "UPDATE Z_PRIMARYKEY SET Z_ENT = 0 WHERE Z_NAME = 'Tag'"
    #expect(try Command.run(arguments: [path, edit], program: sqlite).code == 0)
    let result = try Command.shell("ulimit -v 1500000; exec \"$0\" inspect \"$1\"", path)
    #expect(result.code == 65 && result.errors.contains("Tag"), "\(result.code) \(result.errors)")
  }

  @Test(
    "a reference in a text store that is 0, negative or the greatest is read or refused",
    arguments: ["xml", "csvstore"], ["0", "-1", "9223372036854775807", "9223372036854775808", "-9223372036854775808"])
  func texts(type: String, value: String) throws {
    let folder = try Folder()
    let path = folder("c." + type)
    #expect(try Command.run("convert", Command.company, path).code == 0)
    // Every object named 3 is named otherwise, or only where it is mentioned.
    let edits =
      type == "xml"
      ? ["s/\"z3\"/\"z\(value)\"/g", "s/idrefs=\"z3\"/idrefs=\"z\(value)\"/g"]
      : ["s/^3,/\(value),/", "s/,3,/,\(value),/g"]
    for edit in edits {
      let copy = folder("copy." + type)
      let script = "rm -rf \"$2\"; cp -r \"$1\" \"$2\" && find \"$2\" -type f | xargs sed -i '\(edit)'"
      #expect(try Command.shell(script, path, copy).code == 0)
      let result = try Command.shell(
        "ulimit -v 1500000; exec \"$0\" check \"$1\" --read-option edited=accept", copy)
      #expect([0, 1, 64, 65].contains(result.code), "\(edit): \(result.code) \(result.errors.prefix(500))")
    }
  }
}
