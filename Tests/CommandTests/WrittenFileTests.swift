import Foundation
import Glibc
import Testing

/// Where commands write, and who may read it.
@Suite("Files that commands write") struct WrittenFileTests {
  @Test(
    "an empty path is refused before anything is written",
    arguments: [
      "new-format Tabular --kit @ROOT --output=", "convert @COMPANY @EMPTY",
      "convert @COMPANY --files-from - -o @EMPTY",
      "model convert @COMPANY @EMPTY", "model swift @COMPANY -o @EMPTY", "model diagram @COMPANY --output @EMPTY",
      "report @COMPANY -o @EMPTY", "fetch @COMPANY --entity Department --format arrow -o @EMPTY",
      "import T=t.csv -o @EMPTY", "import T=t.csv -o x.xml --reject @EMPTY", "import T=t.csv -o x.xml --report=",
      "import T=t.csv -o x.xml --write-model @EMPTY", "import T=t.csv --into @EMPTY",
      "set @COMPANY --entity Department --all floor=1 -o @EMPTY", "check @COMPANY --fix dangling=nullify -o @EMPTY",
      "anonymize @COMPANY Department.name=hash -o @EMPTY", "merge @COMPANY @COMPANY -o @EMPTY",
      "tables @COMPANY -o @EMPTY",
      "conform --type XML --report @EMPTY", "conform --type XML --badge=",
    ])
  func emptyPath(_ line: String) throws {
    let folder = try Folder()
    try "id,n\n1,1\n".write(toFile: folder("t.csv"), atomically: false, encoding: .utf8)
    let words = line.split(separator: " ").map { word -> String in
      word == "@EMPTY"
        ? "" : String(word).replacing("@ROOT", with: Command.root).replacing("@COMPANY", with: Command.company)
    }
    let result = try Command.run(arguments: words, in: folder.path)
    #expect(result.code == 64, "\(result.code) \(result.errors)")
    #expect(folder.names == ["t.csv"])
  }

  @Test(
    "a new file grants no more than what it is made of",
    arguments: [
      "convert s.xml out.plist", "convert s.xml out.csvstore", "report s.xml -o out.html",
      "tables s.xml -o out", "tables s.xml -o out --format arrow",
      "model diagram s.xml -o out.svg",
      "model convert s.xml out.xcdatamodel", "model convert s.xml out.xcdatamodeld", "model swift s.xml -o out",
      "fetch s.xml --entity Department --format arrow -o out.arrow",
      "import T=t.csv -o out.xml --reject out.bad --report out.report --write-model out.xcdatamodeld --types T.n=Boolean",
    ])
  func permissions(_ line: String) throws {
    let folder = try Folder()
    try FileManager.default.copyItem(atPath: Command.company, toPath: folder("s.xml"))
    try "id,n\n1,true\n2,x\n".write(toFile: folder("t.csv"), atomically: false, encoding: .utf8)
    for name in ["s.xml", "t.csv"] { #expect(chmod(folder(name), 0o600) == 0) }
    let result = try Command.run(arguments: line.split(separator: " ").map(String.init), in: folder.path)
    #expect(result.code == 0, "\(result.errors)")
    let paths = try #require(FileManager.default.enumerator(atPath: folder.path)).compactMap { $0 as? String }
    #expect(paths.contains { $0.hasPrefix("out") })
    for path in paths where path.hasPrefix("out") {
      let attributes = try FileManager.default.attributesOfItem(atPath: folder(path))
      let mode = try #require(attributes[.posixPermissions] as? Int)
      #expect(mode & 0o077 == 0, "\(path): \(String(mode, radix: 8))")
    }
  }

  @Test("external data of another store stay, and the message has its UUID")
  func externalData() throws {
    let folder = try Folder()
    try FileManager.default.createDirectory(atPath: folder(".x_SUPPORT"), withIntermediateDirectories: true)
    let mark = "5B1D9F0C-58F3-4C5A-9E0B-0C0FFEE0C0DD"
    try (mark + "\n").write(toFile: folder(".x_SUPPORT/.atomicstore-store"), atomically: false, encoding: .utf8)
    let photo = Data(repeating: 65, count: 200_000).base64EncodedString()
    let text = try String(contentsOfFile: Command.company, encoding: .utf8)
    let range = try #require(text.firstRange(of: "<attribute name=\"photo\" type=\"binary\">"))
    let end = try #require(text[range.upperBound...].firstRange(of: "</attribute>"))
    try (text[..<range.upperBound] + photo + text[end.lowerBound...]).write(
      toFile: folder("s.xml"), atomically: false, encoding: .utf8)
    let refused = try Command.run("convert", "s.xml", "x.sqlite", "--allow-loss", in: folder.path)
    #expect(refused.code == 73 && refused.errors.contains(mark), "\(refused.errors)")
    #expect(folder.names == [".x_SUPPORT", "s.xml"])
    // Whole, with and without a store there.
    try FileManager.default.removeItem(atPath: folder(".x_SUPPORT"))
    for (option, copy) in [("--allow-loss", "a.xml"), ("--force", "b.xml")] {
      let made = try Command.run("convert", "s.xml", "x.sqlite", "--allow-loss", "--new-uuid", option, in: folder.path)
      #expect(made.code == 0, "\(made.errors)")
      let again = try Command.run("convert", "x.sqlite", copy, in: folder.path)
      #expect(again.code == 0, "\(again.errors)")
    }
    #expect(folder.names == [".x_SUPPORT", "a.xml", "b.xml", "s.xml", "x.sqlite"])
  }

  @Test("the files of an import into a database are there, too, if its ends are written so that they agree")
  func agreeingEnds() throws {
    let folder = try Folder()
    for (name, text) in [
      ("a.csv", "id,name,n\n1,A,1\n2,B,2\n"), ("b.csv", "id,name,a_id\n1,x,1\n2,y,2\n"),
      ("more.csv", "id,name,n\n7,ok,1\n8,bad,x\n"),
    ] {
      try text.write(toFile: folder(name), atomically: false, encoding: .utf8)
    }
    #expect(try Command.run("import", "A=a.csv", "B=b.csv", "-o", "ab.xml", in: folder.path).code == 0)
    #expect(try Command.run("convert", "ab.xml", "t.sqlgraph", in: folder.path).code == 0)
    // One end of a relationship no longer names the other.
    let text = try String(contentsOfFile: folder("ab.xml"), encoding: .utf8)
    let end = "name=\"bs\" type=\"0/0\" destination=\"B\""
    let other = text.replacing(end + " idrefs=\"z1.B\"", with: end)
    #expect(other != text)
    try other.write(toFile: folder("con.xml"), atomically: false, encoding: .utf8)
    let done = try Command.run(
      arguments: [
        "import", "A=more.csv", "--into", "con.xml", "-o", "t.sqlgraph", "--force", "--allow-loss",
        "--read-option", "inverses=as-stored", "--reject", "rej.csv", "--report", "rep.csv",
      ], in: folder.path)
    #expect(done.code == 0, "\(done.errors)")
    #expect(try String(contentsOfFile: folder("rej.csv"), encoding: .utf8).contains("8,bad,x"))
    #expect(try String(contentsOfFile: folder("rep.csv"), encoding: .utf8).contains("more.csv"))
  }

  @Test("a database whose metadata is a view is malformed, not missing")
  func view() throws {
    let folder = try Folder()
    #expect(try Command.run("convert", Command.company, "x.sqlgraph", in: folder.path).code == 0)
    let script = """
      import sqlite3
      c = sqlite3.connect("x.sqlgraph")
      c.execute("ALTER TABLE atomicstore_metadata RENAME TO other")
      c.execute("CREATE VIEW atomicstore_metadata AS SELECT * FROM other")
      c.commit()
      """
    let done = try Command.run(arguments: ["python3", "-c", script], in: folder.path, program: "/usr/bin/env")
    #expect(done.code == 0, "\(done.errors)")
    let result = try Command.run("inspect", "x.sqlgraph", in: folder.path)
    #expect(result.code == 65 && result.errors.contains("is a view"), "\(result.code) \(result.errors)")
  }

  @Test(
    "the lock file of another user in a directory with the sticky bit is refused, with its owner",
    .enabled(if: geteuid() == 0 && FileManager.default.isExecutableFile(atPath: "/usr/bin/setpriv"), "needs root"))
  func lockOfAnotherUser() throws {
    let folder = try Folder()
    let lock = folder(".c.xml.atomicstore-lock")
    try FileManager.default.copyItem(atPath: Command.company, toPath: folder("c.xml"))
    try Data().write(to: URL(filePath: lock))
    #expect(chmod(folder.path, 0o1777) == 0 && chown(folder("c.xml"), 65534, 65534) == 0)
    #expect(chown(lock, 1, 1) == 0 && chmod(lock, 0o600) == 0)
    let command = try #require(Command.path, "the command was not built")
    let result = try Command.run(
      arguments: ["--reuid=65534", "--regid=65534", "--clear-groups", command, "metadata", "set", "c.xml", "k", "v"],
      in: folder.path, program: "/usr/bin/setpriv")
    #expect(result.code == 74 && result.errors.contains("daemon"), "\(result.code) \(result.errors)")
    #expect(try Command.run("metadata", "get", folder("c.xml"), "k").code != 0)
  }
}
