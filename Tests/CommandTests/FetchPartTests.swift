import Foundation
import Testing

/// What a request prints of a property list, of which it reads the properties that it names, is what it prints of a
/// store that is read as a whole.
@Suite("atomicstore fetch reads what a request needs") struct FetchPartTests {
  static let requests: [[String]] = [
    ["--count"], ["--columns", "name,salary", "--sort", "name", "--count"],
    ["--columns", "salary * 2 AS d", "--sort", "d", "--count"], ["--columns", "salary", "--count"],
    ["--columns", "salary * 2 AS d,name", "--sort", "-d"],
    ["--explain", "--count", "--columns", "salary", "--sort", "name"],
    ["--count", "--where", "badge > 1001"], ["--columns", "name"],
    ["--columns", "name,department.name", "--sort", "-badge"], ["--columns", "department", "--format", "json"],
    ["--columns", "headcount,name"], ["--columns", "address.city,address"], ["--columns", "colleagues.@count AS n"],
    ["--columns", "displayName"], ["--columns", "objectID"], ["--columns", "SELF"], ["--columns", "*", "--limit", "1"],
    ["--limit", "2", "--json"],
    ["--columns", "projects.@count AS n", "--sort", "n", "--format", "csv"],
    ["--columns", "name", "--where", "ANY projects.title BEGINSWITH 'A'"],
    ["--columns", "name", "--where", "SUBQUERY(projects, $p, $p.members.@count > 1).@count > 0"],
    ["--columns", "name", "--where", "department.site CONTAINS 'example' AND salary > 10"],
    ["--columns", "TERNARY(badge > 1001, name, nickname) AS x"], ["--columns", "CAST(badge, 'NSString') AS x"],
    ["--columns", "uppercase:(name) AS x"], ["--columns", "name", "--where", "SELF IN {}"],
    ["--columns", "name", "--where", "manager.name != nil"],
    ["--group", "department.name", "--columns", "department.name,sum:(salary) AS total", "--having", "$total > 1"],
    ["--group", "department.name", "--count"], ["--distinct", "--columns", "department.name"],
    ["--distinct", "--columns", "department.name", "--count"], ["--reference", "1", "--columns", "name"],
    ["--columns", "nosuch"], ["--where", "nosuch == 1"], ["--columns", "name.nosuch"], ["--sort", "nosuch"],
    ["--explain", "--where", "badge == 1001"], ["--explain", "--where", "uppercase:(name) == 'ADA'"],
  ]

  @Test("every request prints the same, and ends the same", arguments: requests)
  func same(_ arguments: [String]) throws {
    let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).plist").path
    defer { try? FileManager.default.removeItem(atPath: path) }
    try #require(try Command.run("convert", Command.company, path).code == 0)
    for entity in ["Employee", "Department"] {
      let whole = try Command.run(arguments: ["fetch", Command.company, "--entity", entity] + arguments)
      let part = try Command.run(arguments: ["fetch", path, "--entity", entity] + arguments)
      #expect(part.output == whole.output)
      #expect(part.code == whole.code, "\(part.errors)")
      #expect(part.errors.replacingOccurrences(of: path, with: Command.company) == whole.errors)
    }
  }
}
