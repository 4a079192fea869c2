import Foundation
import Testing

/// The sample programs do on a database what they do on the files that they use by default.
@Suite struct SampleProgramTests {
  /// What a program prints, without the names of its stores and the references that they give.
  private func output(
    _ program: String, _ arguments: [String], in folder: String = Command.root, hiding names: [String] = []
  ) throws -> [String] {
    let path = try #require(Command.built(program), "\(program) was not built")
    let result = try Command.run(arguments: arguments, in: folder, program: path)
    #expect(result.code == 0, "\(result.errors)")
    return names.reduce(result.output) { $0.replacing($1, with: "STORE") }.replacing(#/\/[0-9]+/#, with: "/N")
      .split(separator: "\n").map(String.init)
  }

  @Test("departments: inverses, undo, Deny and a fetched property, on SQLiteGraph as on XML")
  func departments() throws {
    let folder = try Folder()
    let xml = try output("departments", [folder.path], hiding: [folder("Departments.xml")])
    #expect(xml.count == 6)
    let path = folder("departments.sqlgraph")
    #expect(try output("departments", [path], hiding: [path]) == xml)
    #expect(try Command.run("fetch", path, "--entity", "Employee", "--count").output == "1\n")
  }

  @Test("friendinfo: a relationship that is an object, on SQLiteGraph as in a property list")
  func friends() throws {
    let folder = try Folder()
    let list = try output("friendinfo", [])
    #expect(list.count == 5)
    #expect(try output("friendinfo", [folder("friends.sqlgraph")]) == list)
  }

  @Test("iclass: relationships across two stores, and proxies, on two SQLiteGraph stores as on XML and CSV")
  func school() throws {
    let folder = try Folder()
    let files = try output(
      "iclass", [folder("files")], hiding: [folder("files"), "People.xml", "Courses.csvstore"])
    #expect(files.count > 12)
    for _ in 0..<2 {
      let database = try output(
        "iclass", [folder("base"), "sqlgraph"], hiding: [folder("base"), "People.sqlgraph", "Courses.sqlgraph"])
      #expect(database == files)
    }
    #expect(try Command.run("fetch", folder("base/People.sqlgraph"), "--entity", "Student", "--count").output == "2\n")
  }

  @Test("tracker: a migration, key paths, live counts and undo, on SQLiteGraph as on XML, and again on what is there")
  func tracker() throws {
    let folder = try Folder()
    let xml = try output("tracker", [])
    #expect(xml.first == "From the first version: 'Crash on start', priority normal.")
    #expect(xml.contains("Board: active 2, open 7"))
    #expect(try output("tracker", [folder("tracker.sqlgraph")]) == xml)
    let again = try output("tracker", [folder("tracker.sqlgraph")])
    #expect(again.filter { !$0.hasPrefix("Removed ") } == xml && again.count == xml.count + 1)
  }
}
