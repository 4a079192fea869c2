import Foundation
import Testing

@Suite("atomicstore merge: metadata and uniqueness") struct MergeRuleTests {
  @Test("with --base, metadata that one side set, changed or removed is taken from that side")
  func threeWayMetadata() throws {
    let folder = try Folder()
    try NodeStore.make(in: folder)
    try NodeStore.shell(
      """
      "$0" metadata set t.xml old 1; "$0" metadata set t.xml gone 1
      cp t.xml p.xml; cp t.xml q.xml
      "$0" set p.xml --entity Tag --where "name == 'red'" name:=blue
      "$0" metadata set p.xml gone --remove
      "$0" metadata set q.xml reviewed yes; "$0" metadata set q.xml old 2
      "$0" merge --base t.xml p.xml q.xml -o m.xml
      """, in: folder)
    #expect(try Command.run("metadata", "get", "m.xml", "reviewed", in: folder.path).output == "yes\n")
    #expect(try Command.run("metadata", "get", "m.xml", "old", in: folder.path).output == "2\n")
    #expect(try Command.run("metadata", "get", "m.xml", "gone", in: folder.path).code == 1)
    #expect(try Command.run("diff", "p.xml", "m.xml", "--ignore-metadata", in: folder.path).code == 0)
    #expect(
      try Command.run("merge", "--base", "t.xml", "p.xml", "q.xml", "-o", "p.xml", "--force", in: folder.path).code == 0
    )
    #expect(try Command.run("diff", "p.xml", "m.xml", in: folder.path).code == 0)
  }

  @Test("metadata that both sides set otherwise is a conflict, which --on-conflict settles", arguments: [true, false])
  func metadataConflict(hasBase: Bool) throws {
    let folder = try Folder()
    try NodeStore.make(in: folder)
    try NodeStore.shell(
      """
      cp t.xml p.xml; cp t.xml q.xml
      "$0" metadata set p.xml k one; "$0" metadata set q.xml k two; "$0" metadata set q.xml other x
      """, in: folder)
    let stores = (hasBase ? ["--base", "t.xml"] : []) + ["p.xml", "q.xml", "-o"]
    let refused = try Command.run(arguments: ["merge"] + stores + ["m.xml"], in: folder.path)
    #expect(refused.code == 1 && refused.errors.contains("  metadata k: \"one\" or \"two\"\n"), "\(refused.errors)")
    #expect(!folder.names.contains("m.xml"))
    let json = try Command.run(arguments: ["merge", "--json"] + stores + ["m.xml"], in: folder.path)
    let conflicts = try #require(try json.error()["conflicts"] as? [[String: Any]])
    #expect(conflicts.map { $0["metadata"] as? String } == ["k"] && conflicts.allSatisfy { $0["entity"] is NSNull })
    for (rule, value) in [("first", "one"), ("last", "two")] {
      let settled = try Command.run(
        arguments: ["merge", "--on-conflict", rule] + stores + [rule + ".xml"], in: folder.path)
      #expect(settled.code == 0 && settled.errors == "settled: metadata k: \"one\" or \"two\"\n", "\(settled.errors)")
      #expect(try Command.run("metadata", "get", rule + ".xml", "k", in: folder.path).output == value + "\n")
      #expect(try Command.run("metadata", "get", rule + ".xml", "other", in: folder.path).output == "x\n")
    }
  }

  @Test("a result that breaks a uniqueness constraint is refused, whatever --on-conflict says, with both objects")
  func uniqueness() throws {
    let folder = try Folder()
    try NodeStore.make(in: folder)
    try NodeStore.shell(
      """
      "$0" convert t.xml other.xml --new-uuid
      cp t.xml p.xml; cp t.xml q.xml
      "$0" set p.xml --entity Tag --where "name == 'red'" name:=x
      "$0" set q.xml --entity Tag --where "name == 'green'" name:=x
      """, in: folder)
    let two = try Command.run("merge", "t.xml", "other.xml", "-o", "m.xml", "--on-conflict", "last", in: folder.path)
    #expect(
      two.code == 1 && two.errors.contains("  Tag/11.name: 'red' is also that of Tag/1, and must be unique\n"),
      "\(two.errors)")
    let three = try Command.run("merge", "--base", "t.xml", "p.xml", "q.xml", "-o", "m.xml", in: folder.path)
    #expect(
      three.code == 1 && three.errors.contains("  Tag/2.name: 'x' is also that of Tag/1, and must be unique\n"),
      "\(three.errors)")
    #expect(!folder.names.contains("m.xml"))
    let unique = try Command.run("merge", "t.xml", "other.xml", "-o", "m.xml", "--match", "unique", in: folder.path)
    #expect(unique.code == 0, "\(unique.errors)")
    #expect(try Command.run("check", "m.xml", in: folder.path).code == 0)
  }

  @Test("objects that broke a uniqueness constraint before the merge do not prevent it")
  func earlierDuplicates() throws {
    let folder = try Folder()
    try NodeStore.make(in: folder)
    try NodeStore.shell(
      """
      sed 's/>green</>red</' t.xml > d.xml
      "$0" check d.xml && exit 9
      "$0" convert d.xml e.xml; cp e.xml f.xml; "$0" metadata set f.xml k v
      "$0" merge --base e.xml e.xml f.xml -o m.xml
      """, in: folder)
  }

  @Test(
    "an object that both sides add is one only if its relationships are the same as well, which lead to other additions",
    arguments: [
      ("members:=Employee/3", "members:=Employee/3", 1), ("members:=Employee/3", "members:=Employee/4", 2),
      ("members:=Employee/7", "members:=Employee/7", 2), ("members:=Employee/3", "", 2), ("", "", 1),
    ])
  func additions(_ one: String, _ other: String, _ expected: Int) throws {
    let folder = try Folder()
    // Each adds an employee 7, who has another name, and then a project.
    try NodeStore.shell(
      """
      cp "\(Command.samples)/Company/Company.xml" base.xml
      "$0" insert base.xml --entity Employee name:=Ann badge=71 -o b.xml
      "$0" insert base.xml --entity Employee name:=Bob badge=72 -o c.xml
      """, in: folder)
    let new = try Command.run(
      "fetch", "b.xml", "--entity", "Employee", "--where", "badge == 71", "--columns", "SELF", "--format", "csv",
      in: folder.path)
    let reference = new.output.split(separator: "\n").last.map(String.init) ?? ""
    for (store, members) in [("b.xml", one), ("c.xml", other)] {
      let given = members.isEmpty ? [] : [members.replacing("Employee/7", with: reference)]
      let made = try Command.run(
        arguments: ["insert", store, "--entity", "Project", "title:=x"] + given, in: folder.path)
      #expect(made.code == 0, "\(made.errors)")
    }
    let merged = try Command.run(
      arguments: ["merge", "--base", "base.xml", "b.xml", "c.xml", "-o", "m.xml"], in: folder.path)
    #expect(merged.code == 0, "\(merged.errors)")
    #expect(
      try Command.run("fetch", "m.xml", "--entity", "Project", "--where", "title == 'x'", "--count", in: folder.path)
        .output == "\(expected)\n")
    #expect(try Command.run("check", "m.xml", in: folder.path).code == 0)
    #expect(
      try Command.run(
        "fetch", "m.xml", "--entity", "Employee", "--where", "badge IN {71, 72}", "--count", in: folder.path
      ).output == "2\n")
  }
}
