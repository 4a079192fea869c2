import Foundation
import Synchronization
import Testing

@Suite("Commands that change stores: what they ask for, keep and repeat") struct ChangeSafetyTests {
  private static func family(_ folder: borrowing Folder) throws {
    try Data("id,name\n1,P1\n2,P2\n".utf8).write(to: URL(filePath: folder("parents.csv")))
    try Data("id,name,parent_id\n1,C,1\n".utf8).write(to: URL(filePath: folder("children.csv")))
    let made = try Command.run("import", "Parent=parents.csv", "Child=children.csv", "-o", "base.xml", in: folder.path)
    try #require(made.code == 0, "\(made.errors)")
  }

  @Test("a merge keeps the reference of the side that wins, in both directions")
  func merging() throws {
    let folder = try Folder()
    try Self.family(folder)
    try NodeStore.shell(
      """
      "$0" set base.xml --entity Child --all parent:=Parent/2 -o a.xml
      "$0" delete base.xml --entity Parent --where "name == 'P2'" -o b.xml
      """, in: folder)
    for (stores, rule) in [(["a.xml", "b.xml"], "last"), (["b.xml", "a.xml"], "first")] {
      let arguments = ["merge", "--base", "base.xml"] + stores + ["-o", rule + ".xml", "--on-conflict", rule]
      let merged = try Command.run(arguments: arguments, in: folder.path)
      #expect(merged.code == 0 && merged.errors.contains("settled: Child/1.parent: "), "\(merged.errors)")
      let fetched = try Command.run("fetch", rule + ".xml", "--entity", "Child", "--format", "csv", in: folder.path)
      #expect(fetched.output.contains("Parent/1"), "\(fetched.output)")
    }
    #expect(try Command.run("diff", "first.xml", "last.xml", in: folder.path).code == 0)
  }

  @Test(
    "a change whose report cannot be written was saved, and that is said",
    arguments: [
      "set base.xml --entity Child --all name:=X", "delete base.xml --entity Child --all",
      "insert base.xml --entity Child name:=X", "import Child=children.csv --into base.xml --upsert key",
    ])
  func unreported(_ command: String) throws {
    let folder = try Folder()
    try Self.family(folder)
    try Data("id,name,parent_id\n1,X,1\n".utf8).write(to: URL(filePath: folder("children.csv")))
    let before = try Data(contentsOf: URL(filePath: folder("base.xml")))
    let result = try Command.shell("\"$0\" \(command) --json >/dev/full", in: folder.path)
    #expect(result.code == 74, "\(result.errors)")
    #expect(
      result.errors.contains("the change was saved\n") || result.errors.contains("the store was written\n"),
      "\(result.errors)")
    #expect(try Data(contentsOf: URL(filePath: folder("base.xml"))) != before)
  }

  @Test("set asks which objects it changes, as delete does", arguments: ["set", "delete"])
  func choosing(_ command: String) throws {
    let folder = try Folder()
    try Self.family(folder)
    let before = try Data(contentsOf: URL(filePath: folder("base.xml")))
    let values = command == "set" ? ["name:=X"] : []
    for choice in [[], ["--all", "--where", "name == 'C'"]] {
      let result = try Command.run(
        arguments: [command, "base.xml", "--entity", "Child"] + values + choice, in: folder.path)
      #expect(result.code == 64 && result.errors.contains("either --where PREDICATE, or --all"), "\(result.errors)")
    }
    #expect(try Data(contentsOf: URL(filePath: folder("base.xml"))) == before)
    let all = try Command.run(arguments: [command, "base.xml", "--entity", "Child", "--all"] + values, in: folder.path)
    #expect(all.code == 0, "\(all.errors)")
  }

  @Test(
    "commands that change one store at the same time all succeed, and no change is lost",
    arguments: ["xml", "sqlgraph"])
  func racing(_ fileExtension: String) throws {
    let folder = try Folder()
    try Data("id,n\n1,0\n".utf8).write(to: URL(filePath: folder("Counter.csv")))
    let store = folder("c." + fileExtension)
    try #require(try Command.run("import", folder("Counter.csv"), "-o", store).code == 0)
    let failures = Mutex<[String]>([])
    DispatchQueue.concurrentPerform(iterations: 4) { _ in
      for _ in 0..<5 {
        let result = try? Command.run("set", store, "--entity", "Counter", "--all", "n=n + 1")
        if result?.code != 0 { failures.withLock { $0.append(result?.errors ?? "not run") } }
      }
    }
    #expect(failures.withLock { $0 } == [])
    let fetched = try Command.run("fetch", store, "--entity", "Counter", "--columns", "n", "--format", "csv")
    #expect(fetched.output == "n\n20\n")
  }

  @Test("import --dangling keeps, refuses or sets aside records with keys of missing records")
  func dangling() throws {
    let folder = try Folder()
    try Self.family(folder)
    try Data("id,name,parent_id\n1,C,1\n2,D,9\n".utf8).write(to: URL(filePath: folder("children.csv")))
    func run(_ arguments: String...) throws -> Command.Result {
      try Command.run(
        arguments: ["import", "Parent=parents.csv", "Child=children.csv", "-o", "x.xml", "--force"] + arguments,
        in: folder.path)
    }
    for choice in [[], ["--dangling", "refuse"], ["--dangling", "refuse", "--reject", "bad.csv"]] {
      let arguments = ["import", "Parent=parents.csv", "Child=children.csv", "-o", "x.xml"] + choice
      let refused = try Command.run(arguments: arguments, in: folder.path)
      #expect(refused.code == 65 && refused.errors.contains("children.csv:3:5 (Child/2.parent)"), "\(refused.errors)")
      #expect(!folder.names.contains("x.xml") && !folder.names.contains("bad.csv"))
    }
    #expect(try run("--dangling", "reject").code == 64)
    let kept = try run("--dangling", "nullify")
    #expect(
      kept.code == 0 && kept.errors.contains("Child.parent: references to objects that do not exist, removed (1)"),
      "\(kept.errors)")
    #expect(try Command.run("check", "x.xml", in: folder.path).code == 0)
    #expect(
      try Command.run("fetch", "x.xml", "--entity", "Child", "--count", in: folder.path).output == "2\n")
    #expect(try run("--dangling", "keep-as-text").code == 0)
    let entry = try Command.run("metadata", "get", "x.xml", "AtomicStoreDanglingReferences", in: folder.path)
    #expect(entry.output.contains("Child/2.parent") && entry.output.contains("Parent/9"), "\(entry.output)")
    #expect(try run("--dangling", "reject", "--reject", "bad").code == 0)
    #expect(
      try String(contentsOfFile: folder("bad/children.csv"), encoding: .utf8) == "id,name,parent_id\n2,D,9\n")
  }

  @Test("prices that end in a zero are imported into an SQLite store, and the new spelling is reported")
  func prices() throws {
    let folder = try Folder()
    try Data("id,price\n1,19.90\n2,5\n".utf8).write(to: URL(filePath: folder("Item.csv")))
    let result = try Command.run("import", "Item.csv", "-o", "x.sqlite", "--json", in: folder.path)
    #expect(result.code == 0, "\(result.errors)")
    let losses = try #require((try result.json() as? [String: Any])?["losses"] as? [[String: Any]])
    #expect(losses.map { $0["class"] as? String } == ["spelling"])
    #expect(losses.map { $0["kind"] as? String } == ["decimal-spelling"])
    let told = try Command.run("import", "Item.csv", "-o", "y.sqlite", in: folder.path)
    #expect(told.errors == "respelled: decimal-spelling: Item.price, 1 time, first Item/1\n", "\(told.errors)")
  }
}
