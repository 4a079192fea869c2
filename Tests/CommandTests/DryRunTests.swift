import AtomicStoreKit
import BuiltInStoreFormats
import Foundation
import Testing

@Suite("A dry run fails as the real run does") struct DryRunTests {
  @Test(
    "a result that cannot be written",
    arguments: [
      "set t.xml --entity Node --all s:=x -o PLACE", "insert t.xml --entity Tag name:=x -o PLACE",
      "delete t.xml --entity Tag --all -o PLACE", "import Tag.csv --model T.xcdatamodel -o PLACE",
      "merge t.xml t.xml -o PLACE", "migrate t.xml --model T.xcdatamodel -o PLACE",
      "anonymize t.xml Tag.name=mask -o PLACE", "check t.xml --fix inverses=from-to-one -o PLACE",
      "patch t.xml p.json -o PLACE", "convert t.xml PLACE", "tables t.xml -o PLACE",
    ],
    ["nodir/x.xml", "there.xml", "t.xml/x.xml", "/proc/x.xml"])
  func results(_ command: String, _ place: String) throws {
    let folder = try Folder()
    try NodeStore.make(in: folder)
    try NodeStore.shell(
      """
      "$0" set t.xml --entity Tag --where "name == 'red'" name:=blue -o there.xml
      "$0" diff t.xml there.xml --patch > p.json || true
      """, in: folder)
    // Two objects of one name are another error.
    let words = command.replacing("PLACE", with: place).replacing("--entity Tag name:=x", with: "--entity Node s:=x")
    let real = try Command.shell("\"$0\" \(words)", in: folder.path)
    #expect([66, 73].contains(real.code), "\(words): \(real.errors)")
    let files = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    let dry = try Command.shell("\"$0\" \(words) --dry-run", in: folder.path)
    #expect(dry.code == real.code && dry.errors == real.errors, "\(words): \(dry.errors)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == files)
  }

  @Test(
    "a file beside the store that cannot be written",
    arguments: ["--report", "--reject", "--write-model"], ["nodir/r.csv", "there.csv", "Tag.csv"])
  func filesBeside(_ option: String, _ place: String) throws {
    let folder = try Folder()
    try "id,name\n1,red\n1,blue\n".write(toFile: folder("Tag.csv"), atomically: false, encoding: .utf8)
    try "x\n".write(toFile: folder("there.csv"), atomically: false, encoding: .utf8)
    let files = folder.names
    let words = "import Tag.csv --reject - -o o.xml \(option) \(place)"
    let real = try Command.shell("\"$0\" \(words)", in: folder.path)
    #expect(real.code != 0 && !FileManager.default.fileExists(atPath: folder("o.xml")), "\(words): \(real.errors)")
    let dry = try Command.shell("\"$0\" \(words) --dry-run", in: folder.path)
    #expect(dry.code == real.code, "\(words): \(dry.errors)")
    #expect(folder.names == files)
  }

  @Test(
    "a value that the format cannot keep", .enabled(if: SQLiteProgram.path != nil, "needs the sqlite3 program"),
    arguments: ["set t.sqlite --entity Item --all", "insert t.sqlite --entity Item"])
  func values(_ command: String) throws {
    let folder = try Folder()
    try NodeStore.shell(
      """
      printf 'price\n0.5\n' > Item.csv
      "$0" import Item.csv -o t.xml
      "$0" convert t.xml t.sqlite --renumber
      """, in: folder)
    let store = try Data(contentsOf: URL(filePath: folder("t.sqlite")))
    for more in [" --dry-run", ""] {
      let result = try Command.shell(
        "\"$0\" \(command) price:=340282366920938463463374607431768211455\(more)", in: folder.path)
      #expect(result.code == 65 && result.errors.contains("a column of a Core Data store"), "\(result.errors)")
      #expect(try Data(contentsOf: URL(filePath: folder("t.sqlite"))) == store)
    }
    // One that it can keep is shown, and not written.
    let dry = try Command.shell("\"$0\" \(command) price=0.25 --dry-run", in: folder.path)
    #expect(dry.code == 0 && dry.output.contains(command.hasPrefix("set") ? "0.25" : "+ Item/2"), "\(dry.errors)")
    #expect(try Data(contentsOf: URL(filePath: folder("t.sqlite"))) == store)
  }

  @Test("in a program, too", arguments: ["nodir/x.xml", "t.xml/x.xml", "/proc/x.sqlgraph"])
  func programs(_ place: String) throws {
    let folder = try Folder()
    try NodeStore.make(in: folder)
    var converter = StoreConverter(registry: .builtIn)
    var codes: [PersistentStoreError.Code?] = []
    for isDryRun in [false, true] {
      converter.isDryRun = isDryRun
      let error = #expect(throws: PersistentStoreError.self) {
        try converter.convert(from: folder("t.xml"), to: place.hasPrefix("/") ? place : folder(place))
      }
      codes.append(error?.code)
    }
    #expect(codes[0] == codes[1])
  }

  @Test("an unknown extension", arguments: ["set t.xml --entity Node --all s:=x -o x.foo", "convert t.xml x.foo"])
  func unknownExtension(_ command: String) throws {
    let folder = try Folder()
    try NodeStore.make(in: folder)
    let dry = try Command.shell("\"$0\" \(command) --dry-run", in: folder.path)
    #expect(dry.code == 64, "\(dry.errors)")
    #expect(try Command.shell("\"$0\" \(command)", in: folder.path).code == 64)
  }

  @Test(
    "a store that cannot be changed in place",
    .enabled(if: SQLiteProgram.path != nil, "needs the sqlite3 program"))
  func unchangeable() throws {
    let folder = try Folder()
    try NodeStore.make(in: folder)
    try NodeStore.shell("\"$0\" convert t.xml t.sqlite --allow-loss", in: folder)
    try NodeStore.shell("sqlite3 t.sqlite 'CREATE TABLE ATRANSACTION (Z_PK INTEGER PRIMARY KEY)'", in: folder)
    for more in ["", " --dry-run"] {
      let result = try Command.shell("\"$0\" set t.sqlite --entity Node --all s:=x\(more)", in: folder.path)
      #expect(result.code == 65 && result.errors.contains("--write-option history=ignore"), "\(result.errors)")
    }
  }

  @Test("objects that break a uniqueness constraint, on the way to a database, are named by both")
  func uniquenessInDatabases() throws {
    let folder = try Folder()
    try NodeStore.make(in: folder)
    try NodeStore.shell("sed 's/>green</>red</' t.xml > d.xml; \"$0\" convert t.xml e.sqlgraph", in: folder)
    for target in ["n.sqlgraph", "e.sqlgraph --force"] {
      for more in ["", " --dry-run"] {
        let result = try Command.shell("\"$0\" convert d.xml \(target)\(more)", in: folder.path)
        #expect(
          result.code == 65
            && result.errors.contains("Tag/2 and Tag/1 have the same name, 'red', which must be unique"),
          "\(result.errors)")
      }
    }
    #expect(try Command.run("diff", "t.xml", "e.sqlgraph", in: folder.path).code == 0)
  }

  /// Starts the command as a user who may not write what the test's user made.
  static let otherUser = "setpriv --reuid=65534 --clear-groups \"$0\""
  static let hasOtherUser: Bool = {
    guard let folder = try? Folder() else { return false }
    return (try? Command.shell("chmod 755 . && \(otherUser) formats", in: folder.path).code) == 0
  }()

  @Test(
    "a database that cannot be written", .enabled(if: hasOtherUser, "needs setpriv, and a build that others can read"),
    arguments: [
      "set n.sqlgraph --entity Node --all s:=x", "insert n.sqlgraph --entity Node s:=x",
      "delete n.sqlgraph --entity Node --all", "patch n.sqlgraph p.json",
    ])
  func protected(_ command: String) throws {
    let folder = try Folder()
    try NodeStore.make(in: folder)
    try NodeStore.shell(
      """
      "$0" convert t.xml n.sqlgraph && "$0" set t.xml --entity Node --all s:=y -o u.xml
      "$0" diff t.xml u.xml --patch > p.json || true
      chmod 777 . && chmod 444 *
      """, in: folder)
    for more in ["", " --dry-run"] {
      let result = try Command.shell("\(Self.otherUser) \(command)\(more)", in: folder.path)
      #expect(result.code == 77 && result.errors.contains("readonly database"), "\(more): \(result.errors)")
    }
    #expect(try Command.run("diff", "t.xml", "n.sqlgraph", in: folder.path).code == 0)
  }

  @Test(
    "who may only read a database leaves nothing that keeps its owner from writing it",
    .enabled(if: hasOtherUser, "needs setpriv, and a build that others can read"),
    arguments: ["dump n.sqlgraph", "history n.sqlgraph", "inspect n.sqlgraph", "check n.sqlgraph"])
  func readers(_ command: String) throws {
    let folder = try Folder()
    try NodeStore.make(in: folder)
    try NodeStore.shell("\"$0\" convert t.xml n.sqlgraph && chmod 777 . && chmod 644 *", in: folder)
    let before = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    let result = try Command.shell("\(Self.otherUser) \(command)", in: folder.path)
    #expect(result.code == 0, "\(result.errors)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == before)
  }

  @Test("patch changes a database in place as its dry run says, and takes it back")
  func patchedDatabase() throws {
    let folder = try Folder()
    try NodeStore.make(in: folder)
    try NodeStore.shell(
      """
      "$0" convert t.xml a.sqlgraph
      "$0" set t.xml --entity Node --where "s == 'two'" s:=2 -o u.xml
      "$0" insert u.xml --entity Tag name:=blue
      "$0" diff t.xml u.xml --patch > p.json || true
      """, in: folder)
    let dry = try Command.run("patch", "a.sqlgraph", "p.json", "--dry-run", in: folder.path)
    #expect(dry.code == 0 && dry.output.contains("~ Node/2.s: \"two\" → \"2\"\n"), "\(dry.errors)")
    #expect(try Command.run("diff", "t.xml", "a.sqlgraph", in: folder.path).code == 0)
    let real = try Command.run("patch", "a.sqlgraph", "p.json", in: folder.path)
    #expect(real.code == 0, "\(real.errors)")
    #expect(try Command.run("diff", "u.xml", "a.sqlgraph", in: folder.path).output == "")
    let again = try Command.run("patch", "a.sqlgraph", "p.json", in: folder.path)
    #expect(again.code == 1, "\(again.errors)")
    #expect(try Command.run("patch", "a.sqlgraph", "p.json", "--reverse", in: folder.path).code == 0)
    #expect(try Command.run("diff", "t.xml", "a.sqlgraph", in: folder.path).code == 0)
  }
}
