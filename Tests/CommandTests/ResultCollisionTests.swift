import Foundation
import Testing

/// `--force` replaces an older result, never what the command reads or writes besides.
@Suite("Results at the path of an input or of another result") struct ResultCollisionTests {
  @Test(
    "rows as Arrow do not replace the store that they come from, nor a file in it",
    arguments: ["s.xml", "s.csvstore", "s.sqlgraph", "link.xml", "s.csvstore/Employee.csv"])
  func arrow(_ output: String) throws {
    let folder = try Folder()
    let store = folder(output == "link.xml" ? "s.xml" : output.split(separator: "/").first.map(String.init) ?? "")
    #expect(try Command.run("convert", Command.company, store).code == 0)
    if output == "link.xml" {
      try FileManager.default.createSymbolicLink(atPath: folder(output), withDestinationPath: store)
    }
    let result = try Command.run(
      "fetch", store, "--entity", "Employee", "--format", "arrow", "-o", folder(output), "--force")
    #expect(result.code == 73 && result.errors.contains("the store"), "\(result.code) \(result.errors)")
    #expect(try Command.run("diff", Command.company, store).code == 0)
  }

  @Test(
    "rejected records, the report and the model do not replace the store, each other or a table",
    arguments: [
      ["--reject", "s.xml"], ["--reject", "r.csv", "--report", "s.xml"], ["--reject", "r.csv", "--report", "r.csv"],
      ["--reject", "t.csv"], ["--reject", "r.csv", "--report", "t.csv"],
      ["--reject", "r.csv", "--write-model", "s.xml"],
    ])
  func importing(_ options: [String]) throws {
    let folder = try Folder()
    let table = "id,n\n1,1\n2,\n1,3\n"
    try table.write(toFile: folder("t.csv"), atomically: false, encoding: .utf8)
    let arguments = ["import", "T=" + folder("t.csv"), "-o", folder("s.xml"), "--force"]
    let result = try Command.run(
      arguments: arguments + options.map { $0.hasPrefix("--") ? $0 : folder($0) })
    #expect(result.code == 73, "\(result.code) \(result.errors)")
    #expect(try String(contentsOfFile: folder("t.csv"), encoding: .utf8) == table)
    #expect(folder.names == ["t.csv"])
  }

  @Test(
    "what is read besides the tables is not replaced, nor are models, the base of a merge and the log of a database",
    arguments: [
      ["import", "T=t.csv", "--into", "c.xml", "-o", "s.xml", "--reject", "c.xml"],
      ["import", "T=t.csv", "--model", "c.xml", "-o", "s.xml", "--reject", "c.xml"],
      ["import", "T=t.csv", "--model", "m.xcdatamodel", "-o", "s.xml", "--write-model", "m.xcdatamodel"],
      ["model", "diagram", "c.xml", "-o", "c.xml"], ["model", "diff", "d.xml", "c.xml", "--diagram", "-o", "c.xml"],
      ["model", "diff", "c.xml", "d.xml", "--diagram", "-o", "c.xml"],
      ["merge", "--base", "c.xml", "d.xml", "d.xml", "-o", "c.xml"],
      ["report", "d.xml", "--model", "c.xml", "-o", "c.xml"],
      ["report", "d.xml", "--model", "m.xcdatamodel", "-o", "m.xcdatamodel/contents"],
      ["fetch", "d.xml", "--model", "c.xml", "--entity", "Employee", "--format", "arrow", "-o", "c.xml"],
      ["fetch", "d.sqlgraph", "--entity", "Employee", "--format", "arrow", "-o", "d.sqlgraph-journal"],
    ])
  func besides(_ arguments: [String]) throws {
    let folder = try Folder()
    for name in ["c.xml", "d.xml"] {
      try FileManager.default.copyItem(atPath: Command.company, toPath: folder(name))
    }
    for command in [["convert", "c.xml", "d.sqlgraph"], ["model", "convert", "c.xml", "m.xcdatamodel"]] {
      #expect(try Command.run(arguments: command, in: folder.path).code == 0)
    }
    try "id,n\n1,1\n1,3\n".write(toFile: folder("t.csv"), atomically: false, encoding: .utf8)
    let model = try String(contentsOfFile: folder("m.xcdatamodel/contents"), encoding: .utf8)
    let result = try Command.run(arguments: arguments + ["--force"], in: folder.path)
    #expect(result.code != 0 && !result.errors.isEmpty, "\(result.code) \(result.errors)")
    #expect(try Command.run("diff", Command.company, folder("c.xml")).code == 0)
    #expect(try String(contentsOfFile: folder("m.xcdatamodel/contents"), encoding: .utf8) == model)
    #expect(folder.names == ["c.xml", "d.sqlgraph", "d.xml", "m.xcdatamodel", "t.csv"], "\(folder.names)")
  }

  @Test(
    "no file replaces a directory",
    arguments: [
      ["fetch", "c.xml", "--entity", "Employee", "--format", "arrow", "-o", "dir"],
      ["import", "T=t.csv", "-o", "s.xml", "--reject", "dir"],
      ["import", "T=t.csv", "-o", "s.xml", "--reject", "r.csv", "--report", "dir"],
    ])
  func directory(_ arguments: [String]) throws {
    let folder = try Folder()
    try FileManager.default.copyItem(atPath: Command.company, toPath: folder("c.xml"))
    try "id,n\n1,1\n1,3\n".write(toFile: folder("t.csv"), atomically: false, encoding: .utf8)
    try FileManager.default.createDirectory(atPath: folder("dir"), withIntermediateDirectories: false)
    try "precious".write(toFile: folder("dir/p.txt"), atomically: false, encoding: .utf8)
    let result = try Command.run(arguments: arguments + ["--force"], in: folder.path)
    #expect(result.code == 73 && result.errors.contains("dir: this is a directory"), "\(result.code) \(result.errors)")
    #expect(try String(contentsOfFile: folder("dir/p.txt"), encoding: .utf8) == "precious")
    #expect(folder.names == ["c.xml", "dir", "t.csv"])
  }

  @Test("a mapping is not replaced by the store that it maps to")
  func mapping() throws {
    let folder = try Folder()
    try "{}".write(toFile: folder("map.xml"), atomically: false, encoding: .utf8)
    let model = folder("m.xcdatamodel")
    #expect(try Command.run("model", "convert", Command.company, model).code == 0)
    let result = try Command.run(
      "migrate", Command.company, "--model", model, "--mapping", folder("map.xml"), "-o", folder("map.xml"), "--force")
    #expect(result.code == 73, "\(result.code) \(result.errors)")
    #expect(try String(contentsOfFile: folder("map.xml"), encoding: .utf8) == "{}")
  }

  @Test("the second writer to a new path gets the error that something exists there")
  func race() throws {
    let folder = try Folder()
    let running = try (0..<4).map { _ in
      try RunningCommand("convert", Command.company, folder("t.csvstore"), temporaryFolder: folder.path)
    }
    let codes = running.map { $0.end() }
    #expect(codes.sorted() == [0, 73, 73, 73])
  }

  @Test(
    "nothing is written into a directory store, of which it would become a part",
    arguments: [
      "report s.xml -o s.csvstore/r.html", "model diagram s.xml -o s.csvstore/d.svg",
      "model swift s.xml -o s.csvstore", "fetch s.xml --entity Employee --format arrow -o s.csvstore/e.arrow",
      "report s.xml -o s.csvstore/Employee.csv --force",
    ])
  func withinStore(_ arguments: String) throws {
    let folder = try Folder()
    try NodeStore.shell(
      """
      cp "\(Command.samples)/Company/Company.xml" s.xml; cp -r "\(Command.samples)/Company/Company.csvstore" s.csvstore
      """, in: folder)
    let before = try FileManager.default.contentsOfDirectory(atPath: folder("s.csvstore")).sorted()
    let result = try Command.run(arguments: arguments.split(separator: " ").map(String.init), in: folder.path)
    #expect(result.code == 73 && result.errors.contains("is itself a store, of type CSV"), "\(result.errors)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder("s.csvstore")).sorted() == before)
    #expect(try Command.run("diff", "s.xml", "s.csvstore", in: folder.path).code == 0)
  }
}
